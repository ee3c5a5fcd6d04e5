"""Acting for an account: anyone may submit what the account itself approved, once, as approved, in time."""

import pytest
from brownie import SmartWallet
from world import (
    DAY,
    ENDPOINT,
    HOUR,
    NOBODY,
    PER_SECOND,
    UNIT,
    LeaseRequest,
    lease_of,
    now,
)


@pytest.fixture
def wallet(pool, token, tenant):
    """A smart account: the tenant owns it, and it has money in the ledger."""
    wallet = SmartWallet.deploy(tenant, {"from": tenant})
    pool.deposit(wallet, 100 * UNIT, {"from": tenant})
    return wallet


@pytest.fixture
def rich(pool, tenant):
    """The tenant, with money in the ledger."""
    pool.deposit(tenant, 100 * UNIT, {"from": tenant})
    return tenant


# --------------------------------------------------------------------------------------------------- acting by a proof


def test_a_renter_without_gas_opens_a_lease_that_another_submits(pool, hub, rich, neighbour, execute):
    tx = execute(rich, (pool, pool.open.encode_input(LeaseRequest(1))))

    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == rich
    assert pool.balanceOf(rich) == 100 * UNIT - HOUR * PER_SECOND
    assert tx.events["Executed"] == {"account": rich, "nonce": 0, "submitter": neighbour}
    assert hub.nonceOf(rich, 0) == 1
    assert hub.actor() == NOBODY


def test_several_calls_happen_whole_and_answer_each(pool, hub, rich, neighbour, approve_calls, execute):
    calls = [
        (pool, pool.open.encode_input(LeaseRequest(1))),
        (pool, pool.transfer.encode_input(neighbour, UNIT)),
    ]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    first, second = hub.execute.call(rich, calls, 0, deadline, proof, {"from": neighbour})
    assert (int(str(first), 16), len(second)) == (1 << 16, 0)
    execute(rich, *calls)
    assert pool.balanceOf(neighbour) == UNIT


def test_every_role_can_act_by_proof(pool, provider, operator, owner, rich, execute):
    lease = lease_of(execute(rich, (pool, pool.open.encode_input(LeaseRequest(1)))))
    execute(operator, (pool, pool.start.encode_input(lease, ENDPOINT)))
    execute(provider, (pool, pool.delist.encode_input(1)))
    tx = execute(owner, (pool, pool.transferOwnership.encode_input(rich)))
    assert tx.events["OwnershipTransferStarted"] == {"owner": owner, "pendingOwner": rich}
    execute(rich, (pool, pool.acceptOwnership.encode_input()))
    assert pool.owner() == rich


def test_a_smart_account_acts_by_erc_1271(pool, wallet, tenant, execute):
    tx = execute(wallet, (pool, pool.open.encode_input(LeaseRequest(1))), signer=tenant, kind=b"\x02")
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == wallet


# -------------------------------------------------------------------------------------------------------- isAuthorized


def test_a_signature_that_recovers_nobody_is_not_nobody_s(hub):
    assert not hub.isAuthorized(NOBODY, 32 * b"\1", b"\x01" + 64 * b"\xff" + b"\x1b")
