"""A gang of four loses one.

A job wants four machines at once, of two providers, for two hours: 7.2 tokens each. It gets all or none. Half an hour
into it one of them fails. The tenant moves that member to a fifth machine, out of what comes back from the fourth; the
other three notice nothing.
"""

import pytest
from signing import consent
from world import (
    ACTIVE,
    CONTACT,
    ENDED,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    PER_SECOND,
    SINK,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    at,
    fault_of,
    fee,
    now,
    reverts,
    word,
)

JOB = word("one job for four")
MEMBERS, SPARE = (2, 3, 4, 5), 6  # machines of one GPU each
FAILING = 4


@pytest.fixture
def machines(pool, provider, neighbour, operator):
    """Machines 2 and 3 are the provider's, 4, 5 and 6 the neighbour's."""
    for who in (provider, provider, neighbour, neighbour, neighbour):
        pool.register(Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, who, operator), {"from": who})


def opening(pool, machine, duration=2 * HOUR):
    return pool.open.encode_input(LeaseRequest(machine, duration=duration, workload=JOB))


def leases(tx):
    return [int(told["lease"]) for told in tx.events["LeaseOpened"]]


def test_a_gang_of_four(machines, pool, token, faults, books, provider, neighbour, operator, tenant, thief):
    # One is not for sale: nothing opens, and not a unit moves.
    had = token.balanceOf(tenant)
    pool.delist(FAILING, {"from": neighbour})
    with reverts("MachineDelisted", FAILING):
        pool.multicall([opening(pool, machine) for machine in MEMBERS], {"from": tenant})
    assert (pool.slotCount(), token.balanceOf(tenant)) == (0, had)
    pool.relist(FAILING, {"from": neighbour})

    # All four, in one transaction, with one workload.
    start = now()
    gang = leases(pool.multicall([opening(pool, machine) for machine in MEMBERS], {"from": tenant}))
    assert had - token.balanceOf(tenant) == 4 * 2 * HOUR * PER_SECOND
    for lease in gang:
        pool.start(lease, ENDPOINT, {"from": operator})
    lost = gang[MEMBERS.index(FAILING)]

    # Minute 30: one fails. Minute 35: the tenant closes that lease, billed to minute 30, and opens another for the 85
    # minutes that are left, at once. 5.4 tokens come back and 5.1 go out again.
    at(start + 30 * MINUTE)
    fault = fault_of(faults.reportOutage(FAILING, {"from": operator}))
    at(start + 35 * MINUTE)
    moved = pool.multicall(
        [pool.close.encode_input(lost), opening(pool, SPARE, 85 * MINUTE)], {"from": tenant}
    )
    assert moved.events["LeaseClosed"]["refunded"] == 90 * MINUTE * PER_SECOND
    (new,) = leases(moved)
    pool.start(new, ENDPOINT, {"from": operator})
    assert pool.balanceOf(tenant) == 5 * MINUTE * PER_SECOND
    assert [pool.leaseOf(lease).dict()["state"] for lease in gang] == [ACTIVE, ACTIVE, ENDED, ACTIVE]
    books()

    # Minute 40: it is back. Ten minutes, said by itself: 4 % of 100 tokens. The tenant was there for five of them: of
    # the tenants' half it has half. Nobody lost the rest.
    at(start + 40 * MINUTE)
    faults.recover(FAILING, 0, b"", {"from": operator})
    faults.applyOutage(fault, [lost], {"from": tenant})
    seen = faults.faultOf(fault).dict()
    assert (seen["amount"], seen["pot"]) == (4 * UNIT, UNIT)

    # The gang ends together. In all: 3 × 7.2 + 1.8 + 5.1 = 28.5 tokens of the 28.8.
    at(start + 2 * HOUR)
    for lease in (*(lease for lease in gang if lease != lost), new):
        pool.close(lease, {"from": thief})
    bills = {provider: 4 * HOUR, neighbour: 2 * HOUR + 30 * MINUTE + 85 * MINUTE}
    for who, seconds in bills.items():
        assert pool.balanceOf(who) == seconds * PER_SECOND - fee(seconds * PER_SECOND)
    assert pool.balanceOf(tenant) == 3 * UNIT // 10
    books()

    at(start + 40 * MINUTE + Params().appeal_window + 1)
    faults.execute(fault, {"from": thief})
    faults.compensate(fault, [lost], {"from": thief})
    assert pool.balanceOf(tenant) == 3 * UNIT // 10 + UNIT
    assert pool.balanceOf(SINK) == 3 * UNIT
    books()
