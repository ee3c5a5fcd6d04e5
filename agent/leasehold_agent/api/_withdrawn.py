"""Sessions that their accounts have withdrawn before their end.

A session is a signature that its holder shows: nothing calls it back but being remembered here, for as long as any
session may last. What is remembered is in memory, so that asking costs nothing, and on the disk before whoever
withdraws hears that it is done.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Final

import aiosqlite

from leasehold.market.wire import MAX_SESSION_LIFETIME, StoreFull

MOST: Final = 64
"""Of one account, on one lease. Whoever may withdraw may fill it, and has only that account's to fill."""
_SLACK: Final = 86_400
"""A clock that is set back must not bring a session back to life."""

_Key = tuple[int, str, str]  # lease, account, session


class WithdrawnSessions:
    """`await WithdrawnSessions.open(path, now)`, and finally `close`."""

    def __init__(self, database: aiosqlite.Connection, known: dict[_Key, int]) -> None:
        self._database = database
        self._known = known

    @classmethod
    async def open(cls, path: Path, now: int) -> WithdrawnSessions:
        await asyncio.to_thread(path.touch, mode=0o600, exist_ok=True)
        database = await aiosqlite.connect(path, isolation_level=None)
        await database.execute("PRAGMA synchronous = FULL")
        await database.execute("PRAGMA busy_timeout = 5000")
        await database.execute(
            "CREATE TABLE IF NOT EXISTS withdrawn ("
            " lease TEXT NOT NULL, account TEXT NOT NULL, session TEXT NOT NULL, until INTEGER NOT NULL,"
            " PRIMARY KEY (lease, account, session)) WITHOUT ROWID"
        )
        await database.execute("DELETE FROM withdrawn WHERE until < ?", (now,))
        async with database.execute("SELECT lease, account, session, until FROM withdrawn") as rows:
            known = {(int(row[0]), str(row[1]), str(row[2])): int(row[3]) async for row in rows}
        return cls(database, known)

    def has(self, lease: int, account: str, session: str) -> bool:
        """Whether that account has withdrawn, on that lease, the session of that key."""
        return (lease, account.lower(), session.lower()) in self._known

    def of(self, lease: int, account: str) -> list[str]:
        """The keys of all that the account has withdrawn there."""
        return sorted(key[2] for key in self._known if key[:2] == (lease, account.lower()))

    async def withdraw(self, lease: int, account: str, session: str, now: int) -> None:
        """Listen to it no more. Raises `StoreFull`: the account has too many, or the disk did not take it, and a
        restart of the agent would forget it.
        """
        key = (lease, account.lower(), session.lower())
        self._known = {other: until for other, until in self._known.items() if until >= now}
        if key not in self._known and len(self.of(lease, account)) >= MOST:
            raise StoreFull(
                f"{MOST} sessions are withdrawn on this lease already; let others end by themselves."
            )
        self._known[key] = until = now + MAX_SESSION_LIFETIME + _SLACK
        try:
            await self._database.execute("DELETE FROM withdrawn WHERE until < ?", (now,))
            await self._database.execute(
                "INSERT OR REPLACE INTO withdrawn VALUES (?, ?, ?, ?)", (str(lease), key[1], key[2], until)
            )
        except sqlite3.Error:
            raise StoreFull(
                "The session is withdrawn until this agent starts anew, since its disk takes nothing now: withdraw it "
                "again later."
            ) from None

    async def close(self) -> None:
        await self._database.close()
