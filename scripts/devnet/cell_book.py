"""The contract's cells, in Python: what `Cells.sol` and `Lifecycle.sol` do with them, as far as cards are concerned.

`tests/contracts` holds `Cells` against loops like these.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LANE = 0xFF
STARTS = {1: range(7), 2: (0, 2, 4), 4: (0, 4)}


class NoRoom(Exception):
    """The contract would revert."""


def cells(placement: int) -> int:
    """The cells that a placement covers, bit `8 × gpu + cell`."""
    return sum((placement & LANE) << 8 * gpu for gpu in range(8) if placement >> 8 >> gpu & 1)


def _hole(lane: int, start: int, share: int) -> int:
    """The size of the smallest aligned hole around a place: pairs, quads and GPUs stay whole as long as they can."""
    for size in (2, 4, 8):
        mask = ((1 << size) - 1) << start // size * size
        if size > share and lane & mask:
            return size // 2
    return 8


def place(busy: int, share: int, gpus: int) -> int:
    """Where the contract puts a share. Raises NoRoom."""
    lanes = [busy >> 8 * gpu & LANE for gpu in range(gpus)]
    if share >= 8:
        free = [gpu for gpu, lane in enumerate(lanes) if not lane][: share // 8]
        if len(free) < share // 8:
            raise NoRoom(share)
        return sum(1 << gpu for gpu in free) << 8 | LANE
    mask = (1 << share) - 1
    found = [
        (max(share, _hole(lane, start, share)), gpu, start)
        for gpu, lane in enumerate(lanes)
        for start in STARTS[share]
        if not lane & mask << start
    ]
    if not found:
        raise NoRoom(share)
    _, gpu, start = min(found)
    return 1 << 8 + gpu | mask << start


@dataclass
class ChainMachine:
    """A machine as the contract keeps it."""

    operator: int
    gpus: int
    hardware: list[bytes]
    smallest: int = 1
    leased: int = 0
    withheld: int = 0
    retired: bool = False

    @property
    def revision(self) -> int:
        return len(self.hardware)


@dataclass
class ChainLease:
    machine: int
    placement: int
    revision: int


@dataclass
class CellBook:
    """A pool: machines, leases, and who holds which cells. Methods raise NoRoom where the contract reverts."""

    machines: dict[int, ChainMachine] = field(default_factory=dict)
    leases: dict[int, ChainLease] = field(default_factory=dict)
    _last: int = 0

    def register(self, operator: int, gpus: int, hardware: bytes) -> int:
        number = len(self.machines) + 1
        self.machines[number] = ChainMachine(operator, gpus, [hardware])
        return number

    def set_hardware(self, number: int, hardware: bytes) -> None:
        self.machines[number].hardware.append(hardware)

    def withhold(self, number: int, withheld: int) -> None:
        machine = self.machines[number]
        if withheld >> 8 * machine.gpus:
            raise NoRoom(withheld)
        machine.withheld = withheld

    def open(self, number: int, share: int) -> int:
        machine = self.machines[number]
        if machine.retired or share // 8 > machine.gpus:
            raise NoRoom(share)
        placement = place(machine.leased | machine.withheld, share, machine.gpus)
        machine.leased |= cells(placement)
        self._last += 1
        self.leases[self._last] = ChainLease(number, placement, machine.revision)
        return self._last

    def resize(self, lease: int, share: int) -> None:
        """Less may be had of a machine that was described anew, too; what is withheld of one's own may be kept."""
        held = self.leases[lease]
        machine, own = self.machines[held.machine], cells(held.placement)
        more = share > own.bit_count()
        if share // 8 > machine.gpus or (more and machine.revision != held.revision):
            raise NoRoom(share)
        others = machine.leased & ~own
        placement = place(others | machine.withheld & ~own, share, machine.gpus)
        machine.leased = others | cells(placement)
        held.placement = placement

    def close(self, lease: int) -> None:
        held = self.leases.pop(lease)
        self.machines[held.machine].leased &= ~cells(held.placement)

    def retire(self, number: int) -> None:
        machine = self.machines[number]
        if machine.leased or machine.retired:
            raise NoRoom(number)
        machine.retired = True
