"""Sealed workloads that were handed over from here, kept by their digest, so that they can be handed over again.

An agent drops a workload that no lease has claimed within an hour. A group may sign for days, and renting again wants
what an earlier lease had. The files can be opened by the machine alone that they are sealed to.
"""

from __future__ import annotations

from pathlib import Path

from leasehold.files import write_private
from leasehold.workload import MAX_SEALED_BYTES, digest

_MOST = 64  # files; the oldest go first


class SealedWorkloads:
    """The folder `workloads` under a home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "workloads"

    def keep(self, sealed: bytes) -> None:
        """Keep one, and drop the oldest where there are too many."""
        write_private(self._folder / digest(sealed).hex(), sealed)
        kept = [path for path in self._folder.iterdir() if path.name[0] != "."]
        for old in sorted(kept, key=lambda path: path.stat().st_mtime)[:-_MOST]:
            old.unlink(missing_ok=True)

    def get(self, wanted: bytes) -> bytes | None:
        """The one of a digest, if it was handed over from here."""
        try:
            with (self._folder / wanted.hex()).open("rb") as file:
                sealed = file.read(MAX_SEALED_BYTES + 1)
        except OSError:
            return None
        return sealed if digest(sealed) == wanted else None
