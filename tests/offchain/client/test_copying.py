"""What differs between two folders, how OpenSSH is told of leases, and code on its way to an agent."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from leasehold.client import CopyFailed, LeaseShell, SshDoor, hand_in
from leasehold.client._copying import Copied, CopyTarget, copy_in, unpacking
from leasehold.client._syncing import (
    _LIST,
    SyncEntry,
    SyncOptions,
    _batches,
    _parsed,
    differing,
    sync_in,
)
from leasehold.copying import CodeFolder, SshFiles, SshHost, exclude, include, ssh_config
from leasehold.datasets import Budget
from leasehold.errors import CodeInvalid, DatasetError, DestinationExists
from leasehold.home import CodeMemory
from leasehold.market import Feed, Take
from leasehold.market.wire import CodeRefused, CodeTaken, CodeWanted, CommandEnd, NotRunning
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

    def listed(place: Path, missing: int = 2) -> subprocess.CompletedProcess[bytes]:
        words = [*shell, "-c", _LIST, "leasehold", str(place), str(missing)]
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
    assert (listed(folder / "none").returncode, listed(folder / "none", 0).returncode) == (2, 0)


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


async def test_only_what_differs_goes_in(tmp_path: Path) -> None:
    for name in ("same", "new"):
        (tmp_path / name).write_bytes(b"abc")
        os.utime(tmp_path / name, (5, 5))
    agent = Commands(["/bin/sh"], [(1, b"81a4 3 5 ./same//\n41ed 0 5 .//\n")])
    told = await sync_in(LeaseShell(cast(Any, agent), 1), tmp_path, "/there", SyncOptions())
    assert told.sent == (b"new",)
    assert _names(agent.given) == ["new"]
    (tmp_path / "new").unlink()
    before = list(agent.ran)
    assert (await sync_in(LeaseShell(cast(Any, agent), 1), tmp_path, "/there", SyncOptions())).sent == ()
    assert len(agent.ran) == len(before) + 3, "two looks for a shell, and one at the folder"


async def test_a_folder_that_is_not_here_is_said_whatever_the_other_side_does(tmp_path: Path) -> None:
    class Slow(Commands):
        async def exec_from(self, *given: Any) -> CommandEnd:
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
