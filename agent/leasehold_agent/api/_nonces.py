"""Nonces of requests that were served, so that none is served twice.

They outlive the agent: a request is valid for minutes, and a restart takes seconds. A row is written before the
request is served, with SQLite's `synchronous = NORMAL` in WAL mode: killing the agent loses nothing; pulling the
host's plug may lose the last moments' rows, which takes longer to come back from than a request lives.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Final

import aiosqlite

# A clock that is set back must not bring a pruned nonce back to life.
_SLACK: Final = 600
_PRUNE_EVERY: Final = 256
_MOST_UNWRITTEN: Final = 65_536


class NonceStore:
    """`await NonceStore.open(path)`, then `take` and finally `close`."""

    def __init__(self, database: aiosqlite.Connection) -> None:
        self._database = database
        self._taken = 0
        self._unwritten: dict[tuple[str, bytes], int] = {}

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
        try:
            return (account.lower(), nonce) not in self._unwritten and await self._write(
                account, nonce, expires_at, now
            )
        except sqlite3.Error:
            return await self._remember(account, nonce, expires_at, now)

    async def _write(self, account: str, nonce: bytes, expires_at: int, now: int) -> bool:
        if self._taken % _PRUNE_EVERY == 0:
            await self._database.execute("DELETE FROM local_nonces WHERE expires_at < ?", (now - _SLACK,))
        cursor = await self._database.execute(
            "INSERT OR IGNORE INTO local_nonces VALUES (?, ?, ?)", (account.lower(), nonce, expires_at)
        )
        return cursor.rowcount == 1

    async def _remember(self, account: str, nonce: bytes, expires_at: int, now: int) -> bool:
        """On a disk that takes nothing more: tenants are served all the same. What is known in memory alone, a restart
        within the request's few minutes forgets, and then only who sent it, or broke its TLS, could send it again.
        """
        key = (account.lower(), nonce)
        query = "SELECT 1 FROM local_nonces WHERE account = ? AND nonce = ?"
        async with self._database.execute(query, key) as cursor:
            if await cursor.fetchone() is not None:
                return False
        if len(self._unwritten) >= _MOST_UNWRITTEN:
            self._unwritten = {k: until for k, until in self._unwritten.items() if until >= now - _SLACK}
        if len(self._unwritten) >= _MOST_UNWRITTEN or key in self._unwritten:
            return False
        self._unwritten[key] = expires_at
        return True

    async def count(self) -> int:
        async with self._database.execute("SELECT count(*) FROM local_nonces") as cursor:
            row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def close(self) -> None:
        await self._database.close()
