"""A lease's container, made and started: image, datasets, ports, secrets, network.

Each step looks first at what is there, so that the whole can be begun again wherever it was cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from leasehold.files import replace_file
from leasehold.workload import Workload
from leasehold_agent._errors import Declined, DeclineReason, EngineRefused, NoContainer, NoRoom
from leasehold_agent.cards import CardBusy
from leasehold_agent.chain import Desired
from leasehold_agent.engine import Claimant, ContainerFacts, ContainerSpec
from leasehold_agent.host import busy_ports
from leasehold_agent.reconciling._attaching import Attaching, kept_volumes
from leasehold_agent.reconciling._code import CodeIntake
from leasehold_agent.reconciling._code_unpacking import code_unpacking
from leasehold_agent.reconciling._container_spec import (
    check_apart,
    check_cards_told,
    check_fits,
    choose_ports,
    sharing_of,
    spec_of,
)
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import Record, log_step
from leasehold_agent.reconciling._making_way import end_who_is_over
from leasehold_agent.reconciling._plan import DiskRoom
from leasehold_agent.reconciling._renewal import Renewal
from leasehold_agent.store import HELPER_MOUNT, NOTICE_MOUNT, LeaseDir, Notes, readable_folder, write_etc

_PORT_ATTEMPTS = 5
_SECRETS = "/run/secrets"
_PORT_TAKEN = ("port is already allocated", "address already in use")


@dataclass
class Creation:
    """The container of one lease. `notes` are those of `folder`."""

    host: Host
    desired: Desired
    workload: Workload
    folder: LeaseDir
    notes: Notes
    record: Record

    @property
    def name(self) -> str:
        return self.host.containers.names.container(self.desired.lease)

    async def run(self) -> ContainerFacts:
        """A running container of the lease, made now or started again. A port that is taken is chosen anew."""
        host, notes, refused = self.host, self.notes, set[int]()
        for _ in range(_PORT_ATTEMPTS):
            await self._create(refused)
            log_step(self.desired.lease, "start")
            self.record.progress = "starting the container"
            await host.containers.limits.settle()
            notes.started_before = (await self._inspected()).started_at
            notes.launched, notes.stopped, notes.ended, notes.boot = True, False, False, host.facts.boot
            # An end that was undone had published what was then.
            notes.outputs_packed, notes.published = False, False
            self.folder.save(notes)
            try:
                await host.containers.engine.start(self.name)
                break
            except EngineRefused as error:
                if not any(words in str(error) for words in _PORT_TAKEN):
                    raise Declined("start-failed", f"The container does not start: {error}") from error
                container = await host.containers.engine.inspect(self.name)
                refused |= {port for _, _, port in container.ports} if container else set()
                notes.coded = False  # what it holds goes with it
                self.folder.save(notes)
                await host.containers.engine.remove(self.name)
        else:
            raise Declined("port-taken", "ports: none of those tried on this host was free.")
        container = await self._inspected()
        if self._sharing:
            await host.devices.show(self.desired.lease, container.id)
        return container

    async def _create(self, refused: Collection[int]) -> None:
        """The container as it should be, whether it was there or not; on none of the ports that were `refused`."""
        engine, existing = self.host.containers.engine, await self.host.containers.engine.inspect(self.name)
        if existing is None and self.notes.image is None:  # what ran before has what its cells come to now
            facts, share = self.host.facts, self.host.share(self.desired)
            check_fits(self.workload, self.desired.placement, share, facts.engine, facts.settings)
        attached = await self._attached()
        devices = await self._devices()
        if existing is not None and self._made_with(existing) != (set(devices), self._sharing):
            await self._keep()
            existing = None
        if existing is None:
            if self.notes.image is None:
                self.notes.coded = False  # what held it is gone, whoever took it away
            spec = await self._spec(devices, attached, refused)
            await self._network()
            await self._make(spec)
        else:
            await self._network()
            await engine.join(self.name, self.host.containers.names.network(self.desired.lease))
        put_secrets(self.folder, self.workload if self.desired.author == self.desired.tenant else None)
        if existing is None or existing.state == "created":
            await self._put_code()
            await engine.make_folders(self.name, output_folders(self.workload))

    async def _put_code(self) -> None:
        """The folder that the workload names lies in the container before that runs for the first time, and is not put
        there again: its command may change it, and finds it as it left it.
        """
        code, desired = self.workload.code, self.desired
        if code is None or self.notes.coded:
            return
        await self.host.containers.limits.settle()
        intake = CodeIntake(self.host, desired.lease, desired.author)
        async with code_unpacking(self.host, desired, code) as unpacking:
            async for part in intake.arriving():
                self.record.waiting, self.record.progress = "start-failed", "unpacking the code"
                try:
                    await unpacking.put(part)
                except EngineRefused as error:
                    reason: DeclineReason = "no-disk" if _full(error) else "start-failed"
                    raise Declined(reason, f"The code cannot be unpacked: {error}") from error
        self.notes.coded, self.record.code = True, None
        self.folder.save(self.notes)

    async def _attached(self) -> list[tuple[Path, str, int]]:
        return await Attaching(
            self.host, self.desired, self.workload, self.folder, self.notes, self.record
        ).run()

    async def _devices(self) -> tuple[str, ...]:
        """The cards that the lease has paid for, or slices of them, once nobody else has them; noted from then on."""
        share = self.host.share(self.desired)
        check_cards_told(share)
        if not share.gpu_uuids:
            return ()
        check_apart(self.workload, share)
        self.record.waiting, self.record.progress = "no-card", "waiting for its cards"
        await self.host.idle.leave(share.gpu_uuids)
        held = await self.host.containers.devices_held(but=self.desired.lease)
        try:
            given = await self.host.devices.give(
                self.desired.lease, share, mine=self.notes.devices, held=held, timed=bool(self._sharing)
            )
        except CardBusy:
            await end_who_is_over(self.host, self.desired)
            raise
        if (before := self.notes.devices) != given:
            self.notes.devices = given
            self.folder.save(self.notes)
            left = {device: card for device, card in before.items() if device not in given}
            await self.host.devices.take_back(self.desired.lease, left)
        return tuple(given)

    @property
    def _sharing(self) -> str:
        return sharing_of(self.workload, self.host.share(self.desired))

    @staticmethod
    def _made_with(container: ContainerFacts) -> tuple[set[str], str]:
        return set(container.devices), container.sharing

    async def _keep(self) -> None:
        """A container that was made with other devices is made anew, out of what it had written."""
        log_step(self.desired.lease, "keep")
        containers = self.host.containers
        async with containers.limits.held():
            self.notes.image = await containers.engine.keep(
                self.name, containers.names.kept(self.desired.lease)
            )
        self.folder.save(self.notes)
        await containers.engine.remove(self.name)

    async def _spec(
        self, devices: tuple[str, ...], volumes: Sequence[tuple[Path, str, int]], refused: Collection[int]
    ) -> ContainerSpec:
        """All that the container is made of; what is not here is fetched."""
        host, workload, facts = self.host, self.workload, self.host.facts
        share = host.share(self.desired)
        kept = kept_volumes(host.volumes, self.desired, workload, self.notes)
        share = replace(share, disk_bytes=max(0, share.disk_bytes - kept))
        self.record.waiting, self.record.progress = "image-unknown", "fetching the image"
        self._check_disk()
        log_step(self.desired.lease, "image")
        image = self.notes.image or await self._renewed(await self._image())
        mounts = await self._datasets()
        mounts.append((readable_folder(self.folder.told), NOTICE_MOUNT))
        if host.helper is not None:
            mounts.append((host.helper, HELPER_MOUNT))
        if workload.secrets:
            mounts.append((readable_folder(self.folder.secrets), _SECRETS))
        self.record.waiting, self.record.progress = "start-failed", "creating the container"
        log_step(self.desired.lease, "create")
        ports = await self._free_ports(await host.containers.ports_taken() | set(refused))
        spec = spec_of(
            self.desired,
            workload,
            host.containers.names,
            image=image,
            share=share,
            devices=devices,
            facts=facts.engine,
            mounts=mounts,
            volumes=volumes,
            ports=ports,
            settings=facts.settings,
            place=host.devices.place(self.desired.lease, share),
        )
        etc = write_etc(self.folder.etc, spec.hostname, spec.dns)
        return replace(
            spec,
            base=self.notes.base if self.notes.image else None,
            mounts=[*spec.mounts, *etc],
            devices=facts.inventory.devices_of(share.gpu_uuids),
        )

    async def _make(self, spec: ContainerSpec) -> None:
        self.notes.placement = self.desired.placement
        self.folder.save(self.notes)
        try:
            async with self.host.containers.limits.held():
                await self.host.containers.engine.create(spec)
        except EngineRefused as error:
            reason: DeclineReason = "no-disk" if _full(error) else "start-failed"
            raise Declined(reason, f"The container cannot be made: {error}") from error

    async def _network(self) -> None:
        """The lease's network, which goes when the container has stopped: one that comes back needs it anew."""
        names, lease = self.host.containers.names, self.desired.lease
        labels = names.labels(lease, self.desired.machine)
        await self.host.containers.engine.ensure_network(names.network(lease), names.bridge(lease), labels)

    async def _free_ports(self, taken: set[int]) -> dict[tuple[int, str], int]:
        """Host ports that nothing on the host listens at, however many services lie at the front of the range."""
        settings = self.host.facts.settings
        asked = {port.host for port in self.workload.ports}
        while True:
            ports = choose_ports(self.workload, taken, settings)
            numbers = [port for port in ports.values() if port not in asked]
            busy = await asyncio.to_thread(busy_ports, numbers, settings.engine_netns)
            if not busy:
                return ports
            taken |= busy

    def _check_disk(self) -> None:
        """A full disk would take down the leases that run already; and what is kept of others makes way for a new one,
        which begins meanwhile where there is anything left.

        Raises NoRoom while something makes way for the last of the room, Declined where there is nothing that could.
        """
        wants = self.workload.disk or 0
        if not (room := self.host.facts.room(wants)):
            return
        self.record.wants = wants
        if room is DiskRoom.SHORT and self.host.kept.get(room):
            self.record.waiting = "no-disk"
            raise NoRoom(wants)
        if room is DiskRoom.SHORT:
            raise Declined("no-disk", "This host's disk is full.")

    async def _image(self) -> str:
        """The image; what is kept of leases before makes way for it, too."""

        def show(progress: str) -> None:
            self.record.progress = "fetching the image" + (f": {progress}" if progress else "")

        workload = self.workload
        claimant = Claimant(self.desired.author, workload.registry, key=workload.image_key)
        try:
            image = await self.host.supplies.images.ensure(self.workload.image, claimant, show)
        except NoRoom as error:
            if not self.host.kept.get(DiskRoom.WANTED):
                raise Declined("no-disk", "This host's disk has no room for the image.") from error
            reserve = self.host.facts.settings.disk_reserve
            self.record.waiting, self.record.wants = "no-disk", max(error.wants, reserve)
            raise
        return await self._without_volumes(image)

    async def _without_volumes(self, image: str) -> str:
        """The image with nothing that would lie beside the container, where the engine holds no disk limit."""
        try:
            return await self.host.supplies.images.without_volumes(self.workload.image, image)
        except EngineRefused as error:
            if not self.host.facts.engine.quota:  # a host that promises no limit has nothing to keep
                return image
            raise Declined(
                "unsupported",
                f"image: it declares volumes, which this host's engine cannot leave out ({error}); build it without.",
            ) from error

    async def _renewed(self, image: str) -> str:
        """`image`, or what the lease before this one wrote that was made of it."""
        self.notes.base = image
        renewal = Renewal(self.host, self.desired, self.workload, image)
        if (carried := await renewal.carried()) is None:
            return image
        self.notes.renews, self.notes.image = carried
        self.folder.save(self.notes)
        return carried[1]

    async def _datasets(self) -> list[tuple[Path, str]]:
        host, author = self.host, self.desired.author
        if not self.workload.datasets:
            return []
        log_step(self.desired.lease, "datasets")
        cache = host.supplies.datasets
        self.notes.datasets = tuple(cache.name(mount, author) for mount in self.workload.datasets)
        self.folder.save(self.notes)  # from now on the cache keeps them
        mounts = []
        for mount in self.workload.datasets:
            self.record.waiting, self.record.progress = "dataset-missing", f"fetching {mount.cid}"

            def show(done: int, total: int, cid: str = mount.cid) -> None:
                self.record.progress = f"fetching {cid}: {done} of {total} bytes"

            path = await cache.get(mount, author, host.datasets_in_use(), show)
            mounts.append((path, mount.path))
        return mounts

    async def _inspected(self) -> ContainerFacts:
        container = await self.host.containers.engine.inspect(self.name)
        if container is None:
            raise NoContainer("The container is gone.")
        return container


def _full(error: EngineRefused) -> bool:
    return any(words in str(error).lower() for words in ("no space left", "disk quota exceeded"))


def put_secrets(folder: LeaseDir, workload: Workload | None) -> None:
    """Where a container finds its secrets: never in its environment, which `docker inspect` shows, nor in its own
    files, which stay when the lease is somebody else's.
    """
    folder.forget_secrets()
    for name, value in (workload.secrets if workload else {}).items():
        replace_file(readable_folder(folder.secrets) / name, value.encode(), mode=0o444)


def output_folders(workload: Workload) -> list[str]:
    """What a command finds made: an output's folder, or the one it lies in if its name has a dot and so is a file's."""
    paths = [PurePosixPath(output.path) for output in workload.outputs]
    return sorted({str(path.parent if "." in path.name else path) for path in paths} - {"/"})
