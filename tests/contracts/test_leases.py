"""A lease's life: start, bill by the second, settle, end. Who is paid what, to the unit, at every way out."""

import pytest
from world import (
    ACTIVE,
    CANCELLED,
    ENDED,
    ENDPOINT,
    HOUR,
    MINUTE,
    PER_SECOND,
    WORKLOAD,
    LeaseRequest,
    Params,
    cost,
    fee,
    later,
    lease_of,
    reverts,
    word,
)

DEPOSIT = HOUR * PER_SECOND
WINDOW = Params().start_window
LAG = Params().claim_lag
CID = b"\x01\x55\x12\x20" + 32 * b"\x07"


def state_of(pool, lease):
    return pool.leaseOf(lease).dict()["state"]


def hold_fee(seconds):
    """What the provider and the pool share when a tenant walks away."""
    return cost(seconds) * Params().hold_fee_bps // 10_000


# --------------------------------------------------------------------------------------------------------------- start


def test_billing_begins_at_the_start_and_the_end_moves_with_it(pool, operator, opened):
    later(7 * MINUTE)
    tx = pool.start(opened, ENDPOINT, {"from": operator})
    assert tx.events["LeaseStarted"] == {
        "lease": opened,
        "machine": 1,
        "start": tx.timestamp,
        "end": tx.timestamp + HOUR,
        "endpoint": ENDPOINT,
    }
    lease = pool.leaseOf(opened).dict()
    assert (lease["state"], lease["start"], lease["end"]) == (ACTIVE, tx.timestamp, tx.timestamp + HOUR)
    seen = pool.tenancyOf(opened).dict()
    assert (seen["tenant"], seen["since"], seen["end"]) == (
        lease["tenant"],
        tx.timestamp,
        tx.timestamp + HOUR,
    )


# ------------------------------------------------------------------------------------------------------------- decline


def test_a_declined_lease_costs_nothing_and_is_counted(pool, provider, operator, tenant, opened):
    later(5 * MINUTE)
    tx = pool.decline(opened, word("image-unknown"), {"from": operator})
    told = tx.events["LeaseDeclined"]
    assert told["reason"] == word("image-unknown")
    assert told["refunded"] == pool.balanceOf(tenant) == DEPOSIT
    assert state_of(pool, opened) == CANCELLED
    machine = pool.machineOf(1).dict()
    assert (machine["leased"], machine["stalled"]) == (0, False)
    account = pool.accountOf(provider).dict()
    assert (account["declined"], account["unstarted"], account["feesDue"]) == (1, 0, 0)


# -------------------------------------------------------------------------------------------------------------- reject


def test_a_hold_fee_is_never_more_than_its_lease_would_have_cost(pool, tenant):
    lease = lease_of(pool.open(LeaseRequest(1, duration=MINUTE), {"from": tenant}))
    later(9 * MINUTE)
    told = pool.reject(lease, {"from": tenant}).events["LeaseRejected"]
    assert told["paid"] + told["fee"] == hold_fee(MINUTE)


# --------------------------------------------------------------------------------------------------------------- close


def test_closing_bills_the_seconds_and_no_more(pool, provider, tenant, running):
    later(1234)
    tx = pool.close(running, {"from": tenant})
    bill = cost(1234)
    assert tx.events["LeaseClosed"] == {
        "lease": running,
        "machine": 1,
        "end": tx.timestamp,
        "paid": bill - fee(bill),
        "fee": fee(bill),
        "refunded": DEPOSIT - bill,
    }
    assert pool.balanceOf(provider) == bill - fee(bill)
    assert pool.accountOf(provider).dict()["feesDue"] == fee(bill)
    assert pool.balanceOf(tenant) == DEPOSIT - bill
    lease = pool.leaseOf(running).dict()
    assert (lease["state"], lease["end"], lease["settled"]) == (ENDED, tx.timestamp, bill)
    assert pool.machineOf(1).dict()["leased"] == 0


def test_closing_what_was_not_started_in_time_is_cancelling(pool, tenant, opened):
    later(WINDOW + 1)
    assert pool.close(opened, {"from": tenant}).events["LeaseCancelled"]["refunded"] == DEPOSIT
    assert pool.machineOf(1).dict()["stalled"]


# --------------------------------------------------------------------------------------------------------------- claim


def test_a_claim_pays_what_accrued_up_to_the_lag(pool, provider, neighbour, running):
    later(HOUR // 2)
    told = pool.claim([running], {"from": neighbour}).events["LeaseClaimed"]
    bill = cost(HOUR // 2 - LAG)
    assert (told["settled"], told["paid"], told["fee"]) == (bill, bill - fee(bill), fee(bill))
    assert pool.balanceOf(provider) == bill - fee(bill)
    assert pool.balanceOf(neighbour) == 0
    assert pool.leaseOf(running).dict()["settled"] == bill


# ------------------------------------------------------------------------------------------------------------- unknown


@pytest.mark.parametrize("lease", [0, 1 << 16, 2**255])
def test_a_lease_that_never_was_is_unknown_to_every_call(pool, people, lease):
    for call, arguments in {
        "start": (ENDPOINT,),
        "decline": (word("no-disk"),),
        "cancelUnstarted": (),
        "reject": (),
        "extend": (HOUR,),
        "setWorkload": (WORKLOAD,),
        "close": (),
        "terminate": (),
        "publishResult": (CID,),
    }.items():
        with reverts("UnknownLease", lease):
            getattr(pool, call)(lease, *arguments, {"from": people["tenant"]})
