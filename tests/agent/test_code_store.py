"""Pieces of code on a host: each account's own, bounded, checked when they are read; and the tar made of them."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from leasehold.errors import CodeInvalid
from leasehold.workload import CodeContents, CodeEntry, CodeFolder, CodeKind, CodeTree, packs, survey
from leasehold_agent._errors import CodeLost, CodeUnwanted, UploadsFull
from leasehold_agent.engine import CodePart, code_tar
from leasehold_agent.reconciling._code import _parts, remember_tree
from leasehold_agent.reconciling._leases import Record
from leasehold_agent.store import CodeStore

ME, OTHER = "0x" + "11" * 20, "0x" + "22" * 20


def contents(root: Path, **files: bytes) -> CodeContents:
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (root / name).write_bytes(content)
    return survey(CodeFolder(root))


def given(store: CodeStore, account: str, code: CodeContents) -> int:
    return sum(store.take(account, pack, code.tree.chunks) for pack in packs(code.pieces(code.tree.chunks)))


@pytest.fixture
def store(tmp_path: Path) -> CodeStore:
    return CodeStore(tmp_path / "store", room=1 << 30, reserve=0)


def test_what_an_account_has_brought_need_not_come_again(tmp_path: Path, store: CodeStore) -> None:
    code = contents(tmp_path / "a", one=b"1", two=b"2")
    assert store.lacking(ME, code.tree.chunks) == [True, True]
    assert store.absent(ME, code.tree.chunks) == code.tree.chunks.keys()
    assert given(store, ME, code) == 2
    assert (store.absent(ME, code.tree.chunks), store.absent(OTHER, [b"x"])) == (set(), {b"x"})
    assert store.lacking(ME.upper().replace("X", "x"), code.tree.chunks) == [False, False]
    assert given(store, ME, code) == 0
    more = contents(tmp_path / "a", three=b"3")
    assert sum(store.lacking(ME, more.tree.chunks)) == 1


def test_another_account_learns_nothing_of_it(tmp_path: Path, store: CodeStore) -> None:
    """He who knows the digest of somebody's file is not told that it is here, and cannot have it unpacked."""
    code = contents(tmp_path / "a", secret=b"weights")
    given(store, ME, code)
    assert store.lacking(OTHER, code.tree.chunks) == [True]
    with store.reader(OTHER) as read, pytest.raises(CodeLost):
        read(*next(iter(code.tree.chunks.items())))
    assert given(store, OTHER, code) == 1


def test_a_piece_that_nobody_asked_for_is_not_kept(tmp_path: Path, store: CodeStore) -> None:
    mine, theirs = contents(tmp_path / "a", x=b"mine"), contents(tmp_path / "b", x=b"other")
    with pytest.raises(CodeUnwanted):
        store.take(ME, next(packs(theirs.pieces(theirs.tree.chunks))), mine.tree.chunks)
    with pytest.raises(CodeInvalid):
        store.take(ME, b"\x28\xb5\x2f\xfd" + bytes(20), mine.tree.chunks)
    assert not list((tmp_path / "store").rglob("*.pack"))


def test_it_is_known_after_a_restart_and_what_was_cut_off_is_not(tmp_path: Path, store: CodeStore) -> None:
    code = contents(tmp_path / "a", one=b"1")
    given(store, ME, code)
    (pack,) = (tmp_path / "store").rglob("*.pack")
    pack.with_name("00000.pack").write_bytes(b"cut off before its index was written")
    again = CodeStore(tmp_path / "store", room=1 << 30, reserve=0)
    assert again.lacking(ME, code.tree.chunks) == [False]
    assert [path.name for path in pack.parent.glob("*.pack")] == [pack.name]


def test_what_was_damaged_is_asked_for_anew(tmp_path: Path, store: CodeStore) -> None:
    code = contents(tmp_path / "a", one=b"the bytes")
    given(store, ME, code)
    (pack,) = (tmp_path / "store").rglob("*.pack")
    pack.write_bytes(bytes(pack.stat().st_size))
    with store.reader(ME) as read, pytest.raises(CodeLost):
        read(*next(iter(code.tree.chunks.items())))
    assert store.lacking(ME, code.tree.chunks) == [True]


