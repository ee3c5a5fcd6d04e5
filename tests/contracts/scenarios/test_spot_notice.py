"""A spot job gets notice.

A provider sells idle time at a quarter of its price: 0.9 tokens an hour. Whoever takes it may be asked to leave, with
an hour's notice and for nothing. When a tenant comes who pays in full, the operator gives notice; nobody else could
have.
"""

import pytest
from world import (
    ENDPOINT,
    HOUR,
    MINUTE,
    PER_SECOND,
    UNIT,
    LeaseRequest,
    Terms,
    at,
    fee,
    lease_of,
    now,
    reverts,
)

SPOT = 9 * UNIT // 10  # an hour of a GPU


@pytest.fixture
def idle(pool, provider):
    """Machine 1, which sells its idle time too; all of it but one GPU is out of sale."""
    pool.setTerms(1, Terms(spot_price=SPOT), {"from": provider})
    pool.withhold(1, 0xFF00, {"from": provider})


def test_a_spot_job_makes_room(idle, pool, books, rent, provider, operator, tenant, neighbour, thief):
    # Ten hours at 0.9: the escrow is 9 tokens.
    start = now()
    lease = rent(tenant, revision=2, duration=10 * HOUR, spot=True)
    assert pool.leaseOf(lease).dict()["deposit"] == 9 * UNIT

    # The neighbour would pay four times as much. Opening does not push anybody out.
    at(start + 2 * HOUR)
    with reverts("NoFreeCells", 1, 0xFFFF):
        pool.open(LeaseRequest(1, revision=2), {"from": neighbour})
    for stranger in (neighbour, thief):
        with reverts("NotAuthorized", stranger):
            pool.terminate(lease, {"from": stranger})

    # Asked, the operator gives notice: the end comes in an hour, and costs the provider nothing.
    told = pool.terminate(lease, {"from": operator}).events["LeaseTerminated"]
    assert (told["end"], told["penalty"]) == (start + 3 * HOUR, 0)
    assert pool.accountOf(provider).dict()["terminated"] == 0
    with reverts("UnderNotice", lease):
        pool.extend(lease, HOUR, {"from": tenant})
    at(start + 3 * HOUR - 1)
    with reverts("NotAuthorized", neighbour):
        pool.close(lease, {"from": neighbour})

    # The hour is the tenant's to save its work. At its end the neighbour closes and opens in one transaction: three
    # hours are billed, 2.7 tokens, and the other seven, 6.3 tokens, come back.
    at(start + 3 * HOUR)
    tx = pool.open(LeaseRequest(1, revision=2, settle=(lease,)), {"from": neighbour})
    assert tx.events["LeaseClosed"]["refunded"] == pool.balanceOf(tenant) == 63 * UNIT // 10
    assert pool.balanceOf(provider) == 27 * UNIT // 10 - fee(27 * UNIT // 10)
    pool.start(lease_of(tx), ENDPOINT, {"from": operator})
    pool.publishResult(lease, b"\x01\x55", {"from": operator})  # what the job saved
    books()


def test_a_job_at_the_full_price_does_not(idle, pool, books, rent, provider, operator, tenant):
    """Who pays the full price is asked to leave only by the provider, who pays for it: two hours, 7.2 tokens."""
    start = now()
    lease = rent(tenant, revision=2, duration=10 * HOUR)
    at(start + 30 * MINUTE)
    with reverts("NotAuthorized", operator):
        pool.terminate(lease, {"from": operator})
    pool.deposit(provider, 8 * UNIT, {"from": provider})
    pool.terminate(lease, {"from": provider})
    assert pool.balanceOf(tenant) == 2 * HOUR * PER_SECOND
    assert pool.accountOf(provider).dict()["terminated"] == 1

    # It leaves an hour and a half after it came, with the other eight and a half hours' money.
    at(start + 90 * MINUTE)
    pool.close(lease, {"from": tenant})
    assert pool.balanceOf(tenant) == (2 * HOUR + 510 * MINUTE) * PER_SECOND
    books()
