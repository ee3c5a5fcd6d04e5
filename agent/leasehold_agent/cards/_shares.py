"""What a lease's cells come to on its host: processors, memory, disk, and cards by their UUIDs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leasehold_agent.cards._allocation import CELLS_PER_GPU, WHOLE, Given, Holding
from leasehold_agent.host import Card, Inventory


@dataclass(frozen=True)
class LeaseShare:
    """What a lease's cells come to on this host, at most. `cpus` in whole processors, the rest in bytes.

    `gpu_uuids` are the cards on which it has the same `cells` each, of eight. `cut`: it has a slice of its card (MIG),
    though that may be of all cells. `stays_cut`: they are several, and only a reset would make them whole. `watched`:
    their driver says who computes on them. `mps`: how far MPS keeps others from its part of a card of `card_bytes`,
    `hard` or `cooperative`; empty where that is not how it has it. `problem`: why it cannot have its cards now, in the
    words that its tenant reads; then it has none.
    """

    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpu_uuids: tuple[str, ...]
    cells: int = WHOLE
    cut: bool = False
    watched: bool = True
    problem: str | None = None
    mps: str = ""
    card_bytes: int = 0
    stays_cut: bool = False

    @property
    def devices(self) -> tuple[tuple[str, ...], int] | None:
        """What a container is made with and no change of limits gives it: none for one without cards. Parts of a card
        that is not cut are all alike: time on it.
        """
        part = self.cells if self.cut or self.cells == WHOLE else 0
        return (self.gpu_uuids, part) if self.gpu_uuids else None

    def is_less_of(self, before: LeaseShare) -> bool:
        """Whether it is a smaller part of a card by MPS: what runs would keep the memory and threads that it has."""
        return bool(self.mps) and self.cells.bit_count() < before.cells.bit_count()


def share_of(
    inventory: Inventory,
    given: Given,
    *,
    placement: int,
    units: int,
    memory: int,
    disk: int,
    mps: str = "",
    sliced: bool = False,
) -> LeaseShare:
    """The part of the host that `placement` (`gpuMask << 8 | cellMask`) buys.

    `units` is the number of GPUs (or CPU units) of the whole host; `memory` and `disk` are what the host sells in all.
    mps: how far it keeps parts of this host's cards apart, where they are sold by it. sliced: the machine was described
    as one whose cards are sold in slices, and they are cut again where they are not.
    """
    cells = placement & WHOLE
    part = (placement >> CELLS_PER_GPU).bit_count() * cells.bit_count() / (units * CELLS_PER_GPU)
    known: Mapping[str, Card] = {card.uuid_hash: card for card in inventory.gpus}
    cards = [known[part.card] for part in given.parts]
    watched = all(card.vendor == "nvidia" for card in cards)
    in_slices = [card for card in cards if card.mig or (sliced and card.recuts)]
    several_whole = len(cards) > 1 and cells == WHOLE
    recut = several_whole and all(card.recuts for card in in_slices)
    cut = bool(in_slices) and not recut
    return LeaseShare(
        cpus=round(inventory.cores * part, 3),
        memory_bytes=int(memory * part),
        disk_bytes=int(disk * part),
        gpu_uuids=tuple(card.uuid for card in cards),
        cells=cells,
        cut=cut,
        watched=watched,
        mps=mps if cards and cells != WHOLE and watched and not cut else "",
        card_bytes=min((card.memory_bytes for card in cards), default=0),
        stays_cut=cut and len(cards) > 1,
        problem=given.problem,
    )


def units_of(holdings: Iterable[Holding], least: int = 1) -> int:
    """Into how many units the host is divided, so that all its machines together come to no more than the host.

    A card that is lost, and one that no machine sells yet, change nothing: what was sold stays as large as it was.
    """
    in_service = list(holdings)
    said = [holding.described.host_units for holding in in_service if holding.described is not None]
    return max(sum(holding.gpus for holding in in_service), *said, least, 1)
