"""`LeaseRuntime` over the Docker engine: what the API and the SSH server may do with a lease."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import orjson

from leasehold.chain import ClosingOrder, LeaseState, format_lease
from leasehold.workload import Restart, Runtime, VolumeMount
from leasehold_agent._errors import (
    CodeUnwanted,
    EngineDown,
    NoContainer,
    OrderVoid,
    UploadsFull,
    VolumeHeld,
    VolumeTrouble,
)
from leasehold_agent._runtime import (
    WHOLE_LOG,
    CheckpointFacts,
    CommandStream,
    CommitFacts,
    LeaseHandle,
    LogView,
    PublishedPort,
    Standing,
    VolumeFacts,
    Wish,
)
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import connect
from leasehold_agent.reconciling._closing import refused_for_good, standing_order
from leasehold_agent.reconciling._code import CodeIntake
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import Record
from leasehold_agent.reconciling._phases import phase_of
from leasehold_agent.reconciling._plan import Actual, ended_with, kept_until
from leasehold_agent.reconciling._reconciler import Reconciler
from leasehold_agent.reconciling._usage import UsageWatch
from leasehold_agent.store import (
    HELPER_MOUNT,
    KeptOrder,
    LeaseSample,
    Notes,
    UploadedWorkloads,
    Word,
    keep_order,
    notice_of,
    read_ends,
    read_word,
    volume_id,
    write_word,
)

_CONNECT_SECONDS = 10
_NOT_RUNNING = "The lease's container is not running; its status says why."
_ROTATED = b"leasehold: the log keeps its last 16 to 32 MiB; lines from before the next one may be gone.\n"


class DockerRuntime:
    """Answers from the reconciler's last look; what it runs in a container goes to the engine directly."""

    def __init__(self, host: Host, reconciler: Reconciler, usage: UsageWatch | None = None) -> None:
        self._host = host
        self._reconciler = reconciler
        self._usage = usage

    @property
    def workloads(self) -> UploadedWorkloads:
        return self._host.supplies.uploads

    async def lookup(self, lease: int) -> LeaseHandle | None:
        host = self._host
        desired = host.snapshot.leases.get(lease)
        notes = host.leases.folder(lease).load()
        if not notes.workload and (desired is None or not desired.state.live):
            return None  # nobody's here, or what was kept of it has gone
        container = self._reconciler.containers.get(lease)
        record = host.leases.records.get(lease) or Record()
        workload = host.leases.workload(lease) if notes.workload else None
        restart = workload.restart if workload else Restart.NEVER
        code = ended_with(Actual(notes, container, killed=record.killed, restart=restart), host.facts.boot)
        pause = record.again.until - host.clock()
        rests = read_word(host.leases.folder(lease).word, notes.workload) == "stop"
        phase, reason = phase_of(
            desired, notes, container, record, done=code is not None, pause=pause, rests=rests
        )
        tenant = _let_in(desired, notes)
        # A lease that changed hands: the former tenant's keys open it no more, and nothing is sealed to them.
        mine = bool(tenant) and (desired is None or desired.author == desired.tenant)
        kept = kept_until(desired, notes, self._reconciler.rules()) if container is not None else (None, None)
        exited = container is not None and container.state in ("exited", "dead")
        return LeaseHandle(
            lease=lease,
            tenant=tenant,
            machine=desired.machine if desired else notes.machine,
            phase=phase,
            reason=reason,
            progress=record.progress if phase in ("pulling", "fetching", "starting") else None,
            ports=_ports(container),
            container_id=container.id if container else None,
            container_state=container.state if container else None,
            exit_code=container.exit_code if container is not None and exited else notes.exit_code,
            end=desired.end if desired is not None and desired.state is not LeaseState.OPENED else None,
            ssh_keys=workload.ssh_keys if workload and mine else (),
            outputs=tuple(output.path for output in workload.outputs) if workload and mine else (),
            result_cid=notes.result,
            notice=notice_of(desired) if desired is not None else None,
            kept_log=notes.cleared and host.leases.folder(lease).log.exists(),
            kept_until=kept[0],
            paid_until=kept[1],
            name=workload.name if workload and mine else None,
            volumes=tuple(mount.name for mount in workload.volumes or ()) if workload and mine else (),
            helper=container is not None and HELPER_MOUNT in container.mounts,
            ended_with=code,
            closes_when_done=desired is not None and standing_order(host.leases, desired) is not None,
            read_seconds=host.readers.left(lease) if kept[0] is not None else None,
            renews=notes.renews,
            host=self._published_at(desired, container),
            checkpoint=host.checkpoints.noted(lease).newest if mine else None,
        )

    def _published_at(self, desired: Desired | None, container: ContainerFacts | None) -> str | None:
        """The host of the lease's endpoint document, where that has ports to tell of."""
        if desired is None or container is None or not container.ports:
            return None
        return str(orjson.loads(self._host.endpoint(desired, container.ports))["host"])

    async def keep_order(self, lease: int, order: ClosingOrder, workload: bytes) -> None:
        host, folder = self._host, self._host.leases.folder(lease)
        if not host.facts.settings.close_for_tenant:
            raise OrderVoid(
                "This host closes no lease for its tenant: close it yourself when the job is done."
            )
        notes = folder.load()
        if not notes.workload:
            raise NoContainer("The lease is not taken on here yet; send the order again in a moment.")
        if refused_for_good(notes):
            raise OrderVoid("The chain has refused this lease's orders too often: close it yourself.")
        if not await host.chain.stands(order):
            raise OrderVoid(
                "The order would not close this lease: sign `close` of it, as its tenant, with the next nonce of its "
                "row and a deadline that is ahead."
            )
        try:
            await asyncio.to_thread(keep_order, folder.order, KeptOrder(order, workload.hex()))
        except OSError as error:
            raise UploadsFull("This host's disk has no room for the order now; send it again.") from error
        self._reconciler.wake()

    async def offer_code(self, lease: int, tenant: str, folded: bytes) -> Sequence[bool]:
        return await self._code(lease, tenant).offer(folded)

    async def take_code(
        self, lease: int, tenant: str, pack: bytes, keep_as: Callable[[Path], bool]
    ) -> tuple[int, int]:
        return await self._code(lease, tenant).take(pack, keep_as)

    def _code(self, lease: int, tenant: str) -> CodeIntake:
        """Whoever has set the workload hands over what it names, while the lease waits for it."""
        desired = self._host.snapshot.leases.get(lease)
        notes = self._host.leases.folder(lease).load()
        if desired is None or not notes.workload or notes.workload != desired.workload.hex():
            raise NoContainer("The lease is not taken on here yet; hand the code over again in a moment.")
        if desired.author.lower() != tenant.lower():
            raise CodeUnwanted("The lease's workload is another's: set one of your own, with your code.")
        return CodeIntake(self._host, lease, desired.author)

    async def power(self, lease: int, wish: Wish) -> None:
        host, folder = self._host, self._host.leases.folder(lease)
        desired, notes = host.snapshot.leases.get(lease), folder.load()
        if (
            desired is None
            or desired.state is not LeaseState.ACTIVE
            or not desired.live_at(host.snapshot.now)
        ):
            raise NoContainer("The lease has not begun, or is over: there is nothing to stop or to start.")
        handle = await self.lookup(lease)
        done = handle is not None and handle.ended_with is not None
        if wish == "stop" and done:
            raise NoContainer("The command has ended by itself: close the lease, or start the command again.")
        words: dict[Wish, Word] = {"stop": "stop", "restart": "restart", "start": "restart" if done else ""}
        try:
            await asyncio.to_thread(write_word, folder.word, words[wish], notes.workload)
        except OSError as error:
            raise UploadsFull("This host's disk has no room to remember that now; say it again.") from error
        self._reconciler.wake()

    async def volumes(self, lease: int) -> Sequence[VolumeFacts]:
        mounts, notes = self._mounts(lease), self._host.leases.folder(lease).load()
        return await asyncio.to_thread(
            lambda: [volume_facts(self._host, lease, notes.author, mount) for mount in mounts]
        )

    async def export(self, lease: int, name: str) -> None:
        mount = next((mount for mount in self._mounts(lease) if mount.name == name), None)
        notes = self._host.leases.folder(lease).load()
        volume = volume_id(notes.author, name)
        known = self._host.volumes.get(volume)
        if mount is None or known is None or known.holder != lease or known.filling:
            raise NoContainer("The lease has no such volume attached: what it holds can be read while it is.")
        self._host.carrying.begin(lease, volume, mount)

    async def discard(self, lease: int, name: str) -> None:
        notes = self._host.leases.folder(lease).load()
        tenant = notes.tenant or notes.author
        try:
            await self._host.volumes.discard(tenant, name)
        except VolumeHeld as error:
            raise VolumeTrouble(
                f"The volume is attached to lease {format_lease(error.lease)}: close that one first."
            ) from error

    async def checkpoints(self, lease: int) -> CheckpointFacts:
        notes = self._host.leases.folder(lease).load()
        return CheckpointFacts() if notes.tenant != notes.author else self._host.checkpoints.facts(lease)

    async def take_checkpoint(self, lease: int) -> None:
        # As it is now: of one that was made anew since the last look the command would not be called.
        self._host.checkpoints.begin(lease, await self._host.containers.inspect(lease))

    async def committed(self, lease: int) -> CommitFacts:
        return self._host.committing.facts(lease, self._host.leases.folder(lease).load().tenant)

    async def commit(self, lease: int, recipient: str) -> None:
        host, desired = self._host, self._host.snapshot.leases.get(lease)
        container, notes = await self._container(lease), host.leases.folder(lease).load()
        workload = host.leases.workload(lease)
        if desired is None or not container.running or not notes.base:
            raise NoContainer(_NOT_RUNNING)
        if workload is None or workload.runtime is Runtime.GVISOR:
            raise NoContainer("What is written under gVisor lies in its sandbox: no image is made of it.")
        most = host.share(desired).disk_bytes
        host.committing.begin(lease, notes.tenant, recipient, container, notes.base, most)

    def _mounts(self, lease: int) -> Sequence[VolumeMount]:
        """What its workload names, as long as it is its author's."""
        notes, workload = self._host.leases.folder(lease).load(), self._host.leases.workload(lease)
        if workload is None or notes.tenant != notes.author:
            return ()
        return workload.volumes or ()

    async def standing(self, lease: int) -> Standing:
        engine, names = self._host.containers.engine, self._host.containers.names
        container, ends = (
            await engine.inspect(names.container(lease)),
            read_ends(self._host.leases.folder(lease).path),
        )
        if container is None:
            return Standing("", "none", 0, 0, ends.hand, None, ends.count, ends.kills)
        counted = ends.last == f"{container.id}:{container.finished_at}"
        return Standing(
            container=container.id,
            state=container.state,
            started_at=max(0, int(container.started_at)),
            ended_at=max(0, int(container.finished_at)),
            ended_by=ends.hand if counted else "",
            exit_code=container.exit_code if container.exited else None,
            ends=ends.count,
            kills=ends.kills,
        )

    async def logs(
        self, lease: int, tail: int | None, follow: bool, view: LogView = WHOLE_LOG
    ) -> AsyncIterator[bytes]:
        kept = self._host.leases.folder(lease)
        if kept.load().cleared and kept.log.exists():
            ending = await asyncio.to_thread(kept.log.read_bytes)
            yield (
                ending if tail is None else b"".join(ending.splitlines(keepends=True)[-tail or len(ending) :])
            )
            return
        container = await self._container(lease)
        streams = self._host.containers.engine.streams
        if tail is None and view.since is None and await streams.rotated(container.id):
            yield _ROTATED
        async for data in streams.logs(container.id, tail, follow, since=view.since, stamped=view.stamped):
            yield data

    async def exec(
        self,
        lease: int,
        command: Sequence[str],
        *,
        tty: bool = False,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
        much: bool = False,
    ) -> CommandStream:
        container = await self._container(lease)
        if not container.running and self._host.leases.folder(lease).load().rests:
            return await self._host.readers.exec(lease, command, tty=tty, env=env or {}, size=size)
        _require_running(container)
        streams = self._host.containers.engine.streams
        if much and self._lent_in(lease, container):
            return await streams.exec_writing(container.id, (HELPER_MOUNT, "sh"), command, env or {})
        return await streams.exec(container.id, command, tty=tty, env=env or {}, size=size)

    def _lent_in(self, lease: int, container: ContainerFacts) -> bool:
        """Whether a shell that the host lends runs there under the host's own kernel: gVisor has pipes of its own."""
        workload = self._host.leases.workload(lease)
        return (
            HELPER_MOUNT in container.mounts
            and workload is not None
            and workload.runtime is not Runtime.GVISOR
        )

    async def connect(self, lease: int, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        container = _require_running(await self._container(lease))
        # `localhost` first, as the tenant means it: many services listen there alone, and no address leads to it.
        # gVisor keeps a loopback of its own; there the container's address is what can be reached.
        with contextlib.suppress(OSError):
            return await self._connect_inside(container, port)
        if container.address is None:
            raise NoContainer("The container has no address.")
        netns = self._host.facts.settings.engine_netns
        return await connect(container.address, port, netns=netns, seconds=_CONNECT_SECONDS)

    async def usage(self, lease: int, tenant: str) -> Sequence[LeaseSample]:
        return [] if self._usage is None else await self._usage.of(lease, tenant)

    async def _connect_inside(
        self, container: ContainerFacts, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        process = Path(f"/proc/{container.pid}")
        reader, writer = await connect("127.0.0.1", port, netns=process / "ns/net", seconds=_CONNECT_SECONDS)
        # A process number may be another's by now, and another network would be another tenant's or the host's.
        if container.id not in await asyncio.to_thread((process / "cgroup").read_text):
            writer.close()
            raise OSError("The container has just stopped.")
        return reader, writer

    async def _container(self, lease: int) -> ContainerFacts:
        """The container as the engine has it now. Raises NoContainer, EngineDown."""
        container = await self._host.containers.engine.inspect(self._host.containers.names.container(lease))
        if container is None:
            raise NoContainer(_NOT_RUNNING)
        return container


def volume_facts(host: Host, lease: int, tenant: str, mount: VolumeMount) -> VolumeFacts:
    """How a volume stands. Blocks for as long as its file system takes to say how full it is."""
    volume = volume_id(tenant, mount.name)
    known, used = host.volumes.get(volume), None
    attached = known is not None and known.holder == lease
    if attached:
        with contextlib.suppress(OSError, EngineDown):
            usage = shutil.disk_usage(host.volumes.seen(volume))
            used = usage.used
    size = None if known is None else known.size
    export = host.carrying.export_of(lease, mount.name)
    return VolumeFacts(mount.name, mount.path, size, used, attached, export)


def _require_running(container: ContainerFacts) -> ContainerFacts:
    if not container.running:
        raise NoContainer(_NOT_RUNNING)
    return container


def _ports(container: ContainerFacts | None) -> tuple[PublishedPort, ...]:
    bindings = container.ports if container else ()
    return tuple(
        PublishedPort(port, host, "udp" if protocol == "udp" else "tcp") for port, protocol, host in bindings
    )


def _let_in(desired: Desired | None, notes: Notes) -> str:
    """Whose requests are served. While a lease changes hands, nobody's: the former tenant is out at the first word of
    it, and the new one is in once that is noted, which takes as many nodes as there are to ask.
    """
    if desired is None:
        return notes.tenant
    return desired.tenant if notes.tenant in ("", desired.tenant) else ""
