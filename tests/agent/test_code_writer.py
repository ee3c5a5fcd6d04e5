"""A folder of code written straight into a container's files: as it was, whatever the image has laid out there, whoever
is killed meanwhile; and what is left to the engine.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devnet.patience import patient
from leasehold.workload import CodeContents, CodeFolder, packs, survey
from leasehold_agent._errors import CodeNotWritten, EngineDown
from leasehold_agent.engine import CodePart, code_records, folder_mode, owner_of
from leasehold_agent.host import CodeTarget, CodeWriter, LayerPlace, MountSpace, _code_writer, _unpacker
from leasehold_agent.store import CodeStore

ME = "0x" + "11" * 20
SPACE = MountSpace()


@pytest.fixture
def code(tmp_path: Path) -> CodeContents:
    """With what a folder may hold."""
    root = tmp_path / "code"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o750)
    (root / "sub" / "deep" / "file").write_text("text")
    (root / "sub" / "nothing").touch()
    (root / "sub" / "run").write_text("x")
    (root / "sub" / "run").chmod(0o4751)
    (root / "sub-way").write_text("its name sorts before what lies in `sub`")
    (root / "out").symlink_to("/etc/passwd")
    (root / "big").write_bytes(os.urandom((2 << 20) + 5))
    (root / "again").write_bytes((root / "big").read_bytes())
    Path(os.fsdecode(os.fsencode(root) + b"/\xff\n" + b"n" * 200)).write_bytes(b"raw")
    os.utime(root / "sub" / "run", (1_000_000, 1_000_000))
    for folder in (root / "sub" / "deep", root / "sub", root / "empty"):
        os.utime(folder, (2_000_000, 2_000_000))
    return survey(CodeFolder(root))


@pytest.fixture
def store(tmp_path: Path, code: CodeContents) -> CodeStore:
    store = CodeStore(tmp_path / "store", room=1 << 30, reserve=0)
    for pack in packs(code.pieces(code.tree.chunks)):
        store.take(ME, pack, code.tree.chunks)
    return store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of a container."""
    root = tmp_path / "root"
    root.mkdir(mode=0o755)
    return root


def target_of(
    place: Path | LayerPlace, at: str = "/srv/work", mounts: Sequence[str] = (), user: str = ""
) -> CodeTarget:
    place = LayerPlace(place) if isinstance(place, Path) else place
    return CodeTarget(place, at, mounts, owner_of(user), folder_mode(user))


async def write(
    store: CodeStore, code: CodeContents, target: CodeTarget, *, parts: int = 1, space: MountSpace = SPACE
) -> None:
    folder, places = store.places(ME, code.tree.chunks)
    writer = await CodeWriter.begin(space, target, folder)
    try:
        count = len(code.tree.entries)
        for number in range(parts):
            first, end = count * number // parts, count * (number + 1) // parts
            await writer.write(code_records(CodePart(code.tree, first, end, number == parts - 1), places))
    finally:
        await writer.close()


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def found(folder: Path) -> dict[str, tuple[object, ...]]:
    """All below a folder: its kind and mode, time and owner, and what it says."""
    out = dict[str, tuple[object, ...]]()
    for path in folder.rglob("*"):
        status, says = path.lstat(), b""
        if path.is_symlink():
            says = os.fsencode(path.readlink())
        elif path.is_file():
            says = path.read_bytes()
        out[str(path.relative_to(folder))] = (
            status.st_mode,
            int(status.st_mtime),
            status.st_uid,
            status.st_gid,
            says,
        )
    return out


# ---------------------------------------------------------------------------------------------------- as it was


@pytest.mark.parametrize("parts", [1, 4])
async def test_it_is_there_as_it_was(root: Path, store: CodeStore, code: CodeContents, parts: int) -> None:
    await write(store, code, target_of(root), parts=parts)
    await write(store, code, target_of(root), parts=parts)  # over itself, as after an agent's death
    assert found(root / "srv" / "work") == found(code.folder.path)
    assert stat.S_IMODE((root / "srv" / "work").stat().st_mode) == 0o755
    assert (root / "srv" / "work").stat().st_mtime == 0


