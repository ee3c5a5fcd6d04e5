"""Much of a pool in one call, for programs and people."""

import pytest
from brownie import Lens
from world import ACTIVE, HOUR, OPENED, LeaseRequest, Params, later, lease_of, plain


@pytest.fixture
def lens(owner):
    return Lens.deploy({"from": owner})


def test_the_table_of_powers(pool, lens, token, owner, treasury, thief):
    pool.proposeParams(Params(fee_bps=700), {"from": owner})
    pool.transferOwnership(thief, {"from": owner})
    seen = lens.pool(pool).dict()
    assert (seen["owner"], seen["pendingOwner"], seen["treasury"]) == (owner, thief, treasury)
    assert seen["token"] == token
    assert (seen["committee"], seen["faults"], seen["reputation"], seen["directory"]) == tuple(
        pool.companions()
    )
    assert (seen["machineCount"], seen["slotCount"]) == (1, 0)
    assert tuple(seen["params"].values()) == tuple(Params())
    assert tuple(seen["proposed"].values()) == tuple(Params(fee_bps=700))
    assert (seen["proposedVersion"], seen["inForceAt"]) == tuple(pool.proposedParams())


def test_machines_by_pages(pool, lens, provider):
    ((machine, seen, score, discount),) = lens.machines(pool, 0, 10)
    assert (machine, score, discount) == (1, 0, 0)
    assert seen == pool.machineOf(1)
    assert plain(lens.machines(pool, 1, 10)) == ()


def test_the_newest_lease_of_each_slot(pool, lens, running, tenant):
    later(HOUR)
    pool.close(running, {"from": tenant})
    again = lease_of(pool.open(LeaseRequest(1, reuse=running), {"from": tenant}))
    ((lease, seen),) = lens.leases(pool, [running >> 16])
    assert lease == again != running
    assert seen.dict()["state"] == OPENED != ACTIVE


def test_a_provider(pool, lens, provider, running, neighbour):
    later(HOUR)
    pool.close(running, {"from": neighbour})
    seen = lens.provider(pool, provider).dict()
    assert seen["account"] == pool.accountOf(provider).dict()
    assert seen["balance"] == pool.balanceOf(provider)
    assert seen["discountBps"] == 5 * seen["score"]
