"""A lease that renews another: what that one has written goes on in its container.

It is copied, never moved: the lease before stays as it was until its own end has come, since a reorganisation may
bring it back.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from leasehold.chain import LeaseState, format_lease
from leasehold.market import format_size
from leasehold.workload import Workload
from leasehold_agent._errors import Declined, EngineRefused, NodesDisagree, NoRoom, StillStopping
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import log_step
from leasehold_agent.reconciling._plan import WORKLOAD_LABEL, DiskRoom
from leasehold_agent.reconciling._renewed import renewed

_log = structlog.get_logger("leasehold_agent")


@dataclass(frozen=True)
class Renewal:
    """What may go on in the container of one lease, which is made of the image `base`."""

    host: Host
    desired: Desired
    workload: Workload
    base: str

    async def carried(self) -> tuple[int, str] | None:
        """The lease that this one renews, and an image of what that one wrote; None where it begins with nothing.

        Raises StillStopping and NoRoom, which pass, and Declined where the data does not fit this lease.
        """
        folders, slot = self.host.leases.folders(), self.desired.lease >> 16
        noted = {lease: folder.load() for lease, folder in folders.items() if lease >> 16 == slot}
        former = renewed(self.desired, noted) if self.desired.state is LeaseState.OPENED else None
        if former is None or (container := await self._stopped(former)) is None:
            return None
        if container.labels.get(WORKLOAD_LABEL) != noted[former].workload or not self._alike(former):
            _log.info(
                "renewal",
                lease=format_lease(self.desired.lease),
                problem="another image: nothing is taken over",
            )
            return None
        if await self.host.containers.engine.volumes_of(container.name):
            _log.info(
                "renewal", lease=format_lease(self.desired.lease), problem="its image keeps data in volumes"
            )
            return None
        await self._agreed()
        await self._check_fits(former, container)
        return former, await self._copy(former, container)

    async def _stopped(self, former: int) -> ContainerFacts | None:
        """Its container, which has come to rest. Raises StillStopping."""
        if await self.host.chain.is_live(former):
            raise StillStopping(f"Lease {format_lease(former)}, which this one renews, is not over yet.")
        container = await self.host.containers.inspect(former)
        if container is None:
            return None
        over = self.host.leases.folder(former).load().gone_at is not None
        if not over or container.running or container.paused:
            raise StillStopping(f"Lease {format_lease(former)}, which this one renews, has not stopped yet.")
        return container

    def _alike(self, former: int) -> bool:
        """What another image's programs have written is nothing that these could go on with."""
        before = self.host.leases.workload(former)
        return before is not None and before.image == self.workload.image

    async def _agreed(self) -> None:
        """One node alone could name a workload of its own making, which would read all that is carried over."""
        chain, desired = self.host.chain, self.desired
        same = await chain.is_tenant(desired.lease, desired.tenant)
        if not (same and await chain.has_workload(desired.lease, desired.workload)):
            shown = format_lease(desired.lease)
            raise NodesDisagree(f"The nodes do not agree whose lease {shown} is, and what it is to run.")

    async def _check_fits(self, former: int, container: ContainerFacts) -> None:
        """Raises Declined for more than the lease's disk holds, and NoRoom while others make way on the host's."""
        host, shown = self.host, format_lease(former)
        share, asked = host.share(self.desired), self.workload.disk
        size = await host.containers.engine.written(container.name, self.base)
        most = min(asked or share.disk_bytes, share.disk_bytes)
        if host.facts.engine.quota and size > most:
            raise Declined(
                "no-disk",
                f"disk: lease {shown} left {format_size(size)}, and this one has {format_size(most)}: ask for more, or "
                "begin anew in another slot.",
            )
        if not host.facts.room(size):
            return
        record = host.leases.record(self.desired.lease)
        record.waiting, record.wants = "no-disk", max(size, record.wants or 0)
        if host.kept.get(DiskRoom.WANTED):
            raise NoRoom(size)
        raise Declined(
            "no-disk", f"This host's disk has no room for the {format_size(size)} that lease {shown} left."
        )

    async def _copy(self, former: int, container: ContainerFacts) -> str:
        host, lease = self.host, self.desired.lease
        engine, label = host.containers.engine, host.containers.names.kept(lease)
        log_step(lease, "renew")
        await engine.forget(label)  # what an agent made that died before it could note it
        try:
            async with host.containers.limits.held():
                return await engine.keep(container.name, label)
        except EngineRefused as error:
            shown = format_lease(former)
            raise Declined(
                "start-failed", f"What lease {shown} left cannot be carried over: {error}"
            ) from error