@pytest.mark.parametrize(
    ("user", "owner", "mode"),
    [("1000", (1000, 1000), 0o755), ("1000:50", (1000, 50), 0o755), ("app", (0, 0), 0o1777)],
)
async def test_whose_the_files_are(
    root: Path, store: CodeStore, code: CodeContents, user: str, owner: tuple[int, int], mode: int
) -> None:
    (root / "srv").mkdir()
    (root / "srv").chmod(0o2777)  # what is made in it has its group, if nobody looks
    await write(store, code, target_of(root, user=user))
    work = root / "srv" / "work"
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in [work, *work.rglob("*")]} == {owner}
    assert stat.S_IMODE(work.stat().st_mode) == mode
    assert stat.S_IMODE((work / "sub" / "run").stat().st_mode) == 0o4751


async def test_what_the_image_has_there_stays_but_for_what_is_named(
    root: Path, store: CodeStore, code: CodeContents
) -> None:
    work = root / "srv" / "work"
    (work / "sub").mkdir(parents=True, mode=0o700)
    (work / "sub" / "own").write_text("the image's")
    (work / "sub" / "run").write_text("other")
    os.link(work / "sub" / "run", root / "second")
    await write(store, code, target_of(root))
    assert (work / "sub" / "own").read_text() == "the image's"
    assert (work / "sub" / "run").read_text() == "x"
    assert (root / "second").read_text() == "other"


async def test_layers_lie_as_they_do_in_the_container(
    tmp_path: Path, store: CodeStore, code: CodeContents
) -> None:
    """What is of the image is left as it is, and what is new lies in the container's own layer."""
    lower, lowest, upper, work = (tmp_path / name for name in ("lower", "lowest", "upper", "between"))
    (lower / "srv" / "work" / "sub").mkdir(parents=True)
    (lower / "srv" / "work" / "sub" / "run").write_text("the image's")
    (lower / "srv" / "work" / "empty").symlink_to("/")
    (lowest / "srv" / "work").mkdir(parents=True)
    (lowest / "srv" / "work" / "old").write_text("old")
    upper.mkdir()
    work.mkdir()
    await write(store, code, target_of(LayerPlace(upper, (lower, lowest), work)))
    assert (lower / "srv" / "work" / "sub" / "run").read_text() == "the image's"
    assert found(upper / "srv" / "work") == found(code.folder.path)
    with layered(
        tmp_path / "seen", f"index=off,lowerdir={lower}:{lowest},upperdir={upper},workdir={work}"
    ) as seen:
        there = found(seen / "srv" / "work")
    assert there.pop("old")[-1] == b"old"
    assert there == found(code.folder.path)


@contextmanager
def layered(place: Path, options: str) -> Iterator[Path]:
    """Layers as the engine mounts them, once nobody else has."""
    place.mkdir()
    run("mount", "-t", "overlay", "-o", options, "overlay", place)
    try:
        yield place
    finally:
        run("umount", place)


# ------------------------------------------------------------------------------------------------ hostile images


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What is the host's, and stays as it is."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    (outside / "file").write_text("the host's")
    os.utime(outside, (1, 1))
    return outside


def untouched(outside: Path) -> bool:
    names = [path.name for path in outside.iterdir()]
    return (
        names,
        (outside / "file").read_text(),
        outside.stat().st_mtime,
        outside.stat().st_mode & 0o777,
    ) == (
        ["file"],
        "the host's",
        1,
        0o700,
    )


async def test_links_in_its_place_make_way(
    root: Path, outside: Path, store: CodeStore, code: CodeContents
) -> None:
    """For the folder itself, for a folder in it, for files: wherever they lead, nothing is done there."""
    (root / "srv").mkdir()
    (root / "srv" / "work").symlink_to(outside)
    await write(store, code, target_of(root))
    assert found(root / "srv" / "work") == found(code.folder.path)
    for name, leads in (("sub", outside), ("empty", Path("../../../outside")), ("big", outside / "file")):
        path = root / "srv" / "work" / name
        run("rm", "-r", path)
        path.symlink_to(leads)
    await write(store, code, target_of(root))
    assert found(root / "srv" / "work") == found(code.folder.path)
    assert untouched(outside)


