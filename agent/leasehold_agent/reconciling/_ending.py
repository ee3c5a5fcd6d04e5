"""The end of a lease: stopping, clearing away what could not run, deleting.

Each step's precondition is asked of whoever knows it (the chain's node, the engine) right before the act, and what must
not be forgotten is noted before it too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from leasehold.chain import LeaseState, format_lease
from leasehold.files import replace_file
from leasehold_agent.cards import Devices
from leasehold_agent.chain import ChainGate, ChainSnapshot
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.reconciling._carrying import Carrying
from leasehold_agent.reconciling._checkpoints import Checkpoints
from leasehold_agent.reconciling._committing import Committing
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._host import LeaseReaders
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.reconciling._plan import Stop
from leasehold_agent.reconciling._results import Publishing
from leasehold_agent.store import Volumes

_log = structlog.get_logger("leasehold_agent")
_LOG_BYTES = 1 << 16
_MOST_TOLD = 256


@dataclass(frozen=True)
class Ending:
    chain: ChainGate
    containers: Containers
    leases: LeaseBook
    volumes: Volumes
    carrying: Carrying
    checkpoints: Checkpoints
    committing: Committing
    results: Publishing
    devices: Devices
    readers: LeaseReaders
    clock: Callable[[], float] = time.monotonic

    async def stop(self, action: Stop, seen: ChainSnapshot) -> None:
        """Note that it is over, then stop the container, close its volumes and remove its network. What still runs on
        the chain is left alone.
        """
        lease = action.lease
        if await self.chain.is_live(lease):
            return
        folder, desired = self.leases.folder(lease), seen.leases.get(lease)
        notes, container = folder.load(), await self.containers.inspect(lease)
        if container is None and not folder.exists:  # it was deleted while the plan looked
            await self.volumes.detach(lease)
            await self.containers.remove_network(lease)
            return
        if notes.gone_at is None or notes.gone_block is None:
            notes.gone_at, notes.gone_block = seen.now, seen.block
        billed = (LeaseState.ACTIVE, LeaseState.ENDED, LeaseState.REJECTED)
        if desired is not None and desired.state in billed:
            notes.billed = max(0, desired.end - desired.start)
        running = container is not None and (container.running or container.paused)
        notes.stopped = notes.stopped or running
        given, notes.devices = notes.devices, {}
        log_step(lease, "stop")
        folder.save(notes)
        await self.committing.close(lease)
        if container is not None and running:
            await self._end(lease, container)
        await self.devices.take_back(lease, given)
        await self.devices.end_part(lease)
        await self.checkpoints.after_end(lease)
        await self.carrying.close(lease)
        await self.volumes.detach(lease)
        folder.forget_secrets()
        await self.containers.remove_network(lease)
        self.leases.record(lease).ready = False
        _log.info("stopped", lease=format_lease(lease), why=action.why)

    async def _end(self, lease: int, container: ContainerFacts) -> None:
        """With its grace, unless somebody else's lease has its cards meanwhile."""
        record = self.leases.record(lease)
        record.stopping = self.clock()
        try:
            await self.checkpoints.before_end(lease)
            await self.containers.end(container, self.leases.grace(lease))
        finally:
            record.stopping = None

    async def clear(self, lease: int) -> None:
        """Nothing is left of a lease that could not run, but why, and the end of its log."""
        if await self.chain.is_live(lease):
            return
        folder = self.leases.folder(lease)
        notes, container = folder.load(), await self.containers.inspect(lease)
        if container is not None and notes.launched:
            notes.exit_code = container.exit_code
            folder.save(notes)
            if not folder.log.exists():
                ending = await self.containers.engine.log_end(container.name, _LOG_BYTES)
                replace_file(folder.log, ending)
        log_step(lease, "clear")
        await self.containers.remove(lease)
        await self.containers.remove_network(lease)
        exported = await self.carrying.forget(lease) | await self.checkpoints.forget(lease)
        exported |= await self.committing.forget(lease)
        await self.volumes.detach(lease)
        folder.clear(folder.log)
        for cid in exported:
            notes.keep(cid)  # its node was away
        notes.cleared, notes.datasets, notes.volumes = True, (), ()
        folder.save(notes)
        await self.volumes.sweep(self.leases.volumes_named)
        told = [other for other in self.leases.folders().values() if other.load().cleared]
        for oldest in sorted(told, key=lambda other: other.load().gone_at or 0)[:-_MOST_TOLD]:
            oldest.remove()

    async def delete(self, lease: int) -> None:
        """Retention is over and the chain agrees: everything of the lease goes, its folder last, which names what else
        there is. Raises DatasetError, TimeoutError while its IPFS node cannot let go of what it keeps for it.
        """
        if await self.chain.is_live(lease):
            return
        log_step(lease, "delete")
        await self.readers.close(lease)
        await self.containers.remove(lease)
        await self.containers.remove_network(lease)
        exported = await self.carrying.forget(lease) | await self.checkpoints.forget(lease)
        exported |= await self.committing.forget(lease)
        await self.volumes.detach(lease)
        folder = self.leases.folder(lease)
        await self.results.unpin(lease, folder.load().published_here | exported)
        folder.remove()
        await self.volumes.sweep(self.leases.volumes_named)
        self.leases.records.pop(lease, None)