def test_what_was_used_longest_ago_makes_way_but_never_what_is_fresh(tmp_path: Path) -> None:
    now = [1e9]
    store = CodeStore(tmp_path / "store", room=4000, reserve=0, clock=lambda: now[0])
    old, new = contents(tmp_path / "a", x=bytes(1500)), contents(tmp_path / "b", x=b"x" * 1600)
    given(store, ME, old)
    with pytest.raises(UploadsFull):
        given(store, ME, new)  # one account has half the room, and a lease that begins wants the other
    now[0] += 4000
    given(store, ME, new)
    assert store.lacking(ME, old.tree.chunks) == [True]
    third = contents(tmp_path / "c", x=b"y" * 1900)
    given(store, OTHER, third)
    with pytest.raises(UploadsFull):
        given(store, "0x" + "33" * 20, contents(tmp_path / "d", x=b"z" * 900))
    assert store.lacking(ME, new.tree.chunks) == [False]
    now[0] += 8 * 86_400
    store.sweep()
    assert store.lacking(ME, new.tree.chunks) == [True]
    assert not list((tmp_path / "store").rglob("*.pack"))


def test_pieces_of_a_byte_are_counted_too(tmp_path: Path) -> None:
    """What is known of each takes memory, however little disk it does: a million of them came for free."""
    now = [1e9]
    store = CodeStore(tmp_path / "store", room=1 << 30, reserve=0, pieces=20, clock=lambda: now[0])
    few = contents(tmp_path / "a", **{f"f{number}": bytes([number]) for number in range(8)})
    given(store, ME, few)
    more = contents(tmp_path / "b", **{f"f{number}": bytes([100 + number]) for number in range(8)})
    with pytest.raises(UploadsFull):
        given(store, ME, more)
    given(store, OTHER, more)  # whose half is another
    third = "0x" + "33" * 20
    with pytest.raises(UploadsFull):
        given(store, third, few)
    now[0] += 4000
    given(store, ME, more)
    assert store.lacking(ME, few.tree.chunks) == [True] * 8


def test_a_pack_that_lies_on_the_disk_is_not_written_again(tmp_path: Path, store: CodeStore) -> None:
    code = contents(tmp_path / "a", one=b"1", two=b"2")
    (plain,) = packs(code.pieces(code.tree.chunks), lambda: False)
    came = tmp_path / "came"
    came.write_bytes(plain)

    def keep_as(path: Path) -> bool:
        os.link(came, path)
        return True

    assert store.take(ME, plain, code.tree.chunks, keep_as) == 2
    (kept,) = (tmp_path / "store").rglob("*.pack")
    assert kept.samefile(came)
    with store.reader(ME) as read:
        assert {read(*piece) for piece in code.tree.chunks.items()} == {b"1", b"2"}


def test_a_pack_that_was_compressed_is_kept_unpacked(tmp_path: Path, store: CodeStore) -> None:
    """What came is not what is kept, and nobody is asked to keep it."""
    code = contents(tmp_path / "a", one=b"1" * 1000)
    (folded,) = packs(code.pieces(code.tree.chunks))

    def keep_as(path: Path) -> bool:
        raise AssertionError(path)

    assert store.take(ME, folded, code.tree.chunks, keep_as) == 1
    with store.reader(ME) as read:
        assert read(*next(iter(code.tree.chunks.items()))) == b"1" * 1000


def test_packs_that_went_behind_its_back_take_no_room(tmp_path: Path) -> None:
    """What is remembered of them is looked at again before anybody is refused."""
    store = CodeStore(tmp_path / "store", room=4000, reserve=0)
    given(store, ME, contents(tmp_path / "a", x=bytes(1900)))
    more = contents(tmp_path / "b", x=b"x" * 1800)
    with pytest.raises(UploadsFull):
        given(store, ME, more)
    for left in (tmp_path / "store").rglob("*.*"):
        left.unlink()
    assert given(store, ME, more) == 1


def test_room_that_leases_want_is_made_here_too(tmp_path: Path) -> None:
    now = [1e9]
    store = CodeStore(tmp_path / "store", room=1 << 20, reserve=0, clock=lambda: now[0])
    code = contents(tmp_path / "a", x=b"x")
    given(store, ME, code)
    assert store.idle() == []
    now[0] += 4000
    ((used, pack),) = store.idle()
    store.lacking(ME, code.tree.chunks)  # used again
    assert not store.forget(pack, used)
    now[0] += 4000
    assert store.forget(pack, store.idle()[0][0])
    assert store.lacking(ME, code.tree.chunks) == [True]
    assert store.lies_on(tmp_path)


