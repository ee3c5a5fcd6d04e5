"""Which cells of which cards a lease has: a pure function of the chain, what machines were described as, and what is
here.

Where a lease sits is the chain's word: nothing is chosen here, so nothing can be chosen twice. What could still go
wrong is said instead of mended: a lease whose card is gone, or has passed to another machine, has no cells, and its
machine's cells there are to be withheld. Nothing moves up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from leasehold_agent.cards._described import Described

CELLS_PER_GPU = 8
WHOLE = 0xFF
_MOST_GPUS = 8


@dataclass(frozen=True)
class Holding:
    """A machine in service, with `gpus` GPUs or CPU units by the chain, and what it is described as, where that is
    known here.
    """

    machine: int
    gpus: int
    described: Described | None


@dataclass(frozen=True)
class LeasePlace:
    """A lease's place on its machine, as the machine was described when the lease was sold. `begun`: it is billed, and
    keeps a card that has fallen ill since.
    """

    lease: int
    machine: int
    placement: int
    described: Described | None
    begun: bool = False


@dataclass(frozen=True)
class Part:
    """Cells of a card, which goes by the SHA-256 of its UUID."""

    card: str
    cells: int


@dataclass(frozen=True)
class Given:
    """What a lease has; none where `problem` says why not. A machine without cards has no parts."""

    parts: tuple[Part, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Allocation:
    """What each lease has, and by machine which cells are to be out of sale: bit `8 × gpu + cell`."""

    given: dict[int, Given]
    withheld: dict[int, int]


def allocate(
    machines: Iterable[Holding],
    places: Iterable[LeasePlace],
    present: Collection[str],
    ill: Collection[str] = frozenset(),
) -> Allocation:
    """Cells for each lease. `present`: the cards that are here; those of them that are `ill` are given to nobody new.

    A card belongs to one machine: of several that name it, to that of the lowest number. Of places to the same cells,
    that of the older description holds: its lease was there before the machine was described anew.
    """
    holdings = {holding.machine: holding for holding in machines}
    owners = _owners(holdings.values())
    taken: dict[str, int] = {}
    held: dict[str, int] = {}
    given: dict[int, Given] = {}
    for place in sorted(places, key=lambda place: (_is_current(place, holdings), place.machine, place.lease)):
        given[place.lease] = share = _give(place, owners, taken, present, () if place.begun else ill)
        for (gpu, _), part in zip(cells_of(place.placement), share.parts, strict=False):
            taken[part.card] = taken.get(part.card, 0) | part.cells
            if not _stands_at(
                part.card, gpu, holdings.get(place.machine)
            ):  # the chain counts its cells elsewhere
                held[part.card] = held.get(part.card, 0) | part.cells
    well = set(present) - set(ill)
    withheld = {h.machine: _out_of_sale(h, owners, well, held) for h in holdings.values()}
    return Allocation(given, withheld)


def _is_current(place: LeasePlace, holdings: dict[int, Holding]) -> bool:
    """Whether the machine is described still as it was when the lease was sold."""
    now = holdings.get(place.machine)
    return now is not None and now.described == place.described


def _stands_at(card: str, gpu: int, holding: Holding | None) -> bool:
    """Whether the card is that GPU of the machine as it is described now."""
    return (
        holding is not None
        and holding.described is not None
        and holding.described.cards[gpu : gpu + 1] == (card,)
    )


def _owners(holdings: Iterable[Holding]) -> dict[str, int]:
    """By card, the machine that it belongs to."""
    owners: dict[str, int] = {}
    for holding in sorted(holdings, key=lambda holding: holding.machine):
        for card in holding.described.cards[: holding.gpus] if holding.described else ():
            owners.setdefault(card, holding.machine)
    return owners


def _give(
    place: LeasePlace,
    owners: dict[str, int],
    taken: dict[str, int],
    present: Collection[str],
    ill: Collection[str],
) -> Given:
    described = place.described
    if described is None:
        return Given(problem="this host does not know what the machine was described as when it was leased.")
    if not described.cards:
        return Given()
    parts = []
    for gpu, cells in cells_of(place.placement):
        card = described.cards[gpu] if gpu < len(described.cards) else ""
        if not card or described.cards.index(card) != gpu:
            return Given(problem=f"GPU {gpu} is none that the machine was described with.")
        if card not in present:
            return Given(problem=f"GPU {gpu} does not answer, or is not in this host any more.")
        if card in ill:
            return Given(problem=f"GPU {gpu} is ill, and given to nobody before it is well again.")
        if owners.get(card, place.machine) != place.machine:
            return Given(problem=f"GPU {gpu} belongs to machine {owners[card]} of this host.")
        if taken.get(card, 0) & cells:
            return Given(
                problem=f"GPU {gpu} is still held by a lease from before the machine was described anew."
            )
        parts.append(Part(card, cells))
    return Given(tuple(parts))


def cells_of(placement: int) -> Iterator[tuple[int, int]]:
    """A placement (`gpuMask << 8 | cellMask`) as the machine's GPUs in their order, each with its mask of cells."""
    for gpu in range(_MOST_GPUS):
        if placement >> CELLS_PER_GPU >> gpu & 1:
            yield gpu, placement & WHOLE


def _out_of_sale(
    holding: Holding, owners: dict[str, int], well: Collection[str], held: dict[str, int]
) -> int:
    """Cells that nobody could be given. A machine that is not known here has none to sell."""
    described, cells = holding.described, 0
    for gpu in range(holding.gpus):
        lost = WHOLE
        if described is not None and not described.cards:
            lost = 0
        elif described is not None and gpu < len(described.cards):
            card = described.cards[gpu]
            mine = owners[card] == holding.machine and described.cards.index(card) == gpu
            lost = held.get(card, 0) if mine and card in well else WHOLE
        cells |= lost << CELLS_PER_GPU * gpu
    return cells
