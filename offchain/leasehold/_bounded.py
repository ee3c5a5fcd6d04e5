"""One reader for what a machine, a node or a gateway says over HTTP: bounded before it is believed.

A few hundred KiB of gzip unfold to a gigabyte. So the bound is on what comes out, it holds while it comes out, and
nothing is unfolded but what was asked for.
"""

import zlib
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_GZIP_OR_ZLIB = 47  # zlib's number for: either, by its header


class Unreadable(Exception):
    """A body that is longer than any should be, or packed as nobody asked."""


async def read_bounded(response: "httpx.Response", most: int) -> bytes:
    """The body of a streamed response, unpacked; `most` bytes of it at most. Raises Unreadable, httpx.HTTPError."""
    return await unpacked(response.headers.get("content-encoding", ""), response.aiter_raw(), most)


async def unpacked(coding: str, parts: AsyncIterable[bytes], most: int) -> bytes:
    """A body by its parts as they come, unpacked; `most` bytes of it at most. Raises Unreadable.

    coding: what `Content-Encoding` says
    """
    unpack = _unpacker(coding)
    body = bytearray()
    async for data in parts:
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
