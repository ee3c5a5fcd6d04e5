"""While a lease runs: longer, under notice, with another workload, with results."""

from world import (
    ACTIVE,
    DAY,
    ENDED,
    ENDPOINT,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    UNIT,
    WORKLOAD,
    LeaseRequest,
    Params,
    Terms,
    at,
    cost,
    escrow,
    later,
    lease_of,
    now,
    reverts,
)

DEPOSIT = HOUR * PER_SECOND
CID = b"\x01\x55\x12\x20" + 32 * b"\x07"


def state_of(pool, lease):
    return pool.leaseOf(lease).dict()["state"]


# -------------------------------------------------------------------------------------------------------------- extend


def test_an_extension_costs_what_the_longer_lease_would_have(pool, token, tenant, running):
    end = pool.leaseOf(running).dict()["end"]
    had = token.balanceOf(tenant)
    tx = pool.extend(running, HOUR, {"from": tenant})
    assert tx.events["LeaseExtended"] == {
        "lease": running,
        "machine": 1,
        "payer": tenant,
        "end": end + HOUR,
        "deposit": 2 * DEPOSIT,
        "pulled": DEPOSIT,
    }
    assert had - token.balanceOf(tenant) == DEPOSIT
    assert pool.leaseOf(running).dict()["end"] == end + HOUR


def test_extensions_round_as_one_lease_would(pool, provider, operator, tenant):
    pool.setTerms(1, Terms(price=7), {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, revision=2, share=1, duration=61), {"from": tenant}))
    pool.start(lease, ENDPOINT, {"from": operator})
    for _ in range(3):
        pool.extend(lease, 61, {"from": tenant})
    assert pool.leaseOf(lease).dict()["deposit"] == escrow(4 * 61, cells=1, price=7)


def test_whoever_extends_pays_and_the_refund_is_the_tenant_s(pool, tenant, neighbour, running):
    pool.extend(running, HOUR, {"from": neighbour})
    pool.close(running, {"from": tenant})
    assert pool.balanceOf(neighbour) == 0
    assert pool.balanceOf(tenant) > DEPOSIT


def test_an_extension_keeps_the_price_that_the_lease_opened_with(pool, provider, tenant, running):
    pool.setTerms(1, Terms(price=99 * UNIT), {"from": provider})
    assert pool.extend(running, HOUR, {"from": tenant}).events["LeaseExtended"]["deposit"] == 2 * DEPOSIT


def test_a_lease_never_reaches_further_than_the_longest(pool, operator, tenant):
    lease = lease_of(pool.open(LeaseRequest(1, duration=7 * DAY), {"from": tenant}))
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    at(start + 100)
    with reverts("DurationOutOfRange", 7 * DAY + 1, 0, 7 * DAY):
        pool.extend(lease, 101, {"from": tenant})
    at(start + 101)
    pool.extend(lease, 101, {"from": tenant})


def test_a_lease_is_not_extended_beyond_its_machine_s_days(pool, provider, operator, tenant):
    last = now() // DAY + 1
    pool.setTerms(1, Terms(available_until_day=last), {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, revision=2), {"from": tenant}))
    end = pool.start(lease, ENDPOINT, {"from": operator}).timestamp + HOUR
    with reverts("NotAvailableUntil", (last + 1) * DAY + 1, (last + 1) * DAY):
        pool.extend(lease, (last + 1) * DAY - end + 1, {"from": tenant})
    pool.extend(lease, (last + 1) * DAY - end, {"from": tenant})


def test_nothing_extends_by_nothing(pool, tenant, running):
    with reverts("ZeroAmount"):
        pool.extend(running, 0, {"from": tenant})


def test_what_is_over_cannot_be_extended(pool, tenant, running):
    end = pool.leaseOf(running).dict()["end"]
    at(end)
    with reverts("LeaseOver", running, end):
        pool.extend(running, HOUR, {"from": tenant})


def test_what_has_not_started_cannot_be_extended(pool, tenant, opened):
    with reverts("WrongState", opened, OPENED):
        pool.extend(opened, HOUR, {"from": tenant})


def test_a_delisted_machine_extends_no_lease(pool, provider, tenant, running):
    pool.delist(1, {"from": provider})
    with reverts("MachineDelisted", 1):
        pool.extend(running, HOUR, {"from": tenant})


# ----------------------------------------------------------------------------------------------------------- terminate


