"""Delegates: who may make some calls for an account, and spend so much of its ledger in a period."""

import pytest
from world import (
    DAY,
    HOUR,
    PER_SECOND,
    UNIT,
    LeaseRequest,
    lease_of,
    now,
    plain,
    reverts,
)

COST = HOUR * PER_SECOND  # of what is opened here
WEEK = 7 * DAY


@pytest.fixture
def rich(pool, tenant):
    """The tenant, with money in the ledger."""
    pool.deposit(tenant, 100 * UNIT, {"from": tenant})
    return tenant


@pytest.fixture
def student(neighbour):
    """Who acts for the tenant."""
    return neighbour


@pytest.fixture
def allow(pool, hub, rich, student):
    """The tenant lets the student spend `cap` in each `period`."""

    def set_(cap, period=WEEK, lasting=30 * DAY):
        hub.setDelegate(pool, student, cap, period, now() + lasting, {"from": rich})

    return set_


@pytest.fixture
def act(pool, hub, rich, student):
    """The student makes one call of the pool for the tenant."""

    def call(name, *arguments, by=student):
        return hub.executeAsDelegate(rich, pool, getattr(pool, name).encode_input(*arguments), {"from": by})

    return call


def test_a_delegate_keeps_to_its_cap(pool, rich, student, thief, allow, act):
    allow(2 * COST - 1)
    tx = act("open", LeaseRequest(1))
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == rich
    assert tx.events["DelegateSpent"] == {
        "account": rich,
        "pool": pool,
        "delegate": student,
        "amount": COST,
        "spent": COST,
    }
    with reverts("CapExceeded", 2 * COST, 2 * COST - 1):
        act("open", LeaseRequest(1))
    with reverts("NotAuthorized", thief):
        act("open", LeaseRequest(1), by=thief)
    assert pool.balanceOf(rich) == 100 * UNIT - COST


# Every call of a pool that its scope leaves out, of those that an account makes with its money or its things.


def test_a_delegate_ends_when_the_account_says_so(pool, hub, rich, student, allow, act):
    allow(UNIT)
    assert hub.setDelegate(pool, student, 0, 0, 0, {"from": rich}).events["DelegateSet"] == {
        "account": rich,
        "pool": pool,
        "delegate": student,
        "cap": 0,
        "period": 0,
        "expiry": 0,
    }
    assert plain(hub.delegationOf(rich, pool, student)) == (0, 0, 0, 0, 0)
    with reverts("NotAuthorized", student):
        act("open", LeaseRequest(1))


def test_a_delegate_of_one_pool_is_none_of_another(hub, create_pool, token, rich, student, allow):
    allow(UNIT)
    other = create_pool(token)
    with reverts("NotAuthorized", student):
        hub.executeAsDelegate(rich, other, other.open.encode_input(LeaseRequest(1)), {"from": student})
