"""Which results were fetched here, so that nobody closes a lease whose results nobody has."""

from __future__ import annotations

from pathlib import Path

from leasehold.chain import Deployment
from leasehold.files import write_private


class FetchedResults:
    """Of one pool's leases, a small file each under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / "fetched" / pool

    def last(self, lease: int) -> str | None:
        """The CID of the lease's results that were fetched last."""
        try:
            return (self._folder / str(lease)).read_text().strip()
        except FileNotFoundError:
            return None

    def note(self, lease: int, cid: str) -> None:
        """Keep that they were fetched."""
        write_private(self._folder / str(lease), cid)
