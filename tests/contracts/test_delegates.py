"""Delegates: who may make some calls for an account, and spend so much of its ledger in a period."""

import pytest
from world import (
    DAY,
    ENDPOINT,
    HOUR,
    MINUTE,
    PER_SECOND,
    UNIT,
    WORKLOAD,
    LeaseRequest,
    at,
    later,
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


def test_a_delegate_does_what_a_job_needs_and_the_money_stays_the_tenant_s(pool, operator, rich, allow, act):
    allow(3 * COST)
    lease = lease_of(act("open", LeaseRequest(1)))
    pool.start(lease, ENDPOINT, {"from": operator})
    act("setWorkload", lease, WORKLOAD)
    act("extend", lease, HOUR)
    later(10 * MINUTE)
    act("resize", lease, 4, 0)
    act("close", lease)
    assert pool.balanceOf(rich) == 100 * UNIT - 10 * MINUTE * PER_SECOND
    lease = lease_of(act("open", LeaseRequest(1, duration=MINUTE)))
    act("reject", lease)
    assert pool.leaseOf(lease).dict()["tenant"] == rich


# Every call of a pool that its scope leaves out, of those that an account makes with its money or its things.
OUT_OF_SCOPE = {
    "withdraw": lambda who: (who, 1),
    "transfer": lambda who: (who, 1),
    "deposit": lambda who: (who, 1),
    "multicall": lambda who: ([],),
    "register": lambda who: ((1, 0, 1, 1, 0, 1), 1, 1, WORKLOAD, WORKLOAD, who, (0, b"")),
    "addStake": lambda who: (1, 1),
    "claim": lambda who: ([],),
    "failover": lambda who: (1 << 16, 1, 1, 0, WORKLOAD),
    "transferLease": lambda who: (1 << 16, who, 2**40, b""),
    "cancelOffers": lambda who: (0, 1),
    "acceptOwnership": lambda who: (),
}


@pytest.mark.parametrize("name", OUT_OF_SCOPE)
def test_a_delegate_keeps_to_its_scope(pool, hub, rich, student, allow, name):
    allow(100 * UNIT)
    data = getattr(pool, name).encode_input(*OUT_OF_SCOPE[name](student.address))
    with reverts("ScopeExceeded", str(bytes.fromhex(data[2:10]))):
        hub.executeAsDelegate(rich, pool, data, {"from": student})
    assert pool.balanceOf(rich) == 100 * UNIT


def test_what_comes_back_does_not_raise_the_cap(pool, hub, rich, student, allow, act):
    allow(COST)
    act("close", lease_of(act("open", LeaseRequest(1))))
    with reverts("CapExceeded", 2 * COST, COST):
        act("open", LeaseRequest(1))
    assert hub.delegationOf(rich, pool, student).dict()["spent"] == COST


def test_a_larger_share_is_spent_too(pool, hub, operator, rich, student, allow, act):
    """Two GPUs for the last half of an hour instead of one: half as much again, and not a unit more than that."""
    allow(COST * 3 // 2 - 1)
    lease = lease_of(act("open", LeaseRequest(1)))
    pool.start(lease, ENDPOINT, {"from": operator})
    later(HOUR // 2)
    with reverts("CapExceeded", COST * 3 // 2, COST * 3 // 2 - 1):
        act("resize", lease, 16, 0)
    act("resize", lease, 4, 0)
    assert hub.delegationOf(rich, pool, student).dict()["spent"] == COST


def test_a_new_period_brings_the_cap_again(pool, hub, rich, student, allow, act):
    allow(COST)
    since = now()
    act("open", LeaseRequest(1))
    at(since + WEEK - 1)
    with reverts("CapExceeded"):
        act("open", LeaseRequest(1))
    at(since + WEEK)
    act("open", LeaseRequest(1))
    seen = hub.delegationOf(rich, pool, student).dict()
    assert (seen["since"], seen["spent"]) == (since + WEEK, COST)


def test_without_a_period_the_cap_is_for_life(rich, allow, act):
    allow(COST, period=0)
    act("open", LeaseRequest(1))
    later(29 * DAY)
    with reverts("CapExceeded", 2 * COST, COST):
        act("open", LeaseRequest(1))


def test_a_delegate_expires_to_the_second(pool, rich, allow, act):
    allow(100 * UNIT, lasting=DAY)
    until = now() + DAY
    at(until)
    act("open", LeaseRequest(1))
    at(until + 1)
    with reverts("DelegationExpired", until):
        act("open", LeaseRequest(1))


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


def test_only_pools_have_delegates(hub, token, rich, student):
    with reverts("InvalidTarget", token):
        hub.setDelegate(token, student, UNIT, 0, 2**40 - 1, {"from": rich})


def test_a_group_signs_once_and_its_student_runs_jobs(pool, hub, group, tenant, thief, owner, student):
    club = group(2, tenant, thief)
    pool.deposit(club.address, 100 * UNIT, {"from": owner})
    allowing = hub.setDelegate.encode_input(pool, student, COST, WEEK, now() + 30 * DAY)
    club.execute(owner, (tenant, thief), (hub, allowing))
    opening = pool.open.encode_input(LeaseRequest(1))
    lease = lease_of(hub.executeAsDelegate(club.address, pool, opening, {"from": student}))
    assert pool.leaseOf(lease).dict()["tenant"] == club.address
    with reverts("CapExceeded", 2 * COST, COST):
        hub.executeAsDelegate(club.address, pool, opening, {"from": student})
