"""SSH by the OpenSSH client: who may, commands, terminals, forwarding, and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import AsyncMock

import asyncssh
import pytest

from devnet.patience import patient
from leasehold_agent._errors import EngineDown
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.access import Slots
from leasehold_agent.ssh import _server as _ssh
from leasehold_agent.store import AuditLog

from .conftest import LEASE, OTHER, TENANT, Ssh, hang_up, unused_port


async def test_a_command(ssh: Ssh) -> None:
    found = await ssh.ssh("echo out; echo err >&2; exit 7")
    assert (found.code, found.out, found.err) == (7, b"out\n", b"err\n")


async def test_who_came_is_in_the_lease_s_log(ssh: Ssh, tmp_path: Path) -> None:
    log = await AuditLog.open(tmp_path / "audit.sqlite", AsyncMock(return_value=True))
    ssh.server._audit = log
    assert (await ssh.ssh("true")).code == 0
    ssh.key = "theirs"
    await refusal(ssh, "12")
    await asyncio.gather(*ssh.server._noting)
    (act,) = (await log.of(LEASE, TENANT, 0)).acts
    shown = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-l", "-f", str(ssh.folder / "mine.pub"), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await shown.communicate()
    assert (act.op, act.outcome, act.session) == ("ssh", "done", out.decode().split()[1])
    await log.close(0)


async def test_a_command_and_its_input(ssh: Ssh) -> None:
    found = await ssh.ssh("cat; echo end", stdin=b"a\x00b\n" * 100_000)
    assert (found.code, found.out) == (0, b"a\x00b\n" * 100_000 + b"end\n")


async def test_a_generation_is_a_lease_of_its_own(ssh: Ssh) -> None:
    ssh.key = "theirs"
    found = await ssh.ssh("pwd", user="12.1")
    assert found.out.decode().strip() == str(ssh.leases.root / str(OTHER))


async def test_a_shell(ssh: Ssh) -> None:
    found = await ssh.ssh(stdin=b"cd /; pwd; exit 5\n")
    assert (found.code, found.out) == (5, b"/\n")


async def test_the_environment(ssh: Ssh) -> None:
    found = await ssh.run(
        "ssh", "-o", "SetEnv=A=b A-B=x", "-p", str(ssh.port), "12@127.0.0.1", "echo $A; env | grep -c A-B"
    )
    assert found.out == b"b\n0\n"


async def refusal(ssh: Ssh, user: str, *more: str) -> bytes:
    found = await ssh.ssh(*more, "true", user=user)
    assert found.code == 255
    return found.err.replace(user.encode() + b"@", b"USER@")


async def test_wrong_keys_and_unknown_leases_look_the_same(ssh: Ssh) -> None:
    expected = b"USER@127.0.0.1: Permission denied (publickey).\r\n"
    for user in ("12.1", "99", "root", "12.99999", "../12"):
        assert await refusal(ssh, user) == expected
    ssh.key = "theirs"
    assert await refusal(ssh, "12") == expected
    assert not ssh.leases.streams


async def test_no_lookup_no_entry(ssh: Ssh, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(lease: int) -> None:
        raise EngineDown("The Docker engine does not answer; try again.")

    monkeypatch.setattr(ssh.leases, "lookup", down)
    assert b"Permission denied" in await refusal(ssh, "12")


async def test_nothing_but_keys_is_offered(ssh: Ssh) -> None:
    found = await ssh.run(
        "ssh",
        "-v",
        "-o",
        "PubkeyAuthentication=no",
        "-o",
        "LogLevel=DEBUG1",
        "-p",
        str(ssh.port),
        "12@127.0.0.1",
        "true",
    )
    assert found.code == 255
    assert b"Authentications that can continue: publickey\r\n" in found.err


async def test_a_key_that_is_taken_away_opens_no_more_channels(ssh: Ssh) -> None:
    async with client(ssh) as connection:
        assert (await connection.run("echo in")).stdout == "in\n"
        ssh.leases.change(LEASE, ssh_keys=())
        found = await connection.run("echo in")
        assert (found.exit_status, found.stdout) == (255, "")
        assert "taken off" in str(found.stderr)
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("localhost", 1)
        async with connection.start_sftp_client() as sftp:
            with pytest.raises(asyncssh.SFTPError):
                await sftp.listdir("/")


async def test_who_is_signing_is_not_cut_off_by_the_look_at_the_keys(
    ssh: Ssh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has shown a key that opens the lease, and is no user of it yet."""
    looked, lookup = 0, ssh.leases.lookup

    async def slowly(lease: int) -> LeaseHandle | None:
        nonlocal looked
        looked += 1
        if looked == 2:  # the key is there; now its signature is checked
            await ssh.server.recheck()
        return await lookup(lease)

    monkeypatch.setattr(ssh.leases, "lookup", slowly)
    async with client(ssh) as connection:
        assert (await connection.run("echo in")).stdout == "in\n"
    assert looked > 2


