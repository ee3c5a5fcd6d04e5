"""Spot prices, prices that were offered, and gangs: what a wish takes and which machines take it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import LeaseRequest
from leasehold.chain.typed import Offer
from leasehold.market import (
    Funds,
    Listing,
    MachineUnavailable,
    NoMachineMatches,
    Opening,
    Payment,
    PriceAboveMaximum,
    SignedOffer,
    Wish,
    choose,
    choose_gang,
    extension_cost,
    obstacle,
    quote,
    shortfall,
)

from .test_quote import LEASE, MACHINE, MONEY, NOW, PARAMS

FUNDS = Funds(ledger=10**12, wallet=0, allowance=0)
SPOT = Wish(8, 7_200, allow_unverified=True, spot=True)


def test_a_spot_lease_costs_the_spot_price_and_pays_no_penalty() -> None:
    machine = replace(MACHINE, terms=replace(MACHINE.terms, spot_price=1_000_000))
    listed, spot = (
        quote(machine, PARAMS, replace(SPOT, spot=False), FUNDS),
        quote(machine, PARAMS, SPOT, FUNDS),
    )
    assert (listed.price, spot.price) == (2_500_000, 1_000_000)
    assert listed.penalty_at_most > 0 == spot.penalty_at_most
    assert spot.spot
    assert "penalty" in dict(listed.refunds(MONEY))["ended by the provider (1h notice)"]
    assert dict(spot.refunds(MONEY))["ended by the provider (1h notice)"] == "what is unused"
    assert obstacle(machine, 1, SPOT, NOW, MONEY) is None
    none = obstacle(MACHINE, 1, SPOT, NOW, MONEY)
    assert isinstance(none, MachineUnavailable)
    assert "sells no spot leases" in str(none)


def test_an_offered_price_stands_in_place_of_price_durations_and_days() -> None:
    wish = Wish(8, MACHINE.terms.max_duration * 40, allow_unverified=True, offered=1_000)
    assert obstacle(MACHINE, 1, wish, NOW, MONEY) is None
    assert obstacle(MACHINE, 1, replace(wish, offered=None), NOW, MONEY) is not None
    assert quote(MACHINE, PARAMS, wish, FUNDS).price == 1_000
    dear = obstacle(MACHINE, 1, replace(wish, max_price=999), NOW, MONEY)
    assert isinstance(dear, PriceAboveMaximum)
    delisted = obstacle(replace(MACHINE, delisted=True), 1, wish, NOW, MONEY)
    assert isinstance(delisted, MachineUnavailable)


def test_a_gang_takes_the_cheapest_that_have_room() -> None:
    prices = {1: 3, 2: 1, 3: 2, 4: 1}
    listings = [
        Listing(replace(MACHINE, id=number, terms=replace(MACHINE.terms, price=price)), MONEY)
        for number, price in prices.items()
    ]
    full = replace(listings[1], machine=replace(listings[1].machine, busy=0xFFFF, leased=0xFFFF))
    wish = Wish(8, 7_200, allow_unverified=True)
    assert [each.id for each in choose_gang(listings, wish, 1, NOW, 3)] == [2, 4, 3]
    assert [each.id for each in choose_gang([*listings[2:], full], wish, 1, NOW, 2)] == [4, 3]
    assert choose(listings, wish, 1, NOW).id == 2
    with pytest.raises(NoMachineMatches, match="Only 4 of the 5"):
        choose_gang(listings, wish, 1, NOW, 5)
    with pytest.raises(MachineUnavailable, match="no room"):
        choose_gang([full], wish, 1, NOW, 1)
    with pytest.raises(NoMachineMatches, match="The cheapest"):
        choose_gang([full, full], wish, 1, NOW, 2)
    with pytest.raises(NoMachineMatches, match="No machine matches"):
        choose_gang([], wish, 1, NOW, 1)


def test_what_is_asked_of_the_pool_is_what_was_quoted() -> None:
    offered = quote(MACHINE, PARAMS, replace(SPOT, spot=False), FUNDS)
    offer = Offer(
        account=MACHINE.provider,
        machine=1,
        revision=1,
        price=1,
        cells=8,
        duration=1,
        spot=False,
        tenant="0x" + "11" * 20,
        nonce=1,
        expires_at=1,
    )
    opening = Opening(offered, settle=(5,), reuse=7, backup=b"\1" * 32, signed=SignedOffer(offer, b"\1"))
    assert opening.request(b"\2" * 32) == LeaseRequest(
        machine=MACHINE.id,
        revision=MACHINE.revision,
        share=8,
        duration=7_200,
        max_price=2_500_000,
        workload=b"\2" * 32,
        allow_unverified=True,
        settle=(5,),
        reuse=7,
        backup=b"\1" * 32,
    )


def test_more_time_costs_what_the_escrow_lacks() -> None:
    assert extension_cost(LEASE, 3_600) == 2_500_000
    assert extension_cost(replace(LEASE, deposit=LEASE.deposit + 10**9), 3_600) == 0
    short = shortfall(Payment(10, 7, 7), Funds(3, 2, 0), MONEY)
    assert short is not None
    assert "get 0.000005 USDT more" in str(short)
    assert shortfall(Payment(10, 2, 2), Funds(8, 2, 0), MONEY) is None
