"""What the steps of a lease work with: this host's parts in one place, and a record for each lease."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leasehold.datasets import Ipfs
from leasehold.errors import WorkloadError
from leasehold.workload import Workload, unseal
from leasehold_agent._backoff import Backoff
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import DeclineReason
from leasehold_agent.chain import ChainGate, ChainSnapshot, Desired
from leasehold_agent.engine import Engine, EngineFacts, EngineStreams, Images
from leasehold_agent.host import DiskLimits, Firewall, HostPolicy, Inventory, LeasePolicy, Share, share_of
from leasehold_agent.reconciling._container import Names, policy_of
from leasehold_agent.reconciling._plan import Room
from leasehold_agent.store import DatasetCache, LeaseDir, PackOutputs, UploadedWorkloads, lease_dirs


@dataclass
class Record:
    """What this process knows of a lease beyond the notes; lost at a restart and worked out anew.

    ready: it answered. waiting: what it would be declined for now. progress: what is being waited for,
    for people. trouble: why the last attempt failed. wants: bytes that the disk did not have
    for it.
    """

    ready: bool = False
    waiting: DeclineReason = "not-ready"
    progress: str | None = None
    trouble: str | None = None
    workload: tuple[str, Workload] | None = None
    wants: int | None = None
    again: Backoff = field(default_factory=Backoff)
    end: tuple[str, float] | None = None
    killed: bool = False
    ends: int = 0


@dataclass
class Host:
    """This host. `boot_id` changes when it reboots; `estranged` says why its leases may run elsewhere: then nothing is
    done with them here. `reachable` says whether it listens to tenants; `clock` is monotonic seconds, `sleep`
    waits that long. `kept`: leases that are over and would make way, by how much room there is.
    """

    settings: AgentSettings
    names: Names
    engine: Engine
    limits: DiskLimits
    streams: EngineStreams
    firewall: Firewall
    chain: ChainGate
    uploads: UploadedWorkloads
    data: Ipfs
    datasets: DatasetCache
    images: Images
    pack: PackOutputs
    age_identity: str
    inventory: Inventory
    facts: EngineFacts
    disk_bytes: int
    endpoint: Callable[[Desired, Collection[tuple[int, str, int]]], bytes]
    boot_id: str
    estranged: str | None = None
    reachable: Callable[[], bool] = lambda: True
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    packing: asyncio.Lock = field(default_factory=asyncio.Lock)
    records: dict[int, Record] = field(default_factory=dict)
    kept: Mapping[Room, Sequence[int]] = field(default_factory=dict)
    snapshot: ChainSnapshot = field(default_factory=lambda: ChainSnapshot(current=False))

    @property
    def boot(self) -> str:
        """Another one once what ran has been ended by a reboot, or by an engine that takes its containers along."""
        return self.boot_id if self.facts.live_restore else f"{self.boot_id}/{self.facts.run}"

    @property
    def leases_root(self) -> Path:
        return self.settings.state_dir / "leases" / self.names.folder

    def folder(self, lease: int) -> LeaseDir:
        return LeaseDir(self.leases_root, lease)

    def record(self, lease: int) -> Record:
        return self.records.setdefault(lease, Record())

    def workload(self, lease: int) -> Workload | None:
        """The workload in the lease's folder, or None if there is none that can be read. Opened once."""
        folder, record = self.folder(lease), self.record(lease)
        digest = folder.load().workload
        if record.workload is not None and record.workload[0] == digest:
            return record.workload[1]
        try:
            sealed = folder.sealed.read_bytes()
            if hashlib.sha256(sealed).hexdigest() != digest:
                return None
            opened = unseal(sealed, self.age_identity)
        except (FileNotFoundError, WorkloadError):
            return None
        record.workload = (digest, opened)
        return opened

    def share(self, desired: Desired) -> Share:
        """What the lease's cells come to: the host's machines, in the order of their ids, share its GPUs."""
        machines = sorted(self.snapshot.machines.values(), key=lambda machine: machine.id)
        first = sum(machine.gpus for machine in machines if machine.id < desired.machine)
        units = max(
            sum(machine.gpus for machine in machines), self.inventory.units(self.settings.cpu_units), 1
        )
        return share_of(
            self.inventory,
            first_gpu=first,
            placement=desired.placement,
            units=units,
            memory=max(0, self.inventory.memory_bytes - self.settings.memory_reserve),
            disk=self.disk_bytes,
        )

    def datasets_in_use(self) -> set[str]:
        """Those of leases that run, or that a reorganisation may bring back: others are kept while there is room."""
        final = self.snapshot.block - self.settings.confirmations
        noted = (folder.load() for folder in lease_dirs(self.leases_root).values())
        back = (notes for notes in noted if notes.gone_block is None or notes.gone_block > final)
        return {name for notes in back for name in notes.datasets}

    def room(self, wanted: int = 0) -> Room:
        """What the engine's disk has left, for a lease that wants so many bytes. One elsewhere keeps its own watch."""
        if not self.facts.root.is_dir():
            return Room.ENOUGH
        free, reserve = shutil.disk_usage(self.facts.root).free, self.settings.disk_reserve
        if free < reserve:
            return Room.SHORT
        return Room.WANTED if free < reserve + wanted else Room.ENOUGH

    def room_for_outputs(self) -> int:
        """Bytes that may be taken out of containers now."""
        return max(0, shutil.disk_usage(self.settings.state_dir).free - self.settings.disk_reserve)

    async def guard(self) -> None:
        """Put the firewall in place for every lease that has a folder here."""
        leases: list[LeasePolicy] = []
        for lease, folder in sorted(lease_dirs(self.leases_root).items()):
            if (notes := folder.load()).cleared:
                continue
            over = notes.gone_at is not None
            workload = None if over else self.workload(lease)
            leases.append(policy_of(self.names.bridge(lease), workload))
        policy = HostPolicy(
            internet=self.settings.egress == "internet",
            deny=self.settings.egress_deny,
            dns=self.settings.dns,
        )
        await self.firewall.apply(leases, policy)


def boot_id() -> str:
    """The kernel's name for this run of the host."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
