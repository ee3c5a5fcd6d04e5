"""What can be searched for of a machine's hardware. Of several cards the least counts: no lease may get less.

What one card does not say is not known of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from leasehold.market._card_class import card_class
from leasehold.market._units import version_in

if TYPE_CHECKING:
    from leasehold.market._documents import Gpu, Hardware

Value = TypeVar("Value", int, tuple[int, ...])
WHOLE = "whole"


def class_of(hardware: Hardware) -> str | None:
    """The class of its cards, where they are of one."""
    classes = {card_class(gpu.model, gpu.memory_bytes) for gpu in hardware.gpus}
    return classes.pop() if len(classes) == 1 else None


def isolation_of(hardware: Hardware) -> frozenset[str] | None:
    """By what shares of its cards are kept apart; a machine that does not say leases them whole."""
    return frozenset(hardware.isolation or (WHOLE,)) if hardware.gpus else None


def fault_domain_of(hardware: Hardware) -> str | None:
    """What a fault of one tenant's work ends, where the machine says so; of cards leased whole, his own share."""
    if set(hardware.isolation) <= {WHOLE}:
        return "share"
    return hardware.fault_domain


def pcie_of(hardware: Hardware) -> int | None:
    return _least(None if gpu.pcie is None else gpu.pcie.generation for gpu in hardware.gpus)


def lanes_of(hardware: Hardware) -> int | None:
    return _least(None if gpu.pcie is None else gpu.pcie.lanes for gpu in hardware.gpus)


def capability_of(hardware: Hardware) -> tuple[int, ...] | None:
    return _least(version_in(gpu.capability or "") for gpu in hardware.gpus)


def ecc_of(hardware: Hardware) -> bool | None:
    """Whether all of its cards correct errors of their memory."""
    least = _least(None if gpu.ecc is None else int(gpu.ecc) for gpu in hardware.gpus)
    return None if least is None else bool(least)


def numa_of(hardware: Hardware) -> int | None:
    """Over how many of the host's nodes its cards are spread."""
    nodes = {gpu.numa for gpu in hardware.gpus}
    return len(nodes) if nodes and None not in nodes else None


def joined_of(hardware: Hardware) -> int | None:
    """How many of its cards are joined by links of their own, directly or by way of one another; 1: none is."""
    if any(gpu.peers is None for gpu in hardware.gpus):
        return None
    cards = {gpu.uuid_hash: gpu for gpu in hardware.gpus}
    sizes, left = [], set(cards)
    while left:
        group = _reached(cards, left.pop())
        left -= group
        sizes.append(len(group))
    return max(sizes, default=None)


def _reached(cards: dict[str, Gpu], first: str) -> set[str]:
    group, ahead = {first}, [first]
    while ahead:
        peers = {peer.uuid_hash for peer in cards[ahead.pop()].peers or ()} & cards.keys() - group
        group |= peers
        ahead.extend(peers)
    return group


def driver_of(hardware: Hardware) -> tuple[int, ...] | None:
    return version_in(hardware.driver or "")


def cuda_of(hardware: Hardware) -> tuple[int, ...] | None:
    return version_in(hardware.cuda or "")


def disk_kinds_of(hardware: Hardware) -> frozenset[str] | None:
    """What the disks are on which leases have their files."""
    return frozenset(disk.kind for disk in hardware.disks) if hardware.disks else None


def rdma_of(hardware: Hardware) -> bool | None:
    return None if hardware.rdma is None else bool(hardware.rdma)


def _least(values: Iterable[Value | None]) -> Value | None:
    """The least of them; None if there is none, or one is not known."""
    known: list[Value] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return min(known, default=None)
