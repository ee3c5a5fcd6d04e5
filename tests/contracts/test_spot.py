"""Spot leases: cheaper, and ended with notice for nothing."""

import pytest
from world import (
    ENDPOINT,
    HOUR,
    MINUTE,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    at,
    escrow,
    lease_of,
    now,
    reverts,
)

SPOT = UNIT
NOTICE = Params().notice_seconds


@pytest.fixture
def spot(pool, provider, operator, tenant):
    """A spot lease of three hours that runs, on machine 1."""
    pool.setTerms(1, Terms(spot_price=SPOT), {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, revision=2, duration=3 * HOUR, spot=True), {"from": tenant}))
    pool.start(lease, ENDPOINT, {"from": operator})
    return lease


def test_a_spot_lease_costs_the_spot_price(pool, spot):
    seen = pool.leaseOf(spot).dict()
    assert (seen["spot"], seen["price"], seen["deposit"]) == (True, SPOT, escrow(3 * HOUR, price=SPOT))


def test_a_machine_without_a_spot_price_sells_none(pool, tenant):
    with reverts("NotSpot", 1):
        pool.open(LeaseRequest(1, spot=True), {"from": tenant})


def test_the_maximum_is_of_the_price_that_is_asked(pool, provider, tenant):
    pool.setTerms(1, Terms(spot_price=SPOT), {"from": provider})
    with reverts("PriceTooHigh", SPOT, SPOT - 1):
        pool.open(LeaseRequest(1, revision=2, spot=True, max_price=SPOT - 1), {"from": tenant})
    with reverts("PriceTooHigh", Terms().price, SPOT):
        pool.open(LeaseRequest(1, revision=2, max_price=SPOT), {"from": tenant})


@pytest.mark.parametrize("role", ["provider", "operator"])
def test_provider_and_operator_give_notice_for_nothing(pool, people, provider, spot, role):
    start = now()
    at(start + MINUTE)
    tx = pool.terminate(spot, {"from": people[role]})
    assert tx.events["LeaseTerminated"] == {
        "lease": spot,
        "machine": 1,
        "end": start + MINUTE + NOTICE,
        "penalty": 0,
    }
    assert pool.accountOf(provider).dict()["terminated"] == 0
    assert pool.leaseOf(spot).dict()["noticed"]
    with reverts("UnderNotice", spot):
        pool.terminate(spot, {"from": people[role]})


def test_nobody_else_does(pool, people, spot):
    for role in set(people) - {"provider", "operator"}:
        with reverts("NotAuthorized", people[role]):
            pool.terminate(spot, {"from": people[role]})


def test_notice_never_puts_an_end_off(pool, operator, spot):
    start = now()
    at(start + 3 * HOUR - MINUTE)
    assert pool.terminate(spot, {"from": operator}).events["LeaseTerminated"]["end"] == start + 3 * HOUR


def test_a_spot_lease_may_be_extended_at_its_price(pool, tenant, spot):
    tx = pool.extend(spot, HOUR, {"from": tenant})
    assert tx.events["LeaseExtended"]["deposit"] == escrow(4 * HOUR, price=SPOT)
