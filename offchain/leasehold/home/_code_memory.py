"""What files of a folder of code were when they were read last, so that only what has changed is read again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import orjson

from leasehold.files import replace_file
from leasehold.workload import KnownFiles

_DIGEST = 32
_MOST = 64  # folders; the oldest go first


class CodeMemory:
    """One file under a home for each folder. It may go at any time: then the folder is read once more."""

    def __init__(self, home: Path, folder: Path) -> None:
        name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:40]
        self._path = home / "code" / f"{name}.json"

    def load(self) -> KnownFiles:
        """By path. Nothing where it cannot be read."""
        try:
            raw = orjson.loads(self._path.read_bytes())
            return {path.encode("latin-1"): (tuple(seen), _cut(chunks)) for path, seen, chunks in raw}
        except (OSError, ValueError, TypeError):
            return {}

    def save(self, known: KnownFiles) -> None:
        """Keep it, and drop the oldest folders where there are too many."""
        rows = [
            (path.decode("latin-1"), seen, b"".join(chunks).hex()) for path, (seen, chunks) in known.items()
        ]
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path, orjson.dumps(rows), forced=False)
        kept = [path for path in self._path.parent.iterdir() if path.name[0] != "."]
        for old in sorted(kept, key=lambda path: path.stat().st_mtime)[:-_MOST]:
            old.unlink(missing_ok=True)


def _cut(chunks: str) -> tuple[bytes, ...]:
    joined = bytes.fromhex(chunks)
    return tuple(joined[at : at + _DIGEST] for at in range(0, len(joined), _DIGEST))
