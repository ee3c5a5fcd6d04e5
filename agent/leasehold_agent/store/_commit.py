"""What is remembered of the images that were made of a lease's container: the last that is whole, and what may lie on
the IPFS node beside. One is noted as being added before the node is told to keep it, and offered after that.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from leasehold.files import write_private


@dataclass(frozen=True)
class CommitNotes:
    """tenant: who asked for it last. cid: the last whole one, sealed to `recipient`, of `size` bytes, begun `at` (unix
    seconds). ended_at: when the last attempt had ended, and took: its seconds. trouble: why it made none. adding: what
    the node may have been told to keep. leaving: what it has not been told to drop yet.
    """

    tenant: str = ""
    cid: str = ""
    recipient: str = ""
    size: int = 0
    at: int = 0
    ended_at: int = 0
    took: int = 0
    trouble: str = ""
    adding: str = ""
    leaving: tuple[str, ...] = ()

    @property
    def cids(self) -> set[str]:
        """All that the node may keep for the lease."""
        return {self.cid, self.adding, *self.leaving} - {""}

    def adds(self, cid: str) -> CommitNotes:
        """The node is about to be told to keep that; what an attempt before has left goes."""
        return replace(self, adding=cid, leaving=tuple(sorted(self.cids - {self.cid, cid})))

    def with_whole(self, cid: str, recipient: str, size: int, at: int) -> CommitNotes:
        """It is kept, in place of the one before."""
        whole = replace(self, cid=cid, recipient=recipient, size=size, at=at, adding="", trouble="")
        return replace(whole, leaving=tuple(sorted(self.cids - {cid})))


def read_commit(path: Path) -> CommitNotes:
    """What is noted, or nothing where that cannot be read."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        raw = json.loads(path.read_text())
        return CommitNotes(**{**raw, "leaving": tuple(raw.get("leaving", ()))})
    return CommitNotes()


def write_commit(path: Path, notes: CommitNotes) -> None:
    """It is on the disk when this returns. Raises OSError: what stood there stands."""
    write_private(path, json.dumps(asdict(notes), sort_keys=True))
