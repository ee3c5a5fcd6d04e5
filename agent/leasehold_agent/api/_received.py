"""Bodies of some MiB: on the disk while they come, so that however many send slowly, what waits costs little memory."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Final

from starlette.requests import ClientDisconnect, Request

from leasehold.market.wire import BadCall, BodyTooLarge, DigestMismatch, StoreFull
from leasehold_agent.api._straight_body import body_pieces

BODY_SECONDS: Final = 120.0
PIECE: Final = 128 * 1024
"""Bytes that are taken out of a connection at once."""
KEPT: Final = 512 * 1024
"""And that are hashed and kept at once, in a thread: to go there for fewer costs more than what is done there."""
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
