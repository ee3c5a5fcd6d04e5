"""Several machines on one host: what one of them has is no other's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import Machine, MachineStatus
from leasehold.market._errors import CardsTaken, NeighbourUnknown, UnitsTaken

if TYPE_CHECKING:
    from leasehold.market._documents import Hardware


@dataclass(frozen=True)
class Neighbour:
    """A machine that an operator's key serves already. hardware: what it was described as, if that can be had."""

    machine: Machine
    hardware: Hardware | None


def check_apart_from(hardware: Hardware, gpus: int, neighbours: Iterable[Neighbour]) -> None:
    """Whether a machine of `gpus` GPUs or CPU units, described so, has nothing of its neighbours.

    Raises:
        CardsTaken, UnitsTaken: it has. NeighbourUnknown: nobody can tell.
    """
    in_service = [
        n for n in neighbours if n.machine.status not in (MachineStatus.NONE, MachineStatus.RETIRED)
    ]
    for neighbour in in_service:
        if neighbour.hardware is None or not (_has_names(hardware) and _has_names(neighbour.hardware)):
            raise NeighbourUnknown(neighbour.machine.operator, neighbour.machine.id)
        if both := _cards(hardware, gpus) & _cards(neighbour.hardware, neighbour.machine.gpus):
            raise CardsTaken(neighbour.machine.operator, neighbour.machine.id, len(both))
    of_units = [n for n in in_service if n.hardware is not None and not n.hardware.gpus]
    if of_units and not hardware.gpus:
        _check_units(hardware, gpus, of_units)


def _has_names(hardware: Hardware) -> bool:
    return all(gpu.uuid_hash for gpu in hardware.gpus)


def _cards(hardware: Hardware, gpus: int) -> set[str]:
    return {gpu.uuid_hash for gpu in hardware.gpus[:gpus]}


def _check_units(hardware: Hardware, units: int, neighbours: list[Neighbour]) -> None:
    whole = hardware.host_units or hardware.cpu_units
    left = whole - sum(neighbour.machine.gpus for neighbour in neighbours)
    if units > left:
        first = neighbours[0].machine
        raise UnitsTaken(first.operator, first.id, whole, max(0, left))