def test_notice_lowers_the_end_and_pays_for_the_time_cut_off(pool, provider, tenant, operator):
    lease = lease_of(pool.open(LeaseRequest(1, duration=DAY), {"from": tenant}))
    pool.start(lease, ENDPOINT, {"from": operator})
    pool.deposit(provider, 100 * UNIT, {"from": provider})
    penalty = cost(Params().penalty_seconds)

    later(10 * MINUTE)
    tx = pool.terminate(lease, {"from": provider})

    end = tx.timestamp + Params().notice_seconds
    assert tx.events["LeaseTerminated"] == {"lease": lease, "machine": 1, "end": end, "penalty": penalty}
    assert (pool.balanceOf(provider), pool.balanceOf(tenant)) == (100 * UNIT - penalty, penalty)
    seen = pool.leaseOf(lease).dict()
    assert (seen["state"], seen["noticed"], seen["end"]) == (ACTIVE, True, end)
    assert pool.accountOf(provider).dict()["terminated"] == 1
    at(end + HOUR)
    told = pool.close(lease, {"from": provider}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == cost(10 * MINUTE + Params().notice_seconds)


def test_cutting_little_off_costs_little(pool, provider, tenant, operator):
    lease = lease_of(pool.open(LeaseRequest(1, duration=HOUR), {"from": tenant}))
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    pool.deposit(provider, 100 * UNIT, {"from": provider})
    at(start + 1)
    told = pool.terminate(lease, {"from": provider}).events["LeaseTerminated"]
    assert (told["end"], told["penalty"]) == (start + HOUR, 0)


def test_who_cannot_pay_the_penalty_cannot_give_notice(pool, provider, tenant, operator):
    lease = lease_of(pool.open(LeaseRequest(1, duration=DAY), {"from": tenant}))
    pool.start(lease, ENDPOINT, {"from": operator})
    with reverts("InsufficientBalance", provider, 0, cost(Params().penalty_seconds)):
        pool.terminate(lease, {"from": provider})


def test_notice_is_given_once_and_stops_extensions(pool, provider, tenant, running):
    pool.terminate(running, {"from": provider})
    with reverts("UnderNotice", running):
        pool.terminate(running, {"from": provider})
    with reverts("UnderNotice", running):
        pool.extend(running, HOUR, {"from": tenant})


def test_a_tenant_under_notice_may_leave_at_once(pool, provider, tenant, running):
    pool.terminate(running, {"from": provider})
    later(100)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert told["refunded"] > 0


def test_what_is_over_or_has_not_started_needs_no_notice(pool, provider, tenant, opened, operator):
    with reverts("WrongState", opened, OPENED):
        pool.terminate(opened, {"from": provider})
    end = pool.start(opened, ENDPOINT, {"from": operator}).timestamp + HOUR
    at(end)
    with reverts("LeaseOver", opened, end):
        pool.terminate(opened, {"from": provider})


# ------------------------------------------------------------------------------------------- setWorkload, publishResult


def test_a_tenant_may_change_its_workload_before_and_after_the_start(pool, operator, tenant, opened):
    for _ in range(2):
        tx = pool.setWorkload(opened, WORKLOAD, {"from": tenant})
        assert tx.events["WorkloadSet"] == {"lease": opened, "machine": 1, "workload": WORKLOAD}
        if state_of(pool, opened) == OPENED:
            pool.start(opened, ENDPOINT, {"from": operator})


def test_what_is_over_takes_no_new_workload(pool, tenant, running):
    end = pool.leaseOf(running).dict()["end"]
    at(end)
    with reverts("LeaseOver", running, end):
        pool.setWorkload(running, WORKLOAD, {"from": tenant})
    pool.close(running, {"from": tenant})
    with reverts("WrongState", running, ENDED):
        pool.setWorkload(running, WORKLOAD, {"from": tenant})


def test_results_are_published_while_a_lease_runs_and_after(pool, operator, tenant, running):
    told = pool.publishResult(running, CID, {"from": operator}).events["ResultPublished"]
    assert bytes.fromhex(str(told["cid"])[2:]) == CID
    pool.close(running, {"from": tenant})
    pool.publishResult(running, CID, {"from": operator})


def test_results_are_published_until_the_slot_is_used_again(pool, operator, tenant, running):
    pool.close(running, {"from": tenant})
    pool.open(LeaseRequest(1, reuse=running), {"from": tenant})
    with reverts("UnknownLease", running):
        pool.publishResult(running, CID, {"from": operator})


def test_what_never_ran_has_no_results(pool, operator, opened):
    with reverts("WrongState", opened, OPENED):
        pool.publishResult(opened, CID, {"from": operator})
