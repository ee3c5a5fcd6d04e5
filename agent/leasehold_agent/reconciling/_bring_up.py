"""Bringing a lease up: fetch, open, check, create, start, wait until ready.

Each step looks first at what is there, so that the whole can be begun again wherever it was cut off. It
logs its name before it acts. What cannot be done here raises `Declined`; what may be done later (engine,
IPFS or chain away) raises something else, and is tried again until the start window is nearly over.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import structlog

from leasehold.chain import cid_of_digest, format_lease
from leasehold.errors import DatasetUnavailable, WorkloadError, WorkloadUnsupported
from leasehold.workload import HttpProbe, Readiness, Restart, Workload, unseal
from leasehold_agent._errors import CommandEnded, Declined, DeclineReason, EngineRefused, NoRoom, NotRunning
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerFacts, how_it_ended
from leasehold_agent.host import busy_ports, connect, write_private
from leasehold_agent.reconciling._container import check_fits, check_tenant, choose_ports, spec_of
from leasehold_agent.reconciling._plan import Room
from leasehold_agent.store import MOUNT, prepare, write_etc

if TYPE_CHECKING:
    from leasehold_agent.reconciling._host import Host, Record
    from leasehold_agent.store import LeaseDir, Notes

_log = structlog.get_logger("leasehold_agent")
_PORT_ATTEMPTS = 5
_SECRETS = "/run/secrets"
_PORT_TAKEN = ("port is already allocated", "address already in use")
_PROBE_SECONDS = 10.0
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])[ \r]")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


def log_step(lease: int, step: str) -> None:
    """One line before each step; tests kill the agent right here."""
    _log.info("step", lease=format_lease(lease), step=step)


async def bring_up(host: Host, desired: Desired, record: Record) -> None:
    """Until the lease is ready. Raises Declined for what can never run here."""
    folder = host.folder(desired.lease)
    notes = _take_on(folder, desired)
    workload = await _workload(host, desired, folder, record)
    check_tenant(workload, desired)
    name = host.names.container(desired.lease)
    container = await host.engine.inspect(name)
    if container is not None and container.paused:
        await host.engine.unpause(name)
        container = await host.engine.inspect(name)
    if container is not None and container.running and notes.stopped:
        # It was being stopped when the lease came back: that ends first, or the engine would end it later.
        await host.engine.stop(name, workload.grace)
        container = await host.engine.inspect(name)
    if container is None or not container.running:
        await host.guard()
        container = await _run(host, desired, workload, folder, notes, record)
    elif not notes.launched:  # the notes were lost, the container was not
        notes.launched, notes.boot = True, host.boot
        folder.save(notes)
    record.waiting, record.progress = "not-ready", "waiting until it is ready"
    try:
        if workload.readiness is not None:
            log_step(desired.lease, "ready")
            await _until_ready(host, container, workload.readiness)
        elif container.exited and container.exit_code != 0:
            raise CommandEnded(f"The command ended at once, {how_it_ended(container)}.")
    except CommandEnded as error:
        record.waiting = "start-failed"
        if workload.restart is not Restart.NEVER:
            raise  # it is started again until the start window closes, as the workload wants it
        raise Declined("start-failed", str(error)) from error
    record.ready, record.progress, record.trouble = True, None, None


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


# ----------------------------------------------------------------------------------------------- the workload


async def _workload(host: Host, desired: Desired, folder: LeaseDir, record: Record) -> Workload:
    if (known := host.workload(desired.lease)) is not None:
        return known
    record.waiting, record.progress = "workload-missing", "fetching the workload"
    log_step(desired.lease, "fetch")
    sealed = await _sealed(host, desired)
    log_step(desired.lease, "unseal")
    try:
        opened = unseal(sealed, host.age_identity)
    except WorkloadUnsupported as error:
        raise Declined("unsupported", str(error)) from error
    except WorkloadError as error:
        raise Declined("workload-invalid", str(error)) from error
    write_private(folder.sealed, sealed)
    record.workload = (desired.workload.hex(), opened)
    return opened


async def _sealed(host: Host, desired: Desired) -> bytes:
    """The sealed workload: uploaded already, uploaded while we wait, or pinned where IPFS finds it."""
    if (uploaded := await host.uploads.get(desired.workload)) is not None:
        return uploaded
    wait = host.settings.fetch_seconds
    ipfs = asyncio.create_task(host.data.get_block(cid_of_digest(desired.workload), wait))
    upload = asyncio.create_task(host.uploads.wait(desired.workload))
    try:
        await asyncio.wait({ipfs, upload}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        if upload.done():
            return upload.result()
        if not ipfs.done():
            raise Declined("workload-missing", "Nobody delivered the sealed workload.")
        sealed = ipfs.result()
    except DatasetUnavailable as error:
        raise Declined("workload-missing", "Nobody delivered the sealed workload.") from error
    finally:
        for task in (ipfs, upload):
            task.cancel()
        await asyncio.gather(ipfs, upload, return_exceptions=True)
    if hashlib.sha256(sealed).digest() != desired.workload:
        raise Declined("workload-invalid", "The bytes that came are not those the lease names.")
    return sealed


# ---------------------------------------------------------------------------------------------- the container


async def _run(
    host: Host, desired: Desired, workload: Workload, folder: LeaseDir, notes: Notes, record: Record
) -> ContainerFacts:
    """A running container of the lease, made now or started again. A port that is taken is chosen anew."""
    name, refused = host.names.container(desired.lease), set[int]()
    for _ in range(_PORT_ATTEMPTS):
        await _create(host, desired, workload, folder, notes, record, refused)
        log_step(desired.lease, "start")
        record.progress = "starting the container"
        await host.limits.settle()
        notes.started_before = (await _inspected(host, name)).started_at
        notes.launched, notes.stopped, notes.ended, notes.boot = True, False, False, host.boot
        folder.save(notes)
        try:
            await host.engine.start(name)
            break
        except EngineRefused as error:
            if not any(words in str(error) for words in _PORT_TAKEN):
                raise Declined("start-failed", f"The container does not start: {error}") from error
            container = await host.engine.inspect(name)
            refused |= {port for _, _, port in container.ports} if container else set()
            await host.engine.remove(name)
    else:
        raise Declined("port-taken", "ports: none of those tried on this host was free.")
    return await _inspected(host, name)


async def _create(
    host: Host,
    desired: Desired,
    workload: Workload,
    folder: LeaseDir,
    notes: Notes,
    record: Record,
    refused: set[int],
) -> None:
    name = host.names.container(desired.lease)
    share = host.share(desired)
    if (existing := await host.engine.inspect(name)) is None:
        if notes.image is None:  # what ran before a resize has what its cells come to now
            check_fits(workload, desired.placement, share, host.facts, host.settings)
        record.waiting, record.progress = "image-unknown", "fetching the image"
        _check_disk(host, workload, record)
        log_step(desired.lease, "image")
        image = notes.image or await _image(host, workload, record)
        await _check_volumes(host, workload, image)
        mounts = await _datasets(host, desired, workload, folder, notes, record)
        mounts.append((prepare(folder.told), MOUNT))
        if workload.secrets:
            mounts.append((prepare(folder.secrets), _SECRETS))
        record.waiting, record.progress = "start-failed", "creating the container"
        log_step(desired.lease, "create")
        taken = {port for c in await host.engine.containers(host.names.filter) for _, _, port in c.ports}
        ports = await _free_ports(host, workload, taken | refused)
        spec = spec_of(
            desired,
            workload,
            host.names,
            image=image,
            share=share,
            facts=host.facts,
            mounts=mounts,
            ports=ports,
            settings=host.settings,
        )
        spec = replace(spec, mounts=[*mounts, *write_etc(folder.etc, spec.hostname, spec.dns)])
        await _network(host, desired)
        try:
            notes.placement = desired.placement
            folder.save(notes)
            async with host.limits.held():
                await host.engine.create(spec)
        except EngineRefused as error:
            full = "no space left" in str(error)
            reason: DeclineReason = "no-disk" if full else "start-failed"
            raise Declined(reason, f"The container cannot be made: {error}") from error
    else:
        await _network(host, desired)
        await host.engine.join(name, host.names.network(desired.lease))
    _put_secrets(folder, workload if desired.author == desired.tenant else None)
    if existing is None or existing.state == "created":
        await host.engine.make_folders(name, output_folders(workload))


async def _network(host: Host, desired: Desired) -> None:
    """The lease's network, which goes when the container has stopped: one that comes back needs it anew."""
    names, lease = host.names, desired.lease
    await host.engine.ensure_network(
        names.network(lease), names.bridge(lease), names.labels(lease, desired.machine)
    )


async def _free_ports(host: Host, workload: Workload, taken: set[int]) -> dict[tuple[int, str], int]:
    """Host ports that nothing on the host listens at, however many services lie at the front of the range."""
    while True:
        ports = choose_ports(workload, taken, host.settings)
        numbers = [port for port in ports.values() if port not in {p.host for p in workload.ports}]
        busy = await asyncio.to_thread(busy_ports, numbers, host.settings.engine_netns)
        if not busy:
            return ports
        taken |= busy


async def _check_volumes(host: Host, workload: Workload, image: str) -> None:
    """An image's own volumes lie beside the container, where the engine holds no disk limit over them."""
    if not host.facts.quota:
        return
    mounted = {mount.path for mount in workload.datasets}
    for path in await host.engine.image_volumes(image):
        if path.rstrip("/") not in mounted:
            raise Declined(
                "unsupported",
                f"image: it declares a volume at {path}; build it without, and write there as elsewhere.",
            )


def _check_disk(host: Host, workload: Workload, record: Record) -> None:
    """A full disk would take down the leases that run already; and what is kept of others makes way for a new one,
    which begins meanwhile where there is anything left.

    Raises NoRoom while something makes way for the last of the room, Declined where there is nothing that could.
    """
    wants = workload.disk or 0
    if not (room := host.room(wants)):
        return
    record.wants = wants
    if room is Room.SHORT and host.kept.get(room):
        record.waiting = "no-disk"
        raise NoRoom(wants)
    if room is Room.SHORT:
        raise Declined("no-disk", "This host's disk is full.")


async def _image(host: Host, workload: Workload, record: Record) -> str:
    """The image; what is kept of leases before makes way for it, too."""
    try:
        return await host.images.ensure(workload.image)
    except NoRoom as error:
        if not host.kept.get(Room.WANTED):
            raise Declined("no-disk", "This host's disk has no room for the image.") from error
        record.waiting, record.wants = "no-disk", max(error.wants, host.settings.disk_reserve)
        raise


def _put_secrets(folder: LeaseDir, workload: Workload | None) -> None:
    """Where a container finds its secrets: never in its environment, which `docker inspect` shows, nor in its own
    files, which stay when the lease is somebody else's.
    """
    folder.forget_secrets()
    for name, value in (workload.secrets if workload else {}).items():
        write_private(prepare(folder.secrets) / name, value.encode(), mode=0o444)


def output_folders(workload: Workload) -> list[str]:
    """What a command finds made: an output's folder or, if its name has a dot and so is a file's, the one
    it lies in.
    """
    paths = [PurePosixPath(output.path) for output in workload.outputs]
    return sorted({str(path.parent if "." in path.name else path) for path in paths} - {"/"})


async def _datasets(
    host: Host, desired: Desired, workload: Workload, folder: LeaseDir, notes: Notes, record: Record
) -> list[tuple[Path, str]]:
    if not workload.datasets:
        return []
    log_step(desired.lease, "datasets")
    notes.datasets = tuple(host.datasets.name(mount, desired.author) for mount in workload.datasets)
    folder.save(notes)  # from now on the cache keeps them
    mounts = []
    for mount in workload.datasets:
        record.waiting, record.progress = "dataset-missing", f"fetching {mount.cid}"

        def show(done: int, total: int, cid: str = mount.cid) -> None:
            record.progress = f"fetching {cid}: {done} of {total} bytes"

        path = await host.datasets.get(mount, desired.author, host.datasets_in_use(), show)
        mounts.append((path, mount.path))
    return mounts


async def _inspected(host: Host, name: str) -> ContainerFacts:
    container = await host.engine.inspect(name)
    if container is None:
        raise NotRunning("The container is gone.")
    return container


# -------------------------------------------------------------------------------------------------- readiness


async def _until_ready(host: Host, container: ContainerFacts, readiness: Readiness) -> None:
    """Raises Declined("not-ready") after the workload's own limit, CommandEnded once the command has ended."""
    deadline, pause = host.clock() + readiness.timeout, _FIRST_PAUSE
    while not await _is_ready(host, container, readiness):
        current = await _inspected(host, container.name)
        if current.exited:
            raise CommandEnded(f"The command ended before it was ready, {how_it_ended(current)}.")
        if host.clock() >= deadline:
            raise Declined("not-ready", f"It was not ready within {readiness.timeout} s.")
        await host.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def _is_ready(host: Host, container: ContainerFacts, readiness: Readiness) -> bool:
    with contextlib.suppress(TimeoutError, NotRunning):
        async with asyncio.timeout(min(_PROBE_SECONDS, readiness.timeout)):
            if readiness.http is not None:
                return await _answers(host, container, readiness.http)
            async with _probe(host, container.id, readiness.command or ()) as code:
                return code == 0
    return False


@contextlib.asynccontextmanager
async def _probe(host: Host, container: str, command: tuple[str, ...]) -> AsyncIterator[int]:
    stream = await host.streams.exec(container, command, tty=False, env={}, size=None)
    try:
        async for _ in stream:
            pass
        yield await stream.wait()
    finally:
        await stream.close()


async def _answers(host: Host, container: ContainerFacts, probe: HttpProbe) -> bool:
    """Whether `GET` is answered with a status under 400. One line of the answer is enough to know."""
    if container.address is None:
        return False
    try:
        netns = host.settings.engine_netns
        reader, writer = await connect(container.address, probe.port, netns=netns, seconds=_PROBE_SECONDS)
    except OSError:
        return False
    try:
        authority = f"{container.address}:{probe.port}"
        request = f"GET {probe.path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode("ascii"))
        found = _STATUS.match(await reader.readline())
        return found is not None and int(found[1]) < 400
    except (OSError, ValueError):  # reset, or a line without end
        return False
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
