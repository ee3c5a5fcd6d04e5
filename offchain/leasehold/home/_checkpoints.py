"""Which checkpoint of a lease one's own IPFS node keeps: what is left of it when its machine is gone."""

from __future__ import annotations

from pathlib import Path

from leasehold.chain import Deployment
from leasehold.files import write_private


class KeptCheckpoints:
    """Of one pool's leases, a small file each under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / "checkpoints" / pool

    def get(self, lease: int) -> str | None:
        """The CID of the last one that was fetched here."""
        try:
            return (self._folder / str(lease)).read_text().strip() or None
        except FileNotFoundError:
            return None

    def note(self, lease: int, cid: str) -> None:
        """It is here, and stays."""
        write_private(self._folder / str(lease), cid)
