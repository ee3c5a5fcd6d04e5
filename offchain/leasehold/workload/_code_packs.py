"""Pieces of files on their way to a machine: some MiB of them at a time, compressed, each known by its digest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from typing import Final

import zstandard

from leasehold.errors import CodeInvalid
from leasehold.workload._code_tree import CHUNK, MAX_CODE_TREE

PACK: Final = 7 << 20
"""Bytes of pieces after which a pack is full."""
MAX_PACK: Final = PACK + CHUNK
MAX_PACKED: Final = MAX_PACK + (MAX_PACK >> 7) + 4096
"""What a pack comes to, packed, at most: what does not compress grows a little."""
_LEVEL: Final = 1
_SIZE: Final = struct.Struct(">I")


def packs(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces as packs, each full but the last."""
    full: list[bytes] = []
    size = 0
    for piece in pieces:
        full.append(piece)
        size += len(piece)
        if size >= PACK:
            yield packed(full)
            full, size = [], 0
    if full:
        yield packed(full)


def packed(pieces: list[bytes]) -> bytes:
    """One pack."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL)
    framed = [part for piece in pieces for part in (_SIZE.pack(len(piece)), piece)]
    return compressor.compress(b"".join(framed))


def unpacked(pack: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Each piece and its digest, out of what a stranger packed. Raises CodeInvalid."""
    data = memoryview(unfolded(pack, MAX_PACK + (MAX_PACK >> 4)))
    at, end = 0, len(data)
    while at < end:
        if at + _SIZE.size > end:
            raise CodeInvalid("a pack breaks off")
        (size,) = _SIZE.unpack_from(data, at)
        at += _SIZE.size
        if not 0 < size <= CHUNK or at + size > end:
            raise CodeInvalid("a piece has another size than there can be")
        piece = data[at : at + size]
        at += size
        yield hashlib.sha256(piece).digest(), piece


def fold(data: bytes) -> bytes:
    """A list, compressed."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def unfolded(data: bytes, most: int = MAX_CODE_TREE) -> bytes:
    """What was folded, of `most` bytes at most, whatever it says of itself. Raises CodeInvalid."""
    try:
        says = zstandard.frame_content_size(data)
        if not 0 <= says <= most:  # it is room that would be made at once
            raise CodeInvalid(f"it comes to more than {most} bytes, or does not say to how many")
        return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(
            data, max_output_size=most, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise CodeInvalid(f"it cannot be unpacked ({error})") from None
