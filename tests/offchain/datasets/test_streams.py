"""Streams between two real nodes: what leads where, for how long, and what a node says that carries none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from leasehold.datasets import Ipfs, Streams, parse_stream_address, stream_address
from leasehold.errors import IpfsElsewhere, StreamsOff

PROTOCOL = "/x/leasehold/agent/1/0xab"


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A port that says back what it is told, line by line."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(patient(30)):
            yield reader, writer
    finally:
        writer.close()


async def test_a_mounted_port_is_reached_and_hears_who_calls(
    publisher: Ipfs, fetcher: Ipfs, publisher_node: Kubo, fetcher_node: Kubo
) -> None:
    here, there = Streams(fetcher), Streams(publisher)
    async with echo() as port:
        await there.mount(PROTOCOL, port)
        assert await there.mounted() == {PROTOCOL: f"/ip4/127.0.0.1/tcp/{port}"}
        assert await here.mounted() == {}
        door = await here.forward(publisher_node.peer_id, PROTOCOL)
        assert await here.leads(door)
        async with connected(door) as (reader, writer):
            assert await reader.readline() == f"{fetcher_node.peer_id}\n".encode()
            await here.close(door)
            assert not await here.leads(door)
            writer.write(b"goes on\n")
            assert await reader.readline() == b"goes on\n"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", door)
        await there.unmount(PROTOCOL)
        assert await there.mounted() == {}


async def test_a_second_mount_takes_the_place_of_the_first(
    publisher: Ipfs, fetcher: Ipfs, publisher_node: Kubo
) -> None:
    here, there = Streams(fetcher), Streams(publisher)
    await there.mount(PROTOCOL, 1)
    own = await there.forward(publisher_node.peer_id, PROTOCOL)  # of the same name, and no mount
    async with echo() as port:
        await there.mount(PROTOCOL, port)
        door = await here.forward(publisher_node.peer_id, PROTOCOL)
        async with connected(door) as (reader, _):
            assert await reader.readline()
    await there.unmount(PROTOCOL)
    await there.unmount(PROTOCOL)
    assert await there.leads(own)
    for streams, port in ((here, door), (there, own)):
        await streams.close(port)


async def test_what_nobody_has_mounted_ends_at_once(fetcher: Ipfs, publisher_node: Kubo) -> None:
    streams = Streams(fetcher)
    door = await streams.forward(publisher_node.peer_id, "/x/leasehold/agent/1/0xcd")
    async with connected(door) as (reader, _):
        assert await reader.read() == b""
    await streams.close(door)


async def test_a_node_that_carries_none_says_what_to_set(tmp_path: Path) -> None:
    with Kubo(tmp_path / "node") as node:
        node.call("config", "Experimental.Libp2pStreamMounting", "false", bool="true")
        node.stop()
        node.start()
        async with Ipfs(node.api) as ipfs:
            for act in (Streams(ipfs).mounted, lambda: Streams(ipfs).forward(node.peer_id, PROTOCOL)):
                with pytest.raises(StreamsOff, match="Libp2pStreamMounting` to true"):
                    await act()


@pytest.mark.parametrize("api", ["/ip4/192.0.2.1/tcp/5001", "/dns4/ipfs.example/tcp/5001"])
async def test_a_node_of_another_host_is_not_asked(api: str) -> None:
    async with Ipfs(api) as ipfs:
        with pytest.raises(IpfsElsewhere, match="not on this host"):
            await Streams(ipfs).mounted()


PEER = "12D3KooWJAApDbhJqBgkja6vrQg51kci1WmYsjamCRhvWLFUBizJ"


def test_an_address_of_a_stream() -> None:
    assert parse_stream_address(stream_address(PEER, PROTOCOL)) == (PEER, PROTOCOL)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://host.example",
        f"/p2p/{PEER}",
        f"/p2p/{PEER}/",
        f"/p2p/{PEER}/ipfs/id/1.0.0",
        f"/p2p/{PEER}/x/",
        f"/p2p/{PEER}{PROTOCOL}?arg=/ip4/127.0.0.1/tcp/1",
        f"/p2p/{PEER}/x/leasehold/../agent",
        f"/p2p/{PEER[:-1]}{PROTOCOL}",
        f"/p2p/{PEER}0{PROTOCOL}",
        f"/ip4/192.0.2.1/tcp/80/p2p/{PEER}{PROTOCOL}",
        f"/p2p/{PEER}/p2p-circuit/p2p/{PEER}{PROTOCOL}",
        f"x/p2p/{PEER}{PROTOCOL}",
        f"/p2p/{PEER}{PROTOCOL}\n",
    ],
)
def test_any_other_multiaddr_is_none(address: str) -> None:
    assert parse_stream_address(address) is None
