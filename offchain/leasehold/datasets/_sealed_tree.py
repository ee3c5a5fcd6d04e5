"""A folder as it travels sealed: what is in the index, and how it and the chunks are sealed.

A tree is an index and chunks of at most a block each, all sealed under one key of 32 bytes. The same bytes sealed under
the same key are the same bytes again (AES-SIV), so that a second export of a tree that changed little has most of the
CIDs of the first: nodes send one another what they lack. Who has no key sees how many chunks there are, how long, and
which of two exports of one tree are the same.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from leasehold.errors import DatasetCorrupt, DatasetTooLarge, WrongIdentity

CHUNK: Final = (1 << 20) - 16
"""What fits into one block, with its seal."""
INDEX_NAME, DATA_FOLDER = "index", "data"
MAX_ENTRIES: Final = 400_000
MAX_DEPTH: Final = 256
MAX_INDEX: Final = 128 << 20
MAX_LISTS: Final = 2_000_000
"""An entry is a list, and each part of a file: read as JSON, they take many times the memory of their bytes."""
_MOST_VALUES: Final = 12_000_000
"""So does every number and every word, whatever it stands in."""
_PURPOSE: Final = b"leasehold volume export 1"
_MODES: Final = 0o1777
"""Nothing in a volume is run with others' rights: those bits do not travel."""
_HIGHEST_ID: Final = 2**32 - 2
_LONGEST_NAME, _LONGEST_TARGET = 255, 4095

Kind: TypeAlias = Literal["folder", "file", "link", "same"]
_KINDS: Final[tuple[Kind, ...]] = ("folder", "file", "link", "same")


@dataclass(frozen=True, slots=True)
class Segment:
    """`length` bytes of a file at `offset`, which lie in a chunk at `at`; what no segment covers is a hole."""

    offset: int
    length: int
    chunk: int
    at: int


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a folder. parent: the number of its folder's entry, -1 for the root. target: of a link. same: the
    number of the file that this one is too. time: of its last change, nanoseconds.
    """

    parent: int
    name: bytes
    kind: Kind
    mode: int = 0
    owner: int = 0
    group: int = 0
    time: int = 0
    size: int = 0
    target: bytes = b""
    same: int = -1
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeIndex:
    """chunks: the SHA-256 of each, sealed. skipped: what does not travel: pipes, sockets, devices."""

    entries: tuple[TreeEntry, ...]
    chunks: tuple[bytes, ...]
    skipped: int = 0


class TreeSeal:
    """Seals and opens under a key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(hashlib.shake_256(_PURPOSE + key).digest(64))

    def seal(self, data: bytes, what: bytes) -> bytes:
        """The same data and `what` under the same key give the same bytes."""
        return self._cipher.encrypt(data, [what])

    def open(self, sealed: bytes, what: bytes) -> bytes:
        """Raises WrongIdentity: it was sealed under another key, or is damaged."""
        try:
            return self._cipher.decrypt(sealed, [what])
        except (InvalidTag, ValueError) as error:
            raise WrongIdentity("the export of the volume") from error


def encode_index(index: TreeIndex) -> bytes:
    """As it is sealed. Names and targets are bytes, of which each is written as the character of its number.

    Raises DatasetTooLarge: nobody would read it.
    """
    encoded = orjson.dumps(
        {
            "version": 1,
            "chunks": [chunk.hex() for chunk in index.chunks],
            "skipped": index.skipped,
            "entries": [_row(entry) for entry in index.entries],
        }
    )
    if len(encoded) > MAX_INDEX - 16 or _too_many(encoded):
        raise DatasetTooLarge("The list of the volume's files", len(encoded), MAX_INDEX - 16)
    return encoded


def decode_index(encoded: bytes, cid: str) -> TreeIndex:
    """What `encode_index` made. It was sealed by whoever has the key, and is believed in nothing.

    Raises DatasetCorrupt: an entry could lead out of the tree, or is none.
    """
    try:
        if _too_many(encoded):
            raise ValueError("it is larger than any volume needs")
        raw = orjson.loads(encoded)
        if raw["version"] != 1 or len(raw["entries"]) > MAX_ENTRIES:
            raise ValueError("it is of another version, or larger than any volume needs")
        chunks = tuple(bytes.fromhex(chunk) for chunk in raw["chunks"])
        if any(len(chunk) != 32 for chunk in chunks):
            raise ValueError("a chunk has no SHA-256")
        entries = tuple(_checked(raw["entries"], len(chunks)))
        return TreeIndex(entries, chunks, int(raw["skipped"]))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise DatasetCorrupt(cid, f"it is no export of a volume: {error}") from error


