"""SSH into a lease's container: `ssh 12@host`, commands, `sftp`, `scp` and `-L` into the container.

One port serves every lease. The user's name is the lease as it is shown (`12`, `12.1`), and the keys that
open it are those of the lease's workload, read anew for each channel and every few seconds, so that
`set-workload` takes a key away, and a transfer of the lease all of them; and those of certificates that the agent made
for the tenant, for as long as he may and the lease runs. An unknown lease and a wrong key look
the same. The server runs nothing on the host: every session is an exec in the container, every forwarded
connection goes through the container's own network, and every other kind of request is refused.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache, partial
from typing import Final, cast

import asyncssh
import structlog
from asyncssh.public_key import SSHOpenSSHCertificate
from asyncssh.stream import SSHTCPStreamSession

from leasehold.chain import format_lease, parse_lease
from leasehold.errors import AgentError
from leasehold.market.wire import TooManyRequests
from leasehold.rates import RateLimit
from leasehold_agent._runtime import CommandStream, LeaseRuntime, ServeContext
from leasehold_agent.access import Admission, Visitor
from leasehold_agent.ssh._certificates import Certificates, Pass, is_over
from leasehold_agent.ssh._guard import CIPHERS, KEX, MACS, WINDOW, GuardedConnection
from leasehold_agent.ssh._sftp import ContainerSftp
from leasehold_agent.ssh._shells import login_shell, shell_command
from leasehold_agent.store import AuditLog, NotedAct

_log = structlog.get_logger("leasehold_agent.ssh")

LOGIN_SECONDS: Final = 30
CLOSE_SECONDS: Final = 5.0
RECHECK_SECONDS: Final = 3.0
LET_IN: Final = RateLimit(50, 1.0)
"""A key exchange and a look at a key cost twice what TLS and a request do."""
TRIES: Final = 20  # keys that one connection may offer
CHUNK: Final = 64 * 1024
OWN_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_ENV_BYTES: Final = 64 * 1024
_NOT_RUN: Final = (126, 127)


class SshServer:
    """Serves SSH for every lease of `context`'s runtime. `start`, then `close`."""

    def __init__(
        self,
        context: ServeContext,
        *,
        admission: Admission | None = None,
        certificates: Certificates | None = None,
        audit: AuditLog | None = None,
        recheck_seconds: float = RECHECK_SECONDS,
    ) -> None:
        self._runtime: LeaseRuntime = context.runtime
        self._now = context.now
        self.certificates = certificates or Certificates(context.now)
        self._audit = audit
        self._noting: set[asyncio.Task[None]] = set()
        self._recheck_seconds = recheck_seconds
        self._rechecking: asyncio.Task[None] | None = None
        self._host_key = context.ssh_host_key
        self.admission = admission or Admission()
        self.door = self.admission.street_door(LET_IN)
        self.back_door = self.admission.back_door(LET_IN)
        self._options: asyncssh.SSHServerConnectionOptions | None = None
        self._connections: set[GuardedConnection] = set()
        self._live = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises `OSError` when it is taken."""
        self._options = await asyncssh.SSHServerConnectionOptions.construct(
            config=None,
            server_factory=lambda: _Client(self),
            server_host_keys=[str(self._host_key)],
            server_version="Leasehold",
            process_factory=self._serve_process,
            sftp_factory=self._serve_sftp,
            allow_scp=True,
            encoding=None,
            line_editor=False,
            window=WINDOW,
            password_auth=False,
            kbdint_auth=False,
            host_based_auth=False,
            gss_auth=False,
            gss_kex=False,
            agent_forwarding=False,
            x11_forwarding=False,
            compression_algs=None,
            kex_algs=KEX,
            encryption_algs=CIPHERS,
            mac_algs=MACS,
            login_timeout=LOGIN_SECONDS,
            keepalive_interval=30,
            keepalive_count_max=4,
        )
        listening = self.door.open(host, port, self._greet)
        self._rechecking = asyncio.create_task(self._recheck_for_ever())
        return listening

    def open_back_door(self, port: int) -> int:
        """Listen for whom the IPFS node beside introduces; returns the port. Raises `OSError` when it is taken."""
        return self.back_door.open("127.0.0.1", port, self._greet)

    async def close(self) -> None:
        """Stop listening and end every connection, which kills what runs over them."""
        if self._rechecking is not None:
            self._rechecking.cancel()
            await asyncio.gather(self._rechecking, return_exceptions=True)
        connections = list(self._connections)
        for door in (self.door, self.back_door):
            await door.close()
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.wait_closed() for connection in connections), *self._noting)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._idle.wait()

    def _greet(self, visitor: Visitor) -> GuardedConnection:
        assert self._options is not None
        return GuardedConnection(
            asyncio.get_running_loop(),
            self._options,
            visitor=visitor,
            ration=self.admission.ration,
            channels=self.admission.channels,
            authority=self.certificates.authority,
        )

    @contextlib.contextmanager
    def hold(self, lease: int) -> Iterator[None]:
        """One stream of `lease`, which `close` waits for. Raises `TooManyRequests`."""
        with self.admission.streams.take(lease):
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
        return {key for text in handle.ssh_keys if (key := _public_data(text)) is not None}

    async def _recheck_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._recheck_seconds)
            await self.recheck()

    async def recheck(self) -> None:
        """End the connections whose key no longer opens their lease, and with them all that they carry."""
        shown: defaultdict[str, list[GuardedConnection]] = defaultdict(list)
        for connection in self._connections:
            # Who has shown a key and not yet signed with it has no name, and is asked for the key again.
            username = connection.get_extra_info("username")
            if username is not None and connection.get_extra_info("leasehold_pass") is None:
                shown[username].append(connection)
        for username, connections in shown.items():
            keys = await self.keys_of(username)
            for connection in connections:
                if connection.get_extra_info("leasehold_key") not in keys:
                    connection.abort()

    def join(self, connection: GuardedConnection) -> None:
        self._connections.add(connection)

    def forget(self, connection: GuardedConnection) -> None:
        self._connections.discard(connection)

    def accept(self, connection: GuardedConnection) -> None:
        """It has shown a lease's key. Ends it when the lease has too many connections."""
        try:
            connection.visitor.know(parse_lease(str(connection.get_extra_info("username"))))
        except TooManyRequests as error:
            _log.info("ssh.refused", lease=connection.get_extra_info("username"), problem=str(error))
            connection.disconnect(asyncssh.DISC_TOO_MANY_CONNECTIONS, str(error))
        else:
            noting = asyncio.create_task(self._note(connection))
            self._noting.add(noting)
            noting.add_done_callback(self._noting.discard)

    async def _note(self, connection: GuardedConnection) -> None:
        """That somebody came in, and by which key, in the lease's audit log."""
        lease = parse_lease(str(connection.get_extra_info("username")))
        key = cast(bytes | None, connection.get_extra_info("leasehold_key"))
        handle = await self._runtime.lookup(lease)
        if self._audit is not None and handle is not None:
            await self._audit.done(NotedAct(lease, handle.tenant, fingerprint(key), "ssh", self._now()))

    async def admits(self, held: Pass) -> bool:
        """Whether a pass still leads into its lease."""
        handle = await self._runtime.lookup(held.lease)
        return handle is not None and not is_over(handle, self._now()) and await held.holds()

    async def watch(self, connection: GuardedConnection, held: Pass) -> None:
        """End a connection when its pass leads nowhere any more, and with it all that it carries."""
        while await self.admits(held):  # noqa: ASYNC110  # a clock and a chain announce nothing
            await asyncio.sleep(self._recheck_seconds)
        connection.abort()

    # With a key

    async def _lease_of(self, connection: asyncssh.SSHServerConnection) -> int | None:
        """The lease that this connection may use now; None if its key was taken away since it connected."""
        held = cast(Pass | None, connection.get_extra_info("leasehold_pass"))
        if held is not None:
            return held.lease if await self.admits(held) else None
        username = cast(str, connection.get_extra_info("username"))
        key = cast(bytes, connection.get_extra_info("leasehold_key"))
        return parse_lease(username) if key in await self.keys_of(username) else None

    async def _serve_process(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        connection = cast(GuardedConnection, process.channel.get_connection())
        lease = await self._lease_of(connection)
        try:
            if lease is None:
                raise AgentError("Your key was taken off this lease.")
            with self.hold(lease):
                code = await self._run(process, connection, lease)
        except (AgentError, OSError) as error:
            process.stderr.write(f"leasehold: {error}\r\n".encode())
            code = 255
        except (asyncssh.Error, asyncio.IncompleteReadError):
            code = 255  # the client is gone; nobody is there to read it
        with contextlib.suppress(OSError, asyncssh.Error):
            process.exit(code)

    async def _run(
        self, process: asyncssh.SSHServerProcess[bytes], connection: GuardedConnection, lease: int
    ) -> int:
        if process.subsystem is not None:
            raise AgentError(f"There is no subsystem {process.subsystem!r} here.")
        terminal = process.term_type
        env = _environment(process)
        if terminal:
            env["TERM"] = terminal
        columns, rows = process.term_size[:2]
        handle = await self._runtime.lookup(lease)
        lent = handle is not None and handle.helper
        command = login_shell(lent) if process.command is None else shell_command(process.command, lent)
        async with self.admission.opening.turn(lease):
            stream = await self._runtime.exec(
                lease,
                command,
                tty=terminal is not None,
                env=env,
                size=(rows, columns) if terminal and rows and columns else None,
            )
        _log.info("ssh.exec", lease=format_lease(lease), shell=process.command is None, tty=bool(terminal))
        code = await relay(process, stream, partial(self._sent, connection, lease))
        if code in _NOT_RUN and process.command is None and not lent:
            raise AgentError("This image has no shell, and this host lends none: run a program that it has.")
        return code

    async def _sent(self, connection: GuardedConnection, lease: int, count: int) -> None:
        """`count` bytes were written to a client: wait until more may follow."""
        await connection.flushed()
        await self.admission.line.carry(lease, count)

    def _serve_sftp(self, channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        connection = cast(GuardedConnection, channel.get_connection())
        return ContainerSftp(
            channel, self._runtime, partial(self._lease_of, connection), self.hold, connection, self.admission
        )

    async def forward(
        self, connection: GuardedConnection, host: str, port: int
    ) -> asyncssh.SSHTCPSession[bytes]:
        """Open a forwarded connection into the container. Raises `asyncssh.ChannelOpenError`."""
        lease = await self._lease_of(connection)
        if lease is None or host not in OWN_HOSTS or not 0 < port < 65536:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED,
                "Only the container's own ports can be forwarded: use -L PORT:localhost:PORT.",
            )
        # The slot first, so that nobody has more connections into a container on the way than may be open.
        held = contextlib.ExitStack()
        try:
            held.enter_context(self.hold(lease))
            async with self.admission.opening.turn(lease):
                reader, writer = await self._runtime.connect(lease, port)
            if connection.ended:  # nobody would ever close it
                writer.close()
                raise ConnectionResetError("The client has gone.")
        except BaseException as error:
            held.close()
            if isinstance(error, TooManyRequests):
                raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, str(error)) from None
            if isinstance(error, AgentError | OSError):
                raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, str(error)) from None
            raise
        pipe = partial(self._pipe, held, connection, lease, reader, writer)
        return cast("asyncssh.SSHTCPSession[bytes]", SSHTCPStreamSession(pipe))

    async def _pipe(
        self,
        held: contextlib.ExitStack,
        connection: GuardedConnection,
        lease: int,
        inside_reader: asyncio.StreamReader,
        inside_writer: asyncio.StreamWriter,
        reader: asyncssh.SSHReader[bytes],
        writer: asyncssh.SSHWriter[bytes],
    ) -> None:
        line = self.admission.line

        async def in_() -> None:
            while data := await reader.read(CHUNK):
                inside_writer.write(data)
                await inside_writer.drain()
                await line.carry(lease, len(data))
            with contextlib.suppress(OSError):  # the other side has closed for good
                inside_writer.write_eof()

        async def out() -> None:
            while data := await inside_reader.read(CHUNK):
                writer.write(data)
                await writer.drain()
                await self._sent(connection, lease, len(data))
            with contextlib.suppress(OSError):
                writer.write_eof()

        try:
            with held:
                await asyncio.gather(in_(), out())
        except (AgentError, OSError, asyncssh.Error):
            _log.debug("ssh.forward.ended", lease=format_lease(lease))
        finally:
            inside_writer.close()
            writer.close()
            with contextlib.suppress(OSError):
                await inside_writer.wait_closed()


