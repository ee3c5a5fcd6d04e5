"""A lease's life: start, bill by the second, settle, end. Who is paid what, to the unit, at every way out."""

import pytest
from world import (
    ACTIVE,
    CANCELLED,
    DAY,
    ENDED,
    ENDPOINT,
    HOUR,
    MINUTE,
    PER_SECOND,
    REJECTED,
    WORKLOAD,
    LeaseRequest,
    Params,
    Terms,
    at,
    cost,
    escrow,
    fee,
    later,
    lease_of,
    reverts,
    word,
)

DEPOSIT = HOUR * PER_SECOND
WINDOW = Params().start_window
TRIAL = Terms().trial
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


def test_a_lease_can_be_started_up_to_the_last_second_of_its_window(pool, operator, opened):
    deadline = pool.leaseOf(opened).dict()["start"] + WINDOW
    at(deadline)
    pool.start(opened, ENDPOINT, {"from": operator})


def test_a_lease_is_not_started_after_its_window(pool, operator, opened):
    deadline = pool.leaseOf(opened).dict()["start"] + WINDOW
    at(deadline + 1)
    with reverts("StartWindowPassed", opened, deadline):
        pool.start(opened, ENDPOINT, {"from": operator})


def test_a_lease_starts_once(pool, operator, running):
    with reverts("WrongState", running, ACTIVE):
        pool.start(running, ENDPOINT, {"from": operator})


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


def test_a_lease_that_runs_cannot_be_declined(pool, operator, running):
    with reverts("WrongState", running, ACTIVE):
        pool.decline(running, word("no-disk"), {"from": operator})


# ----------------------------------------------------------------------------------------------------- cancelUnstarted


def test_anyone_cancels_what_was_not_started_in_time(pool, provider, tenant, neighbour, opened):
    deadline = pool.leaseOf(opened).dict()["start"] + WINDOW
    at(deadline)
    with reverts("StartWindowOpen", opened, deadline):
        pool.cancelUnstarted(opened, {"from": neighbour})
    at(deadline + 1)
    tx = pool.cancelUnstarted(opened, {"from": neighbour})

    assert tx.events["LeaseCancelled"] == {"lease": opened, "machine": 1, "refunded": DEPOSIT}
    assert pool.balanceOf(tenant) == DEPOSIT
    assert pool.balanceOf(neighbour) == 0
    assert state_of(pool, opened) == CANCELLED
    machine = pool.machineOf(1).dict()
    assert (machine["leased"], machine["stalled"]) == (0, True)
    assert pool.accountOf(provider).dict()["unstarted"] == 1


def test_what_was_started_cannot_be_cancelled(pool, neighbour, running):
    later(WINDOW + 1)
    with reverts("WrongState", running, ACTIVE):
        pool.cancelUnstarted(running, {"from": neighbour})


def test_an_unstarted_lease_moves_no_stake(pool, stalled):
    assert pool.machineOf(1).dict()["stake"] == 2 * Params().min_stake_per_gpu


# -------------------------------------------------------------------------------------------------------------- reject


def test_rejecting_before_the_start_pays_the_hold_fee_for_the_time_since_the_opening(
    pool, provider, tenant, opened
):
    later(8 * MINUTE)
    told = pool.reject(opened, {"from": tenant}).events["LeaseRejected"]
    held = hold_fee(8 * MINUTE)
    assert (told["paid"], told["fee"], told["refunded"]) == (held - fee(held), fee(held), DEPOSIT - held)
    assert pool.balanceOf(provider) == held - fee(held)
    assert pool.balanceOf(tenant) == DEPOSIT - held
    assert state_of(pool, opened) == REJECTED


def test_rejecting_inside_the_trial_pays_the_hold_fee_for_the_time_since_the_start(
    pool, operator, provider, tenant, opened
):
    later(8 * MINUTE)
    pool.start(opened, ENDPOINT, {"from": operator})
    later(TRIAL - 1)
    told = pool.reject(opened, {"from": tenant}).events["LeaseRejected"]
    held = hold_fee(TRIAL - 1)
    assert (told["paid"], told["fee"], told["refunded"]) == (held - fee(held), fee(held), DEPOSIT - held)
    assert pool.leaseOf(opened).dict()["settled"] == held


def test_a_trial_ends(pool, tenant, running):
    deadline = pool.leaseOf(running).dict()["start"] + TRIAL
    at(deadline)
    with reverts("TrialOver", running, deadline):
        pool.reject(running, {"from": tenant})


def test_a_trial_does_not_outlast_its_lease(pool, operator, tenant):
    lease = lease_of(pool.open(LeaseRequest(1, duration=MINUTE), {"from": tenant}))
    end = pool.start(lease, ENDPOINT, {"from": operator}).timestamp + MINUTE
    at(end)
    with reverts("TrialOver", lease, end):
        pool.reject(lease, {"from": tenant})


def test_what_was_not_started_in_time_is_cancelled_and_not_rejected(pool, tenant, opened):
    deadline = pool.leaseOf(opened).dict()["start"] + WINDOW
    at(deadline + 1)
    with reverts("StartWindowPassed", opened, deadline):
        pool.reject(opened, {"from": tenant})


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


