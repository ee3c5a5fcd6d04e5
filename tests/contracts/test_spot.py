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
