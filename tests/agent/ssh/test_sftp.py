"""SFTP and SCP by the OpenSSH client and asyncssh's, against a shell in the lease."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator

import asyncssh
import pytest

from devnet.patience import patient
from leasehold.errors import AgentError
from leasehold_agent._runtime import CommandStream
from leasehold_agent.ssh import _sftp, _sftp_shell
from leasehold_agent.ssh._sftp import ContainerSftp, meaning
from leasehold_agent.ssh._sftp_shell import Shell, ShellFailed, quoted

from .conftest import LEASE, Ssh

AWKWARD = [
    "plain",
    "with space",
    "quote's",
    'double"',
    "line\nbreak",
    "-n",
    "*",
    "$HOME",
    "`id`",
    "\\",
    "ünï",
    " . ",
]


@pytest.fixture
async def sftp(ssh: Ssh) -> AsyncIterator[asyncssh.SFTPClient]:
    async with (
        asyncssh.connect(
            "127.0.0.1",
            ssh.port,
            username="12",
            client_keys=[str(ssh.folder / "mine")],
            known_hosts=str(ssh.folder / "known_hosts"),
            config=None,
            agent_path=None,
        ) as connection,
        connection.start_sftp_client() as client,
    ):
        yield client


def test_nothing_falls_through_to_the_host_s_files() -> None:
    """asyncssh's own server serves local files: each of its operations must be replaced."""
    harmless = {"channel", "connection", "env", "logger", "convert_attrs", "format_longname"}
    operations = {name for name in vars(asyncssh.SFTPServer) if not name.startswith("_")} - harmless
    assert operations - set(vars(ContainerSftp)) == set()
    assert {"open", "stat", "remove", "map_path", "statvfs"} <= operations


async def test_files_go_there_and_back(ssh: Ssh) -> None:
    body = os.urandom(3_000_001)
    (ssh.folder / "here").write_bytes(body)
    (ssh.folder / "here").chmod(0o640)
    found = await ssh.sftp("put -p here there\nget -p there back\nls -l there\n")
    assert found.code == 0, found.err
    assert (ssh.home / "there").read_bytes() == body
    assert (ssh.folder / "back").read_bytes() == body
    assert stat.S_IMODE((ssh.home / "there").stat().st_mode) == 0o640
    assert int((ssh.home / "there").stat().st_mtime) == int((ssh.folder / "here").stat().st_mtime)
    assert b"-rw-r-----" in found.out


@pytest.mark.parametrize("option", [[], ["-O"]], ids=["sftp", "old protocol"])
async def test_scp_of_a_folder(ssh: Ssh, option: list[str]) -> None:
    source = ssh.folder / "source"
    (source / "inner").mkdir(parents=True)
    (source / "empty").write_bytes(b"")
    (source / "inner" / "x").write_bytes(b"x" * 100_000)
    target = f"12@127.0.0.1:{ssh.home}/copy"
    there = await ssh.run("scp", *option, "-r", "-P", str(ssh.port), str(source), target)
    assert (there.code, there.err) == (0, b"")
    assert (ssh.home / "copy" / "inner" / "x").read_bytes() == b"x" * 100_000
    back = await ssh.run("scp", *option, "-r", "-P", str(ssh.port), target, str(ssh.folder / "back"))
    assert (back.code, back.err) == (0, b"")
    assert (ssh.folder / "back" / "empty").read_bytes() == b""


