"""The ledger: tokens come in by deposit, go out by withdrawal, and move only at their owner's word."""

import pytest
from brownie import RefusingToken
from brownie.exceptions import VirtualMachineError
from world import reverts


def test_deposits_add_up(pool, tenant):
    pool.deposit(tenant, 5, {"from": tenant})
    assert pool.deposit(tenant, 7, {"from": tenant}).events["Deposited"]["balance"] == 12
    assert pool.balanceOf(tenant) == 12


def test_a_transfer_moves_within_the_ledger(pool, token, tenant, neighbour):
    pool.deposit(tenant, 10, {"from": tenant})
    held = token.balanceOf(pool)

    tx = pool.transfer(neighbour, 4, {"from": tenant})

    assert (pool.balanceOf(tenant), pool.balanceOf(neighbour)) == (6, 4)
    assert token.balanceOf(pool) == held
    assert tx.events["Transferred"] == {"from": tenant, "to": neighbour, "amount": 4}


def test_a_withdrawal_sends_tokens_wherever_the_owner_says(pool, token, tenant, neighbour):
    pool.deposit(tenant, 10, {"from": tenant})
    had = token.balanceOf(neighbour)

    tx = pool.withdraw(neighbour, 4, {"from": tenant})

    assert token.balanceOf(neighbour) == had + 4
    assert tx.events["Withdrawn"] == {"account": tenant, "to": neighbour, "amount": 4, "balance": 6}


# ------------------------------------------------------------------------------------------------------------ permit


def test_a_permit_saves_the_approval(pool, token, tenant, permit):
    token.approve(pool, 0, {"from": tenant})
    pool.depositWithPermit(tenant, 7, *permit(tenant, 7), {"from": tenant})
    assert pool.balanceOf(tenant) == 7
    assert token.allowance(tenant, pool) == 0


# --------------------------------------------------------------------------------------------------------- odd tokens


def test_a_token_that_says_no_credits_nothing(odd_pool, tenant):
    token, pool = odd_pool(RefusingToken)
    pool.deposit(tenant, 100, {"from": tenant})
    token.setRefusing(True, {"from": tenant})
    with reverts("SafeERC20FailedOperation", token):
        pool.deposit(tenant, 100, {"from": tenant})
    with reverts("SafeERC20FailedOperation", token):
        pool.withdraw(tenant, 100, {"from": tenant})
    assert pool.balanceOf(tenant) == 100


# ---------------------------------------------------------------------------------------------------------- multicall


def test_a_multicall_returns_what_its_calls_return(pool, tenant):
    pool.deposit(tenant, 10, {"from": tenant})
    (answer,) = pool.multicall.call([pool.balanceOf.encode_input(tenant)], {"from": tenant})
    assert int(str(answer), 16) == 10


@pytest.mark.parametrize("calls", [[], [b""], [b"\x01\x02\x03\x04"]])
def test_a_multicall_of_nothing_known_does_nothing(pool, tenant, calls):
    before = pool.balanceOf(tenant)
    if calls:
        with pytest.raises(VirtualMachineError):
            pool.multicall(calls, {"from": tenant})
    else:
        pool.multicall(calls, {"from": tenant})
    assert pool.balanceOf(tenant) == before
