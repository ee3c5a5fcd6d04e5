"""One reader for what a machine, a node or a gateway says over HTTP: bounded before it is believed.

A few hundred KiB of gzip unfold to a gigabyte. So the bound is on what comes out, it holds while it comes out, and
nothing is unfolded but what was asked for.
"""

import time
import zlib
from collections.abc import AsyncIterable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_GZIP_OR_ZLIB = 47  # zlib's number for: either, by its header


_MOST_PIECES = 1_024
_BYTES_A_PIECE = 16
_PIECES_A_SECOND = 50


class Unreadable(Exception):
    """A body that is longer than any should be, packed as nobody asked, or in pieces of next to nothing."""


class Pieces:
    """Of one body as they come: each takes who reads it 15 µs, whatever is in it, and while those are taken that were
    read at once, some ten thousand of a byte, nobody else has a turn. A log may have a few a second for ever.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._count = self._bytes = 0

    def take(self, piece: bytes) -> None:
        """Raises Unreadable."""
        self._count, self._bytes = self._count + 1, self._bytes + len(piece)
        if self._count <= _MOST_PIECES + self._bytes // _BYTES_A_PIECE:
            return
        if self._count > _MOST_PIECES + _PIECES_A_SECOND * (self._clock() - self._began):
            raise Unreadable("its body comes in pieces of next to nothing")


async def read_bounded(response: "httpx.Response", most: int) -> bytes:
    """The body of a streamed response, unpacked; `most` bytes of it at most. Raises Unreadable, httpx.HTTPError."""
    return await unpacked(response.headers.get("content-encoding", ""), response.aiter_raw(), most)


async def unpacked(coding: str, parts: AsyncIterable[bytes], most: int) -> bytes:
    """A body by its parts as they come, unpacked; `most` bytes of it at most. Raises Unreadable.

    coding: what `Content-Encoding` says
    """
    unpack = _unpacker(coding)
    body, pieces = bytearray(), Pieces()
    async for data in parts:
        pieces.take(data)
        try:
            body += data if unpack is None else unpack.decompress(data, most + 1 - len(body))
        except zlib.error as error:
            raise Unreadable("its body is damaged") from error
        if len(body) > most:
            raise Unreadable(f"its body is longer than {most >> 10} KiB")
    if unpack is not None and not unpack.eof:
        raise Unreadable("its body breaks off")
    return bytes(body)


def _unpacker(coding: str) -> "zlib._Decompress | None":
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(_GZIP_OR_ZLIB)
    raise Unreadable("its body is packed in a way that nobody asked for")
