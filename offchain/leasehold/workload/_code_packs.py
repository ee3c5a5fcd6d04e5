"""Pieces of files on their way to a machine: some MiB of them at a time, compressed, each known by its digest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import zstandard

from leasehold.errors import CodeInvalid
from leasehold.workload._code_tree import CHUNK, MAX_CODE_TREE

PACK: Final = 7 << 20
"""Bytes of pieces after which a pack is full."""
FIRST: Final = 1 << 20
"""And the first one, by whose way it is told how fast the others travel."""
MAX_PACK: Final = PACK + CHUNK
MAX_PACKED: Final = MAX_PACK + (MAX_PACK >> 4) + 4096
"""What a pack comes to, packed, at most: what does not compress grows a little."""
_MAX_FRAMED: Final = MAX_PACK + (MAX_PACK >> 4)
_LEVEL: Final = 1
_SIZE: Final = struct.Struct(">I")


def packs(pieces: Iterable[bytes], compress: Callable[[], bool] = lambda: True) -> Iterator[bytes]:
    """Pieces as packs, each full but the last, the first one smaller. `compress` is asked before each."""
    framed: list[bytes] = []
    size, full = 0, FIRST
    for piece in pieces:
        framed += (_SIZE.pack(len(piece)), piece)
        size += len(piece)
        if size >= full:
            yield _packed(framed, compress())
            framed, size, full = [], 0, PACK
    if framed:
        yield _packed(framed, compress())


def _packed(framed: list[bytes], compress: bool) -> bytes:
    """One pack. What is not compressed begins with a length, which zstd's first bytes never are."""
    joined = b"".join(framed)
    return fold(joined) if compress else joined


def unpacked(pack: bytes) -> Unpacked:
    """The pieces of what a stranger packed. Raises CodeInvalid."""
    folded = pack.startswith(zstandard.FRAME_HEADER)
    data = unfolded(pack, _MAX_FRAMED) if folded else pack
    view, at, end, pieces = memoryview(data), 0, len(data), list[tuple[bytes, int, int]]()
    while at < end:
        if at + _SIZE.size > end:
            raise CodeInvalid("a pack breaks off")
        (size,) = _SIZE.unpack_from(data, at)
        at += _SIZE.size
        if not 0 < size <= CHUNK or at + size > end:
            raise CodeInvalid("a piece has another size than there can be")
        pieces.append((hashlib.sha256(view[at : at + size]).digest(), at, size))
        at += size
    return Unpacked(data, tuple(pieces))


@dataclass(frozen=True)
class Unpacked:
    """pieces: the digest of each, and where in `data` it begins and how long it is."""

    data: bytes
    pieces: tuple[tuple[bytes, int, int], ...]


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