async def test_what_a_key_opened_ends_with_the_key(ssh: Ssh) -> None:
    """A lease that changes hands: the former tenant's shells and forwarded ports close by themselves."""
    async with client(ssh) as connection:
        shell = await connection.create_process("sleep 600")
        ssh.leases.change(LEASE, ssh_keys=())
        async with asyncio.timeout(patient(10)):
            await shell.wait_closed()
            await connection.wait_closed()


@contextlib.asynccontextmanager
async def client(ssh: Ssh, **options: object) -> AsyncIterator[asyncssh.SSHClientConnection]:
    async with asyncssh.connect(
        "127.0.0.1",
        ssh.port,
        username="12",
        client_keys=[str(ssh.folder / ssh.key)],
        known_hosts=str(ssh.folder / "known_hosts"),
        config=None,
        agent_path=None,
        **options,
    ) as connection:
        yield connection


async def test_a_terminal_its_size_and_resizing(ssh: Ssh) -> None:
    async with client(ssh) as connection:
        command = "stty size; echo $TERM; read x; stty size; exit 3"
        process = await connection.create_process(command, term_type="xterm-256color", term_size=(100, 40))
        async with asyncio.timeout(patient(20)):
            assert await process.stdout.readline() == "40 100\r\n"
            assert await process.stdout.readline() == "xterm-256color\r\n"
            process.change_terminal_size(120, 50)
            process.stdin.write("\n")
            rest = await process.stdout.read()
            await process.wait_closed()
        assert "50 120" in rest
        assert process.exit_status == 3


async def test_an_interrupt_reaches_the_terminal(ssh: Ssh) -> None:
    async with client(ssh) as connection:
        script = "trap 'echo caught; exit 9' INT; echo up; while :; do sleep 0.05; done"
        process = await connection.create_process(script, term_type="xterm")
        async with asyncio.timeout(patient(20)):
            assert await process.stdout.readline() == "up\r\n"
            process.send_signal("INT")
            await process.wait_closed()
        assert process.exit_status == 9


async def test_a_signal_ends_a_command_without_a_terminal(ssh: Ssh) -> None:
    async with client(ssh) as connection:
        process = await connection.create_process("echo up; sleep 1000")
        async with asyncio.timeout(patient(20)):
            await process.stdout.readline()
            process.send_break(10)
            process.send_signal("TERM")
            await process.wait_closed()
        assert process.exit_status == 128 + 9


async def test_a_client_that_vanishes_ends_its_command(ssh: Ssh) -> None:
    process = await ssh.start("ssh", "-p", str(ssh.port), "12@127.0.0.1", "echo up; sleep 1000")
    assert process.stdout is not None
    async with asyncio.timeout(patient(30)):
        assert await process.stdout.readline() == b"up\n"
        pid = ssh.leases.streams[-1].pid
        hang_up(process)
        await process.communicate()
        while not ssh.leases.streams[-1].closed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_closing_the_server_ends_commands(ssh: Ssh) -> None:
    process = await ssh.start("ssh", "-p", str(ssh.port), "12@127.0.0.1", "echo up; sleep 1000")
    assert process.stdout is not None
    async with asyncio.timeout(patient(30)):
        await process.stdout.readline()
        await ssh.server.close()
        await process.communicate(b"")
        while not ssh.leases.streams[-1].closed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_lease_without_a_container(ssh: Ssh) -> None:
    ssh.leases.change(LEASE, container_id=None, phase="pulling")
    found = await ssh.ssh("true")
    assert found.code == 255
    assert b"leasehold: The lease is pulling." in found.err