async def test_nothing_that_lies_there_is_opened(root: Path, store: CodeStore, code: CodeContents) -> None:
    """A named pipe would keep whoever opens it waiting; a device would do what it does."""
    work = root / "srv" / "work"
    work.mkdir(parents=True)
    os.mkfifo(work / "big")
    os.mkfifo(work / "sub")
    os.mknod(work / "out", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    await write(store, code, target_of(root))
    assert found(work) == found(code.folder.path)


async def test_a_link_on_the_way_is_left_to_the_engine(
    root: Path, outside: Path, store: CodeStore, code: CodeContents
) -> None:
    (root / "srv").symlink_to(outside)
    with pytest.raises(CodeNotWritten):
        await write(store, code, target_of(root))
    assert untouched(outside)


async def test_a_folder_in_a_files_place_is_left_to_the_engine(
    root: Path, store: CodeStore, code: CodeContents
) -> None:
    own = root / "srv" / "work" / "big" / "own"
    own.parent.mkdir(parents=True)
    own.touch()
    with pytest.raises(CodeNotWritten, match="directory"):
        await write(store, code, target_of(root))
    assert own.exists()


@pytest.mark.parametrize("mounted", ["/srv/work", "/srv", "/srv/work/sub", "//srv/work/sub/deep/", "/"])
async def test_what_is_mounted_there_is_left_to_the_engine(
    root: Path, store: CodeStore, code: CodeContents, mounted: str
) -> None:
    with pytest.raises(CodeNotWritten, match="mounted"):
        await write(store, code, target_of(root, mounts=["/etc/hosts", mounted]))
    assert not names(root)


async def test_a_mount_that_a_link_leads_there_is_left_to_the_engine(
    root: Path, store: CodeStore, code: CodeContents
) -> None:
    """The engine follows it when it mounts, and others' data would lie among the code."""
    (root / "data").symlink_to("/srv/work")
    with pytest.raises(CodeNotWritten, match="link"):
        await write(store, code, target_of(root, mounts=["/data/set"]))
    await write(store, code, target_of(root, mounts=["/other/set", "/srv/works", "/srv/wor"]))


@pytest.mark.parametrize("at", ["/", "/srv/../work", "/srv/./work", ""])
async def test_odd_places_are_left_to_the_engine(
    root: Path, store: CodeStore, code: CodeContents, at: str
) -> None:
    with pytest.raises(CodeNotWritten):
        await write(store, code, target_of(root, at))
    assert not names(root)


async def test_users_that_are_none_of_the_hosts_are_left_to_the_engine(
    root: Path, store: CodeStore, code: CodeContents
) -> None:
    os.chown(root, 100_000, 100_000)
    with pytest.raises(CodeNotWritten, match="users"):
        await write(store, code, target_of(root))
    assert not names(root)


# ------------------------------------------------------------------------------------------- what goes wrong, and when


async def test_what_is_damaged_is_not_written(root: Path, store: CodeStore, code: CodeContents) -> None:
    (pack, *_) = sorted(store.places(ME, code.tree.chunks)[0].glob("*.pack"))
    pack.write_bytes(bytes(pack.stat().st_size))
    with pytest.raises(CodeNotWritten, match="damaged"):
        await write(store, code, target_of(root))
    pack.unlink()
    with pytest.raises(CodeNotWritten, match="No such file"):
        await write(store, code, target_of(root))


async def test_a_piece_that_is_not_here(root: Path, store: CodeStore, code: CodeContents) -> None:
    _, places = store.places(ME, list(code.tree.chunks)[:-1])
    with pytest.raises(CodeNotWritten, match="not here"):
        code_records(CodePart(code.tree, 0, len(code.tree.entries), True), places)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system that holds less than the code."""
    place = tmp_path / "full"
    place.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "none", place)
    yield place
    run("umount", place)


async def test_a_full_disk_is_left_to_the_engine(full: Path, store: CodeStore, code: CodeContents) -> None:
    with pytest.raises(CodeNotWritten, match="space"):
        await write(store, code, target_of(full))


async def test_its_process_is_killed(root: Path, store: CodeStore, code: CodeContents) -> None:
    folder, places = store.places(ME, code.tree.chunks)
    writer = await CodeWriter.begin(SPACE, target_of(root), folder)
    writer._process.kill()
    await writer._process.wait()
    with pytest.raises(CodeNotWritten):
        await writer.write(code_records(CodePart(code.tree, 0, len(code.tree.entries), True), places))
    await writer.close()
    await writer.close()


async def test_one_that_still_writes_there_ends_first(
    root: Path, store: CodeStore, code: CodeContents
) -> None:
    holder = os.open(root, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    writing = asyncio.create_task(write(store, code, target_of(root)))
    await asyncio.sleep(0)
    assert not writing.done()
    assert not names(root)
    os.close(holder)
    await writing
    assert found(root / "srv" / "work") == found(code.folder.path)


def test_it_dies_with_its_agent(tmp_path: Path) -> None:
    """Whoever kills the agent finds nobody writing behind its back."""
    start = (
        "import os,subprocess,sys;child=subprocess.Popen([sys.executable,'-I','-S',sys.argv[1],str(os.getpid())],"
        "stdin=subprocess.PIPE,stdout=subprocess.PIPE);child.stdin.write(sys.argv[2].encode());child.stdin.flush();"
        "child.stdout.readline();print(child.pid,flush=True);sys.stdin.read()"
    )
    told = (
        f'{{"view": "/proc/self/ns/mnt", "packs": "{tmp_path}", "upper": "{tmp_path}", "lowers": [], '
        '"work": "", "base": "work", "mounts": [], "owner": [0, 0], "mode": 493}\n'
    )
    command = [sys.executable, "-c", start, _unpacker.__file__, told]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        held = os.pidfd_open(int(agent.stdout.readline()))
        try:
            agent.send_signal(signal.SIGKILL)
            agent.communicate()
            assert select.select([held], [], [], patient(10))[0]
        finally:
            os.close(held)
    assert (tmp_path / "work").is_dir()


@dataclass
class Elsewhere:
    """A folder that whoever listens at `socket` sees as another than this process does: `seen`."""

    socket: Path
    folder: Path
    seen: Path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    """As an engine's, behind a unit with `ProtectSystem`."""
    listens, ready, folder = tmp_path / "socket", tmp_path / "ready", tmp_path / "there"
    folder.mkdir()
    script = (
        "import socket,sys,pathlib,subprocess;s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen();"
        "subprocess.run(['mount','-t','tmpfs','-o','mode=755','none',sys.argv[3]],check=True);"
        "pathlib.Path(sys.argv[2]).touch();sys.stdin.read()"
    )
    command = ["unshare", "--mount", "--propagation", "private", "python3", "-c", script]
    with subprocess.Popen([*command, listens, ready, folder], stdin=subprocess.PIPE) as listener:
        try:
            while not ready.exists():
                assert listener.poll() is None
                os.sched_yield()
            yield Elsewhere(listens, folder, Path(f"/proc/{listener.pid}/root{folder}"))
        finally:
            listener.communicate(b"")


async def test_the_view_is_the_engines(elsewhere: Elsewhere, store: CodeStore, code: CodeContents) -> None:
    await write(store, code, target_of(elsewhere.folder), space=MountSpace(elsewhere.socket))
    assert not names(elsewhere.folder)
    assert found(elsewhere.seen / "srv" / "work") == found(code.folder.path)


class TwoEngines(MountSpace):
    """Whose engine is another at each look, as where a number was given to somebody else meanwhile."""

    numbers = itertools.cycle(("self", "1"))

    def process(self) -> str:
        return next(self.numbers)


async def test_a_view_of_somebody_else_is_not_entered(
    root: Path, store: CodeStore, code: CodeContents
) -> None:
    with pytest.raises(EngineDown, match="Another listens"):
        await write(store, code, target_of(root), space=TwoEngines(Path("/run/engine")))
    assert not names(root)


async def test_an_engine_that_has_ended_is_said_to_be_down(
    elsewhere: Elsewhere, store: CodeStore, code: CodeContents
) -> None:
    class Ended(MountSpace):
        def process(self) -> str:
            return str(2**22 + 1)  # above what the kernel gives

    with pytest.raises(EngineDown, match="has ended"):
        await write(store, code, target_of(elsewhere.folder), space=Ended(elsewhere.socket))


async def test_only_so_many_write_at_once(
    tmp_path: Path, store: CodeStore, code: CodeContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a process that lasts as long as its tenant likes; one that is closed twice gives back one place."""
    monkeypatch.setattr(_code_writer, "MOST_AT_ONCE", 2)
    roots = [tmp_path / str(number) for number in range(4)]
    for root in roots:
        root.mkdir(mode=0o755)
    packs = tmp_path / "store"
    writers = [await CodeWriter.begin(SPACE, target_of(root), packs) for root in roots[:2]]
    with pytest.raises(CodeNotWritten, match="at once"):
        await CodeWriter.begin(SPACE, target_of(roots[2]), packs)
    await writers[0].close()
    await writers[0].close()
    await write(store, code, target_of(roots[2]))
    await write(store, code, target_of(roots[3]))
    await writers[1].close()
