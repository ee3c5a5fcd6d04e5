"""Doors and places: who waits, who gives way, and what nobody can take."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from devnet.patience import patient
from leasehold.market.wire import TooManyRequests
from leasehold.rates import RateLimit, network
from leasehold_agent.access import Buckets, Slots, StreetDoor, Visitor
from leasehold_agent.access._door import DoorLimits
from leasehold_agent.access._hello import NoHello, introduction, missing
from leasehold_agent.access._slots import DescriptorBudget, Descriptors
from leasehold_agent.access._turns import Turns, networks

EVERYBODY = DoorLimits(
    rate=RateLimit(1e6, 1), fair_seconds=0, silent_seconds=0, a_turn=1_000, new_a_turn=1_000
)
"""Lets in whoever comes, and whom its places are for: what comes after may take them at once."""


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("?", "?"),
    ],
)
def test_what_an_address_is_counted_as(address: str, counted: str) -> None:
    assert network(address) == counted


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", ("192.0", "192.0.2", "192.0.2.7")),
        ("::ffff:192.0.2.7", ("192.0", "192.0.2", "192.0.2.7")),
        ("2001:db8:1:2:3::4", ("2001:db8::/32", "2001:db8:1::/48", "2001:db8:1:2::/64")),
    ],
)
def test_networks_large_to_small(address: str, counted: tuple[str, str, str]) -> None:
    assert networks(address) == counted


def test_ten_thousand_addresses_of_a_network_are_one_caller() -> None:
    now = 0.0
    turns = Turns(lambda: now)
    flood = [networks(f"10.0.{number // 250}.{number % 250}") for number in range(10_000)]
    for each in flood:
        turns.took(each)
    worst = min(turns.rank(each) for each in flood)
    assert turns.rank(networks("192.0.2.7")) == (0, 0, 0)
    assert turns.rank(networks("10.0.200.1")) < worst  # a tenant in the flood's own /16
    assert turns.rank(networks("10.0.3.251")) < worst  # and in its /24
    for _ in range(20):
        now += 121
        turns.took(networks("192.0.2.8"))
    assert turns.rank(networks("10.0.3.1")) == (0, 0, 0)


def test_what_is_counted_is_bounded() -> None:
    turns = Turns(lambda: 0.0)
    for number in range(100_000):
        turns.took(networks(f"10.{number % 250}.{number // 250 % 250}.{number % 241}"))
    assert len(turns._had) < 70_000


HELLO = b"\x16\x03\x01\x00\x40" + bytes(0x40)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (b"", 5),
        (b"\x16", 5),
        (HELLO[:5], len(HELLO)),
        (HELLO[:-1], len(HELLO)),
        (HELLO, 0),
        (HELLO + b"more", 0),
    ],
)
def test_a_hello_is_there_when_it_is_whole(said: bytes, wanted: int) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.sendall(said)
        assert missing(here, tls=True) == wanted
        assert missing(here, tls=False) == (0 if said else 1)
        assert here.recv(100, socket.MSG_DONTWAIT) == said if said else True


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\xff\xff", None])
def test_what_is_no_hello(said: bytes | None) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.sendall(said) if said else there.close()
        with pytest.raises(NoHello):
            missing(here, tls=True)


PEER = b"12D3KooWJAApDbhJqBgkja6vrQg51kci1WmYsjamCRhvWLFUBizJ"


@pytest.mark.parametrize(("said", "wanted"), [(b"", 1), (b"1", 2), (PEER, len(PEER) + 1)])
def test_an_introduction_is_waited_for(said: bytes, wanted: int) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.sendall(said)
        assert introduction(here) == ("", wanted)
        there.sendall((PEER + b"\nSSH-")[len(said) :])
        assert introduction(here) == (PEER.decode(), 0)
        assert here.recv(100) == b"SSH-"  # for who reads next


@pytest.mark.parametrize(
    "said", [b"\n", b"192.0.2.7\n", PEER + b" \n", b"x" * 200, PEER + b"\r\n", b"SSH-2.0-x\r\n", HELLO, None]
)
def test_what_is_no_introduction(said: bytes | None) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.sendall(said) if said else there.close()
        with pytest.raises(NoHello):
            introduction(here)


@pytest.mark.parametrize("limit", [256, 1024, 65_536, 1_048_576])
def test_descriptors_are_kept_for_what_the_agent_owes(limit: int) -> None:
    budget = DescriptorBudget(limit)
    assert budget.reserve >= limit // 4
    assert budget.reserve + budget.leases + 2 * (budget.strangers + budget.peers) == limit
    assert budget.leases > 64


def fill(slots: Slots, lease: int) -> None:
    with contextlib.suppress(TooManyRequests):
        while True:
            slots.acquire(lease)


def test_one_lease_leaves_room_for_the_next() -> None:
    """Greedy leases, one after the other, on a host with 1,024 descriptors."""
    room = Descriptors(DescriptorBudget(1024).leases)
    slots = Slots(10_000, room)
    for lease in range(10):
        fill(slots, lease)
    assert room.free > room.size / 4
    for lease in range(10, 30):
        fill(slots, lease)
        assert slots.used(lease) >= 2
    slots.acquire("the next")


def test_places_come_back() -> None:
    room = Descriptors(100)
    slots = Slots(3, room)
    for _ in range(100):
        with slots.take(1), slots.take(1), slots.take(1):
            assert room.free == 97
            with pytest.raises(TooManyRequests):
                slots.acquire(1)
    assert room.free == 100


def test_debt_is_paid_in_time() -> None:
    now = 0.0
    buckets = Buckets(RateLimit(10, 5), lambda: now)
    assert buckets.spend("a", 10) == 0
    assert buckets.spend("a", 4) == 2
    now = 2.0
    assert buckets.spend("a", 0) == 0


class Quiet(asyncio.Protocol):
    """Says who it is for as soon as it is connected."""

    def __init__(self, visitor: Visitor, transports: list[asyncio.Transport]) -> None:
        self._visitor, self._transports = visitor, transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transports.append(transport)
        transport.write(b"hello\n")

    def data_received(self, data: bytes) -> None:
        if data.isdigit():
            self._visitor.know(int(data))

    def connection_lost(self, exc: Exception | None) -> None:
        self._visitor.leave()


class Doorway:
    def __init__(self, limits: DoorLimits, *, introduced: bool = False) -> None:
        self.door = StreetDoor(limits=limits, connections=Slots(20), introduced=introduced)
        self.port = 0
        self.visitors: list[Visitor] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.transports: list[asyncio.Transport] = []

    def greet(self, visitor: Visitor) -> Quiet:
        self.visitors.append(visitor)
        return Quiet(visitor, self.transports)

    def has(self, visitor: Visitor) -> bool:
        return visitor in self.door._all

    async def come(self, source: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        self.writers.append(writer)
        assert await reader.readline() == b"hello\n"
        return reader, writer

    def knock(self, source: str, words: bytes = b"") -> socket.socket:
        """Connects, and leaves it at that."""
        made = socket.create_connection(("127.0.0.1", self.port), source_address=(source, 0))
        made.sendall(words)
        return made

    async def show(self, source: str, lease: int) -> None:
        """Comes, shows a lease and stays."""
        _, writer = await self.come(source)
        writer.write(b"%d" % lease)
        await self.until(lambda: self.door.is_known(source))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(patient(10)):
            while not holds():  # noqa: ASYNC110  # the door's own state
                await asyncio.sleep(0.01)


@pytest.fixture
async def doorways() -> AsyncIterator[list[Doorway]]:
    made: list[Doorway] = []
    yield made
    for doorway in made:
        await doorway.door.close()
        for writer in doorway.writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def opened(doorways: list[Doorway], limits: DoorLimits, *, introduced: bool = False) -> Doorway:
    doorway = Doorway(limits, introduced=introduced)
    doorway.port = doorway.door.open("127.0.0.1", 0, doorway.greet)
    doorways.append(doorway)
    return doorway


async def test_the_oldest_of_the_greediest_gives_way(doorways: list[Doorway]) -> None:
    doorway = await opened(doorways, replace(EVERYBODY, strangers=16))
    lone, _ = await doorway.come("127.0.0.2")
    greedy = [(await doorway.come("127.0.0.3"))[0] for _ in range(10)]
    for reader in greedy[:8]:
        assert await reader.read() == b""
    assert doorway.door.strangers == 3  # and a place that is kept for where tenants come from
    assert not lone.at_eof()


async def test_where_a_tenant_came_from_gives_way_last(doorways: list[Doorway]) -> None:
    doorway = await opened(doorways, replace(EVERYBODY, strangers=16))
    await doorway.show("127.0.0.2", 12)
    tenants = [(await doorway.come("127.0.0.2"))[0] for _ in range(2)]
    for number in range(20):  # each from another address
        await doorway.come(f"127.0.1.{number}")
    assert not any(reader.at_eof() for reader in tenants)


async def test_who_comes_from_where_tenants_come_from_leaves_half_of_the_places(
    doorways: list[Doorway],
) -> None:
    doorway = await opened(doorways, replace(EVERYBODY, strangers=16))
    for number in range(8):
        await doorway.show(f"127.0.{number}.2", 12)
    # Of a lease the last four count, or who has one could make the whole world known.
    assert [doorway.door.is_known(f"127.0.{number}.2") for number in range(8)] == [False] * 4 + [True] * 4
    others = [(await doorway.come("127.1.0.1"))[0], (await doorway.come("127.2.0.1"))[0]]
    for number in range(20):
        await doorway.come(f"127.0.{number % 4 + 4}.2")
    assert not any(reader.at_eof() for reader in others)


async def test_a_client_that_waits_to_be_spoken_to(doorways: list[Doorway]) -> None:
    """Of a protocol in which the server may speak first: in a while, or at once where a tenant came from."""
    doorway = await opened(doorways, replace(EVERYBODY, silent_seconds=0.01))
    await doorway.come("127.0.0.2")
    patiently = await opened(doorways, replace(EVERYBODY, silent_seconds=1e9))
    patiently.door._known.add(12, "127.0.0.2")
    await patiently.come("127.0.0.2")


async def test_a_newcomer_has_the_time_that_he_needs(doorways: list[Doorway]) -> None:
    """However many come after him, and whatever they do, while his words are on their way."""
    limits = DoorLimits(strangers=16, rate=EVERYBODY.rate, fair_seconds=1e9, silent_seconds=0)
    doorway = await opened(doorways, limits)
    _, tenant = await doorway.come("127.200.0.1")
    crowd = [doorway.knock(f"127.{number % 100}.{number % 200}.2") for number in range(400)]
    try:
        for _ in range(100):  # turns of the loop, in each of which more of them could be let in
            await asyncio.sleep(0)
        tenant.write(b"12")
        await doorway.until(lambda: doorway.door.is_known("127.200.0.1"))
        assert doorway.door.strangers <= 16
    finally:
        for each in crowd:
            each.close()


async def test_whose_network_was_let_in_least_goes_in_first(doorways: list[Doorway]) -> None:
    """A newcomer before those who wait already, and whose networks came before."""
    limits = DoorLimits(strangers=400, rate=RateLimit(1, 1e9), fair_seconds=1e9, silent_seconds=0)
    doorway = await opened(doorways, limits)
    for number in (1, 2):
        await doorway.come(f"127.{number}.1.1")
    knocked = [doorway.knock(f"127.{number % 2 + 1}.{number}.1") for number in range(90)]
    knocked += [doorway.knock("127.3.1.1"), doorway.knock("127.1.1.2")]
    try:
        await doorway.until(lambda: doorway.door.strangers == 94)
        doorway.door._pace = Buckets(RateLimit(1, 1e9), time.monotonic)
        doorway.door._soon()
        await doorway.until(lambda: len(doorway.transports) == 4)
        came = [transport.get_extra_info("peername")[0] for transport in doorway.transports]
        assert came == ["127.1.1.1", "127.2.1.1", "127.3.1.1", "127.1.0.1"]
    finally:
        for each in knocked:
            each.close()


async def test_a_stranger_who_shows_nothing_is_cut_off(doorways: list[Doorway]) -> None:
    doorway = await opened(doorways, replace(EVERYBODY, seconds=0.05))
    reader, _ = await doorway.come("127.0.0.2")
    assert await reader.read() == b""


async def test_connections_of_a_lease_are_counted(doorways: list[Doorway]) -> None:
    doorway = await opened(doorways, EVERYBODY)
    doorway.door._connections = Slots(2)
    for _ in range(3):
        await doorway.come("127.0.0.2")
    first, second, third = doorway.visitors
    first.know(12)
    second.know(12)
    with pytest.raises(TooManyRequests):
        third.know(12)
    third.know(13)
    assert doorway.door.strangers == 0
    first.cut()
    async with asyncio.timeout(patient(10)):
        while doorway.has(first):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    doorway.door._connections.acquire(12)


async def test_a_place_comes_back_when_another_has_come_from_the_same_port(doorways: list[Doorway]) -> None:
    """Who is not read from is not heard to leave: the next from his port is there before he has gone."""
    doorway = await opened(doorways, EVERYBODY)
    places, here = doorway.door._connections, ("127.0.0.2", 0)
    for lease in (12, 13):
        client = socket.create_connection(("127.0.0.1", doorway.port), source_address=here)
        here = client.getsockname()
        assert await asyncio.to_thread(client.recv, 6) == b"hello\n"
        doorway.visitors[-1].know(lease)
        if lease == 12:
            doorway.transports[-1].pause_reading()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    doorway.transports[0].resume_reading()
    async with asyncio.timeout(patient(10)):
        while places.used(12) or places.used(13):  # noqa: ASYNC110  # until both are known to have gone
            await asyncio.sleep(0.01)
    assert not any(map(doorway.has, doorway.visitors))


async def test_closing_cuts_everybody_off(doorways: list[Doorway]) -> None:
    doorway = await opened(doorways, EVERYBODY)
    readers = [(await doorway.come("127.0.0.2"))[0] for _ in range(3)]
    await doorway.door.close()
    assert [await reader.read() for reader in readers] == [b""] * 3


async def introduced(doorway: Doorway, peer: bytes, words: bytes = b"x") -> asyncio.StreamReader:
    """As the IPFS node brings a peer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", doorway.port)
    doorway.writers.append(writer)
    writer.write(peer + b"\n" + words)
    return reader


def peer(number: int) -> bytes:
    return b"12D3KooW%044d" % number


async def test_peers_are_told_apart(doorways: list[Doorway]) -> None:
    """All of them come from the loopback; the greediest peer gives way, and a tenant's is known by its name."""
    doorway = await opened(doorways, replace(EVERYBODY, strangers=16, silent_seconds=60), introduced=True)
    lone = await introduced(doorway, peer(0))
    assert await lone.readline() == b"hello\n"
    greedy = [await introduced(doorway, peer(1)) for _ in range(10)]
    for reader in greedy:
        assert (await reader.readline()) == b"hello\n"
    for reader in greedy[:8]:
        assert await reader.read() == b""
    doorway.visitors[0].know(12)
    assert doorway.door.is_known(peer(0).decode())
    assert not doorway.door.is_known("127.0.0.1")
    assert {visitor.network for visitor in doorway.visitors} == {peer(0).decode(), peer(1).decode()}


async def test_a_peer_is_introduced_in_pieces_and_its_own_words_stay(doorways: list[Doorway]) -> None:
    doorway = await opened(doorways, replace(EVERYBODY, silent_seconds=60), introduced=True)
    reader, writer = await asyncio.open_connection("127.0.0.1", doorway.port)
    doorway.writers.append(writer)
    for piece in (PEER[:7], PEER[7:], b"\n"):
        writer.write(piece)
        await doorway.until(lambda: len(doorway.door._silent) == 1)
    writer.write(b"1")
    assert await reader.readline() == b"hello\n"
    await doorway.until(lambda: doorway.door.is_known(PEER.decode()))
    assert doorway.visitors[0].lease == 1


