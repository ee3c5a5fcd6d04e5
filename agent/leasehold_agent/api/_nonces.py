"""Nonces of requests that were served, so that none is served twice.

They outlive the agent: a request is valid for minutes, and a restart takes seconds. A row is written before
the request is served, with SQLite's `synchronous = NORMAL` in WAL mode: killing the agent loses nothing;
pulling the host's plug may lose the last moments' rows, which takes longer to come back from than a request
lives.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import aiosqlite

# A clock that is set back must not bring a pruned nonce back to life.
_SLACK: Final = 600
_PRUNE_EVERY: Final = 256


class NonceStore:
    """`await NonceStore.open(path)`, then `take` and finally `close`."""

    def __init__(self, database: aiosqlite.Connection) -> None:
        self._database = database
        self._taken = 0

    @classmethod
    async def open(cls, path: Path) -> NonceStore:
        await asyncio.to_thread(path.touch, mode=0o600, exist_ok=True)
        database = await aiosqlite.connect(path, isolation_level=None)
        await database.execute("PRAGMA journal_mode = WAL")
        await database.execute("PRAGMA synchronous = NORMAL")
        await database.execute("PRAGMA busy_timeout = 5000")
        await database.execute(
            "CREATE TABLE IF NOT EXISTS local_nonces ("
            " account TEXT NOT NULL, nonce BLOB NOT NULL, expires_at INTEGER NOT NULL,"
            " PRIMARY KEY (account, nonce)) WITHOUT ROWID"
        )
        await database.execute("CREATE INDEX IF NOT EXISTS local_nonces_expiry ON local_nonces (expires_at)")
        return cls(database)

    async def take(self, account: str, nonce: bytes, expires_at: int, now: int) -> bool:
        """True the first time, False for a nonce of `account` that was taken before."""
        self._taken += 1
        if self._taken % _PRUNE_EVERY == 0:
            await self._database.execute("DELETE FROM local_nonces WHERE expires_at < ?", (now - _SLACK,))
        cursor = await self._database.execute(
            "INSERT OR IGNORE INTO local_nonces VALUES (?, ?, ?)", (account.lower(), nonce, expires_at)
        )
        return cursor.rowcount == 1

    async def count(self) -> int:
        async with self._database.execute("SELECT count(*) FROM local_nonces") as cursor:
            row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def close(self) -> None:
        await self._database.close()
