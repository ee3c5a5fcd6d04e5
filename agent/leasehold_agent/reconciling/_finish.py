"""The end of a lease: `start` and `decline` on the chain, stopping, packing outputs, deleting.

Each step's precondition is asked of whoever knows it (the chain's node, the engine) right before the act,
and what must not be forgotten is noted before it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
from collections.abc import Collection
from dataclasses import replace as changed
from typing import TYPE_CHECKING

import structlog

from leasehold.chain import LeaseState, cid_to_bytes, format_lease
from leasehold.errors import DatasetError
from leasehold.workload import Workload
from leasehold_agent._errors import NodesDisagree
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import remove_tree, write_private
from leasehold_agent.reconciling._bring_up import log_step
from leasehold_agent.reconciling._container import limits_of
from leasehold_agent.reconciling._plan import Decline, Stop
from leasehold_agent.store import Notes, collect, lease_dirs, notice_of, write_notice

if TYPE_CHECKING:
    from leasehold_agent.reconciling._host import Host, Record

_log = structlog.get_logger("leasehold_agent")
_PIN_SECONDS = 30
_DEFAULT_GRACE = 10
_LOG_BYTES = 1 << 16
_MOST_TOLD = 256


async def send_start(host: Host, desired: Desired, record: Record) -> None:
    """Say that the lease is ready, if its container still is. The endpoint document goes to IPFS beside
    it.
    """
    container = await host.engine.inspect(host.names.container(desired.lease))
    if container is None or not (container.running or container.exit_code == 0):
        record.ready = False
        return
    if container.exited:
        _note_the_end(host, desired)
    log_step(desired.lease, "start-on-chain")
    document = host.endpoint(desired, container.ports)
    await host.chain.start(desired.lease, hashlib.sha256(document).digest())
    _log.info("started", lease=format_lease(desired.lease))
    with contextlib.suppress(DatasetError, TimeoutError):  # whoever wants it can also ask the agent
        async with asyncio.timeout(_PIN_SECONDS):
            await host.data.put_block(document)


def _note_the_end(host: Host, desired: Desired) -> None:
    """Its command has ended by itself: an engine that restarts later does not make it run again."""
    folder = host.folder(desired.lease)
    notes = folder.load()
    if not (notes.ended or notes.stopped):
        notes.ended = True
        folder.save(notes)


async def decline(host: Host, action: Decline) -> None:
    folder, record = host.folder(action.lease), host.record(action.lease)
    if folder.exists and (notes := folder.load()).failure is None:
        notes.failure, notes.failure_detail = action.reason, record.trouble or record.progress or ""
        folder.save(notes)
    log_step(action.lease, "decline")
    await host.chain.decline(action.lease, action.reason)


async def stop(host: Host, action: Stop, desired: Desired | None, record: Record) -> None:
    """Note that it is over, then stop the container and remove its network. What still runs on the chain is left
    alone.
    """
    if await host.chain.is_live(action.lease):
        return
    folder = host.folder(action.lease)
    notes = folder.load()
    name = host.names.container(action.lease)
    container = await host.engine.inspect(name)
    if container is None and not folder.exists:  # it was deleted while the plan looked
        await host.engine.remove_network(host.names.network(action.lease))
        return
    if notes.gone_at is None or notes.gone_block is None:
        notes.gone_at, notes.gone_block = host.snapshot.now, host.snapshot.block
    if desired is not None and desired.state in (LeaseState.ACTIVE, LeaseState.ENDED, LeaseState.REJECTED):
        notes.billed = max(0, desired.end - desired.start)
    running = container is not None and (container.running or container.paused)
    notes.stopped = notes.stopped or running
    log_step(action.lease, "stop")
    folder.save(notes)
    if container is not None and running:
        await _end(host, action.lease, container)
    folder.forget_secrets()
    await host.engine.remove_network(host.names.network(action.lease))  # the host has so many, and no more
    record.ready = False
    _log.info("stopped", lease=format_lease(action.lease), why=action.why)


async def _end(host: Host, lease: int, container: ContainerFacts) -> None:
    """Stop what runs, with the tenant's grace; what somebody has paused hears no signal before it goes on."""
    if container.paused:
        await host.engine.unpause(container.name)
    workload = host.workload(lease)
    await host.engine.stop(container.name, _DEFAULT_GRACE if workload is None else workload.grace)


