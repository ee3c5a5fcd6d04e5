"""The client of an agent that has no address: through a real node of one's own and the machine's."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.serving import certificate
from leasehold.chain import LocalSigner
from leasehold.datasets import Ipfs, Streams, stream_address
from leasehold.market import AgentClient, agent_tunnel, direct_endpoints
from leasehold.market.wire import (
    AgentUnreachable,
    InvalidRequestProof,
    TooManyRequests,
    agent_stream,
)
from leasehold.rates import RateLimit
from leasehold_agent.access import Buckets

from .conftest import LEASE, World


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kubo, Kubo, Kubo]]:
    """The host's, a tenant's, and a thief's."""
    folder = tmp_path_factory.mktemp("nodes")
    with Kubo(folder / "host") as host, Kubo(folder / "tenant") as tenant, Kubo(folder / "thief") as thief:
        for node in (tenant, thief):
            node.connect(host)
        yield host, tenant, thief


@dataclass
class Behind:
    """The agent of `world` behind the host's node."""

    world: World
    host: Kubo
    nodes: dict[str, Kubo]

    @property
    def endpoint(self) -> str:
        return stream_address(self.host.peer_id, agent_stream(self.world.operator.address))

    @asynccontextmanager
    async def client(
        self, who: str = "tenant", *endpoints: str, signer: LocalSigner | None = None, **fields: object
    ) -> AsyncIterator[AgentClient]:
        contact = self.world.contact(*(endpoints or (self.endpoint,)), peer_id=self.host.peer_id, **fields)
        async with Ipfs(self.nodes[who].api) as ipfs:
            tunnel = agent_tunnel(ipfs, contact, self.world.operator.address)
            options = {"contact": contact, "tunnel": tunnel, "signer": signer or self.world.wallet}
            async with self.world.client(**options) as client:
                yield client

    async def forwards(self, who: str = "tenant") -> int:
        async with Ipfs(self.nodes[who].api) as ipfs:
            return len((await ipfs.command("p2p/ls"))[0]["Listeners"] or ())


@pytest.fixture
async def behind(world: World, nodes: tuple[Kubo, Kubo, Kubo]) -> AsyncIterator[Behind]:
    host, tenant, thief = nodes
    async with Ipfs(host.api) as ipfs:
        streams, protocol = Streams(ipfs), agent_stream(world.operator.address)
        await streams.mount(protocol, world.server.open_back_door(0))
        yield Behind(world, host, {"host": host, "tenant": tenant, "thief": thief})
        await streams.unmount(protocol)


async def test_everything_of_the_api_goes_through(behind: Behind) -> None:
    world, sealed = behind.world, b"sealed" * 100_000
    async with asyncio.timeout(patient(60)), behind.client() as client:
        held = await client.put_workload(sealed)
        assert world.leases.workloads.kept[hashlib.sha256(sealed).digest()] == sealed
        assert held.receipt.expires_at > world.clock()
        assert (await client.status(LEASE)).phase == "running"
        await world.leases.say(LEASE, b"one\n")
        lines = client.logs(LEASE, follow=True)
        assert await anext(lines) == b"one\n"
        await world.leases.say(LEASE, b"two\n", end=True)
        assert [data async for data in lines] == [b"two\n"]
        async with client.exec(LEASE, ["sh", "-c", "cat; exit 7"]) as stream:
            await stream.write(b"x" * 300_000)
            await stream.write_eof()
            assert sum([len(data) async for _, data in stream]) == 300_000
            assert await stream.wait() == 7
        assert await behind.forwards() == 1
    assert await behind.forwards() == 0


async def test_the_address_goes_first_and_then_what_has_answered(
    behind: Behind, unused_tcp_port: int
) -> None:
    world = behind.world
    direct, closed = f"https://127.0.0.1:{world.port}", f"https://127.0.0.1:{unused_tcp_port}"
    async with behind.client("tenant", behind.endpoint, direct) as client:
        await client.health()
        assert await behind.forwards() == 0
    async with behind.client("tenant", closed, behind.endpoint) as client:
        await client.health()
        world.clock.at += 3600
        await client.health()
        assert client._ways[0] is client._tunnel
        assert await behind.forwards() == 1


