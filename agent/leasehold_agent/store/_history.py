"""What each lease used, as far back as its tenant may look: by the minute for an hour, then by the quarter of one.

A ring in a file of a size that is bounded, and nothing that anybody depends on: what cannot be written is dropped, and
a file that cannot be read is begun anew. It is kept by tenant: a lease that changes hands takes nothing along.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

STEPS: Final = ((60, 60), (900, 96))
"""Seconds, and how many of them: of each, the last reading is kept."""
_MOST_PAGES: Final = 16_384
"""Of 4 KiB. A host full of leases of an eighth that last a day takes a tenth of it; what finds no room is dropped."""
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS samples (
    lease TEXT, tenant TEXT, step INTEGER, slot INTEGER, sample TEXT, PRIMARY KEY (lease, tenant, step, slot)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class LeaseSample:
    """`at` in unix seconds; the rest as in `host.LeaseUsage`, and of cards: memory that the lease uses, and how busy
    (parts of 100) and hot (°C) those are that it has alone, of several the mean and the hottest.
    """

    at: int
    cpu_seconds: float | None = None
    memory: int | None = None
    processes: int | None = None
    read: int | None = None
    written: int | None = None
    received: int | None = None
    sent: int | None = None
    card_memory: int | None = None
    card_busy: float | None = None
    card_temperature: int | None = None


class History:
    """Any thread may use it; one at a time does."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._database = _opened(path)
        except (sqlite3.Error, OSError):
            with contextlib.suppress(OSError):
                path.unlink()
            self._database = _opened_or_none(path)

    def keep(self, samples: Mapping[tuple[int, str], LeaseSample], now: int) -> None:
        """A sample of each (lease, tenant), and no longer what is too old. What cannot be written is dropped."""
        rows = [
            (str(lease), tenant, step, now // step, json.dumps(asdict(sample)))
            for (lease, tenant), sample in samples.items()
            for step, _ in STEPS
        ]
        # A clock that was set back leaves behind what is to come.
        old = [(step, now // step - most, now // step) for step, most in STEPS]
        with self._lock, contextlib.suppress(sqlite3.Error):
            with self._database as database:  # by itself: a file that is full is full until this is done
                database.executemany("DELETE FROM samples WHERE step = ? AND (slot <= ? OR slot > ?)", old)
            with self._database as database:
                database.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?)", rows)

    def of(self, lease: int, tenant: str) -> list[LeaseSample]:
        """What is kept of a lease's time with that tenant, oldest first; nothing where it cannot be read."""
        asked = (str(lease), tenant)
        try:
            with self._lock:
                rows = self._database.execute(
                    "SELECT sample FROM samples WHERE lease = ? AND tenant = ?", asked
                ).fetchall()
            samples = {sample.at: sample for (text,) in rows if (sample := LeaseSample(**json.loads(text)))}
        except (sqlite3.Error, ValueError, TypeError):
            return []
        return [samples[at] for at in sorted(samples)]

    def close(self) -> None:
        with self._lock:
            self._database.close()


def _opened(path: Path | str) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, timeout=1.0)
    try:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"PRAGMA max_page_count = {_MOST_PAGES}")
        database.execute(_TABLE)
        database.execute("SELECT lease, tenant, step, slot, sample FROM samples LIMIT 1")
        database.commit()
    except BaseException:
        database.close()
        raise
    return database


def _opened_or_none(path: Path) -> sqlite3.Connection:
    """In memory, where the disk takes nothing."""
    try:
        return _opened(path)
    except (sqlite3.Error, OSError):
        return _opened(":memory:")
