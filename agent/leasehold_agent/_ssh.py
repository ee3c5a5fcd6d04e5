"""SSH into a lease's container: `ssh 12@host`, commands, `sftp`, `scp` and `-L` into the container.

One port serves every lease. The user's name is the lease as it is shown (`12`, `12.1`), and the keys that
open it are those of the lease's workload, read anew for each channel and every few seconds, so that
`set-workload` takes a key away, and a transfer of the lease all of them. An unknown lease and a wrong key look
the same. The server runs nothing on the host: every session is an exec in the container, every forwarded
connection goes through the container's own network, and every other kind of request is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Final, cast

import asyncssh
import structlog
from asyncssh.stream import SSHTCPStreamSession

from leasehold.chain import format_lease, parse_lease
from leasehold.errors import AgentError
from leasehold_agent._runtime import ExecStream, LeaseRuntime, ServeContext
from leasehold_agent._sftp import ContainerSftp
from leasehold_agent._slots import Slots

_log = structlog.get_logger("leasehold_agent.ssh")

LOGIN_SECONDS: Final = 30
CLOSE_SECONDS: Final = 5.0
RECHECK_SECONDS: Final = 3.0
WAITING_PER_ADDRESS: Final = 16  # connections of one address that have not shown a key yet
WAITING_ALTOGETHER: Final = 256
TRIES: Final = 20  # keys that one connection may offer
STREAMS_PER_LEASE: Final = 64
CHUNK: Final = 64 * 1024
OWN_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_ENV_BYTES: Final = 64 * 1024

# What an image has for a shell is not known before; the helper is mounted into images that have none.
SHELL: Final = (
    "/bin/sh",
    "-c",
    'for s in "$SHELL" /bin/bash /bin/zsh; do [ -x "$s" ] && exec "$s" -l; done; exec /bin/sh -l',
)


class SshServer:
    """Serves SSH for every lease of `context`'s runtime. `start`, then `close`."""

    def __init__(
        self,
        context: ServeContext,
        *,
        slots: Slots | None = None,
        recheck_seconds: float = RECHECK_SECONDS,
    ) -> None:
        self._runtime: LeaseRuntime = context.runtime
        self._recheck_seconds = recheck_seconds
        self._rechecking: asyncio.Task[None] | None = None
        self._host_key = context.ssh_host_key
        self._slots = slots or Slots(STREAMS_PER_LEASE)
        self._waiting: Counter[str] = Counter()
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._live = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises `OSError` when it is taken."""
        self._acceptor = await asyncssh.create_server(
            lambda: _Connection(self),
            host,
            port,
            server_host_keys=[str(self._host_key)],
            server_version="Leasehold",
            process_factory=self._serve_process,
            sftp_factory=self._serve_sftp,
            allow_scp=True,
            encoding=None,
            line_editor=False,
            password_auth=False,
            kbdint_auth=False,
            host_based_auth=False,
            gss_auth=False,
            gss_kex=False,
            agent_forwarding=False,
            x11_forwarding=False,
            compression_algs=None,
            login_timeout=LOGIN_SECONDS,
            keepalive_interval=30,
            keepalive_count_max=4,
        )
        self._rechecking = asyncio.create_task(self._recheck())
        return self._acceptor.get_port()

    async def close(self) -> None:
        """Stop listening and end every connection, which kills what runs over them."""
        if self._rechecking is not None:
            self._rechecking.cancel()
            await asyncio.gather(self._rechecking, return_exceptions=True)
        if self._acceptor is not None:
            self._acceptor.close()
            await self._acceptor.wait_closed()
            self._acceptor = None
        connections = list(self._connections)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.wait_closed() for connection in connections))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._idle.wait()

    @contextlib.contextmanager
    def hold(self, lease: int) -> Iterator[None]:
        """One stream of `lease`, which `close` waits for. Raises `TooManyRequests`."""
        with self._slots.take(lease):
            self._live += 1
            self._idle.clear()
            try:
                yield
            finally:
                self._live -= 1
                if not self._live:
                    self._idle.set()

    async def keys_of(self, username: str) -> set[bytes]:
        """The public keys that open the lease `username`; none for what is no lease here."""
        try:
            handle = await self._runtime.lookup(parse_lease(username))
        except (ValueError, AgentError):
            return set()
        if handle is None:
            return set()
        keys = set()
        for text in handle.ssh_keys:
            with contextlib.suppress(asyncssh.KeyImportError):
                keys.add(asyncssh.import_public_key(text).public_data)
        return keys

    async def _recheck(self) -> None:
        """End the connections whose key no longer opens their lease, and with them all that they carry."""
        while True:
            await asyncio.sleep(self._recheck_seconds)
            for connection in list(self._connections):
                shown = connection.get_extra_info("leasehold_key") is not None
                if shown and await self._lease_of(connection) is None:
                    connection.abort()

    # Before a key was shown

    def admit(self, connection: asyncssh.SSHServerConnection) -> str | None:
        """Count a new connection; None if there are too many that have not shown a key."""
        address = str((connection.get_extra_info("peername") or ("?",))[0])
        if self._waiting[address] >= WAITING_PER_ADDRESS or self._waiting.total() >= WAITING_ALTOGETHER:
            return None
        self._waiting[address] += 1
        self._connections.add(connection)
        return address

    def settle(self, address: str) -> None:
        """A connection showed its key, or went away."""
        self._waiting[address] -= 1
        if self._waiting[address] <= 0:
            del self._waiting[address]

    def forget(self, connection: asyncssh.SSHServerConnection) -> None:
        self._connections.discard(connection)

    # With a key

    async def _lease_of(self, connection: asyncssh.SSHServerConnection) -> int | None:
        """The lease that this connection may use now; None if its key was taken away since it connected."""
        username = cast(str, connection.get_extra_info("username"))
        key = cast(bytes, connection.get_extra_info("leasehold_key"))
        return parse_lease(username) if key in await self.keys_of(username) else None

    async def _serve_process(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        connection = process.channel.get_connection()
        lease = await self._lease_of(cast(asyncssh.SSHServerConnection, connection))
        try:
            if lease is None:
                raise AgentError("Your key was taken off this lease.")
            with self.hold(lease):
                code = await self._run(process, lease)
        except (AgentError, OSError) as error:
            process.stderr.write(f"leasehold: {error}\r\n".encode())
            code = 255
        except (asyncssh.Error, asyncio.IncompleteReadError):
            code = 255  # the client is gone; nobody is there to read it
        with contextlib.suppress(OSError, asyncssh.Error):
            process.exit(code)

    async def _run(self, process: asyncssh.SSHServerProcess[bytes], lease: int) -> int:
        if process.subsystem is not None:
            raise AgentError(f"There is no subsystem {process.subsystem!r} here.")
        terminal = process.term_type
        env = _environment(process)
        if terminal:
            env["TERM"] = terminal
        columns, rows = process.term_size[:2]
        command = ["/bin/sh", "-c", process.command] if process.command is not None else list(SHELL)
        stream = await self._runtime.exec(
            lease,
            command,
            tty=terminal is not None,
            env=env,
            size=(rows, columns) if terminal and rows and columns else None,
        )
        _log.info("ssh.exec", lease=format_lease(lease), shell=process.command is None, tty=bool(terminal))
        return await relay(process, stream)

    def _serve_sftp(self, channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        connection = cast(asyncssh.SSHServerConnection, channel.get_connection())
        return ContainerSftp(channel, self._runtime, partial(self._lease_of, connection), self.hold)

    async def forward(
        self, connection: asyncssh.SSHServerConnection, host: str, port: int
    ) -> asyncssh.SSHTCPSession[bytes]:
        """Open a forwarded connection into the container. Raises `asyncssh.ChannelOpenError`."""
        lease = await self._lease_of(connection)
        if lease is None or host not in OWN_HOSTS or not 0 < port < 65536:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED,
                "Only the container's own ports can be forwarded: use -L PORT:localhost:PORT.",
            )
        try:
            reader, writer = await self._runtime.connect(lease, port)
        except (AgentError, OSError) as error:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, str(error)) from None
        return cast(
            "asyncssh.SSHTCPSession[bytes]", SSHTCPStreamSession(partial(self._pipe, lease, reader, writer))
        )

    async def _pipe(
        self,
        lease: int,
        inside_reader: asyncio.StreamReader,
        inside_writer: asyncio.StreamWriter,
        reader: asyncssh.SSHReader[bytes],
        writer: asyncssh.SSHWriter[bytes],
    ) -> None:
        try:
            with self.hold(lease):
                await asyncio.gather(
                    _copy(reader.read, inside_writer.write, inside_writer.drain, inside_writer.write_eof),
                    _copy(inside_reader.read, writer.write, writer.drain, writer.write_eof),
                )
        except (AgentError, OSError, asyncssh.Error):
            _log.debug("ssh.forward.ended", lease=format_lease(lease))
        finally:
            inside_writer.close()
            writer.close()
            with contextlib.suppress(OSError):
                await inside_writer.wait_closed()


async def relay(process: asyncssh.SSHServerProcess[bytes], stream: ExecStream) -> int:
    """Carry bytes between a client and a command until one of them ends; the command's exit code.

    A client that goes away is told apart from one that has closed its standard input: the first kills the
    command.
    """
    feeding = asyncio.create_task(_feed(process, stream))
    draining = asyncio.create_task(_drain(process, stream))
    leaving = asyncio.create_task(process.wait_closed())
    try:
        await asyncio.wait({draining, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await draining if draining.done() else 255
    finally:
        for task in (feeding, draining, leaving):
            task.cancel()
        await asyncio.gather(feeding, draining, leaving, return_exceptions=True)
        await stream.close()


async def _drain(process: asyncssh.SSHServerProcess[bytes], stream: ExecStream) -> int:
    async for fd, data in stream:
        writer = process.stderr if fd == 2 else process.stdout
        writer.write(data)
        await writer.drain()
    return await stream.wait()


async def _feed(process: asyncssh.SSHServerProcess[bytes], stream: ExecStream) -> None:
    while True:
        try:
            data = await process.stdin.read(CHUNK)
        except asyncssh.TerminalSizeChanged as change:
            if change.height and change.width:
                await stream.resize(change.height, change.width)
        except asyncssh.BreakReceived:
            pass
        except asyncssh.SignalReceived as signal:
            if signal.signal == "INT" and process.term_type:
                await stream.write(b"\x03")
            else:
                # The engine has no way to signal an exec'd process but ending it.
                await stream.close()
                return
        else:
            if not data:
                await stream.write_eof()
                return
            await stream.write(data)


async def _copy(
    read: Callable[[int], Awaitable[bytes]],
    write: Callable[[bytes], None],
    drain: Callable[[], Awaitable[None]],
    write_eof: Callable[[], None],
) -> None:
    while data := await read(CHUNK):
        write(data)
        await drain()
    with contextlib.suppress(OSError):  # the other side has closed for good
        write_eof()


def _environment(process: asyncssh.SSHServerProcess[bytes]) -> dict[str, str]:
    """What the client sent, less what is malformed or past 64 KiB."""
    kept: dict[str, str] = {}
    room = _ENV_BYTES
    for name, value in process.env.items():
        room -= len(name) + len(value)
        if _ENV_NAME.match(name) and "\0" not in value and room >= 0:
            kept[name] = value
    return kept


class _Connection(asyncssh.SSHServer):
    """One client, from its first byte."""

    def __init__(self, server: SshServer) -> None:
        self._server = server
        self._connection: asyncssh.SSHServerConnection | None = None
        self._address: str | None = None
        self._tries = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._address = self._server.admit(conn)
        if self._address is None:
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle()
        if self._connection is not None:
            self._server.forget(self._connection)

    def auth_completed(self) -> None:
        self._settle()

    def _settle(self) -> None:
        if self._address is not None:
            self._server.settle(self._address)
            self._address = None

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        self._tries += 1
        if self._tries > TRIES or self._connection is None:
            return False
        if key.public_data not in await self._server.keys_of(username):
            return False
        # Called again with the signature; what authenticates last is what this ends up holding.
        self._connection.set_extra_info(leasehold_key=key.public_data)
        return True

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession[bytes]]:
        assert self._connection is not None
        return self._server.forward(self._connection, dest_host, dest_port)
