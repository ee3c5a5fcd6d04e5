"""What changes of a lease while it lives: its workload, its tenant, its cells, its end.

Each step's precondition is asked of whoever knows it (the chain's node, the engine) right before the act, and what must
not be forgotten is noted before it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from leasehold.chain import LeaseState, format_lease
from leasehold_agent._errors import NodesDisagree
from leasehold_agent.cards import Devices, LeaseShare
from leasehold_agent.chain import ChainGate, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import Ailment, MaintenanceWindow
from leasehold_agent.reconciling._carrying import Carrying
from leasehold_agent.reconciling._checkpoint_folder import folder_name
from leasehold_agent.reconciling._checkpoints import Checkpoints
from leasehold_agent.reconciling._committing import Committing
from leasehold_agent.reconciling._container_spec import check_cards_told, limits_of
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.reconciling._results import Publishing
from leasehold_agent.store import (
    CARD_SIGNAL,
    Notes,
    Volumes,
    note_told_of_cards,
    notice_of,
    read_word,
    told_of_cards,
    volume_id,
    words_on,
    write_card_notice,
    write_notice,
    write_warning,
    write_word,
)

_log = structlog.get_logger("leasehold_agent")


@dataclass(frozen=True)
class Changes:
    chain: ChainGate
    containers: Containers
    leases: LeaseBook
    volumes: Volumes
    carrying: Carrying
    checkpoints: Checkpoints
    committing: Committing
    results: Publishing
    devices: Devices

    async def replace(self, desired: Desired, share: LeaseShare) -> None:
        """Make way for another workload: the old one's outputs are published, then its container goes."""
        if not await self.chain.has_workload(desired.lease, desired.workload):
            shown = format_lease(desired.lease)
            raise NodesDisagree(f"The nodes do not agree what lease {shown} is to run.")
        folder, record = self.leases.folder(desired.lease), self.leases.record(desired.lease)
        notes, container = folder.load(), await self.containers.inspect(desired.lease)
        log_step(desired.lease, "replace")
        await self.committing.close(desired.lease)
        if container is not None:
            if container.running or container.paused:
                notes.stopped = True
                folder.save(notes)
                await self._stand_still(desired.lease, container)
            same = (notes.author or notes.tenant) == desired.tenant
            if same and desired.state is LeaseState.ACTIVE and notes.launched and not notes.published:
                await self.results.publish(desired, share)
        await self.containers.remove(desired.lease)
        pinned = await self.carrying.forget(
            desired.lease
        )  # the folder is cleared, and what lists them with it
        await self.volumes.detach(desired.lease)
        same = (notes.author or notes.tenant) == desired.author
        if not same:
            pinned |= await self.checkpoints.forget(desired.lease)
            pinned |= await self.committing.forget(desired.lease)
        # What was ordered for the new workload may be here before this is, and what it begins with is of the old one.
        folder.clear(folder.order, *((folder.checkpoints, folder.commit) if same else ()))
        former = volume_id(notes.author, folder_name(desired.lease, notes.workload))
        before = folder.load()
        blank = Notes(
            tenant=desired.tenant,
            author=desired.author,
            machine=desired.machine,
            workload=desired.workload.hex(),
            results=before.results,
            pinned=before.pinned,
            order_refusals=notes.order_refusals,  # what it has cost the operator it has cost
            # A new author's workload names other volumes, whatever it calls them.
            volumes=tuple(set(notes.volumes) - {former}) if same else (),
        )
        if before.result is not None and before.result not in before.results:
            blank.keep(before.result)  # packed, and never said
        for cid in pinned:
            blank.keep(cid)  # its node was away: it goes with the lease
        folder.save(blank)
        await self.volumes.sweep(self.leases.volumes_named)
        record.ready, record.workload, record.trouble = False, None, None

    async def rest(self, desired: Desired) -> None:
        """The container stands still, as its tenant wants it: its files, ports, cards and volumes stay the lease's."""
        folder = self.leases.folder(desired.lease)
        notes, container = folder.load(), await self.containers.inspect(desired.lease)
        if read_word(folder.word, notes.workload) != "stop":  # he has said otherwise since
            return
        log_step(desired.lease, "rest")
        notes.stopped = True
        folder.save(notes)
        await self._stand_still(desired.lease, container)

    async def begin_anew(self, desired: Desired) -> None:
        """The container is stopped, and brought up by the next pass as one that the agent has stopped."""
        folder = self.leases.folder(desired.lease)
        notes, container = folder.load(), await self.containers.inspect(desired.lease)
        if read_word(folder.word, notes.workload) != "restart":
            return
        log_step(desired.lease, "begin-anew")
        notes.stopped, notes.ended, notes.crashes = True, False, 0
        folder.save(notes)
        await self._stand_still(desired.lease, container)
        write_word(folder.word, "", notes.workload)
        self.leases.record(desired.lease).again.reset()

    async def _stand_still(self, lease: int, container: ContainerFacts | None) -> None:
        if container is not None and (container.running or container.paused):
            await self.committing.close(lease)
            await self.checkpoints.before_end(lease)
            await self.containers.end(container, self.leases.grace(lease))
            await self.checkpoints.after_end(lease)
        self.leases.record(lease).ready = False

    async def hand_over(self, desired: Desired) -> None:
        """Note the new tenant. The container runs on, without the former tenant's secrets; what his keys opened is
        closed by who serves it. Until it is noted nobody is let in.
        """
        if not await self.chain.is_tenant(desired.lease, desired.tenant):
            raise NodesDisagree(f"The nodes do not agree whose lease {format_lease(desired.lease)} is.")
        folder = self.leases.folder(desired.lease)
        notes = folder.load()
        log_step(desired.lease, "hand-over")
        await self.committing.close(desired.lease)  # it would be sealed to the former tenant
        folder.forget_secrets()
        folder.order.unlink(missing_ok=True)  # the former tenant's: it closes nothing any more
        notes.tenant = desired.tenant
        folder.save(notes)

    async def tell(
        self, desired: Desired, window: MaintenanceWindow | None, ailments: Mapping[str, Ailment]
    ) -> None:
        """Let the container hear that its lease ends early, and when; or that it does not after all. When its host
        will be worked on. And what ails its cards: the file first, then the signal, and then the note that both are
        done.
        """
        notice = notice_of(desired)
        log_step(desired.lease, "tell")
        write_notice(self.leases.folder(desired.lease).told, notice)
        write_warning(self.leases.folder(desired.lease).told, window)
        ends_at = None if notice is None else notice.ends_at
        maintenance = None if window is None else window.begins_at
        _log.info("notice", lease=format_lease(desired.lease), ends_at=ends_at, maintenance=maintenance)
        folder, words = self.leases.folder(desired.lease), words_on(ailments)
        if told_of_cards(folder) == words:
            return
        write_card_notice(folder, words)
        await self.containers.engine.signal(self.containers.names.container(desired.lease), CARD_SIGNAL)
        note_told_of_cards(folder, words)
        causes = sorted(ailment.cause for ailment in ailments.values())
        _log.info("cards", lease=format_lease(desired.lease), ailments=causes)

    async def resize(self, desired: Desired, before: LeaseShare, now: LeaseShare) -> None:
        """Give the container what the lease holds now: limits at once, other GPUs by making it anew
        out of its own data.

        What is removed here is brought up again by the next pass. A container that is made anew hears SIGTERM first, as
        at its end. Raises Declined while its cards cannot be told: it keeps what it has until they can.
        """
        folder, workload = self.leases.folder(desired.lease), self.leases.workload(desired.lease)
        notes, name, engine = (
            folder.load(),
            self.containers.names.container(desired.lease),
            self.containers.engine,
        )
        if workload is None:
            return
        check_cards_told(now)
        log_step(desired.lease, "resize")
        if before.devices == now.devices and not now.is_less_of(before):
            await self.devices.fit(desired.lease, now)
            await engine.update(name, limits_of(workload, now))
            notes.placement = desired.placement
            folder.save(notes)
            return
        notes.stopped = True
        folder.save(notes)
        await self.committing.close(desired.lease)
        if (container := await engine.inspect(name)) is not None:
            await self.containers.end(container, workload.grace)
        log_step(desired.lease, "keep")
        async with self.containers.limits.held():
            notes.image = await engine.keep(name, self.containers.names.kept(desired.lease))
        folder.save(notes)
        await engine.remove(name)
        self.leases.record(desired.lease).ready = False