async def test_the_everyday_commands(ssh: Ssh) -> None:
    (ssh.folder / "a").write_text("a")
    found = await ssh.sftp(
        "pwd\nmkdir d\ncd d\nput a b\n"
        + "rename b c\nln -s c l\nln c h\nchmod 600 c\nls -la\ndf .\nrm h\nrm l\nrm c\ncd ..\nrmdir d\n"
    )
    assert found.code == 0, found.err
    assert f"Remote working directory: {ssh.home}".encode() in found.out
    assert b" c\n" in found.out
    assert b" l\n" in found.out
    assert not (ssh.home / "d").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("get nowhere", b"not found"),
        ("put nowhere", b"No such file"),
        ("rm nowhere", b"No such file"),
        ("rmdir full", b"Failure"),
        ("mkdir full", b"Failure"),
        ("cd nowhere", b"No such file"),
        ("put here full/no/such", b"No such file"),
        ("put here /proc/version", b""),
    ],
)
async def test_what_fails_says_so(ssh: Ssh, script: str, words: bytes) -> None:
    (ssh.folder / "here").write_text("x")
    (ssh.home / "full").mkdir()
    (ssh.home / "full" / "x").write_text("x")
    found = await ssh.sftp(script + "\n")
    assert found.code != 0
    assert words in found.err


async def test_interrupted_copies_go_on(ssh: Ssh) -> None:
    body = os.urandom(500_000)
    (ssh.folder / "f").write_bytes(body)
    (ssh.home / "f").write_bytes(body[:123_456])
    assert (await ssh.sftp("reput f\n")).code == 0
    assert (ssh.home / "f").read_bytes() == body
    (ssh.folder / "f").write_bytes(body[:77])
    assert (await ssh.sftp("reget f\n")).code == 0
    assert (ssh.folder / "f").read_bytes() == body


@pytest.mark.parametrize("name", AWKWARD)
async def test_awkward_names(ssh: Ssh, sftp: asyncssh.SFTPClient, name: str) -> None:
    async with sftp.open(name, "wb") as file:
        await file.write(b"body")
    assert (ssh.home / name).read_bytes() == b"body"
    assert set(await sftp.listdir(".")) == {".", "..", name}
    async with sftp.open(name, "rb") as file:
        assert await file.read() == b"body"
    await sftp.rename(name, name + "2")
    await sftp.symlink(name + "2", "l")
    assert await sftp.readlink("l") == name + "2"
    await sftp.remove(name + "2")
    assert await sftp.lexists("l")
    assert not await sftp.exists("l")