def fingerprint(key: bytes | None) -> str:
    """A public key as OpenSSH shows it; without one, that a certificate led in."""
    if key is None:
        return "certificate"
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).rstrip(b"=").decode()


@lru_cache(maxsize=1024)
def _public_data(text: str) -> bytes | None:
    """The key of an OpenSSH line; None for what is none."""
    try:
        return asyncssh.import_public_key(text).public_data
    except asyncssh.KeyImportError:
        return None


async def relay(
    process: asyncssh.SSHServerProcess[bytes], stream: CommandStream, sent: Callable[[int], Awaitable[None]]
) -> int:
    """Carry bytes between a client and a command until one of them ends; the command's exit code.

    `sent` is told how many bytes were written to the client, and comes back when more may follow.

    A client that goes away is told apart from one that has closed its standard input: the first kills the command.
    """
    feeding = asyncio.create_task(_feed(process, stream))
    draining = asyncio.create_task(_drain(process, stream, sent))
    leaving = asyncio.create_task(process.wait_closed())
    try:
        await asyncio.wait({draining, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await draining if draining.done() else 255
    finally:
        for task in (feeding, draining, leaving):
            task.cancel()
        await asyncio.gather(feeding, draining, leaving, return_exceptions=True)
        await stream.close()


async def _drain(
    process: asyncssh.SSHServerProcess[bytes], stream: CommandStream, sent: Callable[[int], Awaitable[None]]
) -> int:
    async for fd, data in stream:
        writer = process.stderr if fd == 2 else process.stdout
        writer.write(data)
        await writer.drain()
        await sent(len(data))
    return await stream.wait()


async def _feed(process: asyncssh.SSHServerProcess[bytes], stream: CommandStream) -> None:
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


def _environment(process: asyncssh.SSHServerProcess[bytes]) -> dict[str, str]:
    """What the client sent, less what is malformed or past 64 KiB."""
    kept: dict[str, str] = {}
    room = _ENV_BYTES
    for name, value in process.env.items():
        room -= len(name) + len(value)
        if _ENV_NAME.match(name) and "\0" not in value and room >= 0:
            kept[name] = value
    return kept


class _Client(asyncssh.SSHServer):
    """What one client asks, from its first byte."""

    def __init__(self, server: SshServer) -> None:
        self._server = server
        self._connection: GuardedConnection | None = None
        self._watching: asyncio.Task[None] | None = None
        self._tries = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = cast(GuardedConnection, conn)
        self._server.join(self._connection)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._connection is not None:
            self._server.forget(self._connection)

    def auth_completed(self) -> None:
        assert self._connection is not None
        self._server.accept(self._connection)
        if (held := self._connection.get_extra_info("leasehold_pass")) is not None:
            self._watching = asyncio.create_task(self._server.watch(self._connection, held))

    def begin_auth(self, username: str) -> bool:
        if self._connection is not None:
            self._connection.exchanged()
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
        self._connection.set_extra_info(leasehold_key=key.public_data, leasehold_pass=None)
        return True

    def validate_ca_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        self._tries += 1
        return self._tries <= TRIES and key.public_data == self._server.certificates.authority

    async def admit(self, username: str, certificate: SSHOpenSSHCertificate) -> bool:
        """Whether the pass behind a certificate leads into the lease `username`, as `validate_public_key` of a key."""
        try:
            held = self._server.certificates.pass_of(certificate, parse_lease(username))
        except ValueError:
            return False
        if held is None or self._connection is None or not await self._server.admits(held):
            return False
        self._connection.set_extra_info(leasehold_key=None, leasehold_pass=held)
        return True

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession[bytes]]:
        assert self._connection is not None
        return self._server.forward(self._connection, dest_host, dest_port)
