"""How many of a stream of leases find room, beside those that would if everything could be moved at every step.

Four machines of four GPUs each. Shares of an eighth, a quarter, a half and a whole GPU come and go at random; whoever
rents takes the machine that the library chooses, and the cells where the contract puts them. The reference is exact: on
as many GPUs, whether any arrangement at all holds what runs now and the share that comes.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from devnet.cell_book import CellBook, NoRoom
from leasehold.chain import Machine, MachineStatus, Terms
from leasehold.errors import LeaseholdError
from leasehold.market import Listing, Money, Wish, choose

GOAL = 0.93
MACHINES, GPUS = 4, 4
STEPS = 20_000
_SHARES = (1, 1, 1, 2, 2, 4, 4, 8, 8)
_BUSY = 0.8
"""About so much of the cells is leased: emptier, everybody finds room, and fuller, nobody does."""
_NOW = 1_000
_TERMS = Terms(
    price=10**18, spot_price=0, min_duration=1, max_duration=86_400, trial=0, available_until_day=60_000
)
_MONEY = Money("TUSD", 18)


def run() -> list[dict[str, Any]]:
    """The row: shares that found room, and those that could have."""
    rng, book = Random(1), CellBook()
    for _ in range(MACHINES):
        book.register(1, GPUS, bytes(32))
    found = possible = 0
    for _ in range(STEPS):
        if book.leases and rng.random() < _leased(book) / (2 * _BUSY):
            book.close(rng.choice(list(book.leases)))
            continue
        share = rng.choice(_SHARES)
        running = [_size(book, lease) for lease in book.leases]
        fits = could_hold([*running, share], MACHINES * GPUS)
        taken = _open(book, share)
        assert fits or not taken, "nothing is better than the best"
        found, possible = found + taken, possible + fits
    return [
        {
            "name": "agent.packing",
            "ours": found,
            "reference": possible,
            "ratio": found / possible,
            "goal": f"≥ {GOAL} of what fits if all may move",
            "ok": found / possible >= GOAL,
        }
    ]


def could_hold(shares: list[int], gpus: int) -> bool:
    """Whether any arrangement holds them, shares of 1, 2, 4 and 8 cells.

    Of halves, a GPU has none, one or two. One is best at cell 4, which leaves four cells; none leaves seven, of which
    three pairs. So what counts is on how many GPUs there is one half: all such numbers are tried.
    """
    ones, pairs, halves, wholes = (shares.count(size) for size in (1, 2, 4, 8))
    for single in range(halves % 2, halves + 1, 2):
        empty = gpus - wholes - single - (halves - single) // 2
        if empty >= 0 and pairs <= 2 * single + 3 * empty and 2 * pairs + ones <= 4 * single + 7 * empty:
            return True
    return False


def _open(book: CellBook, share: int) -> bool:
    """Whether it found room where the library looks for it, and the contract puts it."""
    wish = Wish(share=share, duration=3_600, allow_unverified=True)
    listings = [Listing(_machine(number, book), _MONEY) for number in book.machines]
    try:
        book.open(choose(listings, wish, 1, _NOW).id, share)
    except (LeaseholdError, NoRoom):
        return False
    return True


def _machine(number: int, book: CellBook) -> Machine:
    of_book = book.machines[number]
    return Machine(
        number, "0xp", "0xo", MachineStatus.VERIFIED, False, False, False, of_book.gpus, 1, 1, 0, of_book.leased,
        of_book.leased, 0, 0, _TERMS,
    )  # fmt: skip


def _size(book: CellBook, lease: int) -> int:
    placement = book.leases[lease].placement
    return (placement >> 8).bit_count() * (placement & 0xFF).bit_count()


def _leased(book: CellBook) -> float:
    return sum(machine.leased.bit_count() for machine in book.machines.values()) / (8 * MACHINES * GPUS)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
