"""A folder comes back as it went, sealed; a second time what changed; what a stranger makes of it is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
import socket
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.offchain.datasets.odd_trees import look, odd_tree

from leasehold.datasets._multipart import FilePart
from leasehold.datasets._sealed_tree import CHUNK, MAX_DEPTH, MAX_LISTS, TreeSeal, decode_index, encode_index
from leasehold.datasets._tree_pack import TreePack
from leasehold.datasets._tree_unpack import TreeUnpack
from leasehold.errors import DatasetCorrupt, DatasetTooLarge, DatasetUnsafe, WrongIdentity

KEY, OTHER = bytes(range(32)), bytes(32)
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
MIB = 1 << 20


def packed(
    folder: Path, key: bytes = KEY, meanwhile: Callable[[int], None] = lambda _: None
) -> dict[str, bytes]:
    """What goes to IPFS, by its name there."""
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        parts = TreePack(key, meanwhile).parts(root)
        return {
            part.path.removeprefix("volume/").removeprefix("data/"): b"".join(part.chunks)
            for part in parts
            if isinstance(part, FilePart)
        }
    finally:
        os.close(root)


def unpacked(files: dict[str, bytes], folder: Path, key: bytes = KEY, most: int = 1 << 40) -> None:
    index = decode_index(TreeSeal(key).open(files["index"], b"index"), CID)
    folder.mkdir()
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        TreeUnpack(CID, index, key, lambda digest: files[digest.hex()], most).into(root)
    finally:
        os.close(root)


def test_it_comes_back_as_it_went(tmp_path: Path) -> None:
    odd_tree(tmp_path / "here", 300)
    files = packed(tmp_path / "here")
    unpacked(files, tmp_path / "there")
    assert look(tmp_path / "there") == look(tmp_path / "here")
    blocks = (tmp_path / "there" / "holes").stat().st_blocks
    assert blocks * 512 < 2 * MIB


def test_one_that_is_ended_again_and_again_goes_on_where_it_was(tmp_path: Path) -> None:
    odd_tree(tmp_path / "here", 60)
    files, there, rng = packed(tmp_path / "here"), tmp_path / "there", random.Random(3)
    there.mkdir()
    root, made, begun, ends = os.open(there, os.O_RDONLY | os.O_DIRECTORY), 0, False, 0
    index = decode_index(TreeSeal(KEY).open(files["index"], b"index"), CID)

    def going() -> None:
        if rng.random() < 0.2:
            raise InterruptedError

    def fetch(digest: bytes) -> bytes:
        going()
        return files[digest.hex()]

    while made < len(index.entries):
        unpack = TreeUnpack(CID, index, KEY, fetch, 1 << 40, going, made, begun)
        try:
            unpack.into(root)
        except InterruptedError:
            ends += 1
        assert unpack.made >= made
        made, begun = unpack.made, unpack.begun
    TreeUnpack(CID, index, KEY, fetch, 1 << 40, made=made).into(
        root
    )  # folders' modes, whoever ended before these
    os.close(root)
    assert ends > 10
    assert look(there) == look(tmp_path / "here")


def test_what_is_there_already_is_not_taken_for_what_was_begun(tmp_path: Path) -> None:
    """An index that names a file twice: the second is refused, and the first stays."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").write_bytes(b"first")
    files = packed(tmp_path / "here")
    index = decode_index(TreeSeal(KEY).open(files["index"], b"index"), CID)
    twice = dataclasses.replace(index, entries=[*index.entries, index.entries[-1]])
    (tmp_path / "there").mkdir()
    root = os.open(tmp_path / "there", os.O_RDONLY | os.O_DIRECTORY)
    unpack = TreeUnpack(CID, twice, KEY, lambda digest: files[digest.hex()], 1 << 40)
    for _ in range(2):
        with pytest.raises(FileExistsError):
            unpack.into(root)
        assert (unpack.made, unpack.begun) == (len(index.entries), False)
    os.close(root)
    assert (tmp_path / "there" / "file").read_bytes() == b"first"


@pytest.mark.deep
def test_a_hundred_thousand_files_do(tmp_path: Path) -> None:
    odd_tree(tmp_path / "here", 100_000)
    unpacked(packed(tmp_path / "here"), tmp_path / "there")
    assert look(tmp_path / "there") == look(tmp_path / "here")


def test_nothing_of_it_can_be_read_and_no_part_is_larger_than_a_block(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "a name that tells").write_bytes(b"a word that tells" * 100_000)
    files = packed(folder)
    assert not any(b"that tells" in data for data in files.values())
    assert max(len(data) for name, data in files.items() if name != "index") <= MIB
    with pytest.raises(WrongIdentity):
        unpacked(files, tmp_path / "there", OTHER)
    assert not set(packed(folder, OTHER)) & set(files) - {"index"}


def test_of_a_tree_that_changed_little_little_is_new(tmp_path: Path) -> None:
    odd_tree(tmp_path / "here", 900)
    before = packed(tmp_path / "here")
    assert packed(tmp_path / "here") == before
    for number in range(5):
        (tmp_path / "here" / "d3" / f"new {number}").write_bytes(b"new")
    with (tmp_path / "here" / "large").open("r+b") as large:
        large.seek(CHUNK + 5)
        large.write(b"changed")
    after = packed(tmp_path / "here")
    fresh = sum(len(after[name]) for name in set(after) - set(before) - {"index"})
    assert fresh < 2 * MIB
    unpacked(after, tmp_path / "there")
    assert look(tmp_path / "there") == look(tmp_path / "here")


def test_equal_chunks_are_sent_once(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    for number in range(8):
        (folder / str(number)).write_bytes(bytes([7]) * CHUNK)
    assert len(packed(folder)) == 2


def test_pipes_sockets_and_devices_stay_and_hang_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        files = packed(folder)
    index = decode_index(TreeSeal(KEY).open(files["index"], b"index"), CID)
    assert (index.entries, index.skipped) == ((), 3)


def test_set_user_bits_do_not_travel(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "su").write_bytes(b"x")
    (tmp_path / "here" / "su").chmod(0o6755)
    unpacked(packed(tmp_path / "here"), tmp_path / "there")
    assert (tmp_path / "there" / "su").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    "trick", ["a link for a file", "a pipe for a file", "a link for a folder", "gone", "shorter"]
)
def test_what_is_moved_about_while_it_is_read_leads_nowhere_else(tmp_path: Path, trick: str) -> None:
    """The tenant swaps entries under the hands of whoever reads them as root."""
    folder, secret = tmp_path / "here", tmp_path / "secret"
    secret.mkdir()
    (secret / "z").write_bytes(b"of the host's" * 100)
    folder.mkdir()
    (folder / "a").write_bytes(random.Random(1).randbytes(CHUNK))  # its chunk goes out first
    (folder / "b").mkdir()
    (folder / "b" / "z").write_bytes(b"mine")
    (folder / "z").write_bytes(bytes([9]) * 2 * CHUNK)

    def swap(_: int) -> None:
        target = folder / ("b" if trick == "a link for a folder" else "z")
        if target.is_symlink() or not target.exists():
            return
        if trick == "shorter":
            os.truncate(target, 10)
            return
        target.rename(tmp_path / "aside")
        if trick.startswith("a link"):
            target.symlink_to(secret if target.name == "b" else secret / "z")
        elif trick.startswith("a pipe"):
            os.mkfifo(target)

    files = packed(folder, meanwhile=swap)
    unpacked(files, tmp_path / "there")
    told = [
        path.read_bytes()
        for path in (tmp_path / "there").rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    assert not any(b"of the host's" in data for data in told)


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "here"
    place.mkdir()
    descriptor = os.open(place, os.O_RDONLY)
    for _ in range(MAX_DEPTH + 1):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    with pytest.raises(DatasetUnsafe, match="deeper"):
        packed(place)


def test_whoever_is_told_of_the_bytes_may_end_it(tmp_path: Path) -> None:
    odd_tree(tmp_path / "here", 10)

    def full(_: int) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        packed(tmp_path / "here", meanwhile=full)


ROW: list[Any] = [-1, "f", 1, 0o644, 0, 0, 0, [4, [[0, 4, 0, 0]]]]
FOLDER: list[Any] = [-1, "d", 0, 0o755, 0, 0, 0, -1]


def index_of(*rows: list[Any], **changes: Any) -> bytes:
    made = {"version": 1, "chunks": ["00" * 32], "skipped": 0, "entries": list(rows)}
    return orjson.dumps(made | changes)


def test_the_index_goes_round() -> None:
    encoded = index_of(FOLDER, ROW)
    assert orjson.loads(encode_index(decode_index(encoded, CID))) == orjson.loads(encoded)


def odd(place: int, value: Any, row: list[Any] = ROW) -> bytes:
    """An index of one entry of which one part is another."""
    return index_of([*row[:place], value, *row[place + 1 :]])


LINK: list[Any] = [-1, "l", 2, 0o777, 0, 0, 0, "target"]
SAME: list[Any] = [-1, "s", 3, 0, 0, 0, 0, 0]
PARENT, NAME, KIND, MODE, OWNER, GROUP, TIME, REST = range(8)
PARTS = (
    [0, 4, 1, 0],
    [0, 4, -1, 0],
    [0, 0, 0, 0],
    [0, 4, 0, -1],
    [-4, 4, 0, 0],
    [0, 4, 0],
    [0, 4, 0, 1 << 20],
)
INDICES = [
    *(b"", b"[]", b"{}", index_of(version=2), index_of(chunks=["00"]), index_of(chunks=["zz" * 32])),
    *(odd(NAME, name) for name in ("../x", "..", "", "a/b", "a\0", "x" * 256, "\u2603", 7)),
    *(odd(PARENT, parent) for parent in (0, 5, -2, True, "0")),
    *(odd(KIND, kind) for kind in (9, -1, 1.0)),
    *(odd(OWNER, owner) for owner in (-1, 2**32 - 1)),
    *(odd(TIME, time) for time in (-1, 2**63)),
    *(odd(REST, [size, [[0, 4, 0, 0]]]) for size in (3, 2**63, "4", None)),
    *(
        odd(REST, [4, [part]])
        for part in (
            [0, 4, 1, 0],
            [0, 4, -1, 0],
            [0, 0, 0, 0],
            [0, 4, 0, -1],
            [-4, 4, 0, 0],
            [0, 4, 0],
            [0, 4, 0, 1 << 20],
        )
    ),
    *(odd(REST, rest) for rest in (4, [9, [[0, 4, 0, 0], [2, 4, 0, 0]]])),
    *(odd(REST, target, LINK) for target in ("", "a\0b", "x" * 5_000, 4)),
    *(
        index_of(*rows)
        for rows in ((SAME,), (FOLDER, SAME), (ROW, [*SAME[:REST], "0"]), (ROW, ROW), (ROW[:5],))
    ),
    index_of(ROW, [0, "inside a file", *ROW[KIND:]]),
    index_of(entries=4),
    index_of(*[[number - 1, "d", *FOLDER[KIND:]] for number in range(MAX_DEPTH + 1)]),
]


@pytest.mark.parametrize("encoded", INDICES, ids=map(str, range(len(INDICES))))
def test_an_index_that_a_stranger_has_made_is_refused(encoded: bytes) -> None:
    with pytest.raises(DatasetCorrupt):
        decode_index(encoded, CID)


BOMBS = {
    "dictionaries": (b"[", b"{},", MAX_LISTS, b"0]"),
    "words of dictionaries": (b'[{"":0', b',"":0', MAX_LISTS, b"}]"),
    "numbers": (b"[", b"9999,", 12_000_001, b"0]"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_would_take_many_times_its_bytes_is_not_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, again, times, end = BOMBS[kind]

    def read(_: bytes) -> object:
        raise AssertionError("it was read")

    monkeypatch.setattr("leasehold.datasets._sealed_tree.orjson.loads", read)
    with pytest.raises(DatasetCorrupt, match="larger than any volume"):
        decode_index(begin + again * times + end, CID)


@pytest.mark.parametrize("kind", ["links", "parts", "names"])
def test_a_list_that_nobody_would_read_ends_before_the_memory_does(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it comes to is known while it grows, not once it is whole. The bounds are the real ones, made smaller."""
    here, sent = tmp_path / "here", list[int]()
    here.mkdir()
    for number in range(60 if kind != "parts" else 1):
        if kind == "names":  # that do not even travel
            os.mkfifo(here / str(number))
        else:
            (here / str(number)).symlink_to("x" * 4_000)
    with (here / "holes").open("wb") as file:
        for number in range(60 if kind == "parts" else 1):
            file.seek(number * MIB)
            file.write(os.urandom(4_096))
        file.truncate(60 * MIB)
    bounds = {"links": ("MAX_INDEX", 50 * 4_000), "parts": ("MAX_LISTS", 50), "names": ("MAX_ENTRIES", 50)}
    name, most = bounds[kind]
    monkeypatch.setattr(f"leasehold.datasets._tree_pack.{name}", most)
    monkeypatch.setattr(
        "leasehold.datasets._tree_pack.encode_index", lambda _: pytest.fail("it was made whole")
    )
    with pytest.raises(DatasetTooLarge):
        packed(here, meanwhile=sent.append)
    assert len(sent) < 60


def test_an_import_can_be_ended_between_entries_that_have_no_bytes(tmp_path: Path) -> None:
    index = decode_index(index_of(*[[number - 1, "d", *FOLDER[KIND:]] for number in range(200)]), CID)
    asked = list[int]()

    def going() -> None:
        asked.append(1)
        if len(asked) > 9:
            raise TimeoutError

    root = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(TimeoutError):
            TreeUnpack(CID, index, KEY, lambda _: b"", 1 << 20, going).into(root)
    finally:
        os.close(root)
    assert len(list(tmp_path.rglob("d"))) == 9


def test_a_chunk_that_is_shorter_and_more_than_there_is_room_for(tmp_path: Path) -> None:
    seal = TreeSeal(KEY)
    short = seal.seal(b"ab", b"chunk")
    index = index_of(ROW, chunks=[hashlib.sha256(short).hexdigest()])
    files = {"index": seal.seal(index, b"index"), hashlib.sha256(short).hexdigest(): short}
    with pytest.raises(DatasetCorrupt, match="shorter"):
        unpacked(files, tmp_path / "there")
    with pytest.raises(DatasetTooLarge):
        unpacked(files, tmp_path / "less", most=3)
    with pytest.raises(WrongIdentity):
        unpacked(files | {hashlib.sha256(short).hexdigest(): struct.pack("4s", b"")}, tmp_path / "other")
