"""The part of IPFS's data model that a fetch must understand to believe nobody: CIDs, dag-pb nodes, UnixFS.

Every block is checked against its CID before it is looked at. What is parsed here was made by strangers.
Sources: the specifications at specs.ipfs.tech (UnixFS, dag-pb).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from leasehold.chain import InvalidCid, cid_from_bytes, cid_to_bytes
from leasehold.errors import DatasetCorrupt

RAW: Final = 0x55
DAG_PB: Final = 0x70
MAX_BLOCK: Final = 2 * 1024 * 1024
"""Larger blocks do not travel between nodes."""

_IDENTITY: Final = 0x00
_HASHES: Final = {0x12: "sha256", 0x13: "sha512", 0xB220: "blake2b"}


class NodeKind(IntEnum):
    """UnixFS node types."""

    RAW = 0
    DIRECTORY = 1
    FILE = 2
    METADATA = 3
    SYMLINK = 4
    HAMT = 5


@dataclass(frozen=True, slots=True)
class Cid:
    """A CID taken apart. `text` is its usual form."""

    text: str
    codec: int
    hash: int
    digest: bytes

    @classmethod
    def parse(cls, text: str) -> "Cid":
        """Raises InvalidCid."""
        return cls.from_bytes(cid_to_bytes(text))

    @classmethod
    def from_bytes(cls, binary: bytes) -> "Cid":
        """Raises InvalidCid."""
        text = cid_from_bytes(binary)
        if binary[0] != 1:
            return cls(text, DAG_PB, 0x12, binary[2:])
        try:
            codec, at = _varint(binary, 1)
            function, at = _varint(binary, at)
            length, at = _varint(binary, at)
        except ValueError as error:
            raise InvalidCid(text) from error
        if len(binary) - at != length:
            raise InvalidCid(text)
        if codec not in (RAW, DAG_PB) or (function != _IDENTITY and function not in _HASHES):
            raise InvalidCid(text, "is of a codec or hash function that is not served")
        return cls(text, codec, function, binary[at:])

    @property
    def inline(self) -> bytes | None:
        """The block itself, where the CID carries it."""
        return self.digest if self.hash == _IDENTITY else None

    def matches(self, block: bytes | memoryview) -> bool:
        """Whether `block` is what this CID names."""
        if self.hash == _IDENTITY:
            return self.digest == block
        if self.hash == 0xB220:
            return hashlib.blake2b(block, digest_size=32).digest() == self.digest
        return hashlib.new(_HASHES[self.hash], block).digest() == self.digest


@dataclass(frozen=True, slots=True)
class Link:
    """A child: its CID, its name in a folder, the size of its whole DAG as the publisher says."""

    cid: Cid
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class UnixNode:
    """A UnixFS node. `sizes` are the content bytes under each link of a file, `data` what it holds itself."""

    kind: NodeKind
    data: bytes
    links: tuple[Link, ...]
    sizes: tuple[int, ...]
    size: int


def parse_node(cid: Cid, block: bytes) -> UnixNode:
    """The UnixFS node in `block`, which has been checked against `cid` before.

    Raises DatasetCorrupt for what is not one.
    """
    if cid.codec == RAW:
        return UnixNode(NodeKind.RAW, block, (), (), len(block))
    try:
        return _parse(block)
    except (ValueError, InvalidCid) as error:
        raise DatasetCorrupt(cid.text, f"it is no UnixFS node: {error}") from error


def leaf_block(kind: NodeKind, data: bytes | memoryview) -> bytes:
    """The dag-pb block of a file's leaf that is not raw, as every implementation writes it."""
    content = b"\x08" + bytes((kind,))
    if data:
        content += b"\x12" + _encode_varint(len(data)) + bytes(data)
    content += b"\x18" + _encode_varint(len(data))
    return b"\x0a" + _encode_varint(len(content)) + content


def _parse(block: bytes) -> UnixNode:
    data, links = b"", []
    for field, value in _fields(block):
        if field == 1 and isinstance(value, bytes):
            data = value
        elif field == 2 and isinstance(value, bytes):
            links.append(_parse_link(value))
    kind, content, size, sizes = -1, b"", None, []
    for field, value in _fields(data):
        if field == 1 and isinstance(value, int):
            kind = value
        elif field == 2 and isinstance(value, bytes):
            content = value
        elif field == 3 and isinstance(value, int):
            size = value
        elif field == 4 and isinstance(value, int):
            sizes.append(value)
        elif field == 4 and isinstance(value, bytes):
            sizes.extend(_packed(value))
    if kind in (NodeKind.FILE, NodeKind.RAW) and len(sizes) != len(links):
        raise ValueError("a file's sizes do not fit its links")
    if kind == NodeKind.SYMLINK and links:
        raise ValueError("a link has no parts")
    total = len(content) + sum(sizes)
    if kind in (NodeKind.FILE, NodeKind.RAW) and size not in (None, total):
        raise ValueError("a file's size is not the sum of its parts")
    return UnixNode(NodeKind(kind), content, tuple(links), tuple(sizes), total)


def _parse_link(encoded: bytes) -> Link:
    cid, name, size = b"", "", 0
    for field, value in _fields(encoded):
        if field == 1 and isinstance(value, bytes):
            cid = value
        elif field == 2 and isinstance(value, bytes):
            name = value.decode("utf-8")
        elif field == 3 and isinstance(value, int):
            size = value
    return Link(Cid.from_bytes(cid), name, size)


def _fields(encoded: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Protobuf's fields: varints as int, length-delimited ones as bytes."""
    at = 0
    while at < len(encoded):
        key, at = _varint(encoded, at)
        if key & 7 == 0:
            number, at = _varint(encoded, at)
            yield key >> 3, number
        elif key & 7 == 2:
            length, at = _varint(encoded, at)
            if at + length > len(encoded):
                raise ValueError("a field is longer than its block")
            yield key >> 3, encoded[at : at + length]
            at += length
        elif key & 7 == 5 and at + 4 <= len(encoded):
            at += 4  # fixed32: the fraction of a modification time, which is not used
        else:
            raise ValueError("a field has an unknown form")


def _packed(encoded: bytes) -> Iterator[int]:
    at = 0
    while at < len(encoded):
        number, at = _varint(encoded, at)
        yield number


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and where the next thing begins. Raises ValueError."""
    number = shift = 0
    while True:
        if at >= len(encoded) or shift > 63:
            raise ValueError("a number does not end")
        byte = encoded[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _encode_varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