async def publish(host: Host, desired: Desired) -> None:
    """Pack what the workload calls its outputs and publish their CID. Without any there is nothing to
    publish.
    """
    if desired.state is LeaseState.ACTIVE:
        _note_the_end(host, desired)
    folder = host.folder(desired.lease)
    notes, workload = folder.load(), host.workload(desired.lease)
    mine = desired.author == desired.tenant  # or they would be sealed to somebody whose lease it is no more
    unpacked = not notes.outputs_packed or notes.lacked is not None
    if workload is not None and workload.outputs and mine and unpacked:
        log_step(desired.lease, "pack")
        left = await _collect(host, desired, workload, notes)
        if left:
            _log.warning("outputs", lease=format_lease(desired.lease), left=left)
        notes.failure_detail = " ".join(left)
        notes.result = await host.pack(folder.outputs, workload.outputs, format_lease(desired.lease))
        notes.outputs_packed = True
        folder.save(notes)
    own = {cid_to_bytes(cid) for cid in (*notes.results, notes.result) if cid is not None}
    if desired.result is not None and desired.result not in own:
        # Not from here: what another host or a former state of this one has published is not overwritten.
        _log.warning("outputs", lease=format_lease(desired.lease), problem="a result stands that is not ours")
    elif notes.result is not None and desired.result != cid_to_bytes(notes.result):
        log_step(desired.lease, "publish")
        forgotten = notes.remember(notes.result)
        folder.save(notes)
        await _unpin(host, desired.lease, forgotten)
        await host.chain.publish(desired.lease, cid_to_bytes(notes.result))
    notes.published = True
    folder.save(notes)
    if notes.lacked is None:  # IPFS has them
        await asyncio.to_thread(remove_tree, folder.outputs)


async def _collect(host: Host, desired: Desired, workload: Workload, notes: Notes) -> list[str]:
    """Take the outputs out of the container; a sentence for each that is left behind.

    One lease at a time, so that what is free on the disk counts once. What this host has no room for is left as what
    is larger than it packs, until there is much more of it: copying it again and again would publish nothing, and keep
    the small from being published.
    """
    name, folder = host.names.container(desired.lease), host.folder(desired.lease)
    # More than the lease's disk holds can only be holes: sparse files that fill up when they are copied.
    holds = host.share(desired).disk_bytes if host.facts.quota else host.settings.output_limit
    limit, reserve = min(host.settings.output_limit, holds), host.settings.disk_reserve
    async with host.packing:
        room, notes.lacked = host.room_for_outputs(), None
        try:
            return await collect(host.engine, name, workload.outputs, folder.outputs, limit, reserve)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            notes.lacked = room
            return [error.strerror or "This host's disk is full."]


async def replace(host: Host, desired: Desired, record: Record) -> None:
    """Make way for another workload: the old one's outputs are published, then its container goes."""
    if not await host.chain.has_workload(desired.lease, desired.workload):
        raise NodesDisagree(f"The nodes do not agree what lease {format_lease(desired.lease)} is to run.")
    folder = host.folder(desired.lease)
    notes, name = folder.load(), host.names.container(desired.lease)
    container = await host.engine.inspect(name)
    log_step(desired.lease, "replace")
    if container is not None:
        if container.running or container.paused:
            notes.stopped = True
            folder.save(notes)
            await _end(host, desired.lease, container)
        same = (notes.author or notes.tenant) == desired.tenant
        if same and desired.state is LeaseState.ACTIVE and notes.launched and not notes.published:
            await publish(host, desired)
        await host.engine.remove(name)
    await host.engine.forget(_kept(host, desired.lease))
    folder.clear()
    blank = Notes(
        tenant=desired.tenant,
        author=desired.author,
        machine=desired.machine,
        workload=desired.workload.hex(),
        results=folder.load().results,
    )
    folder.save(blank)
    record.ready, record.workload, record.trouble = False, None, None


