"""Bringing a lease up: its workload, its container, and the wait until that is ready.

Each step looks first at what is there, so that the whole can be begun again wherever it was cut off. It logs its name
before it acts. What cannot be done here raises `Declined`; what may be done later (engine, IPFS or chain away) raises
something else, and is tried again until the start window is nearly over.
"""

from __future__ import annotations

from leasehold.chain import LeaseState
from leasehold.market import parse_tenants
from leasehold.workload import Restart, Workload
from leasehold_agent._errors import CommandEnded, Declined
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerFacts, how_it_ended
from leasehold_agent.reconciling._container_spec import check_tenant
from leasehold_agent.reconciling._creation import Creation
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._intake import Intake
from leasehold_agent.reconciling._leases import log_step
from leasehold_agent.reconciling._readiness import Prober
from leasehold_agent.store import LeaseDir, Notes


async def bring_up(host: Host, desired: Desired) -> None:
    """Until the lease is ready. Raises Declined for what can never run here."""
    record, folder = host.leases.record(desired.lease), host.leases.folder(desired.lease)
    notes = _take_on(folder, desired)
    await _check_record(host, desired)
    workload = await Intake(host.leases, host.supplies, host.facts.settings.fetch_seconds).workload(desired)
    check_tenant(workload, desired)
    container = await _settled(host, desired, workload, notes)
    if container is None or not container.running:
        await host.guard()
        container = await Creation(host, desired, workload, folder, notes, record).run()
    elif not notes.launched:  # the notes were lost, the container was not
        notes.launched, notes.boot = True, host.facts.boot
        folder.save(notes)
    record.waiting, record.progress = "not-ready", "waiting until it is ready"
    try:
        await _wait(host, desired, workload, container)
    except CommandEnded as error:
        record.waiting = "start-failed"
        if workload.restart is not Restart.NEVER:
            raise  # it is started again until the start window closes, as the workload wants it
        raise Declined("start-failed", str(error)) from error
    record.ready, record.progress, record.trouble = True, None, None


async def _check_record(host: Host, desired: Desired) -> None:
    """Whether the tenant is one whom this host's owner takes. What has begun is never asked again.

    Raises Declined.
    """
    wanted = host.facts.settings.tenants
    if wanted and desired.state is LeaseState.OPENED:
        record = await host.chain.record_of(desired.tenant)
        if not parse_tenants(wanted).matches(record):
            raise Declined("tenant-record", f"This host takes tenants of whom this holds alone: {wanted}.")


def _take_on(folder: LeaseDir, desired: Desired) -> Notes:
    """Note whose lease this is, before anything is made for it. One that has come back is no longer over."""
    notes = folder.load()
    before = (notes.workload, notes.gone_at)
    notes.tenant, notes.author = desired.tenant, desired.author
    notes.machine, notes.workload = desired.machine, desired.workload.hex()
    notes.gone_at = notes.gone_block = None
    if before != (notes.workload, None) or not folder.exists:
        folder.save(notes)
    return notes


async def _settled(host: Host, desired: Desired, workload: Workload, notes: Notes) -> ContainerFacts | None:
    """The container, if there is one, once it is neither paused nor being stopped."""
    engine, container = host.containers.engine, await host.containers.inspect(desired.lease)
    if container is not None and container.paused:
        await engine.unpause(container.name)
        container = await host.containers.inspect(desired.lease)
    if container is not None and container.running and notes.stopped:
        # It was being stopped when the lease came back: that ends first, or the engine would end it later.
        await engine.stop(container.name, workload.grace)
        container = await host.containers.inspect(desired.lease)
    return container


async def _wait(host: Host, desired: Desired, workload: Workload, container: ContainerFacts) -> None:
    """Raises CommandEnded where the command has ended, Declined where it does not answer in time."""
    if workload.readiness is not None:
        log_step(desired.lease, "ready")
        netns = host.facts.settings.engine_netns
        prober = Prober(host.containers.engine, netns, host.clock, host.sleep)
        await prober.until_ready(container, workload.readiness)
    elif container.exited and container.exit_code != 0:
        raise CommandEnded(f"The command ended at once, {how_it_ended(container)}.")
