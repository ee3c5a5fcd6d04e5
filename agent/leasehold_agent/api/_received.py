"""Bodies of some MiB: on the disk while they come, so that however many send slowly, what waits costs little memory."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from starlette.requests import ClientDisconnect, Request

from leasehold.market.wire import BadCall, BodyTooLarge, DigestMismatch, StoreFull
from leasehold_agent.api._straight_body import body_pieces

BODY_SECONDS: Final = 120.0
PIECE: Final = 128 * 1024
"""Bytes that are taken out of a connection at once."""
KEPT: Final = 512 * 1024
"""And that are hashed and kept at once, in a thread: to go there for fewer costs more than what is done there."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE)


class ReceivedBody:
    """A body in a file without a name, which goes with it unless somebody has named it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._open = threading.Lock()

    def read(self) -> bytes:
        """All of it."""
        return self.file.read()

    def keep_as(self, path: Path) -> bool:
        """Whether the file has that name now, and stays. It has not where that is on another file system; nor where who
        sent it has gone meanwhile: the number of its descriptor may be another file's then.
        """
        with self._open:
            if self.file.closed:
                return False
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.link(f"/proc/self/fd/{self.file.fileno()}", path.name, dst_dir_fd=folder)
            except OSError:
                return False
            finally:
                os.close(folder)
            return True

    def close(self) -> None:
        with self._open:
            self.file.close()


@asynccontextmanager
async def received(
    request: Request,
    most: int,
    digest: bytes,
    folder: Path,
    carried: Callable[[int], Awaitable[None]],
) -> AsyncIterator[ReceivedBody]:
    """The body, whose digest the path names, on the disk until it was read. `carried` may slow it down.

    Raises BodyTooLarge, DigestMismatch, StoreFull; BadCall where it is too slow, or breaks off.
    """
    try:
        with contextlib.closing(ReceivedBody(_nameless(folder))) as body:
            await _fill(body.file, request, most, digest, carried)
            yield body
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise StoreFull("This host has no room for the body now; send it again later.") from None


def _nameless(folder: Path) -> BinaryIO:
    """A file without a name, which it may be given later; where there is no such, one that can have none."""
    try:
        descriptor = os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
    except OSError:
        return cast(BinaryIO, tempfile.TemporaryFile(dir=folder))
    return os.fdopen(descriptor, "w+b")


async def _fill(
    file: BinaryIO, request: Request, most: int, digest: bytes, carried: Callable[[int], Awaitable[None]]
) -> None:
    size, seen = 0, hashlib.sha256()

    def keep(parts: list[bytes]) -> None:
        for part in parts:
            seen.update(part)
            file.write(part)

    try:
        async with asyncio.timeout(BODY_SECONDS):
            async with aclosing(body_pieces(request, PIECE)) as pieces:
                gathered = list[bytes]()
                async for piece in pieces:
                    if (size := size + len(piece)) > most:
                        raise BodyTooLarge(f"The body may have {most} bytes.")
                    gathered.append(bytes(piece))
                    if sum(map(len, gathered)) >= KEPT:
                        await asyncio.to_thread(keep, gathered)
                        gathered = []
                    await carried(len(piece))
                await asyncio.to_thread(keep, gathered)
    except TimeoutError:
        raise BadCall("The body did not arrive in time; send it again.") from None
    except ClientDisconnect:
        raise BadCall("The body broke off.") from None
    if seen.digest() != digest:
        raise DigestMismatch("The bytes have another SHA-256 than the path says; send them again.")
    file.seek(0)
