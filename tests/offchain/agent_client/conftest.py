"""A client of a real agent API: TLS on loopback, leases made of local processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from devnet.local_leases import LocalLeases
from devnet.serving import CHAIN, CONTROLLER, MACHINE, Chain, Clock, serve_context
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain
from leasehold.market._agent_client import AgentClient
from leasehold.market._documents import Contact
from leasehold_agent._runtime import LeaseHandle, ServeContext
from leasehold_agent.api import ApiServer

LEASE = (12 << 16) + 1
DOMAIN = Domain(CHAIN, CONTROLLER)


@dataclass
class Naps:
    """Stands in for waiting: nothing waits, and what would have been waited is noted."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


@dataclass
class World:
    leases: LocalLeases
    context: ServeContext
    clock: Clock
    chain: Chain
    wallet: LocalSigner
    operator: LocalSigner
    server: ApiServer
    port: int
    naps: Naps

    def contact(self, *endpoints: str, **fields: object) -> Contact:
        document = orjson.loads(self.context.contact())
        document["endpoints"] = list(endpoints or (f"https://127.0.0.1:{self.port}",))
        return Contact.model_validate({**document, **fields})

    def client(self, *endpoints: str, **options: object) -> AgentClient:
        settings = {
            "operator": self.operator.address,
            "signer": self.wallet,
            "contact": self.contact(*endpoints),
        }
        return AgentClient(
            domain=DOMAIN,
            machine=MACHINE,
            now=self.clock,
            sleep=self.naps,
            **{**settings, **options},  # type: ignore[arg-type]
        )

    async def restart(self) -> None:
        """The agent goes away and comes back on the same port."""
        await self.server.close()
        self.server = await ApiServer.open(self.context)
        await self.server.start("127.0.0.1", self.port)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    root, agent = tmp_path / "leases", tmp_path / "agent"
    root.mkdir()
    agent.mkdir(mode=0o700)
    leases, clock, chain = LocalLeases(root), Clock(), Chain(set())
    wallet, operator = LocalSigner(b"\1" * 32), LocalSigner(b"\3" * 32)
    context = serve_context(agent, leases, operator, clock, chain)
    handle = LeaseHandle(
        LEASE, wallet.address, MACHINE, "running", container_id="c", container_state="running"
    )
    leases.add(handle)
    leases.add(replace(handle, lease=LEASE + 1, tenant=operator.address))
    server = await ApiServer.open(context)
    port = await server.start("127.0.0.1", 0)
    made = World(leases, context, clock, chain, wallet, operator, server, port, Naps())
    yield made
    await made.server.close()
    await leases.close()
