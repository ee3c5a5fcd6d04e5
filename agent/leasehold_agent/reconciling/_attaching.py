"""The volumes of one lease, attached before its container starts: made, made larger, or found as they were left.

What the tenant has on this host is his alone. A lease that has one attached keeps it until it is over and its results
are out; a second lease of the same tenant waits for that, or is declined while the first one lives.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leasehold.chain import format_lease
from leasehold.errors import DatasetCorrupt, DatasetTooLarge, DatasetUnavailable, WrongIdentity
from leasehold.market import format_size
from leasehold.workload import VolumeMount, Workload
from leasehold_agent._errors import (
    Declined,
    NoRoom,
    StillStopping,
    VolumeHeld,
    VolumeTrouble,
    WrongVolumeKey,
)
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._checkpoint_folder import (
    COPIES,
    called,
    checkpoint_mount,
    is_checkpoint,
    shown,
)
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import Record, log_step
from leasehold_agent.reconciling._plan import DiskRoom
from leasehold_agent.reconciling._restoring import renewed_checkpoint
from leasehold_agent.store import LeaseDir, Notes, Volume, Volumes, volume_id

NEW_VOLUME_BYTES = 10 << 30
"""What a new volume gets whose tenant does not say, where that is no more than half of what the lease's cells buy."""


@dataclass(frozen=True)
class Attaching:
    """`notes` are those of `folder`."""

    host: Host
    desired: Desired
    workload: Workload
    folder: LeaseDir
    notes: Notes
    record: Record

    async def run(self) -> list[tuple[Path, str, int]]:
        """Each volume's folder, as the engine sees it, where in the container it belongs, and its size in bytes.

        Raises StillStopping, NoRoom and VolumeTrouble, which pass, and Declined.
        """
        volumes = await self._mounts()
        if volumes and self.host.facts.engine.seccomp is None:
            raise Declined("unsupported", "volumes: this host has no seccomp profile for them.")
        sizes = self._sizes(volumes)
        if not volumes:
            return []
        ids = {volume_id(self.desired.author, mount.name) for mount in volumes}
        if not ids <= set(self.notes.volumes):  # from now on they are kept
            self.notes.volumes = tuple(sorted(ids | set(self.notes.volumes)))
            self.folder.save(self.notes)
        attached = zip(volumes, sizes, strict=True)
        return [
            (await self._attached(mount, size), mount.path, size * copies_of(mount))
            for mount, size in attached
        ]

    async def _mounts(self) -> list[VolumeMount]:
        """The volumes that the workload names, and the folder of its checkpoints. Raises StillStopping."""
        begins = (
            None if self.notes.launched else await renewed_checkpoint(self.host, self.desired, self.workload)
        )
        folder = checkpoint_mount(self.workload, self.desired, begins)
        return [*(self.workload.volumes or ()), *([] if folder is None else [folder])]

    def _sizes(self, volumes: Sequence[VolumeMount]) -> list[int]:
        """How large each is to be. Raises Declined for more than the lease's cells buy of the disk."""
        most, author = self.host.share(self.desired).disk_bytes, self.desired.author
        known = [self.host.volumes.get(volume_id(author, mount.name)) for mount in volumes]
        sizes = [
            wanted_size(mount, None if volume is None else volume.size, most)
            for mount, volume in zip(volumes, known, strict=True)
        ]
        kept = kept_volumes(self.host.volumes, self.desired, self.workload, self.notes)
        copied = sum(size * copies_of(mount) for mount, size in zip(volumes, sizes, strict=True))
        asked = copied + (self.workload.disk or 0) + kept
        if asked > most and not self.notes.launched:  # what ran before has what its cells come to now
            beside = f" and {kept} of volumes that it does not name any more (remove those)" if kept else ""
            raise Declined(
                "unsupported",
                f"volumes: with `disk`{beside}, {asked} is more than the {most} that the lease's cells buy.",
            )
        return sizes

    async def _attached(self, mount: VolumeMount, size: int) -> Path:
        host, record, author = self.host, self.record, self.desired.author
        record.waiting, record.progress = "volume-held", f"attaching {shown(mount)}"
        known = host.volumes.get(volume_id(author, mount.name))
        if mount.key is None:
            raise Declined("workload-invalid", f"{called(mount)} has no key.")
        if known is not None and known.holder not in (None, self.desired.lease):
            await self._let_go(mount, known.holder or 0)
        if not is_checkpoint(mount):  # that folder is its lease's own
            _check_source(mount, known)
        self._check_room(size - (0 if known is None else known.size))
        record.waiting = "start-failed"
        log_step(self.desired.lease, f"attach {mount.name}")
        try:
            folder = await host.volumes.attach(self.desired.lease, author, mount, size)
            await self._filled(mount, size)
            return folder
        except WrongVolumeKey as error:
            raise Declined("unsupported", f"{called(mount)} here: {error}.") from error
        except VolumeHeld as error:
            raise StillStopping(f"Volume {mount.name} has just been attached to another lease.") from error
        except VolumeTrouble as error:
            raise VolumeTrouble(f"Volume {mount.name}: {error}") from error

    async def _filled(self, mount: VolumeMount, size: int) -> None:
        """A volume that was made anew gets what its export holds. Raises Declined."""
        volume = volume_id(self.desired.author, mount.name)
        known, record = self.host.volumes.get(volume), self.record
        if known is None or not known.filling:
            return
        record.waiting, record.progress = (
            "dataset-missing",
            f"filling {shown(mount)} from {known.filling}",
        )
        log_step(self.desired.lease, f"fill {mount.name}")
        try:
            await self.host.carrying.fill(volume, mount, size)
        except DatasetUnavailable as error:
            raise Declined("dataset-missing", f"{called(mount)}: {error}") from error
        except (DatasetTooLarge, DatasetCorrupt, WrongIdentity) as error:
            raise Declined("unsupported", f"{called(mount)}: {error}") from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Declined("unsupported", f"{called(mount)} is too small for its export.") from error
        await self.host.volumes.filled(volume)

    async def _let_go(self, mount: VolumeMount, holder: int) -> None:
        """Raises Declined while the other lease lives, StillStopping while it is being put away."""
        shown = format_lease(holder)
        if await self.host.chain.is_live(holder):
            raise Declined(
                "volume-held", f"{called(mount)} is attached to lease {shown}: close that one first."
            )
        if self.host.leases.folder(holder).exists:
            raise StillStopping(f"Lease {shown}, which had volume {mount.name}, is not put away yet.")
        await self.host.volumes.detach(holder)  # nobody else would: nothing is known of that lease any more

    def _check_room(self, more: int) -> None:
        """Raises NoRoom while others make way, and Declined where there is nothing that could."""
        settings, record = self.host.facts.settings, self.record
        free = shutil.disk_usage(settings.state_dir).free - settings.disk_reserve
        if more <= 0 or more <= free:
            return
        record.waiting, record.wants = "no-disk", max(more, record.wants or 0)
        if self.host.kept.get(DiskRoom.WANTED):
            raise NoRoom(more)
        raise Declined("no-disk", f"This host's disk has no room for {format_size(more)} of volumes.")


