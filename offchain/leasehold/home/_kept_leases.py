"""Leases that were rented for longer than was paid at once: by how much each is extended, and what bounds that."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from leasehold.chain import Deployment
from leasehold.files import write_private

_MOST = 256  # files; the oldest go first


@dataclass(frozen=True)
class KeptLease:
    """One is extended `by` so many seconds at a time, until it has lived for `at_most`, as long as all that it has held
    and paid is no more than `budget` token units. machine: on which it was opened.
    """

    machine: int
    by: int
    at_most: int
    budget: int


class KeptLeases:
    """Of one pool's leases, a small file each under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / "kept-leases" / pool

    def keep(self, lease: int, kept: KeptLease) -> None:
        """Raises OSError."""
        write_private(self._folder / str(lease), orjson.dumps(asdict(kept)))
        files = [path for path in self._folder.iterdir() if path.name[0] != "."]
        for old in sorted(files, key=lambda path: path.stat().st_mtime)[:-_MOST]:
            old.unlink(missing_ok=True)

    def get(self, lease: int, machine: int) -> KeptLease | None:
        """What bounds that lease on that machine; `None` where nothing is known that can be read. A number that a
        reorganisation gave to another lease is mostly another machine's.
        """
        with contextlib.suppress(OSError, ValueError, TypeError):
            kept = KeptLease(**orjson.loads((self._folder / str(lease)).read_bytes()))
            if kept.machine == machine and all(
                type(word) is int and word > 0 for word in asdict(kept).values()
            ):
                return kept
        return None
