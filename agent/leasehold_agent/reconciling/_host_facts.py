"""What this host is and has, and how much of it there is left to give."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leasehold.chain import Machine
from leasehold_agent._config import AgentSettings
from leasehold_agent.chain import Desired
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import Inventory, LeaseShare, share_of
from leasehold_agent.reconciling._plan import DiskRoom


@dataclass
class HostFacts:
    """`disk_bytes` are those that are sold. `boot_id` changes when the host reboots."""

    settings: AgentSettings
    inventory: Inventory
    engine: EngineFacts
    disk_bytes: int
    boot_id: str

    @property
    def boot(self) -> str:
        """Another one once what ran has been ended by a reboot, or by an engine that takes its containers along."""
        return self.boot_id if self.engine.live_restore else f"{self.boot_id}/{self.engine.run}"

    def share(self, desired: Desired, machines: Iterable[Machine]) -> LeaseShare:
        """What the lease's cells come to: the host's machines, in the order of their ids, share its GPUs."""
        ordered = sorted(machines, key=lambda machine: machine.id)
        first = sum(machine.gpus for machine in ordered if machine.id < desired.machine)
        sold = self.inventory.units(self.settings.cpu_units)
        return share_of(
            self.inventory,
            first_gpu=first,
            placement=desired.placement,
            units=max(sum(machine.gpus for machine in ordered), sold, 1),
            memory=max(0, self.inventory.memory_bytes - self.settings.memory_reserve),
            disk=self.disk_bytes,
        )

    def room(self, wanted: int = 0) -> DiskRoom:
        """What the engine's disk has left, for a lease that wants so many bytes. One elsewhere keeps its own watch."""
        if not self.engine.root.is_dir():
            return DiskRoom.ENOUGH
        free, reserve = shutil.disk_usage(self.engine.root).free, self.settings.disk_reserve
        if free < reserve:
            return DiskRoom.SHORT
        return DiskRoom.WANTED if free < reserve + wanted else DiskRoom.ENOUGH

    def room_for_outputs(self) -> int:
        """Bytes that may be taken out of containers now."""
        return max(0, shutil.disk_usage(self.settings.state_dir).free - self.settings.disk_reserve)

    def most_outputs(self, share: LeaseShare) -> int:
        """Bytes that are packed of a lease at most. More than its disk holds can only be holes: sparse files that fill
        up when they are copied.
        """
        limit = self.settings.output_limit
        return min(limit, share.disk_bytes) if self.engine.quota else limit


def boot_id() -> str:
    """The kernel's name for this run of the host."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
