"""Checkpoints of one's leases: seen, taken now, kept on one's own node for the day on which their machine is gone, and
unpacked at home.

A checkpoint is a CID, sealed under a key that the wallet makes again. A workload that begins with one names it
(`Workload.restored_from`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import format_lease
from leasehold.client._errors import NoCheckpoint
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.client._volume_keys import key_of_checkpoints
from leasehold.errors import AgentError, DatasetCorrupt, DatasetError, WrongIdentity
from leasehold.market import AgentClient, Json, MarketError, Money
from leasehold.market.wire import LeaseCheckpoints
from leasehold.workload import Checkpoint

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

KEEPING_SECONDS = 60.0
"""Without a byte of a checkpoint, after which one's own node has not fetched it."""
MOST_KEEPING_SECONDS = 300.0
"""For one attempt, however slowly it comes: what the node has got by then it need not get again."""
USUAL_MOST = 10 << 30
"""Bytes that a checkpoint comes to at most where nobody says: what an agent gives its folder then."""
_AROUND = 1 << 27
"""Bytes of one that are not of its files: the list of these, at most."""
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


async def keep_checkpoint(
    client: PoolClient, lease: int, cid: str, checkpoint: Checkpoint | None = None, *, most: int = USUAL_MOST
) -> None:
    """Have one's own IPFS node fetch and keep it, and let go of the one before, unless that is kept for something else:
    an agent may name whatever it likes, and what its owner has told the node to keep is not the agent's to drop.

    checkpoint: what the workload says of it, whose size counts before `most`, bytes; where its key stands in it, every
    block is tried before any is kept.

    Raises:
        DatasetUnavailable, TimeoutError: it does not come. DatasetTooLarge: it is more than it may be. DatasetCorrupt:
        it is no checkpoint, or not the lease's. DatasetError: there is no node. What was kept before stays.
    """
    book, node = client.home.checkpoints(client.deployment), client.ipfs
    if book.get(lease) == cid:
        return
    own = book.is_own(cid) or not await node.is_pinned(cid)
    if own:
        book.note_coming(lease, cid)
    try:
        async with asyncio.timeout(MOST_KEEPING_SECONDS):
            await _try(client, cid, checkpoint, most)
            await node.pin(cid, timeout=KEEPING_SECONDS)
    except BaseException:
        book.forget_coming(lease)  # its owner may tell the node to keep it some day
        raise
    before = book.get(lease)  # another process may have kept one meanwhile
    ours = before is not None and book.is_own(before)
    book.note(lease, cid, own=own)
    if before is not None and ours and not book.is_noted(before):
        await node.unpin(before)


async def _try(client: PoolClient, cid: str, checkpoint: Checkpoint | None, most: int) -> None:
    key = None if checkpoint is None else checkpoint.key
    most = (checkpoint.size if checkpoint is not None else None) or most
    if key is None:
        await client.ipfs.weigh(cid, most + _AROUND, timeout=KEEPING_SECONDS)
        return
    try:
        await client.ipfs.check_tree(cid, bytes.fromhex(key), most, timeout=KEEPING_SECONDS)
    except WrongIdentity as error:
        raise DatasetCorrupt(cid, "the lease's key does not open it") from error


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
    """Take a checkpoint of a lease now, and wait for it. keep: have one's own node fetch and keep it, too, where it is
    no more than `most` bytes.
    """

    lease: int
    keep: bool = True
    most: int = USUAL_MOST

    async def plan(self, client: PoolClient) -> CheckpointPlan:
        lease = await client.known_lease(self.lease)
        if lease.tenant != client.account:
            raise NotTheTenant(lease.id, lease.tenant)
        return CheckpointPlan(client, self.lease, self.keep, self.most)


@dataclass(frozen=True)
class CheckpointPlan(Plan["CheckpointTaken"]):
    """A checkpoint that would be taken."""

    client: PoolClient
    lease: int
    keep: bool
    most: int = USUAL_MOST

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
                await keep_checkpoint(self.client, self.lease, cid, most=self.most)
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


# -------------------------------------------------------------------------------------------------------------- get


@dataclass(frozen=True)
class GetCheckpoint(Request["CheckpointGot"]):
    """Unpack a checkpoint into a folder that is new or empty: the newest of a lease, or the one of that CID.

    name: what its key was made of, as its workload has it. key: 32 bytes in hex, where the workload has its own. most:
    bytes of files that it may come to.
    """

    folder: Path
    lease: int | None = None
    cid: str | None = None
    name: str = "checkpoint"
    key: str | None = None
    most: int = USUAL_MOST

    async def plan(self, client: PoolClient) -> GetPlan:
        cid = self.cid
        if cid is None and self.lease is not None:
            cid = await newest_checkpoint(client, self.lease)
        if cid is None:
            raise NoCheckpoint()
        return GetPlan(client, self, cid)


@dataclass(frozen=True)
class GetPlan(Plan["CheckpointGot"]):
    """A checkpoint that would be unpacked."""

    client: PoolClient
    request: GetCheckpoint
    cid: str

    def to_json(self) -> dict[str, Json]:
        return {"cid": self.cid, "folder": str(self.request.folder)}

    async def steps(self) -> AsyncIterator[Step]:
        asked = self.request
        key = asked.key or await key_of_checkpoints(self.client, asked.name)
        with self.client.observer.working(f"Fetching {self.cid}"):
            fetched = await self.client.ipfs.fetch_tree(
                self.cid, bytes.fromhex(key), asked.folder, asked.most
            )
        yield CheckpointGot(self.cid, fetched.path, fetched.size, fetched.files, fetched.left_out)


@dataclass(frozen=True)
class CheckpointGot(Step):
    """It lies in `folder`. size: bytes of its files. left_out: links that lead out of it, pipes and devices."""

    cid: str
    folder: Path
    size: int
    files: int
    left_out: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "cid": self.cid,
            "folder": str(self.folder),
            "size": self.size,
            "files": self.files,
            "left_out": self.left_out,
        }
