"""Uploads that may break off and go on: on the disk while they come, then on IPFS. None of it is ever in memory.

How far an upload is, the length of its file says, whatever has died meanwhile. What is whole is added to the node in a
task of its own; an upload that is whole and not added (the process died) is added when somebody asks for it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.gateway._gateway_tables import uploads
from leasehold.gateway._keeping import AccountPins
from leasehold.gateway._refusals import Busy, Conflicting, KeepsNoMore, NotHere, TooMuch

UPLOAD_SECONDS: Final = 2 * 86_400
MOST_BYTES: Final = 20 << 30
MOST_OPEN: Final = 16
"""Uploads of one account that are under way."""
WAIT_SECONDS: Final = 20.0
"""For which whoever sent the last byte is kept waiting for the CID; later it is asked for."""
_ADDED_AT_ONCE: Final = 2
_PIECE: Final = 1 << 20
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")


class Store(Protocol):
    """The gateway's IPFS node."""

    async def block(self, data: bytes) -> str:
        """Pins one raw block; its CID."""
        ...

    async def add(self, pieces: Iterator[bytes]) -> str:
        """Pins a file; its CID."""
        ...

    async def pin(self, cid: str) -> None: ...

    async def unpin(self, cid: str) -> None: ...


@dataclass(frozen=True)
class Upload:
    """One upload. offset: bytes that are here of `size`. cid: once it is on IPFS. expires_at: unix seconds."""

    id: str
    account: str
    name: str
    size: int
    expires_at: int
    cid: str | None
    offset: int