@pytest.mark.parametrize("words", [b"", b"no peer at all\n", PEER])
async def test_who_is_not_introduced_never_gets_in(doorways: list[Doorway], words: bytes) -> None:
    """Not even where a server may speak first: nobody would know whom to count it to."""
    doorway = await opened(doorways, EVERYBODY, introduced=True)
    with doorway.knock("127.0.0.2", words) as client, contextlib.suppress(ConnectionResetError):
        assert await asyncio.to_thread(client.recv, 1) == b""
    assert doorway.visitors == []


async def test_who_claims_to_be_a_tenants_peer_on_the_street_is_nobody(doorways: list[Doorway]) -> None:
    """A line that only a node may say is a stranger's first words where no node stands between."""
    doorway = await opened(doorways, EVERYBODY)
    doorway.door._known.add(12, PEER.decode())
    reader = await introduced(doorway, PEER, b"")
    assert await reader.readline() == b"hello\n"
    assert doorway.visitors[0].network == "127.0.0.1"


async def test_a_flood_of_new_peers_does_not_keep_a_known_one_out(doorways: list[Doorway]) -> None:
    """Each connection is another peer, which costs nothing: their line is full, and the tenant's is another."""
    limits = replace(EVERYBODY, strangers=16, fair_seconds=1e9, silent_seconds=60, new_a_turn=1)
    doorway = await opened(doorways, limits, introduced=True)
    doorway.door._known.add(12, PEER.decode())
    for number in range(200):
        await introduced(doorway, peer(number))
    await doorway.until(lambda: len(doorway.door._inside) == 3)  # and a place for who is known
    assert await (await introduced(doorway, PEER)).readline() == b"hello\n"