def _check_source(mount: VolumeMount, known: Volume | None) -> None:
    """What a volume held before is neither taken for an export of it nor lost to one. Raises Declined."""
    if mount.source is None or known is None or known.holder is not None or known.filling:
        return
    if known.source != mount.source:
        raise Declined(
            "unsupported",
            f"{called(mount)} is here from before, and did not begin with {mount.source}: remove it here, or "
            "leave its source out.",
        )


def kept_volumes(volumes: Volumes, desired: Desired, workload: Workload, notes: Notes) -> int:
    """Bytes of the volumes that the lease has had and its workload does not name. They stay as long as it does: whoever
    names others each time has still paid for one disk. What another lease has attached is counted there.
    """
    mounts = [*(workload.volumes or ()), checkpoint_mount(workload, desired)]
    named = {volume_id(desired.author, mount.name) for mount in mounts if mount is not None}
    known = [volumes.get(volume) for volume in set(notes.volumes) - named]
    return sum(volume.size for volume in known if volume and volume.holder in (None, desired.lease))


def wanted_size(mount: VolumeMount, known: int | None, most: int) -> int:
    """How large a volume is to be that has `known` bytes here, of a lease whose cells buy `most`.

    Raises Declined for one that would become smaller.
    """
    if known is not None and mount.size is not None and mount.size < known:
        raise Declined(
            "unsupported",
            f"{called(mount)} has {format_size(known)} here and becomes no smaller: leave its size out.",
        )
    return mount.size or known or min(NEW_VOLUME_BYTES, most // (2 * copies_of(mount)))


def copies_of(mount: VolumeMount) -> int:
    """How often its size counts on its lease's disk."""
    return COPIES if is_checkpoint(mount) else 1
