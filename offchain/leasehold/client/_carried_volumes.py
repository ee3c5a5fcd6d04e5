"""The volumes of a lease that moves, and what it has got to: exported where they are, and named as what those on the
other machine begin with.

The container is stopped first, so that nothing is written after it was read. Where anything fails it is started again:
nothing has been sent by then.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from leasehold.chain import Lease, format_lease
from leasehold.client._checkpoints import taken_now
from leasehold.client._volumes import ExportVolume
from leasehold.errors import AgentError
from leasehold.market import AgentClient, MarketError
from leasehold.market.wire import NotRunning
from leasehold.workload import VolumeMount, Workload

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_EVERY = 1.0  # seconds between looks at a container that is being stopped
_STOPPING_SECONDS = 660.0
"""The longest grace that a workload may have, and a minute."""


def to_be_carried(client: PoolClient, lease: Lease, workload: Workload) -> tuple[VolumeMount, ...]:
    """The volumes that are to go on elsewhere with what they hold: of one's own lease, where nothing else is named."""
    if not _ones_own(client, lease):
        return ()
    return tuple(mount for mount in workload.volumes or () if mount.source is None)


def said_of(client: PoolClient, lease: Lease, workload: Workload) -> tuple[str, ...]:
    """What somebody should know before the lease moves."""
    things = [f"volume {mount.name}" for mount in workload.volumes or () if mount.source is None]
    if _begins_anew(workload):
        things.append("what it has made checkpoints of")
    if not things:
        return ()
    names = ", ".join(things)
    if _ones_own(client, lease):
        return (
            f"The container of lease {format_lease(lease.id)} is stopped first, and carried along: {names}.",
        )
    return (f"A lease's own tenant alone carries what it has, and these begin empty there: {names}.",)


async def carry_volumes(client: PoolClient, lease: Lease, workload: Workload) -> tuple[Workload, bool]:
    """The workload, with an export of each of its volumes that the lease has attached, and a checkpoint of what it has
    got to; and whether the container was stopped for that: whoever does not go on then has to `let_run`.

    Raises:
        AgentError, MarketError: the machine's agent does not answer, or cannot export one. The container runs again.
    """
    mounts, begins = (
        to_be_carried(client, lease, workload),
        _ones_own(client, lease) and _begins_anew(workload),
    )
    if not mounts and not begins:
        return workload, False
    async with client.agent_of(lease.id) as agent:
        told = {volume.name for volume in (await agent.volumes(lease.id)).volumes if volume.attached}
        names = [mount.name for mount in mounts if mount.name in told]
        begins = begins and await _makes_checkpoints(agent, lease.id)
        if not names and not begins:
            return workload, False
        stopped = await _told_to_stop(agent, lease.id)
        try:
            if stopped:
                await _stands_still(client, agent, lease.id)
            carried = await _carried(client, lease.id, names, workload) if names else workload
            if begins and (cid := await taken_now(agent, lease.id)) is not None:
                carried = carried.restored_from(cid)
        except BaseException:
            if stopped:
                await let_run(client, lease)
            raise
    return carried, stopped


def _ones_own(client: PoolClient, lease: Lease) -> bool:
    return client.other is None and lease.tenant == client.account


def _begins_anew(workload: Workload) -> bool:
    return workload.checkpoint is not None and workload.checkpoint.source is None


async def _makes_checkpoints(agent: AgentClient, lease: int) -> bool:
    """Whether it has a folder for them. One is begun: of the last, most is there then."""
    try:
        await agent.take_checkpoint(lease)
    except NotRunning:
        return False
    return True


async def _carried(client: PoolClient, lease: int, names: list[str], workload: Workload) -> Workload:
    return _with_sources(workload, {name: await _exported(client, lease, name) for name in names})


async def let_run(client: PoolClient, lease: Lease) -> None:
    """Start what was stopped to be moved, and was not. Where that fails its tenant finds it stopped."""
    with contextlib.suppress(AgentError, MarketError):
        async with client.agent_of(lease.id) as agent:
            await agent.power(lease.id, "start")


async def _exported(client: PoolClient, lease: int, name: str) -> str:
    # The machine's node keeps it for as long as what the lease leaves: the other machine has fetched it by then.
    return (await client.carry_out(ExportVolume(lease, name, keep=False))).cid


async def _told_to_stop(agent: AgentClient, lease: int) -> bool:
    """Whether it ran: a command that has ended by itself is not to run again where the move fails."""
    try:
        await agent.power(lease, "stop")
    except NotRunning:
        return False
    return True


async def _stands_still(client: PoolClient, agent: AgentClient, lease: int) -> None:
    status = await agent.status(lease)
    with client.observer.working("Stopping the container"):
        try:
            async with asyncio.timeout(_STOPPING_SECONDS):
                while status.container is not None and status.container.state not in ("exited", "dead"):
                    await asyncio.sleep(_EVERY)
                    status = await agent.status(lease)
        except TimeoutError:
            raise AgentError("The container does not stop", "look at the lease's status.") from None


def _with_sources(workload: Workload, sources: dict[str, str]) -> Workload:
    volumes = tuple(
        mount if mount.name not in sources else mount.model_copy(update={"source": sources[mount.name]})
        for mount in workload.volumes or ()
    )
    return workload.model_copy(update={"volumes": volumes})