async def test_a_node_that_starts_anew_has_forgotten_and_is_asked_again(
    behind: Behind, tmp_path: Path
) -> None:
    with Kubo(tmp_path / "own") as own:
        own.connect(behind.host)
        behind.nodes["own"] = own
        async with behind.client("own", ipfs=behind.host.addresses) as client:
            await client.health()
            own.stop()
            own.start()  # and does not know where the other is: the document says that
            with pytest.raises(AgentUnreachable, match="broke off"):
                await client.status(LEASE)
            assert (await client.status(LEASE)).phase == "running"


async def test_another_certificate_is_not_trusted_behind_a_node_either(
    behind: Behind, tmp_path: Path
) -> None:
    other, _ = certificate(tmp_path)
    async with behind.client(certificate=other.read_text()) as client:
        with pytest.raises(AgentUnreachable, match="certificate"):
            await client.status(LEASE)


async def test_a_peer_that_leads_nowhere_says_so(behind: Behind) -> None:
    thief = stream_address(behind.nodes["thief"].peer_id, agent_stream(behind.world.operator.address))
    async with behind.client("tenant", thief) as client:
        with pytest.raises(AgentUnreachable, match="through its IPFS node"):
            await client.health()
    assert await behind.forwards() == 0


async def test_without_a_node_of_ones_own(behind: Behind, tmp_path: Path) -> None:
    with Kubo(tmp_path / "node") as node:
        behind.nodes["off"] = node
        node.call("config", "Experimental.Libp2pStreamMounting", "false", bool="true")
        node.stop()
        node.start()
        async with behind.client("off") as client:
            with pytest.raises(AgentUnreachable, match="carries no streams"):
                await client.health()
        node.stop()
        async with behind.client("off") as client:
            with pytest.raises(AgentUnreachable, match="start it"):
                await client.health()


@pytest.mark.parametrize(
    "form",
    [
        "/ip4/127.0.0.1/tcp/{port}",
        "/ip4/127.0.0.1/tcp/{port}/p2p/{peer}{protocol}",
        "/unix/run/docker.sock",
        "/p2p/{peer}/x/leasehold/agent/1/0x00000000000000000000000000000000000000ff",
        "/p2p/{peer}/ipfs/bitswap/1.2.0",
        "/p2p/{peer}{protocol}/../../tcp/22",
    ],
)
async def test_no_other_multiaddr_of_a_document_is_gone_to(behind: Behind, form: str) -> None:
    world = behind.world
    protocol = agent_stream(world.operator.address)
    named = form.format(port=world.port, peer=behind.host.peer_id, protocol=protocol)
    contact = world.contact(named)
    async with Ipfs(behind.nodes["tenant"].api) as ipfs:
        assert agent_tunnel(ipfs, contact, world.operator.address) is None
    assert direct_endpoints(contact) == ()


async def test_a_thief_at_his_own_node_shuts_nobody_out(behind: Behind) -> None:
    """He spends what an address may ask about the tenant's lease; to the agent both of them come from the loopback."""
    world = behind.world
    world.server.api.authorizer._checks = Buckets(RateLimit(3, 1e9), world.clock)
    account = world.wallet.address
    async with behind.client("thief", signer=LocalSigner(b"\7" * 32)) as thief:
        thief._account = account
        for _ in range(3):
            with pytest.raises(InvalidRequestProof):
                await thief.status(LEASE)
        with pytest.raises(TooManyRequests):
            await thief.status(LEASE)
    async with behind.client() as client:
        assert (await client.status(LEASE)).phase == "running"


async def test_what_peers_hold_leaves_the_street_alone(behind: Behind) -> None:
    world = behind.world
    back, street = world.server.api.back_door, world.server.api.door
    assert 4 * back.limits.places <= street.limits.places
    back.limits = replace(back.limits, strangers=8, fair_seconds=1e9)
    async with Ipfs(behind.nodes["thief"].api) as ipfs:
        streams = Streams(ipfs)
        port = await streams.forward(behind.host.peer_id, agent_stream(world.operator.address))
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(32)]
        async with world.client() as client:
            assert (await client.status(LEASE)).phase == "running"
        assert street.strangers == 0
        for _, writer in held:
            writer.close()
        await streams.close(port)
