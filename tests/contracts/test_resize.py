"""Another share of the same machine, on the same lease."""

import pytest
from world import (
    HOUR,
    MINUTE,
    PER_SECOND,
    UNIT,
    at,
    cost,
    escrow,
    fault_of,
    fee,
    now,
    reverts,
)


@pytest.fixture
def later_on(running):
    """A quarter of an hour into the lease, which is past its trial. Returns when it started."""
    start = now()
    at(start + 15 * MINUTE)
    return start


def test_a_larger_share_pays_what_accrued_and_takes_the_rest(
    pool, token, provider, tenant, running, later_on
):
    """A GPU for 15 minutes, then two for 45: 0.9 + 5.4 tokens, of which 3.6 are there."""
    had = token.balanceOf(tenant)
    tx = pool.resize(running, 16, 0, {"from": tenant})
    first, second = cost(15 * MINUTE), escrow(45 * MINUTE, cells=16)
    assert tx.events["LeaseResized"] == {
        "lease": running,
        "machine": 1,
        "placement": 0x03FF,
        "settled": first,
        "paid": first - fee(first),
        "fee": fee(first),
        "deposit": first + second,
        "pulled": first + second - HOUR * PER_SECOND,
        "refunded": 0,
    }
    assert had - token.balanceOf(tenant) == 27 * UNIT // 10
    assert pool.balanceOf(provider) == first - fee(first)
    seen = pool.leaseOf(running).dict()
    assert (seen["segmentStart"], seen["segmentSettled"]) == (later_on + 15 * MINUTE, first)
    assert seen["end"] == later_on + HOUR
    assert pool.machineOf(1).dict()["leased"] == 0xFFFF


def test_a_smaller_share_gives_the_rest_back(pool, provider, tenant, running, later_on):
    """A GPU for 15 minutes, then a quarter of one for 45: 0.9 + 0.675 tokens of 3.6."""
    tx = pool.resize(running, 2, 0, {"from": tenant})
    assert tx.events["LeaseResized"]["refunded"] == pool.balanceOf(tenant) == 2025 * UNIT // 1000
    assert pool.machineOf(1).dict()["leased"] == 0x3
    at(later_on + HOUR)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    billed = 1575 * UNIT // 1000
    assert (told["paid"], told["fee"], told["refunded"]) == (billed - fee(billed), fee(billed), 0)
    assert pool.balanceOf(provider) == billed - fee(billed)


def test_an_extension_after_a_resize_costs_the_new_share(pool, token, tenant, running, later_on):
    """0.9 tokens for the first quarter of an hour, then half a GPU for 45 + 60 minutes: 3.15."""
    pool.resize(running, 4, 0, {"from": tenant})
    tx = pool.extend(running, HOUR, {"from": tenant})
    assert tx.events["LeaseExtended"]["deposit"] == 9 * UNIT // 10 + 315 * UNIT // 100


def test_an_outage_before_a_resize_is_settled_and_after_it_is_taken_off(
    pool, faults, operator, provider, tenant, running
):
    """Dark in minutes 10 to 20, not yet taken off when the lease shrinks in minute 30: what was paid stays paid."""
    start = now()
    at(start + 10 * MINUTE)
    early = fault_of(faults.reportOutage(1, {"from": operator}))
    at(start + 20 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    at(start + 30 * MINUTE)
    pool.resize(running, 4, 0, {"from": tenant})
    with reverts("NothingToApply", early):
        faults.applyOutage(early, [running], {"from": tenant})
    at(start + 40 * MINUTE)
    late = fault_of(faults.reportOutage(1, {"from": operator}))
    at(start + 45 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    faults.applyOutage(late, [running], {"from": tenant})
    at(start + HOUR)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == cost(30 * MINUTE) + cost(25 * MINUTE, cells=4)


def test_through_accounts_it_is_paid_from_the_ledger_alone(pool, tenant, execute, running, later_on):
    call = (pool, pool.resize.encode_input(running, 16, 0))
    with reverts("InsufficientBalance", tenant, 0, 27 * UNIT // 10):
        execute(tenant, call)
    pool.deposit(tenant, 27 * UNIT // 10, {"from": tenant})
    execute(tenant, call)
    assert pool.balanceOf(tenant) == 0
