"""Bodies of some MiB: on the disk while they come, so that however many send slowly, what waits costs no memory."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Final

from starlette.requests import ClientDisconnect, Request

from leasehold.market.wire import BadCall, BodyTooLarge, DigestMismatch, StoreFull

BODY_SECONDS: Final = 120.0
MUCH: Final = 64 * 1024
"""Bytes that came at once, of which hashing and keeping takes the loop's time for longer than handing them on."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE)


@asynccontextmanager
async def received(
    request: Request,
    most: int,
    digest: bytes,
    folder: Path,
    carried: Callable[[int], Awaitable[None]],
) -> AsyncIterator[BinaryIO]:
    """The body, whose digest the path names, as a file that goes when it was read. `carried` may slow it down.

    Raises BodyTooLarge, DigestMismatch, StoreFull; BadCall where it is too slow, or breaks off.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            await _fill(file, request, most, digest, carried)
            yield file
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise StoreFull("This host has no room for the body now; send it again later.") from None


async def _fill(
    file: BinaryIO, request: Request, most: int, digest: bytes, carried: Callable[[int], Awaitable[None]]
) -> None:
    size, seen = 0, hashlib.sha256()

    def keep(chunk: bytes) -> None:
        seen.update(chunk)
        file.write(chunk)

    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                if (size := size + len(chunk)) > most:
                    raise BodyTooLarge(f"The body may have {most} bytes.")
                if len(chunk) < MUCH:
                    keep(chunk)
                else:
                    await asyncio.to_thread(keep, chunk)
                await carried(len(chunk))
    except TimeoutError:
        raise BadCall("The body did not arrive in time; send it again.") from None
    except ClientDisconnect:
        raise BadCall("The body broke off.") from None
    if seen.digest() != digest:
        raise DigestMismatch("The bytes have another SHA-256 than the path says; send them again.")
    file.seek(0)