class Uploads:
    """Of all accounts; files go to `folder`. now: unix seconds."""

    def __init__(
        self, engine: AsyncEngine, folder: Path, keeping: AccountPins, store: Store, now: Callable[[], float]
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._engine = engine
        self._folder = folder
        self._keeping = keeping
        self._store = store
        self._now = now
        self._writing: set[str] = set()
        self._adding: dict[str, asyncio.Task[None]] = {}
        self._adds = asyncio.Semaphore(_ADDED_AT_ONCE)

    async def begin(self, account: str, name: str, size: int, *, network: str) -> Upload:
        """A new one, empty. network: the caller's. Raises TooMuch, QuotaUsed, KeepsNoMore, TooManyCalls, Busy."""
        if not 1 <= size <= MOST_BYTES:
            raise TooMuch(f"An upload has 1 to {MOST_BYTES} bytes;", "divide it.")
        if await self._under_way(account) >= MOST_OPEN:
            raise Busy(f"{MOST_OPEN} uploads are under way;", "end one, or remove it.")
        row = {"id": secrets.token_urlsafe(16), "account": account, "name": name, "size": size}
        row |= {"expires_at": int(self._now()) + UPLOAD_SECONDS, "cid": None}
        await self._keeping.reserve(account, size, row, network=network)
        self._path(str(row["id"])).touch(mode=0o600)
        return await self.find(account, str(row["id"]))

    async def find(self, account: str, upload: str) -> Upload:
        """The account's upload. Raises NotHere for another's, as for none."""
        row = None
        if _ID.fullmatch(upload):  # no database takes every text, not even to look for it
            row = await self._row(account, upload)
        if row is None:
            raise NotHere("There is no such upload of yours here;", "begin a new one.")
        return Upload(**row._asdict(), offset=row.size if row.cid else self._length(upload))

    async def append(
        self,
        account: str,
        upload: str,
        offset: int,
        body: AsyncIterator[bytes],
        *,
        seconds: float = WAIT_SECONDS,
    ) -> Upload:
        """Takes what comes, from `offset` on, and keeps it also where the body breaks off.

        Raises NotHere; Conflicting where it stands elsewhere, or somebody writes to it now; TooMuch, KeepsNoMore.
        """
        found = await self.find(account, upload)
        if found.cid is None:
            if upload in self._writing:
                raise Conflicting("Something writes to that upload now;", "ask where it stands.")
            self._writing.add(upload)
            try:
                await self._write(await self.find(account, upload), offset, body)
            finally:
                self._writing.discard(upload)
        return await self.settled(account, upload, seconds=seconds)

    async def settled(self, account: str, upload: str, *, seconds: float = WAIT_SECONDS) -> Upload:
        """The upload, whose CID is waited for if all of it is here. Raises NotHere, and what adding raises."""
        found = await self.find(account, upload)
        if found.cid is not None or found.offset < found.size:
            return found
        adding = self._adding.get(upload)
        if adding is None:
            adding = self._adding[upload] = asyncio.create_task(self._put_on_ipfs(found))
            adding.add_done_callback(lambda task: self._added(upload, task))
        await asyncio.wait({adding}, timeout=seconds)
        if adding.done():
            adding.result()
        return await self.find(account, upload)

    async def drop(self, account: str, upload: str) -> None:
        """Removes one that is under way; what is on IPFS stays until it expires. Raises NotHere, Conflicting."""
        await self.find(account, upload)
        if upload in self._writing or upload in self._adding:
            raise Conflicting("Something writes to that upload now;", "try again in a moment.")
        async with self._engine.begin() as connection:
            await connection.execute(delete(uploads).where(uploads.c.id == upload))
        self._path(upload).unlink(missing_ok=True)

    async def sweep(self) -> None:
        """Removes what has expired, and files that belong to nothing."""
        async with self._engine.begin() as connection:
            over = uploads.c.expires_at <= int(self._now())
            await connection.execute(delete(uploads).where(over))
            known = set(
                (await connection.execute(select(uploads.c.id).where(uploads.c.cid.is_(None)))).scalars()
            )
        for path in self._folder.iterdir():
            if path.name not in known and path.name not in self._writing and path.name not in self._adding:
                path.unlink(missing_ok=True)

    async def close(self) -> None:
        """Gives up what is being added; it is added again when somebody asks for it."""
        tasks = list(self._adding.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------------------------------------------ privately

    async def _row(self, account: str, upload: str) -> Row[Any] | None:
        wanted = select(uploads).where(uploads.c.id == upload, uploads.c.account == account)
        async with self._engine.connect() as connection:
            return (await connection.execute(wanted)).one_or_none()

    async def _under_way(self, account: str) -> int:
        rows = select(func.count()).select_from(uploads)
        async with self._engine.connect() as connection:
            open_ = rows.where(uploads.c.account == account, uploads.c.cid.is_(None))
            return int((await connection.execute(open_)).scalar_one())

    async def _write(self, found: Upload, offset: int, body: AsyncIterator[bytes]) -> None:
        if offset != found.offset:
            raise Conflicting(f"The upload stands at {found.offset};", "go on from there.")
        left, parts, gathered = found.size - offset, list[bytes](), 0
        try:
            async for chunk in body:
                if len(chunk) > left:
                    raise TooMuch(f"The upload has {found.size} bytes and no more;", "send what you said.")
                left -= len(chunk)
                parts.append(chunk)
                if (gathered := gathered + len(chunk)) >= _PIECE:
                    await self._put(found.id, b"".join(parts))
                    parts, gathered = [], 0
        finally:
            if parts:
                await self._put(found.id, b"".join(parts))

    async def _put(self, upload: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(_append, self._path(upload), data)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise KeepsNoMore("The gateway's disk is full;", "try again later.") from None

    async def _put_on_ipfs(self, found: Upload) -> None:
        async with self._adds:
            cid = await self._store.add(_pieces(self._path(found.id)))

        async def pin() -> None:
            await self._store.pin(cid)  # again: another account's may have ended since it was added

        await self._keeping.keep(found.account, cid, found.size, pin, network=None)
        async with self._engine.begin() as connection:
            await connection.execute(update(uploads).where(uploads.c.id == found.id).values(cid=cid))
        self._path(found.id).unlink(missing_ok=True)

    def _added(self, upload: str, task: asyncio.Task[None]) -> None:
        self._adding.pop(upload, None)
        if not task.cancelled():
            task.exception()  # whoever waits is told; if nobody does, the next who asks tries again

    def _length(self, upload: str) -> int:
        try:
            return self._path(upload).stat().st_size
        except FileNotFoundError:
            raise NotHere(
                "That upload is at another replica of this gateway, or lost;", "begin a new one."
            ) from None

    def _path(self, upload: str) -> Path:
        return self._folder / upload


def _append(path: Path, data: bytes) -> None:
    """Whole or not at all: what a full disk took of it would be taken for sent."""
    with path.open("ab", buffering=0) as file:
        begin = file.tell()
        try:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(file.fileno(), begin)
            raise


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece
