"""A folder of code: what goes along, how it is listed and packed, and what of a stranger's list is refused."""

from __future__ import annotations

import hashlib
import os
import random
import struct
from pathlib import Path

import pytest
import zstandard
from pydantic import ValidationError

from leasehold.datasets import new_identity
from leasehold.errors import CodeInvalid, WorkloadInvalid
from leasehold.workload import (
    Code,
    CodeEntry,
    CodeFolder,
    CodeKind,
    CodeTree,
    fold,
    load_workload,
    packs,
    survey,
    unfolded,
    unpacked,
)
from leasehold.workload._code_folder import _read

MIB = 1 << 20


def paths(folder: CodeFolder) -> list[str]:
    return [os.fsdecode(entry.path) for entry in survey(folder).tree.entries]


def made(root: Path, *names: str) -> Path:
    for name in names:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(name)
    return root


# ------------------------------------------------------------------------------------------------------ what goes


def test_what_git_ignores_stays(tmp_path: Path) -> None:
    made(
        tmp_path, "a.py", "b.log", "keep.log", "data/x", "sub/c.py", "sub/d.tmp", ".git/HEAD", "sub/.git/HEAD"
    )
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n/data/\n")
    (tmp_path / "sub" / ".gitignore").write_text("*.tmp\n")
    assert paths(CodeFolder(tmp_path)) == [
        ".gitignore", "a.py", "keep.log", "sub", "sub/.gitignore", "sub/c.py"
    ]  # fmt: skip


def test_a_file_of_ones_own_takes_its_place(tmp_path: Path) -> None:
    made(tmp_path, "a.py", "built/x", "secret")
    (tmp_path / ".gitignore").write_text("built/\n")
    (tmp_path / ".leaseholdignore").write_text("secret\n")
    assert paths(CodeFolder(tmp_path)) == [".gitignore", ".leaseholdignore", "a.py", "built", "built/x"]
    assert "a.py" not in paths(CodeFolder(tmp_path, ignore=("*.py",)))


def test_what_is_ignored_is_known_of_paths_that_are_not_here(tmp_path: Path) -> None:
    made(tmp_path, "sub/a")
    (tmp_path / ".gitignore").write_text("*.ckpt\nout/\n")
    contents = survey(CodeFolder(tmp_path))
    for path, ignored in ((b"sub/x.ckpt", True), (b"out/deep/x", True), (b"sub/b", False), (b".git/x", True)):
        assert contents.ignores(path) is ignored, path


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(CodeInvalid, match="cannot be read as a folder"):
            survey(CodeFolder(path))


def test_what_is_no_file_is_left_and_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc")
    contents = survey(CodeFolder(tmp_path))
    assert contents.skipped == ("pipe",)
    assert [entry.kind for entry in contents.tree.entries] == [CodeKind.LINK]


def test_only_what_has_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "a", "b")
    for name in ("a", "b"):
        os.utime(tmp_path / name, (1_000_000, 1_000_000))
    monkeypatch.setattr("leasehold.workload._code_folder._SETTLED_NS", -(1 << 62))
    known: dict[bytes, object] = {}
    first = survey(CodeFolder(tmp_path), known)  # type: ignore[arg-type]
    (tmp_path / "b").write_text("other")
    read: list[bytes] = []
    monkeypatch.setattr(
        "leasehold.workload._code_folder._read",
        lambda place, size: (read.append(place), (5, (b"d" * 32,)))[1],
    )
    again = survey(CodeFolder(tmp_path), known)  # type: ignore[arg-type]
    assert read == [os.fsencode(tmp_path / "b")]
    assert again.tree.entries[0] == first.tree.entries[0]


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 7])
@pytest.mark.parametrize("expected", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_a_file_that_has_another_size_by_now_is_read_whole(tmp_path: Path, size: int, expected: int) -> None:
    data = random.Random(size).randbytes(size)
    (tmp_path / "file").write_bytes(data)
    pieces = [data[at : at + MIB] for at in range(0, size, MIB)]
    read = _read(os.fsencode(tmp_path / "file"), expected)
    assert read == (size, tuple(hashlib.sha256(piece).digest() for piece in pieces))


def test_what_was_written_just_now_is_not_believed_to_stay(tmp_path: Path) -> None:
    made(tmp_path, "a")
    known: dict[bytes, object] = {}
    survey(CodeFolder(tmp_path), known)  # type: ignore[arg-type]
    assert known == {}


def test_a_file_that_shrinks_while_it_is_sent(tmp_path: Path) -> None:
    made(tmp_path, "a")
    contents = survey(CodeFolder(tmp_path))
    (tmp_path / "a").write_text("")
    with pytest.raises(CodeInvalid, match="was written to"):
        list(contents.pieces(contents.tree.chunks))
    (tmp_path / "a").unlink()
    with pytest.raises(CodeInvalid, match="went away"):
        list(contents.pieces(contents.tree.chunks))


def test_a_large_file_is_many_pieces_and_equal_ones_are_sent_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(3 * MIB) + b"end")
    (tmp_path / "b").write_bytes(bytes(MIB))
    contents = survey(CodeFolder(tmp_path))
    assert [len(entry.chunks) for entry in contents.tree.entries] == [4, 1]
    assert list(contents.tree.chunks.values()) == [MIB, 3]
    assert [len(piece) for piece in contents.pieces(contents.tree.chunks)] == [MIB, 3]


# ------------------------------------------------------------------------------------------------------- the list


def entry(path: bytes, kind: CodeKind = CodeKind.FOLDER, **fields: object) -> CodeEntry:
    return CodeEntry(path, kind, 0o755, **fields)  # type: ignore[arg-type]


def test_a_list_has_one_form(tmp_path: Path) -> None:
    made(tmp_path, "b/c", "a", "b-d", "b/a/x")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xfe\n")).write_bytes(b"")
    tree = survey(CodeFolder(tmp_path)).tree
    read = CodeTree.decode(tree.encoded)
    assert read == tree
    assert CodeTree(read.entries).encoded == read.encoded
    assert unfolded(fold(tree.encoded)) == tree.encoded
    assert (tree.files, tree.size) == (5, 1 + 3 + 3 + 5)


BAD = {
    "out of it": [entry(b"..")],
    "absolute": [entry(b"/etc")],
    "empty part": [entry(b"a"), entry(b"a//b")],
    "zero byte": [entry(b"a\0b")],
    "no folder": [entry(b"a/b")],
    "through a link": [entry(b"a", CodeKind.LINK, target=b"/etc"), entry(b"a/passwd")],
    "through a file": [entry(b"a", CodeKind.FILE), entry(b"a/b")],
    "twice": [entry(b"a"), entry(b"a")],
    "out of order": [entry(b"b"), entry(b"a")],
    "link to nowhere": [entry(b"a", CodeKind.LINK)],
    "folder with a size": [entry(b"a", size=3)],
    "long part": [entry(b"x" * 256)],
    "before 1970": [entry(b"a", time=-1)],
    "mode": [CodeEntry(b"a", CodeKind.FOLDER, 0o70755)],
    "two sizes": [
        entry(b"a", CodeKind.FILE, size=1, chunks=(b"d" * 32,)),
        entry(b"b", CodeKind.FILE, size=2, chunks=(b"d" * 32,)),
    ],
    "deep": [entry(b"/".join([b"a"] * depth)) for depth in range(1, 131)],
}


@pytest.mark.parametrize("what", BAD)
def test_a_list_that_no_folder_has(what: str) -> None:
    with pytest.raises(CodeInvalid):
        CodeTree.decode(CodeTree(tuple(BAD[what])).encoded)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"leasehold code 1\n\x00",
        b"leasehold code 1\n" + struct.pack(">BHqQHH", 9, 0, 0, 0, 1, 0) + b"a",
        b"leasehold code 1\n" + struct.pack(">BHqQHH", 1, 0, 0, 2**64 - 1, 1, 0) + b"a",
        bytes((16 << 20) + 1),
    ],
    ids=["nothing", "JSON", "half a line", "a kind that is none", "a size that is none", "too much"],
)
def test_bytes_that_are_no_list(data: bytes) -> None:
    with pytest.raises(CodeInvalid):
        CodeTree.decode(data)


def test_more_entries_than_a_list_may_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("leasehold.workload._code_tree.MAX_CODE_ENTRIES", 2)
    monkeypatch.setattr("leasehold.workload._code_folder.MAX_CODE_ENTRIES", 2)
    with pytest.raises(CodeInvalid, match="more than 2"):
        CodeTree.decode(CodeTree((entry(b"a"), entry(b"b"), entry(b"c"))).encoded)
    with pytest.raises(CodeInvalid, match="more than 2"):
        survey(CodeFolder(made(tmp_path, "a", "b", "c")))


# ------------------------------------------------------------------------------------------------------- the packs


@pytest.mark.parametrize("compress", [True, False])
def test_packs_are_full_and_hold_every_piece(compress: bool) -> None:
    pieces = [bytes([number]) * MIB for number in range(16)] + [b"end"]
    sent = list(packs(iter(pieces), lambda: compress))
    assert len(sent) == 4, "the first one is small"
    came = [unpacked(pack) for pack in sent]
    assert [pack.data[at : at + size] for pack in came for _, at, size in pack.pieces] == pieces


@pytest.mark.parametrize(
    "pack",
    [
        b"\0\0",
        struct.pack(">I", 5) + b"four",
        struct.pack(">I", 0),
        struct.pack(">I", MIB + 1) + bytes(MIB + 1),
        zstandard.ZstdCompressor().compress(bytes(64 * MIB)),  # a few hundred bytes
        zstandard.ZstdCompressor(write_content_size=False).compress(b"x"),
        fold(b"x") + b"more",
        fold(b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")[:-3],
    ],
)
def test_a_pack_that_is_none(pack: bytes) -> None:
    with pytest.raises(CodeInvalid):
        unpacked(pack)


# ---------------------------------------------------------------------------------------------------- the workload


def test_a_workload_runs_where_its_code_is() -> None:
    plain = load_workload({"version": 1, "image": "sha256:" + "0" * 64})
    assert b"code" not in plain.canonical()
    code = Code(digest="ab" * 32)
    assert plain.with_code(code).workdir == "/work"
    elsewhere = load_workload({"version": 1, "image": "sha256:" + "0" * 64, "workdir": "/x"})
    assert elsewhere.with_code(code).workdir == "/x"


def test_code_that_cannot_be() -> None:
    base = {"version": 1, "image": "sha256:" + "0" * 64}
    sealed = {"cid": "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", "key": new_identity()}
    for code in (
        {"digest": "ab"},
        {"digest": "ab" * 32, "path": "/etc/x"},
        {"digest": "ab" * 32, "cid": sealed["cid"]},
    ):
        with pytest.raises(WorkloadInvalid):
            load_workload({**base, "code": code})
    datasets = [{"cid": sealed["cid"], "path": "/data"}]
    with pytest.raises(WorkloadInvalid, match="lies in the dataset"):
        load_workload({**base, "datasets": datasets, "code": {"digest": "ab" * 32, "path": "/data/code"}})
    with pytest.raises(ValidationError, match="lies in the dataset"):
        load_workload({**base, "datasets": datasets}).with_code(Code(digest="ab" * 32, path="/data"))
    assert sealed["key"] not in repr(load_workload({**base, "code": {"digest": "ab" * 32, **sealed}}))