def _too_many(encoded: bytes) -> bool:
    """Whether there is more in it than in any index, as it is counted without reading it. What is no list there would
    be as large: a dictionary of one word takes two hundred bytes, and six of them in JSON.
    """
    lists = sum(encoded.count(sign) for sign in (b"[", b"{", b":"))
    return lists > MAX_LISTS or encoded.count(b",") > _MOST_VALUES


def path_of(entries: Sequence[TreeEntry], number: int) -> tuple[bytes, ...]:
    """The names from the top to that entry; none for the root. Not kept: of deep trees they take more than the rest."""
    names = []
    while number >= 0:
        names.append(entries[number].name)
        number = entries[number].parent
    return tuple(reversed(names))


def _row(entry: TreeEntry) -> list[object]:
    rest: object = entry.target.decode("latin-1") if entry.kind == "link" else entry.same
    if entry.kind == "file":
        rest = [entry.size, [[s.offset, s.length, s.chunk, s.at] for s in entry.segments]]
    kind = _KINDS.index(entry.kind)
    name = entry.name.decode("latin-1")
    return [entry.parent, name, kind, entry.mode, entry.owner, entry.group, entry.time, rest]


def _checked(rows: list[Any], chunks: int) -> Iterator[TreeEntry]:
    depths: list[int] = []
    entries: list[TreeEntry] = []
    names: set[tuple[int, bytes]] = set()
    for row in rows:
        entry = _entry(row, chunks)
        number = len(entries)
        if not -1 <= entry.parent < number or (entry.parent >= 0 and entries[entry.parent].kind != "folder"):
            raise ValueError("an entry lies in no folder that stands before it")
        depth = depths[entry.parent] + 1 if entry.parent >= 0 else 1
        if depth > MAX_DEPTH or (entry.parent, entry.name) in names:
            raise ValueError("folders are nested without end, or an entry is there twice")
        if entry.kind == "same" and not (0 <= entry.same < number and entries[entry.same].kind == "file"):
            raise ValueError("an entry is the same as no file that stands before it")
        names.add((entry.parent, entry.name))
        depths.append(depth)
        entries.append(entry)
        yield entry


def _entry(row: Any, chunks: int) -> TreeEntry:
    parent, name, kind, mode, owner, group, time, rest = row
    encoded = name.encode("latin-1")
    if encoded in (b"", b".", b"..") or b"/" in encoded or b"\0" in encoded or len(encoded) > _LONGEST_NAME:
        raise ValueError("a name is no file's")
    numbers = (parent, kind, mode, owner, group, time)
    if not all(type(number) is int for number in numbers) or not 0 <= kind < len(_KINDS):
        raise ValueError("an entry's figures are none")
    if not (0 <= owner <= _HIGHEST_ID and 0 <= group <= _HIGHEST_ID and 0 <= time < 2**63):
        raise ValueError("an entry's owner or time cannot be")
    made = TreeEntry(parent, encoded, _KINDS[kind], mode & _MODES, owner, group, time)
    if made.kind == "folder":
        return made
    if made.kind == "file":
        return _file(made, rest, chunks)
    if made.kind == "same":
        if type(rest) is not int:
            raise ValueError("a file's other name says not whose")
        return TreeEntry(parent, encoded, "same", same=rest)
    target = rest.encode("latin-1")
    if not target or b"\0" in target or len(target) > _LONGEST_TARGET:
        raise ValueError("a link leads to no name")
    return TreeEntry(parent, encoded, "link", made.mode, owner, group, time, target=target)


def _file(made: TreeEntry, rest: Any, chunks: int) -> TreeEntry:
    size, rows = rest
    segments = tuple(Segment(*row) for row in rows)
    end = 0
    for s in segments:
        if not all(type(number) is int for number in (s.offset, s.length, s.chunk, s.at)):
            raise ValueError("a file's parts are none")
        if s.offset < end or not 0 < s.length <= CHUNK or not 0 <= s.chunk < chunks or not 0 <= s.at < CHUNK:
            raise ValueError("a file's parts overlap, or lie nowhere")
        end = s.offset + s.length
    if type(size) is not int or not end <= size < 2**63:
        raise ValueError("a file is shorter than its parts")
    return TreeEntry(
        made.parent, made.name, "file", made.mode, made.owner, made.group, made.time, size, segments=segments
    )
