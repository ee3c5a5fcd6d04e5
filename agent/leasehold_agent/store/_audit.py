"""Who did what on a lease, for its tenant to read: the caller, what was asked for, when, and whether it was let in.

What was in a request is not kept. Acts of one kind by one caller in one hour are one entry, written before the act. The
log is bounded in such a way that nobody pushes out what others did: of too many entries of a lease, the oldest go of
whichever caller has most. Who cannot show a right to a lease is no caller: such tries are counted by their reason, and
counts reach the disk once a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiosqlite
import structlog

from leasehold.chain import format_lease
from leasehold.market.wire import AuditedAct, LeaseAudit, RefusedTries

_log = structlog.get_logger("leasehold_agent.store")

BEGUN: Final = "begun"
DONE: Final = "done"
MOST_ENTRIES: Final = 1_000
"""Of one account, on one lease."""
_HOUR: Final = 3_600
_FLUSH_SECONDS: Final = 60
_TIDY_EVERY: Final = 1_024
_GONE_SECONDS: Final = 86_400
"""How long what is unknown here is kept all the same: an agent that has only begun knows little."""
_MOST_PAGES: Final = 65_536
"""Of 4 KiB."""
_MOST_COUNTED: Final = 4_096
"""Counts in memory; a lease has a handful."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS acts (
    lease TEXT NOT NULL, account TEXT NOT NULL, session TEXT NOT NULL, op TEXT NOT NULL, outcome TEXT NOT NULL,
    hour INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (lease, account, session, op, outcome, hour)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (
    lease TEXT NOT NULL, account TEXT NOT NULL, reason TEXT NOT NULL, times INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (lease, account, reason)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dropped (
    lease TEXT NOT NULL, account TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (lease, account)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class NotedAct:
    """What a caller was let in for, at unix seconds. session: the address of the session's key, or empty."""

    lease: int
    account: str
    session: str
    op: str
    at: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        return str(self.lease), self.account.lower(), self.session, self.op

    @property
    def hour(self) -> int:
        return self.at // _HOUR


class AuditLog:
    """`await AuditLog.open(path, is_here)`, and finally `close`. is_here: whether a lease, or what was kept of it, is
    on this host still.
    """

    def __init__(self, database: aiosqlite.Connection, is_here: Callable[[int], Awaitable[bool]]) -> None:
        self._database = database
        self._is_here = is_here
        self._begun = 0
        self._lost = 0
        self._counts: dict[tuple[int, str, str], tuple[int, int]] = {}
        self._flushed = 0

    @classmethod
    async def open(cls, path: Path, is_here: Callable[[int], Awaitable[bool]]) -> AuditLog:
        """A file that is damaged is begun anew. Raises OSError, sqlite3.Error: the disk takes none."""
        try:
            return cls(await _opened(path), is_here)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            _log.warning("audit.damaged", problem=str(error))
            await asyncio.to_thread(path.unlink)
            return cls(await _opened(path), is_here)

    # Writing: what the disk does not take is counted, and keeps no tenant waiting.

    async def begin(self, act: NotedAct) -> None:
        """It is about to be done."""
        self._begun += 1
        with self._losing():
            if self._begun % _TIDY_EVERY == 0:
                await self._tidy(act.at)
            await self._add(act, BEGUN, act.at)

    async def end(self, act: NotedAct, outcome: str, now: int) -> None:
        """What came of what was begun."""
        with self._losing():
            await self._database.execute(
                "UPDATE acts SET times = times - 1"
                " WHERE (lease, account, session, op) = (?, ?, ?, ?) AND outcome = ? AND hour = ?",
                (*act.key, BEGUN, act.hour),
            )
            await self._database.execute(
                "DELETE FROM acts"
                " WHERE (lease, account, session, op) = (?, ?, ?, ?) AND outcome = ? AND hour = ? AND times <= 0",
                (*act.key, BEGUN, act.hour),
            )
            await self._add(act, outcome, now)

    async def refuse(self, lease: int, tenant: str, reason: str, now: int) -> None:
        """Somebody was turned away from a lease of that tenant's. The disk hears of it with the next minute's."""
        key = (lease, tenant.lower(), reason)
        if key in self._counts or len(self._counts) < _MOST_COUNTED:
            self._counts[key] = self._counts.get(key, (0, 0))[0] + 1, now
        if not 0 <= now - self._flushed < _FLUSH_SECONDS:
            await self.flush(now)

    async def done(self, act: NotedAct) -> None:
        """It was let in, and there is nothing to wait for."""
        with self._losing():
            await self._add(act, DONE, act.at)

    async def flush(self, now: int) -> None:
        """Counts go to the disk."""
        counts, self._counts, self._flushed = self._counts, {}, now
        with self._losing():
            for (lease, account, reason), (times, last) in counts.items():
                await self._database.execute(
                    "INSERT INTO refused VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                    " SET times = times + excluded.times, last = excluded.last",
                    (str(lease), account, reason, times, last),
                )

    # Reading

    async def of(self, lease: int, account: str, now: int) -> LeaseAudit:
        """What was done on a lease while it was that account's. Raises sqlite3.Error."""
        await self.flush(now)
        asked = (str(lease), account.lower())
        acts = await self._database.execute_fetchall(
            "SELECT session, op, outcome, first, last, times FROM acts WHERE lease = ? AND account = ?"
            " ORDER BY first, last",
            asked,
        )
        refused = await self._database.execute_fetchall(
            "SELECT reason, times, last FROM refused WHERE lease = ? AND account = ? ORDER BY reason", asked
        )
        dropped = await self._database.execute_fetchall(
            "SELECT times FROM dropped WHERE lease = ? AND account = ?", asked
        )
        return LeaseAudit(
            lease=format_lease(lease),
            acts=[
                AuditedAct(
                    account=account, session=row[0] or None, op=row[1], outcome=row[2],
                    first=row[3], last=row[4], times=row[5],
                )
                for row in acts
            ],
            refused=[RefusedTries(reason=row[0], times=row[1], last=row[2]) for row in refused],
            dropped=sum(row[0] for row in dropped),
            lost=self._lost,
        )  # fmt: skip

    async def close(self, now: int) -> None:
        await self.flush(now)
        await self._database.close()

    # How

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        """A disk that takes nothing more keeps nobody out, and the log says that it is not whole."""
        try:
            yield
        except sqlite3.Error as error:
            if not self._lost:
                _log.warning("audit.lost", problem=str(error))
            self._lost += 1

    async def _add(self, act: NotedAct, outcome: str, now: int) -> None:
        (row,) = await self._database.execute_fetchall(
            "INSERT INTO acts VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE"
            " SET times = times + 1, last = max(last, excluded.last) RETURNING times",
            (*act.key, outcome, act.hour, act.at, now),
        )
        if row[0] == 1:
            await self._bound(str(act.lease), act.account.lower())

    async def _bound(self, lease: str, account: str) -> None:
        """Of too many entries the oldest of whichever caller has most."""
        of_it = (lease, account)
        (row,) = await self._database.execute_fetchall(
            "SELECT count(*) FROM acts WHERE lease = ? AND account = ?", of_it
        )
        for _ in range(max(0, row[0] - MOST_ENTRIES)):
            await self._database.execute(
                "DELETE FROM acts WHERE (lease, account, session, op, outcome, hour) IN ("
                " SELECT lease, account, session, op, outcome, hour FROM acts"
                " WHERE lease = ? AND account = ? AND session = ("
                "  SELECT session FROM acts WHERE lease = ? AND account = ?"
                "  GROUP BY session ORDER BY count(*) DESC, session LIMIT 1)"
                " ORDER BY last, op, outcome LIMIT 1)",
                (*of_it, *of_it),
            )
            await self._database.execute(
                "INSERT INTO dropped VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1", of_it
            )

    async def _tidy(self, now: int) -> None:
        """Leases of which nothing is here any more go from the log, too."""
        rows = await self._database.execute_fetchall(
            "SELECT lease FROM acts GROUP BY lease HAVING max(last) < ?", (now - _GONE_SECONDS,)
        )
        for (lease,) in rows:
            if not await self._is_here(int(lease)):
                for table in ("acts", "refused", "dropped"):
                    await self._database.execute(f"DELETE FROM {table} WHERE lease = ?", (lease,))


async def _opened(path: Path) -> aiosqlite.Connection:
    await asyncio.to_thread(path.touch, mode=0o600, exist_ok=True)
    database = await aiosqlite.connect(path, isolation_level=None)
    try:
        await database.execute("PRAGMA journal_mode = WAL")
        await database.execute("PRAGMA synchronous = NORMAL")
        await database.execute("PRAGMA busy_timeout = 5000")
        await database.execute(f"PRAGMA max_page_count = {_MOST_PAGES}")
        await database.executescript(_TABLES)
    except BaseException:
        await database.close()
        raise
    return database
