"""What a stranger or a tenant may do to the SSH server, and who is served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace

import asyncssh
import pytest

from devnet.patience import patient
from leasehold_agent.access import Slots
from leasehold_agent.access._slots import CONNECTIONS_PER_LEASE, MOST_STRANGERS, STREAMS_PER_LEASE
from leasehold_agent.ssh import _guard as _ssh_guard
from leasehold_agent.ssh import _server as _ssh_server
from leasehold_agent.ssh._guard import MOST_PENDING, MOST_UNSENT, GuardedChannel

from .conftest import LEASE, Ssh
from .test_ssh import client, echo

HUGE = 2**31 - 1
"""A window that a client may give: the agent must bound by itself what it sends ahead."""


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(patient(20)):
        while not true():  # noqa: ASYNC110  # the server's own state
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def rude(ssh: Ssh) -> AsyncIterator[asyncssh.SSHClientConnection]:
    """A client that goes without a goodbye."""
    async with client(ssh) as connection:
        try:
            yield connection
        finally:
            connection.abort()


def deaf(connection: asyncssh.SSHClientConnection) -> None:
    """The client reads no more, as long as it lives."""
    transport = connection._transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()


def unsent(ssh: Ssh) -> int:
    """Bytes that the server holds for its one client."""
    (connection,) = ssh.server._connections
    transport = connection._transport
    assert isinstance(transport, asyncio.Transport)
    channels = sum(channel.get_write_buffer_size() for channel in connection._channels.values())
    deferred = sum(len(part) for _, parts in connection._deferred_packets for part in parts)
    return transport.get_write_buffer_size() + channels + deferred


def stuck(ssh: Ssh) -> bool:
    (connection,) = ssh.server._connections
    waiting = any(channel.get_write_buffer_size() for channel in connection._channels.values())
    return waiting or not connection._writable.is_set()


@pytest.mark.slow
async def test_silent_connections_shut_nobody_out(ssh: Ssh) -> None:
    """More than there are places for strangers, from few addresses and from many."""
    writers = []
    for number in range(MOST_STRANGERS + 50):
        source = f"127.0.1.{number // 100}" if number < 200 else f"127.0.{number % 8 + 2}.{number // 8 + 1}"
        _, writer = await asyncio.open_connection("127.0.0.1", ssh.port, local_addr=(source, 0))
        writers.append(writer)
    assert (await ssh.ssh("true")).code == 0
    assert ssh.server.door.strangers <= MOST_STRANGERS
    for writer in writers:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_who_does_not_finish_the_key_exchange_is_cut_off(
    ssh: Ssh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ssh_guard, "EXCHANGE_SECONDS", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", ssh.port)
    writer.write(b"SSH-2.0-slow\r\n")
    async with asyncio.timeout(patient(10)):
        assert (await reader.read(8)).startswith(b"SSH-2.0")
        while await reader.read(4096):
            pass
    writer.close()


@pytest.mark.slow
async def test_fifty_at_once_from_one_address(ssh: Ssh) -> None:
    async def one(number: int) -> object:
        async with client(ssh) as connection:
            return (await connection.run(f"echo {number}")).stdout

    async with asyncio.timeout(patient(60)):
        answers = await asyncio.gather(*(one(number) for number in range(50)))
    assert answers == [f"{number}\n" for number in range(50)]


async def test_idle_logins_of_a_lease_are_counted(ssh: Ssh) -> None:
    ssh.server.admission.connections = ssh.server.door._connections = Slots(2)
    async with client(ssh), client(ssh):
        async with client(ssh) as third:
            await third.wait_closed()
        ssh.key = "theirs"
        assert (await ssh.ssh("true", user="12.1")).code == 0
    assert CONNECTIONS_PER_LEASE == 64


@pytest.mark.slow
async def test_forwards_take_their_slot_before_they_are_made(ssh: Ssh) -> None:
    made = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal made
        made += 1
        await echo(reader, writer)

    server = await asyncio.start_server(count, "127.0.0.1", 0)
    ssh.leases.ports[LEASE, 80] = server.sockets[0].getsockname()[:2]

    async def forward(connection: asyncssh.SSHClientConnection) -> asyncssh.SSHWriter[bytes] | None:
        try:
            return (await connection.open_connection("localhost", 80, encoding=None))[1]
        except asyncssh.ChannelOpenError:
            return None

    async with client(ssh) as connection:
        writers = await asyncio.gather(*(forward(connection) for _ in range(150)))
        assert len([writer for writer in writers if writer]) == STREAMS_PER_LEASE
        assert made == STREAMS_PER_LEASE
        assert ssh.server.admission.streams.used(LEASE) == STREAMS_PER_LEASE
    await until(lambda: ssh.server.admission.streams.used(LEASE) == 0)
    server.close()
    await server.wait_closed()


async def test_channels_that_nobody_uses_are_counted(ssh: Ssh) -> None:
    ssh.server.admission.channels = Slots(10)
    async with client(ssh) as connection:
        asking = [asyncio.create_task(connection.run("cat")) for _ in range(30)]
        done, waiting = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 20:
            more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        for task in done:
            assert isinstance(task.exception(), asyncssh.ChannelOpenError)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    await until(lambda: ssh.server.admission.channels.used(LEASE) == 0)


async def test_files_that_are_open_take_slots(ssh: Ssh) -> None:
    (ssh.home / "f").write_bytes(bytes(5_000_000))
    ssh.server.admission.streams = Slots(3)
    async with client(ssh) as connection, connection.start_sftp_client() as sftp:
        files = [await sftp.open("f", "rb") for _ in range(5)]
        read = [await files[number].read(10, 0) for number in range(2)]
        assert read == [bytes(10)] * 2
        with pytest.raises(asyncssh.SFTPError, match="streams"):
            await files[2].read(10, 0)
        await files[0].close()
        assert await files[2].read(10, 0) == bytes(10)
    await until(lambda: ssh.server.admission.streams.used(LEASE) == 0)


async def test_answers_that_nobody_fetches_are_not_made(ssh: Ssh) -> None:
    """4 MiB reads whose answers pile up: 118 → 533 MB for 4 KB sent, before."""
    with (ssh.home / "f").open("wb") as file:
        file.truncate(64 * 2**20)
    async with rude(ssh) as connection, connection.start_sftp_client() as sftp:
        file_ = await sftp.open("f", "rb")
        reads = [asyncio.create_task(file_.read(4 * 2**20, number % 16 * 4 * 2**20)) for number in range(100)]
        await asyncio.sleep(0)
        deaf(connection)
        await until(lambda: stuck(ssh))
        # What the client asks for now changes nothing.
        assert unsent(ssh) < MOST_UNSENT + 3 * 2**20
        connection.abort()
        await asyncio.gather(*reads, return_exceptions=True)
    await until(lambda: ssh.server.admission.streams.used(LEASE) == 0)


async def test_a_client_that_takes_nothing_stops_the_command(ssh: Ssh) -> None:
    """Its window says that it takes 2 GiB; its socket says otherwise."""
    async with rude(ssh) as connection:
        process = await connection.create_process("yes", encoding=None, window=HUGE)
        await process.stdout.read(10)
        deaf(connection)
        await until(lambda: stuck(ssh))
        assert unsent(ssh) < MOST_UNSENT + 2**20
        connection.abort()
    await until(lambda: all(stream.closed for stream in ssh.leases.streams))


async def test_a_key_exchange_that_is_never_finished(ssh: Ssh) -> None:
    """Output is put off while keys are exchanged, and must not be read from the command meanwhile."""
    async with rude(ssh) as connection:
        process = await connection.create_process("yes", encoding=None, window=HUGE)
        await process.stdout.read(10)
        connection._send_kexinit()
        connection._transport.write = lambda data: None  # type: ignore[union-attr, method-assign]
        (server,) = ssh.server._connections
        await until(lambda: not server._kex_complete)
        before = [unsent(ssh)]
        for _ in range(200):
            await asyncio.sleep(0.001)
        assert unsent(ssh) < before[0] + 2**20
        connection.abort()


@pytest.mark.slow
async def test_requests_whose_answers_nobody_reads(ssh: Ssh) -> None:
    """Each small request makes a small answer, which waits for ever."""
    async with rude(ssh) as connection:
        deaf(connection)
        (server,) = ssh.server._connections
        transport = connection._transport
        assert isinstance(transport, asyncio.Transport)
        for _ in range(400):
            for _ in range(100):
                connection.send_packet(
                    asyncssh.constants.MSG_GLOBAL_REQUEST,
                    asyncssh.packet.String(b"nothing@example.org"),
                    asyncssh.packet.Boolean(True),
                )
            await asyncio.sleep(0)
            if stuck(ssh):
                break
        assert unsent(ssh) < 2 * MOST_UNSENT
        assert len(server._inpbuf) <= MOST_PENDING + 2**20
        connection.abort()


@pytest.mark.slow
async def test_what_is_said_beside_the_input_waits_in_bounds(ssh: Ssh) -> None:
    """A command that reads nothing, and a client that has very much to say to it. Each waits in memory."""
    async with rude(ssh) as connection:
        process = await connection.create_process("exec sleep 600", encoding=None)
        process.stdin.write(bytes(400_000))  # more than pipe and agent hold: what follows it waits
        for number in range(5_000):
            process.change_terminal_size(80, 20 + number % 50)
            process.channel.send_break(1)
        assert (await connection.run("echo in")).stdout == "in\n"  # so that all of it has arrived
        (server,) = ssh.server._connections
        waiting = [len(channel._session._recv_buf[None]) for channel in server._channels.values()]
        assert max(waiting) <= _ssh_guard.MOST_SAID + 60 * _ssh_guard.SAID_A_SECOND
        connection.abort()
    await until(lambda: all(stream.closed for stream in ssh.leases.streams))


def test_who_says_little_at_a_time_is_always_heard() -> None:
    channel, now = object.__new__(GuardedChannel), [0.0]
    channel._loop = SimpleNamespace(time=lambda: now[0])  # type: ignore[assignment]

    def heard(a_second: int, times: int) -> int:
        count = 0
        for _ in range(times):
            now[0] += 1 / a_second
            count += channel._few()
        return count

    assert heard(30, 5_000) == 5_000
    assert heard(64, 6_400) <= _ssh_guard.MOST_SAID + 100 * _ssh_guard.SAID_A_SECOND + 1
    assert heard(30, 300) == 300


async def test_keys_are_exchanged_again_and_again(ssh: Ssh) -> None:
    async with client(ssh) as connection:
        for _ in range(20):
            connection._rekey_bytes = 1
            assert (await connection.run("echo in")).stdout == "in\n"
        async with client(ssh) as other:
            assert (await other.run("echo in")).stdout == "in\n"


async def test_a_loop_of_links(ssh: Ssh) -> None:
    (ssh.home / "a").symlink_to("b")
    (ssh.home / "b").symlink_to("a")
    (ssh.home / "self").symlink_to(".")
    async with client(ssh) as connection, connection.start_sftp_client() as sftp:
        for path in ("a", "a/x"):
            with pytest.raises(asyncssh.SFTPError):
                await sftp.stat(path)
        assert (await sftp.lstat("a")).permissions
        assert "a" in await sftp.listdir("self/" * 30)


async def test_a_long_path(ssh: Ssh) -> None:
    async with client(ssh) as connection, connection.start_sftp_client() as sftp:
        with pytest.raises(asyncssh.SFTPError, match="4096"):
            await sftp.stat("a/" * 3000)


async def test_few_folders_are_listed_at_once(ssh: Ssh) -> None:
    for number in range(300):
        (ssh.home / f"file-{number}").touch()
    ssh.server.admission.listings = Slots(1)
    async with client(ssh) as connection, connection.start_sftp_client() as sftp:
        handler = sftp._handler
        first, second = await handler.opendir(b"."), await handler.opendir(b".")
        assert (await handler.readdir(first))[0]
        with pytest.raises(asyncssh.SFTPError):
            await handler.readdir(second)
        await handler.close(first)
        third = await handler.opendir(b".")
        await until(lambda: ssh.server.admission.listings.used(LEASE) == 0)
        assert (await handler.readdir(third))[0]


def test_a_key_is_taken_apart_once_however_often_somebody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection is compared with all keys of its lease, before anybody knows whose it is."""
    taken_apart = list[str]()
    taking_apart = asyncssh.import_public_key

    def counted(line: str) -> asyncssh.SSHKey:
        taken_apart.append(line)
        return taking_apart(line)

    monkeypatch.setattr(asyncssh, "import_public_key", counted)
    key = asyncssh.generate_private_key("ssh-ed25519")
    line = key.export_public_key().decode()
    assert [_ssh_server._public_data(line) for _ in range(3)] == [key.public_data] * 3
    assert taken_apart == [line]