# ------------------------------------------------------------------------------------------------------- the tar


def tar_of(code: CodeContents, at: str = "/srv/work", user: str = "", parts: int = 1) -> tarfile.TarFile:
    pieces = dict(zip(code.tree.chunks, code.pieces(code.tree.chunks), strict=True))
    data, count = b"", len(code.tree.entries)
    for number in range(parts):
        first, end = count * number // parts, count * (number + 1) // parts
        part = CodePart(code.tree, first, end, number == parts - 1)
        made = b"".join(code_tar(part, at, lambda chunk, _: pieces[chunk], user))
        data += made if number == parts - 1 else made[:-1024]
    return tarfile.open(fileobj=io.BytesIO(data))


def test_a_tar_is_the_folder_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "code"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / ("n" * 200)).write_text("long")
    (root / "sub" / "run").write_text("x")
    (root / "sub" / "run").chmod(0o4751)
    (root / "out").symlink_to("/" + "t" * 150)
    (root / "link").symlink_to("sub")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff\n")).write_bytes(b"raw")
    os.utime(root / "sub" / "run", (1_000_000, 1_000_000))
    code = survey(CodeFolder(root))
    for parts in (1, 3):
        archive = tar_of(code, parts=parts)
        members = {member.name: member for member in archive}
        assert members["srv/work"].isdir()
        run = members["srv/work/sub/run"]
        assert (run.mode, run.mtime, run.uid, archive.extractfile(run).read()) == (0o4751, 1_000_000, 0, b"x")  # type: ignore[union-attr]
        assert members["srv/work/out"].linkname == "/" + "t" * 150
        assert members["srv/work/link"].issym()
        assert members["srv/work/sub/" + "n" * 200].size == 4
        assert members[os.fsdecode(b"srv/work/\xff\n")].size == 3


def test_whose_the_files_are(tmp_path: Path) -> None:
    code = contents(tmp_path / "a", x=b"x")
    for user, owner, mode in (
        ("", (0, 0), 0o755),
        ("1000", (1000, 1000), 0o755),
        ("1000:50", (1000, 50), 0o755),
        ("app", (0, 0), 0o1777),
        (str(2**31 - 1), (2**31 - 1, 2**31 - 1), 0o755),
        ("0001000", (1000, 1000), 0o755),
        ("²", (0, 0), 0o1777),
        ("1000:²", (1000, 1000), 0o755),
        ("١٢", (0, 0), 0o1777),
        (str(2**32), (0, 0), 0o1777),
        ("9" * 5_000, (0, 0), 0o1777),
        ("1000:" + "9" * 5_000, (1000, 1000), 0o755),
    ):
        members = tar_of(code, user=user).getmembers()
        assert {(member.uid, member.gid) for member in members} == {owner}
        assert members[0].mode == mode


def test_a_name_that_looks_like_a_sum_is_summed_right() -> None:
    tree = CodeTree((CodeEntry(b"a" + b" " * 9 + b"b", CodeKind.FOLDER, 0o755),))
    data = b"".join(code_tar(CodePart(tree, 0, 1, True), "/work", lambda chunk, size: b"", ""))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getnames()[1] == "work/a" + " " * 9 + "b"


def test_what_comes_from_ipfs_in_a_million_packs_is_not_even_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent would do nothing else meanwhile, and answer no challenge."""
    monkeypatch.setattr("leasehold_agent.reconciling._code._MOST_PACKS", 3)
    for name in ("tree", "2.pack", "1.pack", "other"):
        (tmp_path / name).touch()
    assert [path.name for path in _parts(tmp_path)] == ["tree", "1.pack", "2.pack"]
    (tmp_path / "3.pack").touch()
    with pytest.raises(CodeUnwanted, match="more than 3 packs"):
        _parts(tmp_path)


def test_lists_of_few_leases_are_at_hand(tmp_path: Path) -> None:
    """Each can be a hundred MiB in memory, however long its lease lives."""
    records = [Record() for _ in range(9)]
    tree = contents(tmp_path / "a", x=b"x").tree
    for record in [*records, records[-1]]:
        remember_tree(records, record, tree)
    assert [record.code is not None for record in records] == [False] * 5 + [True] * 4
