"""What differs between two folders, how OpenSSH is told of leases, and code on its way to an agent."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from leasehold.client import CopyFailed, LeaseShell, SshDoor, hand_in
from leasehold.client._copying import Copied, CopyTarget, _Packed, copy_in, unpacking
from leasehold.client._syncing import (
    _LIST,
    SyncEntry,
    SyncOptions,
    _batches,
    _Listing,
    _parsed,
    _write_tar,
    differing,
    sync_in,
    sync_out,
)
from leasehold.copying import CodeFolder, SshFiles, SshHost, exclude, include, ssh_config
from leasehold.datasets import Budget
from leasehold.errors import AgentError, CodeInvalid, DatasetError, DestinationExists
from leasehold.home import CodeMemory
from leasehold.market import Feed, Take
from leasehold.market.wire import AgentUnreachable, CodeRefused, CodeTaken, CodeWanted, CommandEnd, NotRunning
from leasehold.workload import CodeKind, CodeTree, survey, unpacked

FILE, FOLDER, LINK = CodeKind.FILE, CodeKind.FOLDER, CodeKind.LINK
ALL = SyncOptions(delete=True)


def test_what_differs() -> None:
    source = {
        b"new": SyncEntry(FILE, 1, 5),
        b"same": SyncEntry(FILE, 2, 5),
        b"size": SyncEntry(FILE, 3, 5),
        b"time": SyncEntry(FILE, 2, 6),
        b"dir": SyncEntry(FOLDER, 0, 9),
        b"dir/x": SyncEntry(FILE, 0, 1),
        b"link": SyncEntry(LINK, 3, 1),
    }
    target = {
        b"same": SyncEntry(FILE, 2, 5),
        b"size": SyncEntry(FILE, 2, 5),
        b"time": SyncEntry(FILE, 2, 5),
        b"dir": SyncEntry(FOLDER, 0, 1),
        b"link": SyncEntry(LINK, 3, 7),
        b"old": SyncEntry(FOLDER, 0, 1),
        b"old/y": SyncEntry(FILE, 0, 1),
    }
    send = [b"dir/x", b"new", b"size", b"time"]
    assert differing(source, target, SyncOptions()) == (send, [])
    assert differing(source, target, ALL) == (send, [b"old"])
    assert differing({}, {}, ALL) == ([], [])


def test_bytes_count_where_they_are_compared() -> None:
    one, other = SyncEntry(FILE, 1, 5, b"a"), SyncEntry(FILE, 1, 5, b"b")
    assert differing({b"x": one}, {b"x": other}, SyncOptions())[0] == [b"x"]
    assert differing({b"x": one}, {b"x": SyncEntry(FILE, 1, 9, b"a")}, SyncOptions())[0] == []


def test_a_folder_makes_way_only_where_things_may_be_removed() -> None:
    source, target = (
        {b"x": SyncEntry(FILE, 1, 1)},
        {b"x": SyncEntry(FOLDER, 0, 1), b"x/y": SyncEntry(FILE, 1, 1)},
    )
    with pytest.raises(DestinationExists):
        differing(source, target, SyncOptions())
    assert differing(source, target, ALL) == ([b"x"], [b"x"])
    assert differing(target, source, SyncOptions()) == ([b"x", b"x/y"], [b"x"])


def test_a_listing_that_a_container_made_up() -> None:
    lines = [
        b"81a4 5 1 ./a//\n",
        b"81a4 5 1 ./../out//\n",
        b"81a4 5 1 /etc//\n",
        b"2190 0 1 ./dev//\n",
        b"41ed 4096 -1 ./d/\xff\n81a4 5 1 ./b/\n//\n",
    ]
    whole = [*lines, b"41ed 4096 1 .//\n"]
    assert _parsed(b"".join(whole)) == {
        b"a": SyncEntry(FILE, 5, 1),
        b"d/\xff\n81a4 5 1 ./b/\n": SyncEntry(FOLDER, 0, -1),
    }
    assert _parsed(whole[-1]) == {}, "an empty folder"
    for broken in (
        [b""],
        lines,
        [*whole, b"x"],
        [b"no numbers//\n", *whole],
        [whole[-1], *lines],
        whole[:-1],
    ):
        with pytest.raises(CopyFailed):
            _parsed(b"".join(broken))


def test_a_listing_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.client._syncing._MOST_LISTED", 3)
    first, second, third = (b"81a4 5 1 ./%d//\n" % number for number in range(3))
    end = b"41ed 4096 1 .//\n"
    assert len(_parsed(first + second + end)) == 2
    for listed in (first + second + third + end, first * 3 + end):
        with pytest.raises(CopyFailed, match="more than 3"):
            _parsed(listed)


@pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"]])
def test_a_folder_is_listed_by_any_shell(tmp_path: Path, shell: list[str]) -> None:
    folder = tmp_path / "-f o"
    (folder / "d" / "e").mkdir(parents=True)
    for name in (b"-n", b"a b\n", b"\xff", b"\\x", b"%n"):
        (folder / "d" / os.fsdecode(name)).write_bytes(b"abc")
        os.utime(folder / "d" / os.fsdecode(name), (-5, -5))
    (folder / "l").symlink_to("nowhere")

    def listed(place: Path) -> subprocess.CompletedProcess[bytes]:
        words = [*shell, "-c", _LIST, "leasehold", str(place)]
        return subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)

    there = _parsed(listed(folder).stdout)
    assert there.keys() == {
        b"l",
        b"d",
        b"d/e",
        *(b"d/" + name for name in (b"-n", b"a b\n", b"\xff", b"\\x", b"%n")),
    }
    assert there[b"d/-n"] == SyncEntry(FILE, 3, -5)
    assert there[b"l"].kind is CodeKind.LINK
    assert _parsed(listed(folder / "d" / "e").stdout) == {}
    assert listed(folder / "none").returncode == 2


def test_a_listing_is_the_same_however_it_is_cut() -> None:
    said = b"".join(b"81a4 %d 1 ./a/\n%d//\n" % (number, number) for number in range(50)) + b"41ed 9 1 .//\n"
    for size in (1, 2, 3, 7, 64, len(said)):
        listing = _Listing()
        for start in range(0, len(said), size):
            assert not listing.whole
            listing.take(said[start : start + size])
        assert listing.whole
        assert listing.entries == _parsed(said)


def test_a_line_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.client._syncing._MOST_BYTES", 1 << 20)
    listing = _Listing()
    for _ in range(16):
        listing.take(b"x" * (1 << 16))
    with pytest.raises(CopyFailed, match="more than 1 MiB"):
        listing.take(b"x")


def test_names_are_handed_over_in_pieces() -> None:
    paths = [b"x" * 1000 for _ in range(40)]
    assert [len(batch) for batch in _batches(paths)] == [16, 16, 8]
    assert list(_batches([])) == []


async def test_what_nobody_asked_for_is_left(tmp_path: Path) -> None:
    """A tar whose first name is another than the one that was copied, as a hostile container may send it."""
    import io
    import tarfile

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as out:
        for name in ("other/x", "data/in", "data/../../up", "data"):
            out.addfile(tarfile.TarInfo(name))
    budget, left = Budget(None, "data"), list[str]()
    with CopyTarget(tmp_path / "here", budget, "data", "here", folder=True) as target:
        unpacking(target, budget, left)(io.BytesIO(archive.getvalue()))
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["in"]
    assert len(left) == 3


async def test_what_is_no_tar_is_said(tmp_path: Path) -> None:
    budget = Budget(None, "data")
    with CopyTarget(tmp_path, budget, "data", "x", folder=True) as target, pytest.raises(DatasetError):
        unpacking(target, budget, [])(io.BytesIO(b"no tar" * 1000))


# -------------------------------------------------------------------------------------------------------- a shell


class Commands:
    """An agent whose container has some programs, and answers each script alike."""

    def __init__(self, has: Sequence[str], said: Sequence[tuple[int, bytes]] = (), code: int = 0) -> None:
        self.has, self.said, self.code, self.given, self.ran = has, said, code, b"", list[list[str]]()

    async def exec_from(
        self,
        lease: int,
        command: list[str],
        take: Take,
        given: bytes = b"",
        counted: Callable[[int], None] = lambda count: None,
        *,
        much: bool = False,
    ) -> CommandEnd:
        self.ran.append(command)
        take(io.BytesIO(b"".join(data for fd, data in self.said if fd == 1)))
        return CommandEnd(exit=self._exit(), said=self._aside())

    async def exec_on(
        self, lease: int, command: list[str], feed: Feed, counted: Callable[[int], None]
    ) -> CommandEnd:
        self.ran.append(command)
        body = io.BytesIO()
        feed(body)
        self.given = body.getvalue()
        counted(len(self.given))
        return CommandEnd(exit=self.code, said=self._aside())

    def _exit(self) -> int:
        here = self.ran[-1][0] in self.has
        return (0 if self.ran[-1][-1] == "exit 0" else self.code) if here else 127

    def _aside(self) -> str:
        return b"".join(data for fd, data in self.said if fd != 1).decode()


async def test_the_first_shell_that_is_there() -> None:
    agent = Commands(["/bin/sh"], [(1, b"out"), (2, b"aside")])
    shell = LeaseShell(cast(Any, agent), 1)
    assert await shell.ask("echo", "a b") == b"out"
    assert await shell.ask("echo") == b"out"
    assert [command[0] for command in agent.ran] == ["/.leasehold/busybox", "/bin/sh", "/bin/sh", "/bin/sh"]
    assert agent.ran[2] == ["/bin/sh", "-c", "echo", "leasehold", "a b"]


async def test_a_file_and_a_folder_go_in(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_bytes(b"abc")
    agent = Commands(["/bin/sh"])
    shell, heard = LeaseShell(cast(Any, agent), 1), list[int]()
    assert await copy_in(shell, tmp_path / "data", "/there/as", heard.append) == Copied(1, 3)
    assert agent.ran[-1][-1] == "/there"
    assert sum(heard) == len(agent.given)
    assert _names(agent.given) == ["as", "as/x"]
    assert (await copy_in(shell, tmp_path / "data" / "x", "/there/")).files == 1
    assert _names(agent.given) == ["x"]
    agent.said, agent.code = [(2, b"no space")], 1
    with pytest.raises(CopyFailed, match="no space"):
        await copy_in(shell, tmp_path / "data", "/there/")
    agent.said = []
    with pytest.raises(CopyFailed, match="ends with 1"):
        await shell.feed("x", write=lambda writer: None)
    with pytest.raises(DatasetError, match="not there"):
        await copy_in(shell, tmp_path / "nothing", "/there/")


class Local:
    """An agent whose container is this host: what it is asked to run runs here, by a shell of its own."""

    def __init__(self, shell: Sequence[str]) -> None:
        self.shell, self.fed = shell, 0

    def _here(self, command: Sequence[str]) -> list[str]:
        return [*self.shell, *command[command.index("-c") :]]

    async def exec_from(
        self, lease: int, command: list[str], take: Take, given: bytes = b"", *_: Any, **__: Any
    ) -> CommandEnd:
        async with self.exec(lease, command) as running:
            out, aside = await running.process.communicate(given)
            take(io.BytesIO(out))
            return CommandEnd(exit=await running.wait(), said=aside.decode())

    async def exec_on(self, lease: int, command: list[str], feed: Feed, counted: Any) -> CommandEnd:
        body = io.BytesIO()
        feed(body)
        self.fed += 1
        return await self.exec_from(lease, command, lambda source: None, body.getvalue())

    @asynccontextmanager
    async def exec(self, lease: int, command: list[str]) -> AsyncIterator[Running]:
        process = await asyncio.create_subprocess_exec(
            *self._here(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            yield Running(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()


class Running:
    """A program here, as a stream of an agent's. Its two outputs come one behind the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        with contextlib.suppress(ConnectionError):
            await self.process.stdin.drain()

    async def write_eof(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        for fd, source in ((1, self.process.stdout), (2, self.process.stderr)):
            assert source is not None
            while data := await source.read(1000):
                yield fd, data

    async def wait(self) -> int:
        return await self.process.wait()


SHELL_KINDS = pytest.mark.parametrize("kind", [("sh",), ("bash",), ("busybox", "sh")])


@SHELL_KINDS
@pytest.mark.parametrize("little", [8 << 20, -1])
async def test_only_what_differs_goes_in(
    tmp_path: Path, kind: tuple[str, ...], little: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the connection that listed, and by one of its own where it is much."""
    monkeypatch.setattr("leasehold.client._syncing._LITTLE", little)
    here, there = tmp_path / "he re", tmp_path / "-the\nre"
    for name in ("d/same", "d/e/new", "changed", "odd\n/.. x"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(os.urandom(3000))
    agent, heard = Local(kind), list[int]()
    shell = LeaseShell(cast(Any, agent), 1)

    async def synced(options: SyncOptions) -> tuple[set[bytes], tuple[bytes, ...]]:
        told = await sync_in(shell, here, str(there), options, heard.append)
        return {path for path in told.sent if (here / os.fsdecode(path)).is_file()}, told.deleted

    assert len((await synced(SyncOptions(dry=True)))[0]) == 4
    assert not there.exists(), "it only looked"
    assert len((await synced(SyncOptions()))[0]) == 4
    assert _files(here) == _files(there)
    assert await synced(SyncOptions()) == (set(), ())
    heard.clear()
    (here / "changed").write_bytes(b"y" * 5000)
    (there / "old").write_bytes(b"")
    assert await synced(SyncOptions(delete=True)) == ({b"changed"}, (b"old",))
    assert _files(here) == _files(there)
    assert 5000 < sum(heard) < 20_000 or little < 0
    assert agent.fed == (1 if little > 0 else 3), "what is removed is named on one of its own"


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@SHELL_KINDS
async def test_what_cannot_be_unpacked_is_said(tmp_path: Path, kind: tuple[str, ...]) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "x").write_bytes(b"abc")
    (tmp_path / "file").write_bytes(b"")
    shell = LeaseShell(cast(Any, Local(kind)), 1)
    with pytest.raises(CopyFailed, match="file"):
        await sync_in(shell, tmp_path / "here", str(tmp_path / "file"), SyncOptions())


async def test_what_cannot_be_read_here_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the other side waits for more."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "x").write_bytes(b"abc")

    def gone(writer: Any, root: Path, paths: Sequence[bytes]) -> None:
        (root / "x").unlink(missing_ok=True)
        _write_tar(writer, root, paths)

    monkeypatch.setattr("leasehold.client._syncing._write_tar", gone)
    shell = LeaseShell(cast(Any, Local(["sh"])), 1)
    with pytest.raises(DatasetError, match="cannot be read"):
        await sync_in(shell, tmp_path / "here", str(tmp_path / "there"), SyncOptions())


@pytest.mark.parametrize(
    "pack",
    [
        lambda out, root: _write_tar(out, root, [b"x"]),
        lambda out, root: _Packed().write(out, root / "x", "x"),
    ],
)
def test_a_file_that_shrinks_while_it_is_packed_is_said(
    tmp_path: Path, pack: Callable[[Any, Path], None]
) -> None:
    (tmp_path / "x").write_bytes(b"abc" * 1_000_000)

    class Shrinking(io.BytesIO):
        def write(self, data: Any) -> int:
            os.truncate(tmp_path / "x", 10)
            return super().write(data)

    with pytest.raises(DatasetError, match=r"x cannot be read \(unexpected end of data\)"):
        pack(Shrinking(), tmp_path)


class Saying:
    """An agent whose container says what it wants, whatever it is told, and may end then."""

    def __init__(self, said: Sequence[bytes], *, ends: int | None = None) -> None:
        self.said, self.ends = said, ends

    async def exec_from(self, *given: Any, **more: Any) -> CommandEnd:
        return CommandEnd(exit=0, said="")

    @asynccontextmanager
    async def exec(self, lease: int, command: list[str]) -> AsyncIterator[Saying]:
        yield self

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        for data in self.said:
            yield 1, data
        if self.ends is None:
            raise AgentUnreachable("It broke off.")

    async def write(self, data: bytes) -> None: ...

    async def write_eof(self) -> None: ...

    async def wait(self) -> int:
        assert self.ends is not None
        return self.ends


@pytest.mark.parametrize(
    ("said", "ends", "problem"),
    [
        ([b"41ed 9 1 .//\n", b"no number at all"], 0, "more than how it went"),
        ([b"41ed 9 1 .//\n", b"1", b"\n"], 7, "ends with 7"),
        ([b"41ed 9 1 .//\n"], 0, "before it had said all"),
        ([b"41ed 9 1 .//\n"], None, "broke off"),
        ([b"41ed 9 1 .//\n0\n"], 0, "files change while"),
        ([b"81a4 3 5 ./a//\n"], 3, "ends with 3"),
        ([b"81a4 3 5 ./a//\n"], 0, "before it had said all"),
        ([b"81a4 3 5 "], None, "broke off"),
    ],
)
async def test_a_container_that_talks_nonsense(
    tmp_path: Path, said: Sequence[bytes], ends: int | None, problem: str
) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    shell = LeaseShell(cast(Any, Saying(said, ends=ends)), 1)
    with pytest.raises(AgentError, match=problem):
        await sync_in(shell, tmp_path, "/there", SyncOptions())


async def test_nothing_comes_into_a_git_folder(tmp_path: Path) -> None:
    """Its programs run here, and its owner may not be the one who wrote them: no `.git` goes in, and none comes out."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there, there / "sub"):
        (folder / ".git" / "hooks").mkdir(parents=True)
        (folder / ".git" / "config").write_text(folder.name)
    (there / ".GIT").mkdir()
    (there / ".GIT" / "config").write_text("theirs")
    (there / ".git" / "hooks" / "pre-commit").write_text("theirs")
    (there / ".gitignore").write_text("x")
    told = await sync_out(LeaseShell(cast(Any, Local(["sh"])), 1), str(there), here, SyncOptions(delete=True))
    assert _files(here) == {".git/config": b"here", ".gitignore": b"x"}
    assert (sorted(told.sent), told.deleted) == ([b".gitignore", b"sub"], ())
    assert sorted(told.left) == [".GIT", ".git", "sub/.git"]


async def test_what_was_not_listed_does_not_come(tmp_path: Path) -> None:
    """A container whose list is harmless, and whose archive is not."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "train.py").write_text("mine")
    (there / "out").write_text("x")

    class Lying(Local):
        async def exec_from(
            self, lease: int, command: list[str], take: Take, *given: Any, **more: Any
        ) -> Any:
            if not any("tar -c" in word for word in command):
                return await super().exec_from(lease, command, take, *given, **more)
            archive = io.BytesIO()
            with tarfile.open(fileobj=archive, mode="w") as members:
                for name in ("./out", "./train.py", "./.git", "./new/x"):
                    members.addfile(tarfile.TarInfo(name))
            archive.seek(0)
            take(archive)
            return CommandEnd(exit=0, said="")

    told = await sync_out(LeaseShell(cast(Any, Lying(["sh"])), 1), str(there), here, SyncOptions())
    assert _files(here) == {"out": b"", "train.py": b"mine"}
    assert sorted(told.left) == ["./.git", "./new/x", "./train.py"]


async def test_who_never_reads_is_given_up(tmp_path: Path) -> None:
    """Its caller's thread ends with the connection, as what an agent's stream says then."""
    (tmp_path / "x").write_bytes(bytes(3 << 20))
    begun = asyncio.Event()

    class Deaf(Saying):
        closed = asyncio.Event()

        @asynccontextmanager
        async def exec(self, lease: int, command: list[str]) -> AsyncIterator[Saying]:
            try:
                yield self
            finally:
                self.closed.set()

        async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
            yield 1, b"41ed 9 1 .//\n"
            await self.closed.wait()

        async def write(self, data: bytes) -> None:
            begun.set()
            await self.closed.wait()
            raise AgentUnreachable("It broke off.")

    threads = threading.active_count()
    syncing = asyncio.create_task(
        sync_in(LeaseShell(cast(Any, Deaf([])), 1), tmp_path, "/there", SyncOptions())
    )
    await begun.wait()
    syncing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await syncing
    await asyncio.get_running_loop().shutdown_default_executor()
    assert threading.active_count() <= threads


async def test_a_folder_that_is_not_here_is_said_whatever_the_other_side_does(tmp_path: Path) -> None:
    class Slow(Commands):
        async def exec_from(self, *given: Any, **more: Any) -> CommandEnd:
            await asyncio.Event().wait()
            raise AssertionError

    with pytest.raises(CodeInvalid):
        await sync_in(LeaseShell(cast(Any, Slow(["/bin/sh"])), 1), tmp_path / "none", "/x", SyncOptions())


def _names(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        return members.getnames()


async def test_what_a_container_complains_of() -> None:
    with pytest.raises(CopyFailed, match="no space"):
        await LeaseShell(cast(Any, Commands(["/bin/sh"], [(2, b"no space")], 1)), 1).ask("x")
    with pytest.raises(CopyFailed, match="ends with 3"):
        await LeaseShell(cast(Any, Commands(["/bin/sh"], [], 3)), 1).ask("x")
    with pytest.raises(CopyFailed, match="no shell"):
        await LeaseShell(cast(Any, Commands([])), 1).ask("x")
    with pytest.raises(CopyFailed, match="more than 0 MiB"):
        await LeaseShell(cast(Any, Commands(["/bin/sh"], [(1, b"xx")])), 1).ask("x", most=1)


# ------------------------------------------------------------------------------------------------------------ code


class Agent:
    """Takes code as an agent does, after it was asked `late` times; it forgets all once where it is `forgetful`."""

    def __init__(self, *, late: int = 0, forgetful: int = 0, refuses: bool = False) -> None:
        self.late, self.forgetful, self.refuses = late, forgetful, refuses
        self.pieces, self.offers, self.wanted = set[bytes](), 0, frozenset[bytes]()

    async def offer_code(self, lease: int, tree: CodeTree) -> CodeWanted:
        self.offers += 1
        if self.refuses:
            raise CodeRefused("The lease's workload names another folder than this.")
        if self.offers <= self.late:
            raise NotRunning("Not yet.")
        self.wanted = frozenset(tree.chunks)
        return CodeWanted.of([chunk not in self.pieces for chunk in tree.chunks])

    async def put_code(self, lease: int, pack: bytes) -> CodeTaken:
        pieces = {digest for digest, _, _ in unpacked(pack).pieces}
        if self.forgetful:
            self.forgetful -= 1
        else:
            self.pieces |= pieces
        return CodeTaken(taken=len(pieces), left=len(self.wanted - self.pieces))


class Client:
    """A client of that agent, as far as handing in goes."""

    def __init__(self, agent: Agent) -> None:
        self.its = agent

        class Silent:
            @staticmethod
            def working(what: str) -> Any:
                from leasehold.client import Observer

                return Observer().working(what)

        self.observer = Silent()

    async def index(self) -> None: ...

    @asynccontextmanager
    async def agent_of(self, lease: int) -> AsyncIterator[Agent]:
        yield self.its


@pytest.fixture
def code(tmp_path: Path) -> Any:
    for number in range(20):
        (tmp_path / f"f{number}").write_bytes(bytes([number]) * 900_000)
    return survey(CodeFolder(tmp_path))


async def handed(agent: Agent, code: Any) -> Any:
    return await hand_in(cast(Any, Client(agent)), 1 << 16, code)


async def test_code_is_handed_in_once_the_agent_knows_the_lease(
    code: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.client._code.ASK_EVERY", 0.0)
    agent = Agent(late=3)
    done = await handed(agent, code)
    assert (done.files, done.size, len(agent.pieces)) == (20, 18_000_000, 20)
    assert 0 < done.sent <= 18_100_000
    assert agent.offers == 4, "the answer to the last pack says that it is the last"
    assert (await handed(agent, code)).sent == 0


async def test_what_was_dropped_meanwhile_is_sent_again(code: Any) -> None:
    agent = Agent(forgetful=2)
    await handed(agent, code)
    assert len(agent.pieces) == 20
    with pytest.raises(Exception, match="does not keep"):
        await handed(Agent(forgetful=1_000), code)


async def test_what_is_refused_is_not_tried_again(code: Any) -> None:
    agent = Agent(refuses=True)
    with pytest.raises(CodeRefused):
        await handed(agent, code)
    assert agent.offers == 1


@pytest.mark.parametrize("seconds", [0.001, 1000.0])
async def test_what_goes_fast_is_not_compressed(
    code: Any, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The first pack tells, which is small and goes alone."""
    now, packs = 0.0, list[bytes]()
    monkeypatch.setattr("leasehold.client._code.time.monotonic", lambda: now)

    class Link(Agent):
        async def put_code(self, lease: int, pack: bytes) -> CodeTaken:
            nonlocal now
            now += seconds
            packs.append(pack)
            return await super().put_code(lease, pack)

    await handed(Link(), code)
    folded = [pack.startswith(b"\x28\xb5\x2f\xfd") for pack in packs]
    assert len(packs) >= 3
    assert folded == [False, *[seconds > 1] * (len(packs) - 1)]


def test_what_was_read_is_remembered_for_a_folder(tmp_path: Path) -> None:
    memory = CodeMemory(tmp_path / "home", tmp_path)
    assert memory.load() == {}
    known = {b"a/\xff\n": ((1, 2, 3, 4), (b"d" * 32, b"e" * 32)), b"empty": ((0, 0, 0, 0), ())}
    memory.save(known)
    assert memory.load() == known
    assert CodeMemory(tmp_path / "home", tmp_path / "other").load() == {}
    (kept,) = (tmp_path / "home" / "code").iterdir()
    kept.write_bytes(b"damaged")
    assert memory.load() == {}


# ------------------------------------------------------------------------------------------------------------- ssh


def door(user: str, proxy: tuple[str, ...] = ()) -> SshDoor:
    return SshDoor(user, "203.0.113.7", 2222, Path("/home/me/known hosts"), proxy=proxy)


def test_how_openssh_is_told(tmp_path: Path) -> None:
    files = SshFiles(tmp_path / "own", tmp_path / ".ssh" / "config")
    hosts = [
        SshHost(("lease-12", "train"), door("12")),
        SshHost(("lease-7.1",), door("7.1", ("run", "a%b c"))),
    ]
    text = ssh_config(hosts, files, lambda lease: ["/bin/lease hold", "--key", lease])
    assert 'Match originalhost "lease-12,train" exec "\'/bin/lease hold\' --key 12"' in text
    assert f'  CertificateFile "{tmp_path}/own/12-cert.pub"' in text
    assert "Host lease-12 train\n  HostName 203.0.113.7\n  Port 2222\n  User 12\n" in text
    assert "  ProxyCommand run 'a%%b c'\n" in text
    assert text.count("StrictHostKeyChecking yes") == 2


def test_what_was_there_stays(tmp_path: Path) -> None:
    files = SshFiles(tmp_path / "own", tmp_path / ".ssh" / "config")
    assert not exclude(files)
    include(files, "text\n")
    include(files, "other\n")
    assert files.users.read_text() == files.line
    assert files.own.read_text() == "other\n"
    assert exclude(files)
    files.users.write_text("Host mine\n")
    include(files, "text\n")
    assert (
        files.users.read_text() == files.line + "Host mine\n"
    )  # before any block, else it would belong to that
    assert exclude(files)
    assert files.users.read_text() == "Host mine\n"
