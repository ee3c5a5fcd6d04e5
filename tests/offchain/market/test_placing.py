"""What is shown as free is what the contract leases: its own answer for every way in which a card can be taken."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from devnet.cell_book import NoRoom, cells, place
from devnet.pool import PoolChain
from leasehold.chain import LeaseRequest, Terms
from leasehold.errors import ContractError
from leasehold.market import fits, free_cells, rentable_cells
from leasehold.market._placing import smallest_hole

PROVIDER, OPERATOR = 2, 3
UNIT = 10**18
TERMS = Terms(
    price=UNIT, spot_price=0, min_duration=60, max_duration=86_400, trial=60, available_until_day=60_000
)
SHARES = {1: range(7), 2: (0, 2, 4), 4: (0, 4), 8: (0,)}
PLACES = [((1 << cells) - 1) << start for cells, starts in SHARES.items() for start in starts]
SPARE = {1: 7, 2: 6, 4: 2}  # a start that the contract must refuse for that share


class Card:
    """A machine of one GPU, whose provider withholds some cells and then rents, all in one call that is never mined."""

    def __init__(self, chain: PoolChain, machine: int) -> None:
        self._chain = chain
        self._machine = machine
        self._slots = asyncio.Semaphore(16)

    async def takes(self, busy: int, cells: int, place: int = 0) -> bool:
        """Whether a share of `cells` is leased beside `busy`; place: a mask of cells, or wherever there is room."""
        pool, provider = self._chain.pool(), self._chain.address(PROVIDER)
        request = LeaseRequest(
            self._machine, 1, cells, 600, UNIT, b"w" * 32, place and 0x100 | place, allow_unverified=True
        )
        calls = [pool.encode("withhold", self._machine, busy), pool.encode("open", request)]
        asked = {
            "from": provider,
            "to": self._chain.deployment.controller,
            "data": "0x" + pool.encode("multicall", calls).hex(),
        }
        async with self._slots:
            try:
                await self._chain.rpc.call("eth_call", [asked, "latest"])
            except ContractError:
                return False
        return True


async def registered(chain: PoolChain) -> Card:
    pool = chain.pool(PROVIDER)
    await chain.token(PROVIDER).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await pool.register(TERMS, 1, 1, b"h" * 32, b"c" * 32, chain.address(OPERATOR), consent)
    return Card(chain, machine)


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param(sorted({0, 255, *Random(5).sample(range(256), 30)}), id="some"),
        pytest.param(range(256), marks=pytest.mark.slow, id="all 256"),
    ],
)
async def test_each_way_to_take_a_card_leaves_what_the_contract_leases(
    chain: PoolChain, ways: Sequence[int]
) -> None:
    card = await registered(chain)

    async def leased(busy: int) -> tuple[int, dict[int, bool]]:
        places = [place for place in PLACES if not place & busy]
        taken = await asyncio.gather(*(card.takes(busy, place.bit_count(), place) for place in places))
        assert all(taken)
        fit = dict(zip(SHARES, await asyncio.gather(*(card.takes(busy, s) for s in SHARES)), strict=True))
        return sum(1 << cell for cell in range(8) if any(p >> cell & 1 for p in places)), fit

    for busy, (union, fit) in zip(ways, await asyncio.gather(*map(leased, ways)), strict=True):
        assert rentable_cells(busy, 1) == union.bit_count(), f"{busy:08b}"
        assert {share: fits(busy, 1, share) for share in SHARES} == fit, f"{busy:08b}"


async def test_no_share_begins_elsewhere_and_none_lies_on_what_is_taken(chain: PoolChain) -> None:
    card = await registered(chain)
    for share, start in SPARE.items():
        assert not await card.takes(0, share, ((1 << share) - 1) << start & 0xFF)
    assert not await card.takes(0b1000_0000, 4, 0xF0)
    assert not await card.takes(0b0111_1111, 1)


async def test_what_is_below_the_smallest_share_is_not_free(chain: PoolChain) -> None:
    """A hole of one cell is nobody's where the least share is a pair; nor a pair across two of them."""
    await registered(chain)
    machine = replace(await chain.pool().machine_of(1), smallest_share=2)
    for busy, free in ((0, 8), (0b0111_1111, 0), (0b0000_0001, 6), (0b0000_0101, 4), (0b1001_0000, 4)):
        assert free_cells(replace(machine, busy=busy)) == free, f"{busy:08b}"
    assert free_cells(replace(machine, smallest_share=8, busy=1)) == 0


def test_the_smallest_hole_is_where_the_contract_puts_a_share() -> None:
    """What is left free of the hole that the contract breaks, with the share, is the hole's size."""
    rng = Random(3)
    for _ in range(2_000):
        gpus, share = rng.randint(1, 8), rng.choice((1, 2, 4))
        busy = rng.getrandbits(64) & rng.getrandbits(64) & ((1 << 8 * gpus) - 1)
        try:
            chosen = cells(place(busy, share, gpus))
        except NoRoom:
            continue
        size = smallest_hole(busy, gpus, share)
        start = (chosen & -chosen).bit_length() - 1
        around = ((1 << size) - 1) << start // size * size
        assert not busy & around
        wider = ((1 << 2 * size) - 1) << start // (2 * size) * 2 * size
        assert size == 8 or busy & wider, "the hole is no larger"
