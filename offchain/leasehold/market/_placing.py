"""Which shares fit on a machine: MIG's own geometry, as the contract's `Cells` places them.

A machine's cells are bits of a 64-bit map, bit `8 × gpu + cell`. A share of one GPU is 1 cell (at 0 to 6), 2
(at 0, 2, 4) or 4 (at 0, 4); 8n cells are n whole GPUs, which need not be neighbours.
"""

from __future__ import annotations

from functools import lru_cache

from leasehold.chain import CELLS_PER_GPU, Machine
from leasehold.market._errors import InvalidInput

_STARTS = {1: range(7), 2: (0, 2, 4), 4: (0, 4)}
WHOLE = 0xFF


def valid_share(cells: int, gpus: int) -> bool:
    """Whether a machine of `gpus` GPUs could ever serve a share of `cells`."""
    return cells in _STARTS or (cells > 0 and cells % CELLS_PER_GPU == 0 and cells // CELLS_PER_GPU <= gpus)


def fits(busy: int, gpus: int, cells: int) -> bool:
    """Whether the share has a place beside the cells in `busy`."""
    if not valid_share(cells, gpus):
        return False
    cards = [busy >> (CELLS_PER_GPU * gpu) & WHOLE for gpu in range(gpus)]
    if cells not in _STARTS:
        return sum(card == 0 for card in cards) >= cells // CELLS_PER_GPU
    mask = (1 << cells) - 1
    return any(card & (mask << start) == 0 for card in cards for start in _STARTS[cells])


def smallest_hole(busy: int, gpus: int, cells: int) -> int:
    """How many cells the smallest hole has that the share fits into, which is where the contract puts it: a broken pair
    before a broken half, that before a broken GPU, and that before a whole one. The share's own size for whole GPUs.
    """
    if cells not in _STARTS:
        return cells
    cards = [busy >> (CELLS_PER_GPU * gpu) & WHOLE for gpu in range(gpus)]
    mask = (1 << cells) - 1
    holes = [
        _hole_at(card, start, cells) for card in cards for start in _STARTS[cells] if not card & mask << start
    ]
    return min(holes, default=CELLS_PER_GPU)


def _hole_at(card: int, start: int, cells: int) -> int:
    for size in (2, 4, 8):
        if size > cells and card & ((1 << size) - 1) << start // size * size:
            return size // 2
    return CELLS_PER_GPU


def free_gpus(busy: int, gpus: int) -> int:
    """How many GPUs are wholly free."""
    return sum(busy >> (CELLS_PER_GPU * gpu) & WHOLE == 0 for gpu in range(gpus))


def rentable_cells(busy: int, gpus: int, smallest: int = 1) -> int:
    """How many free cells somebody can rent where the least share is `smallest` cells: those in a free place for some
    share. The eighth cell of a GPU goes with a half or the whole of it alone, as in MIG.
    """
    cards = [busy >> (CELLS_PER_GPU * gpu) & WHOLE for gpu in range(gpus)]
    return sum(_rentable(card, smallest).bit_count() for card in cards)


@lru_cache(4096)
def _rentable(card: int, smallest: int) -> int:
    """The cells of one GPU that lie in a place where a share of no less than `smallest` cells fits."""
    if card == 0:
        return WHOLE
    rentable = 0
    for cells, starts in _STARTS.items():
        for place in (((1 << cells) - 1) << start for start in starts if cells >= smallest):
            rentable |= 0 if card & place else place
    return rentable


def free_cells(machine: Machine) -> int:
    """How many of its cells can still be rented."""
    return rentable_cells(machine.busy, machine.gpus, machine.smallest_share)


def parse_share(text: str) -> int:
    """Cells of a share as people write it: ``2`` GPUs, or ``1/8``, ``1/4``, ``1/2`` of one.

    Raises:
        InvalidInput: no such share.
    """
    fractions = {"1/8": 1, "1/4": 2, "2/8": 2, "1/2": 4, "2/4": 4, "4/8": 4, "0.125": 1, "0.25": 2, "0.5": 4}
    wanted = text.strip()
    if wanted in fractions:
        return fractions[wanted]
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= 8:
        return int(wanted) * CELLS_PER_GPU
    raise InvalidInput(f"'{text}' is not a share", "write 1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones.")


def format_share(cells: int) -> str:
    """The share as people write it; `parse_share` reads it back."""
    return {1: "1/8", 2: "1/4", 4: "1/2"}.get(cells, str(cells // CELLS_PER_GPU))


def parse_cells(text: str, gpus: int) -> int:
    """Map of the cells named by GPUs and cells counted from 0, such as ``0,2`` or ``1:0-3``; ``none`` and ``all``.

    Raises:
        InvalidInput: a GPU or cell that the machine does not have, or another form.
    """
    if text.strip() in ("none", ""):
        return 0
    if text.strip() == "all":
        return (1 << (CELLS_PER_GPU * gpus)) - 1
    total = 0
    for part in text.split(","):
        gpu_text, _, cells_text = part.strip().partition(":")
        for gpu in _span(gpu_text, gpus, text):
            for cell in _span(cells_text or "0-7", CELLS_PER_GPU, text):
                total |= 1 << (CELLS_PER_GPU * gpu + cell)
    return total


def format_cells(cells: int) -> str:
    """The cells in the form that `parse_cells` reads."""
    parts = []
    for gpu in range(64 // CELLS_PER_GPU):
        card = cells >> (CELLS_PER_GPU * gpu) & WHOLE
        if card == WHOLE:
            parts.append(str(gpu))
        else:
            parts.extend(f"{gpu}:{cell}" for cell in range(CELLS_PER_GPU) if card >> cell & 1)
    return ",".join(parts) or "none"


def _span(text: str, limit: int, whole: str) -> range:
    first, dash, last = text.partition("-")
    ends = (first, last) if dash else (first, first)
    if (
        not all(number.isascii() and number.isdigit() for number in ends)
        or not int(ends[0]) <= int(ends[1]) < limit
    ):
        raise InvalidInput(
            f"'{whole}' names no cells here", "write GPUs and cells from 0, such as 0,1 or 1:0-3."
        )
    return range(int(ends[0]), int(ends[1]) + 1)
