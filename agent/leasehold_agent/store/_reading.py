"""For how long the files of a lease that is over have been read: what its tenant may have of a host that nobody pays.

It lies beside the notes and not in them, since whoever packs the lease's outputs holds those meanwhile. That somebody
looks is written down before he does; what an agent left open that died is counted as having been read all the time.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from leasehold.files import replace_file


@dataclass(frozen=True)
class ReadingTime:
    """`seconds` that are used up, and `since` when it is open, in unix seconds."""

    seconds: float = 0.0
    since: float | None = None

    @classmethod
    def load(cls, path: Path) -> ReadingTime:
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            raw = json.loads(path.read_bytes())
            since = raw["since"]
            return cls(float(raw["seconds"]), None if since is None else float(since))
        return cls()

    def save(self, path: Path) -> None:
        replace_file(path, json.dumps({"seconds": self.seconds, "since": self.since}).encode())

    def used(self, now: float) -> float:
        """Seconds that are used up by now. A clock that was set back gives none of them back."""
        return self.seconds + (0.0 if self.since is None else max(0.0, now - self.since))
