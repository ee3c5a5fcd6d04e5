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

from leasehold.market.wire import MAX_SESSION_LIFETIME, StoreFull, TooManyRequests

MOST: Final = 64
"""By one caller, on one lease of an account's: whoever has got hold of a session fills no more than his own part, and
keeps nobody from withdrawing his.
"""
MOST_IN_ALL: Final = 1_024
"""Of one account, on one lease."""
_SLACK: Final = 86_400
"""A clock that is set back must not bring a session back to life."""

_Key = tuple[int, str, str]  # lease, account, session
_Until = tuple[int, str]  # unix seconds, and by whom: the address of a session's key, or empty


class WithdrawnSessions:
    """`await WithdrawnSessions.open(path, now)`, and finally `close`."""

    def __init__(self, database: aiosqlite.Connection, known: dict[_Key, _Until]) -> None:
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
            " asker TEXT NOT NULL,"
            " PRIMARY KEY (lease, account, session)) WITHOUT ROWID"
        )
        await database.execute("DELETE FROM withdrawn WHERE until < ?", (now,))
        async with database.execute("SELECT lease, account, session, until, asker FROM withdrawn") as rows:
            known = {
                (int(row[0]), str(row[1]), str(row[2])): (int(row[3]), str(row[4])) async for row in rows
            }
        return cls(database, known)

    def has(self, lease: int, account: str, session: str) -> bool:
        """Whether that account has withdrawn, on that lease, the session of that key."""
        return (lease, account.lower(), session.lower()) in self._known

    def of(self, lease: int, account: str) -> list[str]:
        """The keys of all that the account has withdrawn there."""
        return sorted(key[2] for key in self._known if key[:2] == (lease, account.lower()))

    async def withdraw(self, lease: int, account: str, session: str, now: int, *, asker: str = "") -> None:
        """Listen to it no more. asker: the address of the session's key under which that is asked, or empty. Raises
        `TooManyRequests`: there are too many. `StoreFull`: the disk did not take it, and a restart of the agent would
        forget it.
        """
        key = (lease, account.lower(), session.lower())
        self._known = {other: until for other, until in self._known.items() if until[0] >= now}
        if key not in self._known:
            self._check_room(lease, account, asker.lower())
        until = now + MAX_SESSION_LIFETIME + _SLACK
        self._known[key] = (until, asker.lower())
        try:
            await self._database.execute("DELETE FROM withdrawn WHERE until < ?", (now,))
            await self._database.execute(
                "INSERT OR REPLACE INTO withdrawn VALUES (?, ?, ?, ?, ?)",
                (str(lease), key[1], key[2], until, asker.lower()),
            )
        except sqlite3.Error:
            raise StoreFull(
                "The session is withdrawn until this agent starts anew, since its disk takes nothing now: withdraw it "
                "again later."
            ) from None

    def _check_room(self, lease: int, account: str, asker: str) -> None:
        askers = [until[1] for key, until in self._known.items() if key[:2] == (lease, account.lower())]
        if askers.count(asker) >= MOST or len(askers) >= MOST_IN_ALL:
            raise TooManyRequests(
                f"{len(askers)} sessions are withdrawn on this lease already, of which one caller may withdraw {MOST}: "
                "let others end by themselves."
            )

    async def close(self) -> None:
        await self._database.close()