async def test_streams_are_counted(ssh: Ssh) -> None:
    ssh.server.admission.streams = Slots(0)
    found = await ssh.ssh("true")
    assert (found.code, b"streams" in found.err) == (255, True)


async def test_no_other_subsystem(ssh: Ssh) -> None:
    found = await ssh.run("ssh", "-p", str(ssh.port), "-s", "12@127.0.0.1", "netconf")
    assert found.code == 255


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write(b"end")
    writer.close()
    await writer.wait_closed()


async def test_forwarding_into_the_container(ssh: Ssh) -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    ssh.leases.ports[LEASE, 80] = server.sockets[0].getsockname()[:2]
    async with client(ssh) as connection:
        for host in ("localhost", "127.0.0.1", "::1"):
            reader, writer = await connection.open_connection(host, 80, encoding=None)
            writer.write(b"x" * 1_000_000)
            writer.write_eof()
            assert await reader.read() == b"x" * 1_000_000 + b"end"
            writer.close()
    server.close()
    await server.wait_closed()


async def test_forwarding_by_openssh(ssh: Ssh) -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    ssh.leases.ports[LEASE, 80] = server.sockets[0].getsockname()[:2]
    here = unused_port()
    process = await ssh.start(
        "ssh", "-o", "ExitOnForwardFailure=yes", "-L", f"127.0.0.1:{here}:localhost:80", "-p", str(ssh.port),
        "12@127.0.0.1", "echo up; cat",
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(patient(30)):
        await process.stdout.readline()
        reader, writer = await asyncio.open_connection("127.0.0.1", here)
        writer.write(b"hello ")
        writer.write_eof()
        assert await reader.read() == b"hello end"
        writer.close()
        await process.communicate(b"")
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "169.254.169.254", "example.org", "0.0.0.0", "127.0.0.2", "localhost.", ""]
)
async def test_forwarding_to_anywhere_else(ssh: Ssh, host: str) -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    ssh.leases.ports[LEASE, 80] = server.sockets[0].getsockname()[:2]
    async with client(ssh) as connection:
        with pytest.raises(asyncssh.ChannelOpenError) as caught:
            await connection.open_connection(host, 80)
    assert caught.value.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
    server.close()
    await server.wait_closed()


async def test_forwarding_to_the_host_s_own_port(ssh: Ssh) -> None:
    """The agent's own port is on 127.0.0.1 of the host, not of the container."""
    async with client(ssh) as connection:
        with pytest.raises(asyncssh.ChannelOpenError) as caught:
            await connection.open_connection("127.0.0.1", ssh.port)
    assert caught.value.code == asyncssh.OPEN_CONNECT_FAILED


async def test_forwarded_connections_are_counted(ssh: Ssh) -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    ssh.leases.ports[LEASE, 80] = server.sockets[0].getsockname()[:2]
    ssh.server.admission.streams = Slots(0)
    async with client(ssh) as connection:
        with pytest.raises(asyncssh.ChannelOpenError) as caught:
            await connection.open_connection("localhost", 80, encoding=None)
    assert caught.value.code == asyncssh.OPEN_RESOURCE_SHORTAGE
    server.close()
    await server.wait_closed()


async def test_remote_forwarding_is_refused(ssh: Ssh) -> None:
    async with client(ssh) as connection:
        with pytest.raises(asyncssh.ChannelListenError):
            await connection.forward_remote_port("127.0.0.1", 0, "127.0.0.1", 1)
        with pytest.raises(asyncssh.ChannelListenError):
            await connection.forward_remote_path("/tmp/x.sock", "/tmp/y.sock")
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_unix_connection("/var/run/docker.sock")


async def test_who_has_shown_a_key_does_not_count_as_a_stranger(ssh: Ssh) -> None:
    async with client(ssh):
        assert ssh.server.door.strangers == 0


async def test_keys_are_tried_a_limited_number_of_times(ssh: Ssh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ssh, "TRIES", 0)
    assert b"Permission denied" in await refusal(ssh, "12")
