"""Which checkpoint of a lease one's own IPFS node keeps: what is left of it when its machine is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from leasehold.chain import Deployment
from leasehold.files import write_private

_OWN: Final = "own"
_COMING: Final = ".coming"


class KeptCheckpoints:
    """Of one pool's leases, a small file each under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / "checkpoints" / pool

    def get(self, lease: int) -> str | None:
        """The CID of the last one that was fetched here."""
        return next(iter(self._words(str(lease))), None)

    def note(self, lease: int, cid: str, *, own: bool = True) -> None:
        """It is here, and stays. own: the node keeps it for this alone, and not for something else of its owner's."""
        write_private(self._folder / str(lease), f"{cid} {_OWN}" if own else cid)
        self.forget_coming(lease)

    def note_coming(self, lease: int, cid: str) -> None:
        """The node is about to be told to keep it, and has not kept it before."""
        write_private(self._folder / f"{lease}{_COMING}", cid)

    def forget_coming(self, lease: int) -> None:
        """It has come, or does not."""
        (self._folder / f"{lease}{_COMING}").unlink(missing_ok=True)

    def is_own(self, cid: str) -> bool:
        """Whether the node keeps it for leases alone, or is about to."""
        noted = (self._words(path.name) for path in self._folder.glob("*"))
        coming = (self._words(path.name) for path in self._folder.glob(f"*{_COMING}"))
        return [cid, _OWN] in noted or [cid] in coming

    def is_noted(self, cid: str) -> bool:
        """Whether any lease's is that."""
        return any(self._words(path.name)[:1] == [cid] for path in self._folder.glob("*"))

    def _words(self, name: str) -> list[str]:
        try:
            return (self._folder / name).read_text().split()
        except FileNotFoundError:
            return []
