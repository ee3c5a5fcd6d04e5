"""The pool's own affairs: parameters with a delay, a pause that stops nobody leaving, its owner and its treasury."""

from signing import consent
from world import (
    CONTACT,
    DAY,
    HARDWARE,
    HOUR,
    NOBODY,
    STAKE,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    at,
    later,
    lease_of,
    plain,
    reverts,
)

TIMELOCK = 2 * DAY


# ---------------------------------------------------------------------------------------------------------- parameters


def test_a_proposal_comes_into_force_by_time_alone_and_to_the_second(pool, owner, tenant):
    dearer = Params(fee_bps=700)
    tx = pool.proposeParams(dearer, {"from": owner})
    due = tx.timestamp + TIMELOCK
    assert tx.events["ParamsProposed"]["inForceAt"] == due
    assert plain(pool.proposedParams()) == (2, due)

    at(due - 1)
    pool.deposit(tenant, 1, {"from": tenant})
    assert pool.paramsVersion() == 1
    at(due)
    pool.deposit(tenant, 1, {"from": tenant})
    assert pool.paramsVersion() == 2
    assert plain(pool.params(2)) == dearer
    assert plain(pool.params(1)) == Params()
    assert plain(pool.proposedParams()) == (0, 0)


def test_a_proposal_can_be_withdrawn_before_its_time(pool, owner):
    pool.proposeParams(Params(fee_bps=700), {"from": owner})
    assert pool.cancelParams({"from": owner}).events["ParamsCancelled"] == {"version": 2}
    later(TIMELOCK + DAY)
    pool.proposeParams(Params(fee_bps=1), {"from": owner})
    assert pool.paramsVersion() == 1


# --------------------------------------------------------------------------------------------------------------- pause


def test_a_pause_stops_opening_and_registering(pool, owner, provider, operator, tenant):
    assert pool.setPaused(True, {"from": owner}).events["PausedSet"] == {"paused": True}
    with reverts("Paused"):
        pool.open(LeaseRequest(1), {"from": tenant})
    with reverts("Paused"):
        pool.register(
            Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
        )
    pool.setPaused(False, {"from": owner})
    pool.open(LeaseRequest(1), {"from": tenant})


def test_a_pause_stops_nobody_leaving(pool, token, owner, provider, operator, tenant, neighbour, running):
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    other = lease_of(pool.open(LeaseRequest(1), {"from": tenant}))
    pool.setPaused(True, {"from": owner})

    later(HOUR // 2)
    pool.claim([running], {"from": provider})
    pool.cancelUnstarted(other, {"from": neighbour})
    pool.close(running, {"from": tenant})
    pool.withdraw(tenant, pool.balanceOf(tenant), {"from": tenant})
    pool.withdraw(provider, pool.balanceOf(provider), {"from": provider})
    pool.retire(1, {"from": provider})
    later(Params().unstake_delay)
    pool.unstake(1, {"from": provider})
    pool.withdraw(provider, STAKE, {"from": provider})

    assert token.balanceOf(pool) == pool.accountOf(provider).dict()["feesDue"]


# ------------------------------------------------------------------------------------------------ owner and treasury


def test_ownership_passes_in_two_steps(pool, owner, neighbour):
    tx = pool.transferOwnership(neighbour, {"from": owner})
    assert tx.events["OwnershipTransferStarted"] == {"owner": owner, "pendingOwner": neighbour}
    assert (pool.owner(), pool.pendingOwner()) == (owner, neighbour)
    tx = pool.acceptOwnership({"from": neighbour})
    assert tx.events["OwnershipTransferred"] == {"owner": neighbour}
    assert (pool.owner(), pool.pendingOwner()) == (neighbour, NOBODY)
    with reverts("NotAuthorized", owner):
        pool.setPaused(True, {"from": owner})


def test_fees_gather_with_the_provider_and_are_pulled_to_the_treasury(
    pool, provider, treasury, tenant, neighbour, running
):
    later(HOUR // 2)
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    account = pool.accountOf(provider).dict()
    assert account["feesDue"] == account["feesPaid"] == closed["fee"] > 0

    tx = pool.pullFees([provider], {"from": neighbour})

    assert tx.events["FeesPulled"] == {"provider": provider, "treasury": treasury, "amount": closed["fee"]}
    assert pool.balanceOf(treasury) == closed["fee"]
    account = pool.accountOf(provider).dict()
    assert (account["feesDue"], account["feesPaid"]) == (0, closed["fee"])


def test_fees_go_to_the_treasury_of_the_day(pool, owner, provider, treasury, tenant, neighbour, running):
    later(HOUR // 2)
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert pool.setTreasury(neighbour, {"from": owner}).events["TreasurySet"] == {"treasury": neighbour}
    pool.pullFees([provider], {"from": owner})
    assert (pool.balanceOf(treasury), pool.balanceOf(neighbour)) == (0, closed["fee"])


# --------------------------------------------------------------------------------------------------------------- reads


def test_the_pool_knows_its_parts(pool, token, hub, owner, treasury):
    assert pool.token() == token
    assert pool.accounts() == hub
    assert pool.owner() == owner
    assert pool.treasury() == treasury
    assert not pool.paused()
    assert (pool.machineCount(), pool.slotCount()) == (1, 0)


def test_raw_storage_can_be_read_in_bulk(pool):
    slots = [f"0x{slot:064x}" for slot in range(4)]
    values = pool.extsload(slots)
    assert len(values) == 4
    assert any(int(str(value), 16) for value in values)


def test_the_pool_tells_its_typed_data_domain(pool, chain):
    _, name, version, chain_id, contract, _, extensions = pool.eip712Domain()
    assert (name, version, chain_id, contract, extensions) == ("Leasehold", "1", chain.id, pool, ())
