"""A lease's container made an image of, sealed to a key of one's own, with which another lease can begin.

Each image has a key of its own, made here and kept in the home: a machine that runs one opens that one alone. The image
is named by its CID, and checked against it wherever it is fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import AgentError, DatasetError
from leasehold.market import Json, Money
from leasehold.market.wire import LeaseImage

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_EVERY = 0.5  # seconds between looks at one that is being made
_MOST_SECONDS: Final = 9_000.0
"""The longest that one waits for its turn and is made."""
_KEEPING_SECONDS: Final = 60.0
"""Without a byte of it, after which one's own node has not fetched it."""


async def image_of(client: PoolClient, lease: int) -> LeaseImage:
    """What the agent of the lease's machine has made of it. Raises AgentError, MarketError, ChainError."""
    async with client.agent_of(lease) as agent:
        return await agent.image(lease)


@dataclass(frozen=True)
class CommitContainer(Request["ContainerCommitted"]):
    """Make an image of a lease's container as it is now: its files, but for what is mounted in it. It stands still
    while they are read. keep: have one's own node fetch and keep the image, too.
    """

    lease: int
    keep: bool = True

    async def plan(self, client: PoolClient) -> CommitContainerPlan:
        lease = await client.known_lease(self.lease)
        if lease.tenant != client.account:
            raise NotTheTenant(lease.id, lease.tenant)
        client.home.dataset_keys.all()  # a damaged file is told before anything is made
        return CommitContainerPlan(client, self.lease, self.keep)


@dataclass(frozen=True)
class CommitContainerPlan(Plan["ContainerCommitted"]):
    """An image that would be made."""

    client: PoolClient
    lease: int
    keep: bool

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease)}

    async def steps(self) -> AsyncIterator[Step]:
        key = new_identity()
        with self.client.observer.working("Making an image of the container"):
            made = await self._made(recipient_of(key))
        assert made.cid is not None
        self.client.home.dataset_keys.keep(made.cid, key)
        unkept = await self._kept(made.cid) if self.keep else ""
        yield ContainerCommitted(self.lease, made.cid, made.size, self.keep and not unkept, unkept, key)

    async def _made(self, recipient: str) -> LeaseImage:
        """Raises NotRunning, TooManyRequests; AgentError: none was made, and why."""
        async with self.client.agent_of(self.lease) as agent:
            told = await agent.commit(self.lease, recipient)
            async with asyncio.timeout(_MOST_SECONDS):
                while told.running:
                    await asyncio.sleep(_EVERY)
                    told = await agent.image(self.lease)
        if told.trouble or told.cid is None:
            raise AgentError(f"No image was made: {told.trouble or 'nothing is known of one'}", "ask again.")
        if told.recipient != recipient:
            raise AgentError("Another image was made of the lease since", "ask again.")
        if told.cid in self.client.home.dataset_keys.all():  # its key would be lost
            raise AgentError("The agent names what was sealed here before", "take another machine.")
        return told

    async def _kept(self, cid: str) -> str:
        """Why one's own node has no copy; empty: it has."""
        with self.client.observer.working("Fetching it to your own IPFS node"):
            try:
                await self.client.ipfs.pin(cid, timeout=_KEEPING_SECONDS)
            except (DatasetError, TimeoutError) as error:
                return str(error)
        return ""


@dataclass(frozen=True)
class ContainerCommitted(Step):
    """It lies on IPFS, and this home has its key. kept: on one's own node, too. unkept: why not, where it was to be."""

    lease: int
    cid: str
    size: int
    kept: bool
    unkept: str = ""
    key: str = field(default="", repr=False)

    @property
    def image(self) -> str:
        """As a workload names it."""
        return f"ipfs:{self.cid}"

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"image": self.image, "cid": self.cid, "size": self.size, "kept": self.kept, "key": self.key}
