"""While a lease runs: longer, under notice, with another workload, with results."""

from world import (
    ACTIVE,
    DAY,
    ENDPOINT,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    UNIT,
    WORKLOAD,
    LeaseRequest,
    Params,
    at,
    cost,
    later,
    lease_of,
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


# ------------------------------------------------------------------------------------------- setWorkload, publishResult


def test_a_tenant_may_change_its_workload_before_and_after_the_start(pool, operator, tenant, opened):
    for _ in range(2):
        tx = pool.setWorkload(opened, WORKLOAD, {"from": tenant})
        assert tx.events["WorkloadSet"] == {"lease": opened, "machine": 1, "workload": WORKLOAD}
        if state_of(pool, opened) == OPENED:
            pool.start(opened, ENDPOINT, {"from": operator})


def test_results_are_published_while_a_lease_runs_and_after(pool, operator, tenant, running):
    told = pool.publishResult(running, CID, {"from": operator}).events["ResultPublished"]
    assert bytes.fromhex(str(told["cid"])[2:]) == CID
    pool.close(running, {"from": tenant})
    pool.publishResult(running, CID, {"from": operator})
