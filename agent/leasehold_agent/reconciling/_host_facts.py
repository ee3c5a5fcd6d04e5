"""What this host is and has, and how much of it there is left to give."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leasehold.chain import LeaseState, Machine, MachineStatus
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import (
    CELLS_PER_GPU,
    WHOLE,
    Allocation,
    Given,
    HardwareFiles,
    Holding,
    LeasePlace,
    LeaseShare,
    Part,
    allocate,
    cells_of,
    share_of,
    units_of,
)
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import SILENT, Ailment, CardReading, Inventory
from leasehold_agent.reconciling._plan import DiskRoom


@dataclass
class HostFacts:
    """`disk_bytes` are those that are sold. `boot_id` changes when the host reboots. `hardware` is what its machines
    were described as; `ill` is what ails cards, by the SHA-256 of their UUIDs, and `readings` what they said last;
    `xids` how often each had which. `mps`: how far MPS keeps parts of cards apart, where they are sold by it.
    """

    settings: AgentSettings
    inventory: Inventory
    engine: EngineFacts
    disk_bytes: int
    boot_id: str
    hardware: HardwareFiles
    ill: Mapping[str, Ailment] = field(default_factory=dict)
    readings: Mapping[str, CardReading] = field(default_factory=dict)
    xids: Counter[tuple[str, int]] = field(default_factory=Counter)
    mps: str = ""

    @property
    def boot(self) -> str:
        """Another one once what ran has been ended by a reboot, or by an engine that takes its containers along."""
        return self.boot_id if self.engine.live_restore else f"{self.boot_id}/{self.engine.run}"

    def allocation(self, chain: ChainSnapshot, *others: Desired) -> Allocation:
        """Which cells each live lease has, and `others` beside them; and what of each machine is to be withheld."""
        live = {lease: desired for lease, desired in chain.leases.items() if desired.live_at(chain.now)}
        placed = live | {desired.lease: desired for desired in others}
        return allocate(
            self._holdings(chain), map(self._place, placed.values()), self._answering(), self.ill.keys()
        )

    def ailments(self, desired: Desired) -> dict[str, Ailment]:
        """What ails the lease's cards, by the SHA-256 of their UUIDs."""
        described, answering = self.hardware.of(desired.hardware), self._answering()
        cards = described.cards if described is not None else ()
        mine = [cards[gpu] for gpu, _ in cells_of(desired.placement) if gpu < len(cards)]
        silent = {card: SILENT for card in mine if card not in answering}
        return silent | {card: self.ill[card] for card in mine if card in self.ill}

    def _answering(self) -> set[str]:
        here = {card.uuid_hash for card in self.inventory.gpus}
        return here - {card for card, ailment in self.ill.items() if ailment.cause == "silent"}

    def share(self, desired: Desired, chain: ChainSnapshot) -> LeaseShare:
        """What the lease's cells come to. Machines that have retired have no part in it."""
        given = self.allocation(chain, desired).given.get(desired.lease, Given())
        described = self.hardware.of(desired.hardware)
        sliced = described is not None and "mig" in described.isolation
        return self._comes_to(given, desired.placement, chain, sliced=sliced)

    def share_of_card(self, card: str, chain: ChainSnapshot) -> LeaseShare:
        """What a lease of all of one card would come to. card: by the SHA-256 of its UUID; it is here."""
        return self._comes_to(Given((Part(card, WHOLE),)), 1 << CELLS_PER_GPU | WHOLE, chain)

    def _comes_to(
        self, given: Given, placement: int, chain: ChainSnapshot, *, sliced: bool = False
    ) -> LeaseShare:
        cpu_units = self.inventory.units(self.settings.cpu_units) if not self.inventory.gpus else 1
        return share_of(
            self.inventory,
            given,
            placement=placement,
            units=units_of(self._holdings(chain), cpu_units),
            memory=max(0, self.inventory.memory_bytes - self.settings.memory_reserve),
            disk=self.disk_bytes,
            mps=self.mps,
            sliced=sliced,
        )

    def free_cards(self, chain: ChainSnapshot) -> set[str]:
        """Cards of machines in service that answer, are well and not cut up, and of which no cell is leased or
        withheld: by the SHA-256 of their UUIDs.
        """
        taken = {part.card for given in self.allocation(chain).given.values() for part in given.parts}
        named = dict[str, bool]()
        for machine in chain.machines.values():
            for card, sold in self._cards_of(machine, chain):
                named[card] = named.get(card, False) or sold
        whole = {card.uuid_hash for card in self.inventory.gpus if not card.mig}
        usable = (whole & self._answering()) - self.ill.keys() - taken
        return {card for card, sold in named.items() if not sold} & usable

    def _cards_of(self, machine: Machine, chain: ChainSnapshot) -> Iterator[tuple[str, bool]]:
        """Each card of a machine in service, and whether some of it is leased or withheld, by the chain."""
        described = self.hardware.of(chain.hardware.get(machine.id, b""))
        if described is not None and machine.status is not MachineStatus.RETIRED:
            for gpu, card in enumerate(described.cards[: machine.gpus]):
                yield card, bool((machine.leased | machine.withheld) >> CELLS_PER_GPU * gpu & WHOLE)

    def _holdings(self, chain: ChainSnapshot) -> list[Holding]:
        """The machines in service, and what they are described as now."""
        in_service = (m for m in chain.machines.values() if m.status is not MachineStatus.RETIRED)
        return [
            Holding(machine.id, machine.gpus, self.hardware.of(chain.hardware.get(machine.id, b"")))
            for machine in in_service
        ]

    def _place(self, desired: Desired) -> LeasePlace:
        return LeasePlace(
            desired.lease,
            desired.machine,
            desired.placement,
            self.hardware.of(desired.hardware),
            begun=desired.state is not LeaseState.OPENED,
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