async def test_names_that_are_no_text(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    async with sftp.open(b"\xff\xfe", "wb") as file:
        await file.write(b"body")
    assert os.listdir(os.fsencode(ssh.home)) == [b"\xff\xfe"]
    assert b"\xff\xfe" in await sftp.listdir(b".")
    async with sftp.open(b"\xff\xfe", "rb") as file:
        assert await file.read() == b"body"


async def test_many_files(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    for number in range(700):
        (ssh.home / f"f{number}").touch()
    (ssh.home / ".hidden").touch()
    (ssh.home / "dangling").symlink_to("nowhere")
    names = await sftp.listdir(str(ssh.home))
    assert len(names) == 704
    assert {".", "..", ".hidden", "dangling", "f0"} <= set(names)


async def test_an_empty_folder(sftp: asyncssh.SFTPClient) -> None:
    assert set(await sftp.listdir(".")) == {".", ".."}


async def test_attributes(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    (ssh.home / "f").write_bytes(b"12345")
    os.utime(ssh.home / "f", (1000, 2000))
    (ssh.home / "l").symlink_to("f")
    os.mkfifo(ssh.home / "p")
    found = await sftp.stat("l")
    assert (found.size, found.mtime, stat.S_ISREG(found.permissions or 0)) == (5, 2000, True)
    assert stat.S_ISLNK((await sftp.lstat("l")).permissions or 0)
    assert stat.S_ISFIFO((await sftp.lstat("p")).permissions or 0)
    await sftp.truncate("f", 2)
    await sftp.utime("f", (5, 6))
    await sftp.chown("f", os.getuid(), os.getgid())
    await sftp.chmod("f", 0o4711)
    found = await sftp.stat("f")
    assert (found.size, found.mtime, stat.S_IMODE(found.permissions or 0)) == (2, 6, 0o4711)
    await sftp.setstat("f", asyncssh.SFTPAttrs())
    with pytest.raises(asyncssh.SFTPOpUnsupported):
        await sftp.setstat("l", asyncssh.SFTPAttrs(permissions=0o600), follow_symlinks=False)
    await sftp.setstat("f", asyncssh.SFTPAttrs(permissions=0o600), follow_symlinks=False)
    room = await sftp.statvfs(".")
    assert room.blocks
    assert room.blocks >= (room.bavail or 0)


async def test_reading_and_writing_here_and_there(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    async with sftp.open("f", "wb+") as file:
        await file.write(b"hello world")
        await file.seek(6)
        await file.write(b"W")
        await file.seek(0)
        assert await file.read(5) == b"hello"
        await file.seek(6)
        assert await file.read() == b"World"
        assert (await file.stat()).size == 11
        await file.fsync()
        await file.setstat(asyncssh.SFTPAttrs(permissions=0o600))
        assert (await file.statvfs()).blocks
    async with sftp.open("f", "ab") as file:
        await file.write(b"!")
    assert (ssh.home / "f").read_bytes() == b"hello World!"
    async with sftp.open("f", "rb") as file:
        assert await file.read(10, 50) == b""
        with pytest.raises(asyncssh.SFTPPermissionDenied):
            await file.write(b"x")
    async with sftp.open("f", "wb") as file:
        with pytest.raises(asyncssh.SFTPPermissionDenied):
            await file.read()
    assert (ssh.home / "f").read_bytes() == b""


async def test_a_file_that_must_be_new(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    async with sftp.open("f", "xb", asyncssh.SFTPAttrs(permissions=0o600)) as file:
        await file.write(b"x")
    assert stat.S_IMODE((ssh.home / "f").stat().st_mode) == 0o600
    with pytest.raises(asyncssh.SFTPError):
        await sftp.open("f", "xb")
    with pytest.raises(asyncssh.SFTPNoSuchFile):
        await sftp.open("new", asyncssh.FXF_WRITE, encoding=None)
    for mode in ("rb", "wb", "ab"):
        with pytest.raises(asyncssh.SFTPError, match="directory"):
            await sftp.open(".", mode)


async def test_renaming_never_replaces_unless_asked(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    (ssh.home / "a").write_text("a")
    (ssh.home / "b").write_text("b")
    with pytest.raises(asyncssh.SFTPError):
        await sftp.rename("a", "b")
    await sftp.posix_rename("a", "b")
    assert (ssh.home / "b").read_text() == "a"


async def test_links(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    (ssh.home / "a").write_text("a")
    await sftp.link("a", "b")
    assert (ssh.home / "b").stat().st_nlink == 2
    with pytest.raises(asyncssh.SFTPNoSuchFile):
        await sftp.readlink("nowhere")
    with pytest.raises(asyncssh.SFTPError):
        await sftp.readlink("a")
    assert await sftp.realpath("x/../y") == str(ssh.home / "y")
    assert await sftp.realpath("/../..") == "/"


@pytest.mark.parametrize("call", ["remove", "stat", "listdir"])
async def test_zero_bytes_in_paths(sftp: asyncssh.SFTPClient, call: str) -> None:
    with pytest.raises(asyncssh.SFTPError):
        await getattr(sftp, call)(b"a\0b")
    with pytest.raises(asyncssh.SFTPError):
        await sftp.symlink(b"a\0b", b"c")


async def test_a_disk_that_is_full(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    with pytest.raises(asyncssh.SFTPError) as caught:
        async with sftp.open("/dev/full", asyncssh.FXF_WRITE, encoding=None) as file:
            await file.write(b"x" * 1_000_000)
    assert "space" in str(caught.value)


async def test_endless_files_are_read_in_pieces(sftp: asyncssh.SFTPClient) -> None:
    async with sftp.open("/dev/zero", "rb") as file:
        for _ in range(4):
            assert await file.read(100_000) == bytes(100_000)


async def test_open_files_are_counted(
    ssh: Ssh, sftp: asyncssh.SFTPClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sftp, "_OPEN_FILES", 1)
    (ssh.home / "f").touch()
    file = await sftp.open("f", "rb")
    with pytest.raises(asyncssh.SFTPFailure):
        await sftp.open("f", "rb")
    await file.close()
    await (await sftp.open("f", "rb")).close()


async def test_nothing_is_left_behind(ssh: Ssh) -> None:
    (ssh.home / "f").write_bytes(bytes(10_000_000))
    assert (await ssh.sftp("get f\n")).code == 0
    async with asyncio.timeout(patient(20)):
        while not all(stream.closed for stream in ssh.leases.streams):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert ssh.server.admission.streams.used(LEASE) == 0


async def test_a_shell_that_stops_answering(
    ssh: Ssh, sftp: asyncssh.SFTPClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sftp.listdir(".")
    await ssh.leases.streams[-1].close()
    with pytest.raises(asyncssh.SFTPError):
        await sftp.listdir(".")
    assert set(await sftp.listdir(".")) == {".", ".."}  # by a new one


async def test_an_image_without_a_shell(sftp: asyncssh.SFTPClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sftp_shell, "SHELLS", (("/nowhere/sh",),))
    with pytest.raises(asyncssh.SFTPFailure, match="no shell"):
        await sftp.listdir(".")


async def test_a_container_that_stops(ssh: Ssh, sftp: asyncssh.SFTPClient) -> None:
    ssh.leases.change(LEASE, container_id=None, phase="stopping")
    with pytest.raises(asyncssh.SFTPFailure, match="stopping"):
        await sftp.listdir(".")


async def opened(ssh: Ssh, *command: str) -> CommandStream:
    return await ssh.leases.exec(LEASE, command)


async def test_a_shell_s_answers_cannot_be_forged_or_endless(
    ssh: Ssh, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(lambda command: opened(ssh, *command))
    assert await shell.run(b"printf '\\0 0\\n'; echo x") == b"\0 0\nx\n"
    with pytest.raises(ShellFailed, match="nowhere"):
        await shell.run(b"cat nowhere")
    assert await shell.program() == ("/bin/sh",)
    monkeypatch.setattr(_sftp_shell, "MOST_ANSWER", 1_000_000)
    with pytest.raises(ShellFailed, match="too much"):
        await shell.run(b"cat /dev/zero")
    monkeypatch.setattr(_sftp_shell, "ANSWER_SECONDS", 0.2)
    with pytest.raises(TimeoutError):
        await shell.run(b"sleep 1000")
    monkeypatch.setattr(_sftp_shell, "ANSWER_SECONDS", patient(20))
    assert await shell.run(b"echo " + quoted(b"it's")) == b"it's\n"
    await shell.close()


async def test_a_shell_that_says_nothing_is_no_shell(ssh: Ssh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sftp_shell, "SHELLS", (("/bin/cat",), ("/bin/true",)))
    monkeypatch.setattr(_sftp_shell, "ANSWER_SECONDS", 0.2)
    with pytest.raises(AgentError, match="no shell"):
        await Shell(lambda command: opened(ssh, *command)).run(b"echo")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("rm: can't remove 'x': No such file or directory", asyncssh.SFTPNoSuchFile),
        ("Permission denied", asyncssh.SFTPPermissionDenied),
        ("dd: error writing: No space left on device", asyncssh.SFTPNoSpaceOnFilesystem),
        ("odd", asyncssh.SFTPFailure),
        ("", asyncssh.SFTPFailure),
    ],
)
def test_meaning(text: str, kind: type[asyncssh.SFTPError]) -> None:
    assert type(meaning(text)) is kind


@pytest.mark.parametrize(
    "numbers", [b"", b"1 2 3", b"zz 1 1 1 1 1 1", b"81a4 x -1 9999999999999999999999 1 1 1"]
)
def test_numbers_that_a_hostile_container_writes(numbers: bytes) -> None:
    if len(numbers.split(b" ")) == 7:
        found = _sftp._attributes(numbers)
        assert found.size == 0 or found.size == 1
    else:
        with pytest.raises(asyncssh.SFTPFailure):
            _sftp._attributes(numbers)
