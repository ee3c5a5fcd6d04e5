"""Checkpoints of one's leases: seen, taken now, and kept on one's own node, for the day on which their machine is gone.

A checkpoint is a CID, sealed under a key that the wallet makes again. A workload that begins with one names it
(`Workload.restored_from`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import format_lease
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.errors import AgentError, DatasetError
from leasehold.market import AgentClient, Json, MarketError, Money
from leasehold.market.wire import LeaseCheckpoints

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

KEEPING_SECONDS = 60.0
"""Without a byte of a checkpoint, after which one's own node has not fetched it."""
_ASKING_SECONDS = 20.0
_EVERY = 0.5  # seconds between looks at one that is being taken
_MOST_SECONDS = 5400.0
"""The longest that a command and the reading of its folder take."""


async def checkpoints_of(client: PoolClient, lease: int) -> LeaseCheckpoints:
    """What the agent of the lease's machine has of it. Raises AgentError, MarketError, ChainError."""
    async with client.agent_of(lease) as agent:
        return await agent.checkpoints(lease)


async def newest_checkpoint(client: PoolClient, lease: int) -> str | None:
    """The CID of the newest: as the machine's agent says, and where that says nothing, of what was kept here."""
    here = client.home.checkpoints(client.deployment).get(lease)
    try:
        async with asyncio.timeout(_ASKING_SECONDS):
            kept = (await checkpoints_of(client, lease)).kept
    except (AgentError, MarketError, TimeoutError):
        return here
    return kept[-1].cid if kept else here


async def keep_checkpoint(client: PoolClient, lease: int, cid: str) -> None:
    """Have one's own IPFS node fetch and keep it, and let go of the one before.

    Raises:
        DatasetError, TimeoutError: it does not come, or there is no node. What was kept before stays.
    """
    book = client.home.checkpoints(client.deployment)
    if book.get(lease) == cid:
        return
    await client.ipfs.pin(cid, timeout=KEEPING_SECONDS)
    before = book.get(lease)  # another process may have kept one meanwhile
    book.note(lease, cid)
    if before not in (None, cid):
        await client.ipfs.unpin(before or "")


async def taken_now(agent: AgentClient, lease: int) -> str | None:
    """Have one taken, and wait for it: the CID of the newest that there is then.

    Raises:
        NotRunning: the lease makes none. AgentError: this one failed, and why.
    """
    told = await agent.take_checkpoint(lease)
    async with asyncio.timeout(_MOST_SECONDS):
        while told.running:
            await asyncio.sleep(_EVERY)
            told = await agent.checkpoints(lease)
    if told.trouble:
        raise AgentError(f"No checkpoint was made: {told.trouble}", "look at what the workload says of it.")
    return told.kept[-1].cid if told.kept else None


# ------------------------------------------------------------------------------------------------------------- take


@dataclass(frozen=True)
class TakeCheckpoint(Request["CheckpointTaken"]):
    """Take a checkpoint of a lease now, and wait for it. keep: have one's own node fetch and keep it, too."""

    lease: int
    keep: bool = True

    async def plan(self, client: PoolClient) -> CheckpointPlan:
        lease = await client.known_lease(self.lease)
        if lease.tenant != client.account:
            raise NotTheTenant(lease.id, lease.tenant)
        return CheckpointPlan(client, self.lease, self.keep)


@dataclass(frozen=True)
class CheckpointPlan(Plan["CheckpointTaken"]):
    """A checkpoint that would be taken."""

    client: PoolClient
    lease: int
    keep: bool

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease)}

    async def steps(self) -> AsyncIterator[Step]:
        with self.client.observer.working("Taking a checkpoint"):
            async with self.client.agent_of(self.lease) as agent:
                cid = await taken_now(agent, self.lease)
        if cid is None:
            raise AgentError("The agent has made no checkpoint", "ask for it again.")
        unkept = "" if not self.keep else await self._kept(cid)
        yield CheckpointTaken(self.lease, cid, self.keep and not unkept, unkept)

    async def _kept(self, cid: str) -> str:
        """Why one's own node has no copy; empty: it has."""
        with self.client.observer.working("Fetching it to your own IPFS node"):
            try:
                await keep_checkpoint(self.client, self.lease, cid)
            except (DatasetError, TimeoutError) as error:
                return str(error)
        return ""


@dataclass(frozen=True)
class CheckpointTaken(Step):
    """It lies on IPFS. kept: on one's own node, too. unkept: why not, where it was to."""

    lease: int
    cid: str
    kept: bool
    unkept: str = ""

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"cid": self.cid, "kept": self.kept}
