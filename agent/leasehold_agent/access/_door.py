"""A listening port through which nobody can shut out anybody else.

Whoever connects is a stranger until it has shown whose it is. Strangers wait on the porch (`_porch.py`), where they
cost next to nothing, until their first words are there; then they are let in, no faster than the agent can hear them
out: first whose network was let in least lately, and every other time one from where a tenant came lately. Who is let
in has its place for `FAIR_SECONDS` at least, which is enough to show a lease; after that, when places are wanted, the
oldest of the address that holds most gives way. So no number of connections, silent, half open or new again and
again, keeps a tenant out: he goes in before those of any network that has had more turns than his own.
Who has shown a lease counts as that lease's, in places of its own (`_slots.py`).

Behind a host's IPFS node everybody comes from the loopback. A door for them hears from the node which peer each is,
and counts by that. Peers cost nothing to make, so that such a door has fewer places and a slower pace than one on the
street, where nobody notices what goes on at this one.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from leasehold.rates import RateLimit
from leasehold_agent.access._hello import NoHello, introduction, missing
from leasehold_agent.access._known import Known
from leasehold_agent.access._porch import Porch, Visitor
from leasehold_agent.access._rates import Buckets
from leasehold_agent.access._slots import CONNECTIONS_PER_LEASE, MOST_STRANGERS, Slots
from leasehold_agent.access._turns import LIBP2P, Networks, Turns, networks

__all__ = ["DoorLimits", "StreetDoor", "Visitor"]
_log = structlog.get_logger("leasehold_agent.door")

HANDSHAKE_SECONDS: Final = 10.0
SHUTDOWN_SECONDS: Final = 5.0
FAIR_SECONDS: Final = 1.0
SILENT_SECONDS: Final = 1.0
"""After which a client of a protocol in which the server may speak first is taken to wait for that."""
ACCEPTS_A_TURN: Final = 128
SWEEP_SECONDS: Final = 0.25
DEFER_SECONDS: Final = 5
PAUSE_SECONDS: Final = 0.2
_LEAST_WAIT: Final = 0.01
BACKLOG: Final = 4096
LET_IN: Final = RateLimit(50, 0.5)
LET_IN_A_TURN: Final = 4
NEW_A_TURN: Final = 1
"""Of them from where no tenant came lately. Each costs the loop some milliseconds, in which nobody else is served."""


@dataclass(frozen=True)
class DoorLimits:
    """`strangers` at once in all, a quarter of them inside; how long one may stay one; how fast they are let in."""

    strangers: int = MOST_STRANGERS
    seconds: float = 60.0
    fair_seconds: float = FAIR_SECONDS
    silent_seconds: float = SILENT_SECONDS
    rate: RateLimit = LET_IN
    a_turn: int = LET_IN_A_TURN
    new_a_turn: int = NEW_A_TURN

    @property
    def places(self) -> int:
        """Inside, among the silent, and in either line."""
        return max(1, self.strangers // 4)


Serve = Callable[[Visitor], asyncio.Protocol]


class StreetDoor:
    """Accepts connections and gives each the protocol that `serve(visitor)` makes.

    The protocol must call the visitor's `leave` when its connection is lost. introduced: an IPFS node leads to this
    door, and says in a first line who each is.
    """

    def __init__(
        self,
        *,
        limits: DoorLimits | None = None,
        connections: Slots | None = None,
        known: Known | None = None,
        introduced: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._introduced = introduced
        self.limits = limits or DoorLimits()
        self._connections = connections or Slots(CONNECTIONS_PER_LEASE)
        self._now = now
        self._known = known or Known(now)
        self._pace = Buckets(self.limits.rate, now)
        self._porch = Porch(self.limits.places, self._known, Turns(now))
        self._inside: OrderedDict[Visitor, None] = OrderedDict()
        self._hears: select.epoll | None = None
        self._silent: dict[int, Visitor] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        self._all: set[Visitor] = set()
        self._listening: socket.socket | None = None
        self._serve: Serve | None = None
        self._tls: ssl.SSLContext | None = None
        self._greeting: set[asyncio.Task[None]] = set()
        self._next: asyncio.Handle | None = None

    @property
    def strangers(self) -> int:
        return len(self._porch) + len(self._inside)

    def open(self, host: str, port: int, serve: Serve, tls: ssl.SSLContext | None = None) -> int:
        """Listen; returns the port. Raises `OSError` when it is taken."""
        self._listening = _listen(host, port, client_speaks_first=tls is not None)
        self._serve, self._tls = serve, tls
        self._hears = select.epoll()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._hears.fileno(), self._hear)
        loop.add_reader(self._listening, self._accept)
        return int(self._listening.getsockname()[1])

    async def close(self) -> None:
        """Stop listening and cut everybody off."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        for handle in (self._next, self._sweeping):
            if handle is not None:
                handle.cancel()
        for visitor in list(self._all):
            visitor.cut()
        if self._hears is not None:
            asyncio.get_running_loop().remove_reader(self._hears.fileno())
            self._hears.close()
            self._hears = None
        await asyncio.gather(*self._greeting, return_exceptions=True)

    def know(self, visitor: Visitor, lease: int) -> None:
        """The visitor has shown that it is `lease`'s tenant. Raises `TooManyRequests`."""
        self._known.add(lease, visitor.network)
        if visitor.lease is not None or visitor not in self._all:
            return
        self._connections.acquire(lease)
        visitor.lease = lease
        self._settle(visitor)

    def leave(self, visitor: Visitor) -> None:
        """The visitor's connection has ended."""
        if visitor not in self._all:
            return
        self._all.remove(visitor)
        self._settle(visitor)
        if visitor.lease is not None:
            self._connections.release(visitor.lease)

    def is_known(self, address: str) -> bool:
        """Whether a tenant came from `address` (as `network` writes it) within the hour."""
        return address in self._known

    def _settle(self, visitor: Visitor) -> None:
        self._porch.leave(visitor)
        if visitor in self._inside:
            del self._inside[visitor]
            self._room_was_made()
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
            self._admit(accepted, LIBP2P if self._introduced else networks(peer[0]))

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        if self._listening is not None:
            loop.remove_reader(self._listening)
            loop.call_later(PAUSE_SECONDS, self._resume)
        if (gives_way := self._porch.silent.oldest() or next(iter(self._inside), None)) is not None:
            self._cut(gives_way)

    def _resume(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _admit(self, accepted: socket.socket, counted_as: Networks) -> None:
        accepted.setblocking(False)
        visitor = Visitor(accepted, counted_as, came_at=self._now())
        visitor.cut = partial(self._turn_away, visitor)
        visitor.know = partial(self.know, visitor)
        visitor.leave = partial(self.leave, visitor)
        self._all.add(visitor)
        self._fall_silent(visitor)
        self._listen_to(visitor)

    def _fall_silent(self, visitor: Visitor) -> None:
        if (gives_way := self._porch.silent.add(visitor)) is not None:
            self._cut(gives_way)

    # On the porch

    def _listen_to(self, visitor: Visitor) -> None:
        """Are its first words there? Looked at again when there are more of them."""
        try:
            wanted = self._unintroduced(visitor) or self._unsaid(visitor)
            if wanted and wanted == visitor.wanted:
                raise NoHello("It has closed before its first words were whole.")
            if wanted or visitor.wanted:
                visitor.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted or 1)
        except OSError:
            self._cut(visitor)
            return
        if not wanted:
            self._line_up(visitor)
        elif not visitor.wanted:
            self._hear_more(visitor)
        visitor.wanted = wanted

    def _unintroduced(self, visitor: Visitor) -> int:
        """How many bytes the node must have said until its word for who this is can be there; 0 once it is."""
        if visitor.introduced or not self._introduced:
            return 0
        peer, wanted = introduction(visitor.socket)
        if peer:
            if visitor.wanted:
                visitor.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
                self._hear_no_more(visitor)
                visitor.wanted = 0
            self._porch.silent.discard(visitor)
            visitor.networks, visitor.introduced = (*LIBP2P[:2], peer), True
            self._fall_silent(visitor)
        return wanted

    def _unsaid(self, visitor: Visitor) -> int:
        """As `missing`. From where a tenant came lately, he may wait for the server's first word."""
        if self._tls is None and self.is_known(visitor.network):
            return 0
        return missing(visitor.socket, tls=self._tls is not None)

    def _hear_more(self, visitor: Visitor) -> None:
        assert self._hears is not None
        descriptor = visitor.socket.fileno()
        self._silent[descriptor] = visitor
        self._hears.register(descriptor, select.EPOLLIN)
        if self._sweeping is None:
            self._sweep()

    def _hear(self) -> None:
        assert self._hears is not None
        for descriptor, _ in self._hears.poll(0, ACCEPTS_A_TURN):
            if (visitor := self._silent.get(descriptor)) is not None:
                self._listen_to(visitor)

    def _sweep(self) -> None:
        """Who has been silent for too long; where the server may speak first, he is taken to wait for that."""
        waits = self.limits.silent_seconds if self._tls is None else self.limits.seconds
        for visitor in self._porch.silent.came_before(self._now() - waits):
            if self._tls is None and visitor.introduced is self._introduced:
                self._line_up(visitor)
            else:
                self._cut(visitor)
        self._sweeping = None
        if self._silent:
            self._sweeping = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)

    def _line_up(self, visitor: Visitor) -> None:
        self._hear_no_more(visitor)
        if (turned_away := self._porch.line_up(visitor)) is not None:
            self._cut(turned_away)
        self._soon()

    def _hear_no_more(self, visitor: Visitor) -> None:
        descriptor = visitor.socket.fileno()
        if self._silent.get(descriptor) is visitor:
            del self._silent[descriptor]
            if self._hears is not None:
                self._hears.unregister(descriptor)

    def _turn_away(self, visitor: Visitor) -> None:
        """Ends a connection that nothing was made of."""
        self._hear_no_more(visitor)
        visitor.socket.close()
        self.leave(visitor)

    def _cut(self, visitor: Visitor) -> None:
        """Its place is free from now on, however long its connection takes to end."""
        self._settle(visitor)
        visitor.cut()

    # Letting in

    def _room_was_made(self) -> None:
        if self._listening is not None and self._porch.lines:
            self._soon()

    def _soon(self, seconds: float = 0.0) -> None:
        """Let in who waits, in the loop's next turn or later."""
        if self._next is not None:
            self._next.cancel()
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(seconds, self._let_in) if seconds else loop.call_soon(self._let_in)

    def _let_in(self) -> None:
        self._next = None
        new = 0
        for _ in range(self.limits.a_turn):
            first = self._porch.first(new=new < self.limits.new_a_turn)
            if not first:
                break
            if (wait := self._pace.spend("", 0) or self._let_in_one_of(first)) > 0:
                self._soon(wait)
                return
            new += not self.is_known(next(reversed(self._inside)).network)
        if self._porch.lines:
            self._soon()

    def _let_in_one_of(self, visitors: list[Visitor]) -> float:
        """The first for whom there is a place; or in how many seconds there may be one."""
        waits = []
        for visitor in visitors:
            if (wait := self._make_room(visitor)) > 0:
                waits.append(wait)
                continue
            self._pace.spend("", 1)
            self._porch.let_in(visitor)
            visitor.let_in_at = self._now()
            visitor.timer = asyncio.get_running_loop().call_later(self.limits.seconds, self._cut, visitor)
            self._inside[visitor] = None
            self._welcome(visitor)
            return 0.0
        return min(waits)

    def _make_room(self, visitor: Visitor) -> float:
        """A place inside is free, or in so many seconds. A quarter is for networks from which tenants came lately, and
        when all places are taken half of them.
        """
        places, is_tenant = self.limits.places, self.is_known(visitor.network)
        tenants = [guest for guest in self._inside if self.is_known(guest.network)]
        others = [guest for guest in self._inside if not self.is_known(guest.network)]
        if len(self._inside) < places and (is_tenant or len(others) < places - places // 4):
            return 0.0
        crowd = tenants if tenants and 2 * (len(tenants) + is_tenant) > places else others
        until = self._now() - self.limits.fair_seconds
        if due := [guest for guest in crowd if guest.let_in_at <= until]:
            of_address = Counter(guest.network for guest in crowd)
            self._cut(max(due, key=lambda guest: of_address[guest.network]))
            return 0.0
        return max(_LEAST_WAIT, min(guest.let_in_at for guest in crowd) - until)

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


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _listen(host: str, port: int, *, client_speaks_first: bool) -> socket.socket:
    """A listening socket whose connections notice within minutes that the other side has vanished."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        if client_speaks_first:  # the kernel keeps those who say nothing
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_SECONDS)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening
