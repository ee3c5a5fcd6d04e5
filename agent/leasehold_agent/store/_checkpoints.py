"""What is remembered of a lease's checkpoints: the newest two that are whole, and what may lie on the IPFS node beside.

A checkpoint is noted as being added before the node is told to keep it, and as kept after that: whoever is killed
between the two finds it noted, lets go of it, and offers it to nobody.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal

from leasehold.files import write_private
from leasehold_agent.store._last_read import LastRead

MOST_KEPT: Final = 2
CheckpointWhy = Literal["interval", "notice", "stop", "asked"]


@dataclass(frozen=True)
class KeptCheckpoint:
    """A whole one. at: when it was begun, unix seconds. read: bytes that were read for it."""

    cid: str
    at: int
    why: CheckpointWhy
    read: int = 0


@dataclass(frozen=True)
class CheckpointNotes:
    """begun_at: of the last attempt, unix seconds. took: its seconds, once it has ended. failures: how many in a row
    made none, and trouble: why the last one did. heard: the notice that the last whole one was taken for. kept: the
    oldest first. adding: what the node may have been told to keep, and is not offered. leaving: what it has not been
    told to drop yet.
    """

    begun_at: int = 0
    took: int = 0
    failures: int = 0
    trouble: str = ""
    heard: str = ""
    kept: tuple[KeptCheckpoint, ...] = ()
    adding: str = ""
    leaving: tuple[str, ...] = ()

    @property
    def newest(self) -> str | None:
        return self.kept[-1].cid if self.kept else None

    @property
    def cids(self) -> set[str]:
        """All that the node may keep for the lease."""
        return {made.cid for made in self.kept} | set(self.leaving) | ({self.adding} - {""})

    def with_kept(self, made: KeptCheckpoint) -> CheckpointNotes:
        """One more is whole. It takes the place of the same folder's, and then of the oldest."""
        others = tuple(known for known in self.kept if known.cid != made.cid)
        kept = (*others, made)[-MOST_KEPT:]
        leaving = self.cids - {known.cid for known in kept}
        return replace(self, kept=kept, adding="", leaving=tuple(sorted(leaving)))

    def given_up(self) -> CheckpointNotes:
        """What was being added when the agent was killed is nobody's."""
        leaving = self.cids - {known.cid for known in self.kept}
        return replace(self, adding="", leaving=tuple(sorted(leaving)))


def read_checkpoints(path: Path) -> CheckpointNotes:
    """What is noted, or nothing where that cannot be read."""
    return _noted.of(path)


def write_checkpoints(path: Path, notes: CheckpointNotes) -> None:
    """It is on the disk when this returns. Raises OSError: what stood there stands."""
    write_private(path, json.dumps(asdict(notes), sort_keys=True))


def _read(path: Path) -> CheckpointNotes:
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError, KeyError):
        raw = json.loads(path.read_text())
        kept = tuple(KeptCheckpoint(**made) for made in raw.pop("kept"))
        return CheckpointNotes(**{**raw, "kept": kept, "leaving": tuple(raw["leaving"])})
    return CheckpointNotes()


_noted = LastRead(_read)