def test_past_its_end_anyone_closes_and_the_bill_stopped_at_the_end(pool, tenant, neighbour, running):
    end = pool.leaseOf(running).dict()["end"]
    at(end - 1)
    with reverts("NotAuthorized", neighbour):
        pool.close(running, {"from": neighbour})
    at(end + DAY)
    told = pool.close(running, {"from": neighbour}).events["LeaseClosed"]
    assert (told["end"], told["paid"] + told["fee"], told["refunded"]) == (end, DEPOSIT, 0)
    assert (pool.balanceOf(tenant), pool.balanceOf(neighbour)) == (0, 0)


def test_at_its_end_anyone_closes(pool, neighbour, running):
    at(pool.leaseOf(running).dict()["end"])
    pool.close(running, {"from": neighbour})


def test_closing_before_the_start_is_rejecting(pool, tenant, neighbour, opened):
    later(5 * MINUTE)
    with reverts("NotAuthorized", neighbour):
        pool.close(opened, {"from": neighbour})
    later(5 * MINUTE)
    told = pool.close(opened, {"from": tenant}).events["LeaseRejected"]
    assert told["refunded"] == DEPOSIT - told["paid"] - told["fee"]
    assert told["paid"] > 0
    assert state_of(pool, opened) == REJECTED


def test_closing_what_was_not_started_in_time_is_cancelling(pool, tenant, opened):
    later(WINDOW + 1)
    assert pool.close(opened, {"from": tenant}).events["LeaseCancelled"]["refunded"] == DEPOSIT
    assert pool.machineOf(1).dict()["stalled"]


def test_a_unit_that_rounding_held_back_is_refunded(pool, provider, operator, tenant):
    pool.setTerms(1, Terms(price=1), {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, revision=2, share=1, duration=MINUTE), {"from": tenant}))
    pool.start(lease, ENDPOINT, {"from": operator})
    later(HOUR)
    told = pool.close(lease, {"from": tenant}).events["LeaseClosed"]
    assert (told["paid"], told["fee"], told["refunded"]) == (0, 0, escrow(MINUTE, cells=1, price=1))


@pytest.mark.parametrize("call", ["close", "reject"])
def test_what_has_ended_does_not_end_again(pool, tenant, running, call):
    pool.close(running, {"from": tenant})
    with reverts("WrongState", running, ENDED):
        getattr(pool, call)(running, {"from": tenant})


# --------------------------------------------------------------------------------------------------------------- claim


def test_a_claim_pays_what_accrued_up_to_the_lag(pool, provider, neighbour, running):
    later(HOUR // 2)
    told = pool.claim([running], {"from": neighbour}).events["LeaseClaimed"]
    bill = cost(HOUR // 2 - LAG)
    assert (told["settled"], told["paid"], told["fee"]) == (bill, bill - fee(bill), fee(bill))
    assert pool.balanceOf(provider) == bill - fee(bill)
    assert pool.balanceOf(neighbour) == 0
    assert pool.leaseOf(running).dict()["settled"] == bill


def test_a_claim_tells_totals_and_pays_differences(pool, provider, running):
    start = pool.leaseOf(running).dict()["start"]
    at(start + LAG + 100)
    pool.claim([running], {"from": provider})
    at(start + LAG + 250)
    told = pool.claim([running], {"from": provider}).events["LeaseClaimed"]
    assert told["settled"] == cost(250)
    assert pool.balanceOf(provider) == cost(250) - fee(cost(250))


def test_a_claim_past_the_end_leaves_nothing_but_the_closing(pool, provider, running):
    at(pool.leaseOf(running).dict()["end"] + LAG)
    told = pool.claim([running], {"from": provider}).events["LeaseClaimed"]
    assert told["settled"] == DEPOSIT
    closed = pool.close(running, {"from": provider}).events["LeaseClosed"]
    assert (closed["paid"], closed["refunded"]) == (told["paid"], 0)


def test_nothing_is_claimed_in_the_trial_nor_inside_the_lag(pool, provider, operator, tenant, neighbour):
    pool.setTerms(1, Terms(trial=15 * MINUTE), {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, revision=2), {"from": tenant}))
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    for moment in (start + 15 * MINUTE - 1, start + LAG):
        at(moment)
        with reverts("NothingToClaim", lease):
            pool.claim([lease], {"from": provider})
    at(start + LAG + 1)
    pool.claim([lease], {"from": provider})


def test_what_another_claimed_or_closed_first_spoils_no_batch(pool, provider, operator, tenant, running):
    other = lease_of(pool.open(LeaseRequest(1), {"from": tenant}))
    pool.start(other, ENDPOINT, {"from": operator})
    later(HOUR // 2)
    pool.close(running, {"from": tenant})
    tx = pool.claim([running, 99 << 16, other, other], {"from": provider})
    assert [event["lease"] for event in tx.events["LeaseClaimed"]] == [other]


def test_a_batch_with_nothing_in_it_is_refused(pool, provider, tenant, running):
    with reverts("NothingToClaim", 0):
        pool.claim([], {"from": provider})
    pool.close(running, {"from": tenant})
    with reverts("NothingToClaim", running):
        pool.claim([running], {"from": provider})


def test_a_batch_claims_every_lease_once(pool, provider, operator, tenant, running):
    other = lease_of(pool.open(LeaseRequest(1, duration=DAY), {"from": tenant}))
    start = pool.start(other, ENDPOINT, {"from": operator}).timestamp
    at(start + 2 * HOUR)
    pool.claim([running, other, running, other], {"from": provider})
    bill = DEPOSIT + cost(2 * HOUR - LAG)
    assert pool.balanceOf(provider) == bill - fee(DEPOSIT) - fee(cost(2 * HOUR - LAG))


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
