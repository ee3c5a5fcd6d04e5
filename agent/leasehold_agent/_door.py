"""A listening port through which nobody can shut out anybody else.

Whoever connects is a stranger until it has shown whose it is. Strangers share a small number of places; when all
are taken, the one that gives way is the oldest of the address that holds most, and addresses from which a tenant
came lately give way last. So neither 1,100 silent connections nor 256 half-open logins keep a tenant out: he
needs a place for as long as a handshake takes, and is the newest all that time. A stranger that shows nothing in
time is cut off. Who has shown a lease counts as that lease's, in places of its own (`_slots.py`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from leasehold.market.wire import TooManyRequests
from leasehold_agent._rates import Buckets, Rate, network
from leasehold_agent._slots import CONNECTIONS_PER_LEASE, MOST_STRANGERS, Slots

_log = structlog.get_logger("leasehold_agent.door")

HANDSHAKE_SECONDS: Final = 10.0
SHUTDOWN_SECONDS: Final = 5.0
ACCEPTS_A_TURN: Final = 16
PAUSE_SECONDS: Final = 0.2
BACKLOG: Final = 512
KNOWN_SECONDS: Final = 3600.0
MOST_KNOWN: Final = 4096
ADDRESS_RATE: Final = Rate(128, 8)
STRANGERS_RATE: Final = Rate(400, 4)


@dataclass(frozen=True)
class DoorLimits:
    """`strangers` at once in all and from one address; how long one may stay one; how often an address may come."""

    strangers: int = MOST_STRANGERS
    of_address: int = 64
    seconds: float = 60.0
    address_rate: Rate = ADDRESS_RATE
    all_rate: Rate = STRANGERS_RATE


@dataclass(eq=False)
class Visitor:
    """A connection. `cut` ends it at once and may be called at any time."""

    socket: socket.socket
    peer: tuple[str, int]
    network: str
    cut: Callable[[], None] = lambda: None
    owned: bool = False
    lease: int | None = None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


Serve = Callable[[Visitor], asyncio.Protocol]


class Door:
    """Accepts connections and gives each the protocol that `serve(visitor)` makes.

    The protocol must call `leave` when its connection is lost.
    """

    def __init__(
        self,
        *,
        limits: DoorLimits | None = None,
        connections: Slots | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits or DoorLimits()
        self._connections = connections or Slots(CONNECTIONS_PER_LEASE)
        self._now = now
        self._rates = Buckets(self.limits.address_rate, now)
        self._all = Buckets(self.limits.all_rate, now)
        self._strangers: OrderedDict[Visitor, None] = OrderedDict()
        self._inside: set[Visitor] = set()
        self._visitors: dict[tuple[str, int], Visitor] = {}
        self._known: OrderedDict[str, float] = OrderedDict()
        self._listening: socket.socket | None = None
        self._serve: Serve | None = None
        self._tls: ssl.SSLContext | None = None
        self._greeting: set[asyncio.Task[None]] = set()

    @property
    def strangers(self) -> int:
        return len(self._strangers)

    def open(self, host: str, port: int, serve: Serve, tls: ssl.SSLContext | None = None) -> int:
        """Listen; returns the port. Raises `OSError` when it is taken."""
        self._listening = _listen(host, port)
        self._serve, self._tls = serve, tls
        asyncio.get_running_loop().add_reader(self._listening, self._accept)
        return int(self._listening.getsockname()[1])

    async def close(self) -> None:
        """Stop listening and cut everybody off."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        for visitor in list(self._inside):
            visitor.cut()
        await asyncio.gather(*self._greeting, return_exceptions=True)

    def find(self, peer: object) -> Visitor | None:
        """The visitor at the other end of a connection, by its address and port."""
        if isinstance(peer, tuple | list) and len(peer) >= 2:
            return self._visitors.get((peer[0], peer[1]))
        return None

    def know(self, visitor: Visitor, lease: int) -> None:
        """The visitor has shown that it is `lease`'s tenant. Raises `TooManyRequests`."""
        self._known.pop(visitor.network, None)
        self._known[visitor.network] = self._now()
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        if visitor.lease is not None or visitor not in self._inside:
            return
        self._connections.acquire(lease)
        visitor.lease = lease
        self._settle(visitor)

    def leave(self, visitor: Visitor) -> None:
        """The visitor's connection has ended. Another may have come from the same port before that was noticed."""
        if visitor not in self._inside:
            return
        self._inside.remove(visitor)
        if self._visitors.get(visitor.peer) is visitor:
            del self._visitors[visitor.peer]
        self._settle(visitor)
        if visitor.lease is not None:
            self._connections.release(visitor.lease)

    def is_known(self, address: str) -> bool:
        """Whether a tenant came from `address` (as `network` writes it) within the hour."""
        return self._now() - self._known.get(address, float("-inf")) < KNOWN_SECONDS

    def _settle(self, visitor: Visitor) -> None:
        self._strangers.pop(visitor, None)
        if visitor.timer is not None:
            visitor.timer.cancel()
            visitor.timer = None

    # Accepting

    def _accept(self) -> None:
        for _ in range(ACCEPTS_A_TURN):
            if self._listening is None:
                return
            try:
                accepted, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # out of descriptors: the kernel keeps who waits, and is asked again
                _log.warning("door.full", problem=str(error))
                self._pause()
                return
            self._admit(accepted, (peer[0], peer[1]))

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        if self._listening is not None:
            loop.remove_reader(self._listening)
            loop.call_later(PAUSE_SECONDS, self._resume)
        if self._strangers:
            next(iter(self._strangers)).cut()

    def _resume(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _admit(self, accepted: socket.socket, peer: tuple[str, int]) -> None:
        address = network(peer[0])
        try:
            self._rates.take(address)
            if not self.is_known(address):
                self._all.take("")
        except TooManyRequests:
            accepted.close()
            return
        accepted.setblocking(False)
        visitor = Visitor(accepted, peer, address)
        while (leaves := self._who_gives_way(address)) is not None:
            self._cut(leaves)
        self._inside.add(visitor)
        self._visitors[peer] = visitor
        self._strangers[visitor] = None
        visitor.timer = asyncio.get_running_loop().call_later(self.limits.seconds, self._cut, visitor)
        self._welcome(visitor)

    def _welcome(self, visitor: Visitor) -> None:
        task = asyncio.create_task(self._greet(visitor))
        visitor.cut = partial(_cancel, task)
        self._greeting.add(task)
        task.add_done_callback(partial(self._greeted, visitor))

    async def _greet(self, visitor: Visitor) -> None:
        visitor.owned = True  # from here on a transport closes the socket
        timeouts = {"ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": SHUTDOWN_SECONDS}
        assert self._serve is not None
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
            partial(self._serve, visitor),
            visitor.socket,
            ssl=self._tls,
            **(timeouts if self._tls is not None else {}),
        )
        visitor.cut = transport.abort

    def _greeted(self, visitor: Visitor, task: asyncio.Task[None]) -> None:
        self._greeting.discard(task)
        if task.cancelled() or task.exception() is not None:
            if not visitor.owned:
                visitor.socket.close()
            self.leave(visitor)

    def _cut(self, visitor: Visitor) -> None:
        """Its place is free from now on, however long its connection takes to end."""
        self._settle(visitor)
        visitor.cut()

    def _who_gives_way(self, address: str) -> Visitor | None:
        """The stranger that makes room for one from `address`; None where there is room."""
        own = [visitor for visitor in self._strangers if visitor.network == address]
        if len(own) >= self.limits.of_address:
            return own[0]
        if len(self._strangers) < self.limits.strangers:
            return None
        counts: dict[str, int] = {}
        for visitor in self._strangers:
            counts[visitor.network] = counts.get(visitor.network, 0) + 1
        weights = {place: (not self.is_known(place), count) for place, count in counts.items()}
        return max(self._strangers, key=lambda visitor: weights[visitor.network])


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket whose connections notice within minutes that the other side has vanished."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening
