"""An SSH connection whose client cannot make the agent hold or do more than is good for it.

asyncssh bounds what a channel holds, but not what the connection does: answers to a client that does not read
them, packets put off while a key exchange that it began is never finished, bytes that come in while a key is
looked up, channels that are opened and never used. Here the connection is not read from while its own output
waits, who writes to it waits with `flushed`, and its bytes are read in small pieces and paid for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import asyncssh
from asyncssh.packet import SSHPacket
from asyncssh.public_key import SSHOpenSSHCertificate

from leasehold.market.wire import TooManyRequests
from leasehold_agent.access import READ_BYTES, Ration, Slots, Visitor

MOST_PENDING: Final = 512 * 1024
"""Bytes that wait to be understood, while a key is looked up."""
MOST_UNSENT: Final = 256 * 1024
RETRY_SECONDS: Final = 0.05
EXCHANGE_SECONDS: Final = 10.0
"""From the connection to the end of the first key exchange."""
WINDOW: Final = 512 * 1024
"""Bytes that a channel may send ahead of what the container takes."""

MOST_SAID: Final = 512
SAID_A_SECOND: Final = 32
MOST_ENVIRONMENT: Final = 128 * 1024

# Few and cheap: a stranger chooses which of them the agent must compute. OpenSSH has had all of them since 6.5.
KEX: Final = ("curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256")
# Those that the processor does itself, and that take one pass.
CIPHERS: Final = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr")
MACS: Final = ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256")


class Admitting(Protocol):
    """What looks at certificates that asyncssh has found to be in order."""

    async def admit(self, username: str, certificate: SSHOpenSSHCertificate) -> bool: ...


class GuardedChannel(asyncssh.SSHServerChannel[bytes]):
    """A session whose client says only so much beside its input: what is said waits in memory for the command."""

    _said = 0.0
    _last = 0.0

    def _few(self) -> bool:
        """Whether this is not one of very many: `MOST_SAID` at once, and `SAID_A_SECOND` after."""
        now = self._loop.time()
        self._said = max(0.0, self._said - (now - self._last) * SAID_A_SECOND)
        self._last = now
        if self._said >= MOST_SAID:
            return False
        self._said += 1
        return True

    def _process_env_request(self, packet: SSHPacket) -> bool:
        room = sum(len(name) + len(value) for name, value in self._env.items()) < MOST_ENVIRONMENT
        return room and self._few() and super()._process_env_request(packet)

    def _process_window_change_request(self, packet: SSHPacket) -> bool:
        return self._few() and super()._process_window_change_request(packet)

    def _process_signal_request(self, packet: SSHPacket) -> bool:
        return self._few() and super()._process_signal_request(packet)

    def _process_break_request(self, packet: SSHPacket) -> bool:
        return self._few() and super()._process_break_request(packet)


class GuardedConnection(asyncssh.SSHServerConnection):
    """One client. channels: counts those of a lease that are open. authority: whose certificates count."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        options: asyncssh.SSHServerConnectionOptions,
        *,
        visitor: Visitor,
        ration: Ration,
        channels: Slots,
        authority: bytes,
    ) -> None:
        super().__init__(loop, options)
        self.visitor = visitor
        self._ration = ration
        self._open_channels = channels
        self._authority = authority
        self._counted: dict[int, int] = {}
        self._writable = asyncio.Event()
        self._writable.set()
        self._hold_timer: asyncio.TimerHandle | None = None
        self._exchange: asyncio.TimerHandle | None = None

    @property
    def ended(self) -> bool:
        return self._transport is None

    async def flushed(self) -> None:
        """Wait until what was written before is on its way. Raises `ConnectionError` when the client has gone."""
        while not self.ended and not (self._kex_complete and self._writable.is_set()):
            if self._kex_complete:
                await self._writable.wait()
            else:
                await asyncio.sleep(RETRY_SECONDS)  # the client began a key exchange and must finish it
        if self.ended:
            raise ConnectionResetError("The client has gone.")

    def exchanged(self) -> None:
        """The first key exchange is over."""
        if self._exchange is not None:
            self._exchange.cancel()
            self._exchange = None

    # Who it is

    async def _validate_client_certificate(self, username: str, key_data: bytes) -> asyncssh.SSHKey | None:
        """Nobody else's is even looked into: what is in it, a stranger would choose."""
        if self._authority not in key_data:
            return None
        return await super()._validate_client_certificate(username, key_data)

    async def _validate_openssh_certificate(
        self, username: str, cert: SSHOpenSSHCertificate
    ) -> asyncssh.SSHKey | None:
        key = await super()._validate_openssh_certificate(username, cert)
        owner = cast(Admitting, self._owner)
        return key if key is not None and await owner.admit(username, cert) else None

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]  # what asyncio reads at once
        assert isinstance(transport, asyncio.WriteTransport)
        transport.set_write_buffer_limits(high=MOST_UNSENT)
        self.visitor.cut = transport.abort
        self._exchange = asyncio.get_running_loop().call_later(EXCHANGE_SECONDS, self.abort)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None = None) -> None:
        self.exchanged()
        if self._hold_timer is not None:
            self._hold_timer.cancel()
            self._hold_timer = None
        super().connection_lost(exc)
        for lease in self._counted.values():
            self._open_channels.release(lease)
        self._counted.clear()
        self._writable.set()
        self.visitor.leave()

    def data_received(self, data: bytes, datatype: Any = None) -> None:
        lease = self.visitor.lease
        with self._ration.measured(self.visitor.network if lease is None else str(lease)) as debt:
            super().data_received(data, datatype)
        if (wait := debt()) or self._is_held_back:
            self._hold_back(wait)

    def pause_writing(self) -> None:
        self._writable.clear()
        self._hold_back(0)

    def resume_writing(self) -> None:
        self._writable.set()

    @property
    def _is_held_back(self) -> bool:
        return not self._writable.is_set() or len(self._inpbuf) > MOST_PENDING

    def _hold_back(self, seconds: float) -> None:
        """Read no more for now."""
        if self._hold_timer is None and self._reading(asyncio.ReadTransport.pause_reading):
            loop = asyncio.get_running_loop()
            self._hold_timer = loop.call_later(max(seconds, RETRY_SECONDS), self._go_on)

    def _go_on(self) -> None:
        self._hold_timer = None
        if self._is_held_back:
            self._hold_back(0)
        else:
            self._reading(asyncio.ReadTransport.resume_reading)

    def _reading(self, change: Callable[[asyncio.ReadTransport], None]) -> bool:
        transport = self._transport
        if not isinstance(transport, asyncio.ReadTransport) or transport.is_closing():
            return False
        with contextlib.suppress(RuntimeError):  # it is so already
            change(transport)
        return True

    # Channels

    def create_server_channel(self, *arguments: Any, **options: Any) -> asyncssh.SSHServerChannel[bytes]:
        made = super().create_server_channel(*arguments, **options)
        made.__class__ = GuardedChannel  # its constructor is asyncssh's own
        return made

    def create_tcp_channel(self, *arguments: Any, **options: Any) -> asyncssh.SSHTCPChannel[bytes]:
        return super().create_tcp_channel(*arguments, **{"window": WINDOW, **options})

    def add_channel(self, chan: Any) -> int:
        """Raises `ChannelOpenError` when the lease has too many open."""
        lease = self.visitor.lease
        if lease is None:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "Show a key first.")
        try:
            self._open_channels.acquire(lease)
        except TooManyRequests as error:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, str(error)) from None
        number = super().add_channel(chan)
        self._counted[number] = lease
        return number

    def remove_channel(self, recv_chan: int) -> None:
        super().remove_channel(recv_chan)
        if (lease := self._counted.pop(recv_chan, None)) is not None:
            self._open_channels.release(lease)
