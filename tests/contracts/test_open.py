"""Opening a lease: what a tenant may ask for, what it pays, and where the contract puts it."""

from world import (
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    WORKLOAD,
    LeaseRequest,
    Params,
    Terms,
    later,
    reverts,
)

SLOT = 1 << 16


def open_(pool, who, **wishes):
    return pool.open(LeaseRequest(1, **wishes), {"from": who})


# ------------------------------------------------------------------------------------------------------- the main path


def test_opening_takes_the_whole_cost_and_tells_everything(pool, token, tenant):
    had = token.balanceOf(tenant)

    tx = open_(pool, tenant)

    assert had - token.balanceOf(tenant) == HOUR * PER_SECOND
    assert tx.events["LeaseOpened"] == {
        "lease": SLOT,
        "machine": 1,
        "tenant": tenant,
        "placement": 0x01FF,
        "revision": 1,
        "params": 1,
        "price": Terms().price,
        "duration": HOUR,
        "deposit": HOUR * PER_SECOND,
        "pulled": HOUR * PER_SECOND,
        "workload": WORKLOAD,
        "flags": 0,
        "backup": "0x" + 64 * "0",
    }
    lease = pool.leaseOf(SLOT).dict()
    assert (lease["tenant"], lease["machine"], lease["state"]) == (tenant, 1, OPENED)
    assert (lease["start"], lease["end"]) == (tx.timestamp, tx.timestamp + HOUR)
    assert (lease["settled"], lease["spot"], lease["noticed"]) == (0, False, False)
    assert pool.machineOf(1).dict()["leased"] == 0xFF
    assert pool.slotCount() == 1


# ---------------------------------------------------------------------------------------------------------------- gang


def test_a_gang_opens_whole(pool, tenant):
    pool.multicall([pool.open.encode_input(LeaseRequest(1)) for _ in range(2)], {"from": tenant})
    assert pool.slotCount() == 2
    assert pool.machineOf(1).dict()["leased"] == 0xFFFF


def test_a_gang_of_which_one_finds_no_place_does_not_open(pool, tenant):
    with reverts("NoFreeCells", 1, 0xFFFF):
        pool.multicall([pool.open.encode_input(LeaseRequest(1)) for _ in range(3)], {"from": tenant})
    assert (pool.slotCount(), pool.machineOf(1).dict()["leased"]) == (0, 0)


def test_moving_is_closing_and_opening_at_once(pool, operator, tenant, running):
    later(10 * MINUTE)
    calls = [
        pool.close.encode_input(running),
        pool.open.encode_input(LeaseRequest(1, placement=0x02FF, reuse=running)),
    ]
    tx = pool.multicall(calls, {"from": tenant})
    assert tx.events["LeaseClosed"]["lease"] == running
    assert pool.machineOf(1).dict()["leased"] == 0xFF00
    assert Params().start_window == 10 * MINUTE