async def hand_over(host: Host, desired: Desired) -> None:
    """Note the new tenant. The container runs on, without the former tenant's secrets; what his keys opened is closed
    by who serves it. Until it is noted nobody is let in.
    """
    if not await host.chain.is_tenant(desired.lease, desired.tenant):
        raise NodesDisagree(f"The nodes do not agree whose lease {format_lease(desired.lease)} is.")
    folder = host.folder(desired.lease)
    notes = folder.load()
    log_step(desired.lease, "hand-over")
    folder.forget_secrets()
    notes.tenant = desired.tenant
    folder.save(notes)


async def tell(host: Host, desired: Desired) -> None:
    """Let the container hear that its lease ends early, and when; or that it does not after all."""
    notice = notice_of(desired)
    log_step(desired.lease, "tell")
    write_notice(host.folder(desired.lease).told, notice)
    ends_at = None if notice is None else notice.ends_at
    _log.info("notice", lease=format_lease(desired.lease), ends_at=ends_at)


async def resize(host: Host, desired: Desired, record: Record) -> None:
    """Give the container what the lease holds now: limits at once, other GPUs by making it anew out of its own data.

    What is removed here is brought up again by the next pass. A container that is made anew hears SIGTERM
    first, as at its end.
    """
    folder, workload = host.folder(desired.lease), host.workload(desired.lease)
    notes, name = folder.load(), host.names.container(desired.lease)
    before, now = host.share(changed(desired, placement=notes.placement)), host.share(desired)
    if workload is None:
        return
    log_step(desired.lease, "resize")
    if before.gpu_uuids == now.gpu_uuids:
        await host.engine.update(name, limits_of(workload, now))
        notes.placement = desired.placement
        folder.save(notes)
        return
    notes.stopped = True
    folder.save(notes)
    if (container := await host.engine.inspect(name)) is not None:
        await _end(host, desired.lease, container)
    log_step(desired.lease, "keep")
    async with host.limits.held():
        notes.image = await host.engine.keep(name, _kept(host, desired.lease))
    folder.save(notes)
    await host.engine.remove(name)
    record.ready = False


def _kept(host: Host, lease: int) -> str:
    """The label of what a lease's container had written before it was made anew."""
    return f"leasehold.kept={host.names.container(lease)}"


async def clear(host: Host, lease: int) -> None:
    """Nothing is left of a lease that could not run, but why, and the end of its log."""
    if await host.chain.is_live(lease):
        return
    folder, name = host.folder(lease), host.names.container(lease)
    notes = folder.load()
    if (container := await host.engine.inspect(name)) is not None and notes.launched:
        notes.exit_code = container.exit_code
        folder.save(notes)
        if not folder.log.exists():
            write_private(folder.log, await host.engine.log_end(name, _LOG_BYTES))
    log_step(lease, "clear")
    await host.engine.remove(name)
    await host.engine.forget(_kept(host, lease))
    await host.engine.remove_network(host.names.network(lease))
    folder.clear(folder.log)
    notes.cleared, notes.datasets = True, ()
    folder.save(notes)
    told = [other for other in lease_dirs(host.leases_root).values() if other.load().cleared]
    for oldest in sorted(told, key=lambda other: other.load().gone_at or 0)[:-_MOST_TOLD]:
        oldest.remove()


async def delete(host: Host, lease: int) -> None:
    """Retention is over and the chain agrees: everything of the lease goes, its folder last."""
    if await host.chain.is_live(lease):
        return
    log_step(lease, "delete")
    await host.engine.remove(host.names.container(lease))
    await host.engine.forget(_kept(host, lease))
    await host.engine.remove_network(host.names.network(lease))
    folder = host.folder(lease)
    await _unpin(host, lease, folder.load().published_here)
    folder.remove()
    host.records.pop(lease, None)


async def _unpin(host: Host, lease: int, results: Collection[str]) -> None:
    """Let the host's IPFS node drop what nothing here needs: it would keep the results of every lease for ever."""
    others = (other.load() for number, other in lease_dirs(host.leases_root).items() if number != lease)
    for cid in set(results).difference(*(notes.published_here for notes in others)):
        try:
            await host.data.unpin(cid)
        except (DatasetError, TimeoutError) as error:
            _log.warning("unpin", lease=format_lease(lease), cid=cid, problem=str(error))
