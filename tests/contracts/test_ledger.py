"""The ledger: tokens come in by deposit, go out by withdrawal, and move only at their owner's word."""

import pytest
from brownie import QuietToken, RefusingToken, TaxedToken
from brownie.exceptions import VirtualMachineError
from world import NOBODY, UNIT, reverts


def test_a_deposit_is_credited_to_whom_it_names(pool, token, tenant, neighbour):
    tx = pool.deposit(neighbour, 5 * UNIT, {"from": tenant})

    assert pool.balanceOf(neighbour) == 5 * UNIT
    assert pool.balanceOf(tenant) == 0
    assert token.balanceOf(pool) == tx.events["Transfer"]["value"] + pool.machineOf(1)["stake"]
    assert tx.events["Deposited"] == {
        "account": neighbour,
        "from": tenant,
        "amount": 5 * UNIT,
        "balance": 5 * UNIT,
    }


def test_deposits_add_up(pool, tenant):
    pool.deposit(tenant, 5, {"from": tenant})
    assert pool.deposit(tenant, 7, {"from": tenant}).events["Deposited"]["balance"] == 12
    assert pool.balanceOf(tenant) == 12


def test_nothing_can_neither_be_deposited_nor_withdrawn(pool, tenant, neighbour):
    for call in (pool.deposit, pool.withdraw):
        with reverts("ZeroAmount"):
            call(neighbour, 0, {"from": tenant})


def test_nobody_and_the_pool_itself_receive_nothing(pool, tenant):
    pool.deposit(tenant, 10, {"from": tenant})
    for call in (pool.deposit, pool.transfer, pool.withdraw):
        with reverts("ZeroAddress"):
            call(NOBODY, 1, {"from": tenant})
        with reverts("SelfTransfer"):
            call(pool, 1, {"from": tenant})


def test_a_transfer_moves_within_the_ledger(pool, token, tenant, neighbour):
    pool.deposit(tenant, 10, {"from": tenant})
    held = token.balanceOf(pool)

    tx = pool.transfer(neighbour, 4, {"from": tenant})

    assert (pool.balanceOf(tenant), pool.balanceOf(neighbour)) == (6, 4)
    assert token.balanceOf(pool) == held
    assert tx.events["Transferred"] == {"from": tenant, "to": neighbour, "amount": 4}


def test_a_transfer_to_oneself_changes_nothing(pool, tenant):
    pool.deposit(tenant, 10, {"from": tenant})
    pool.transfer(tenant, 10, {"from": tenant})
    assert pool.balanceOf(tenant) == 10


def test_nobody_transfers_or_withdraws_more_than_there_is(pool, tenant, neighbour):
    pool.deposit(tenant, 10, {"from": tenant})
    for call in (pool.transfer, pool.withdraw):
        with reverts("InsufficientBalance", tenant, 10, 11):
            call(neighbour, 11, {"from": tenant})
        with reverts("InsufficientBalance", neighbour, 0, 1):
            call(neighbour, 1, {"from": neighbour})


def test_a_withdrawal_sends_tokens_wherever_the_owner_says(pool, token, tenant, neighbour):
    pool.deposit(tenant, 10, {"from": tenant})
    had = token.balanceOf(neighbour)

    tx = pool.withdraw(neighbour, 4, {"from": tenant})

    assert token.balanceOf(neighbour) == had + 4
    assert tx.events["Withdrawn"] == {"account": tenant, "to": neighbour, "amount": 4, "balance": 6}


def test_a_deposit_without_allowance_is_refused_by_the_token(pool, token, tenant):
    token.approve(pool, 0, {"from": tenant})
    with reverts("ERC20InsufficientAllowance", pool, 0, 1):
        pool.deposit(tenant, 1, {"from": tenant})


# ------------------------------------------------------------------------------------------------------------ permit


def test_a_permit_saves_the_approval(pool, token, tenant, permit):
    token.approve(pool, 0, {"from": tenant})
    pool.depositWithPermit(tenant, 7, *permit(tenant, 7), {"from": tenant})
    assert pool.balanceOf(tenant) == 7
    assert token.allowance(tenant, pool) == 0


def test_a_permit_that_somebody_used_first_does_no_harm(pool, token, tenant, thief, permit):
    token.approve(pool, 0, {"from": tenant})
    deadline, v, r, s = permit(tenant, 7)
    token.permit(tenant, pool, 7, deadline, v, r, s, {"from": thief})

    pool.depositWithPermit(tenant, 7, deadline, v, r, s, {"from": tenant})

    assert pool.balanceOf(tenant) == 7


def test_a_permit_is_no_use_to_who_did_not_sign_it(pool, token, tenant, thief, permit):
    token.approve(pool, 0, {"from": thief})
    with reverts("ERC20InsufficientAllowance", pool, 0, 7):
        pool.depositWithPermit(thief, 7, *permit(tenant, 7), {"from": thief})


# --------------------------------------------------------------------------------------------------------- odd tokens


@pytest.fixture(scope="session")
def quiet(odd_pool):
    """As USDT: returns nothing, and blocks whom it will."""
    return odd_pool(QuietToken)


def test_a_token_that_returns_nothing_works(quiet, tenant):
    token, pool = quiet
    pool.deposit(tenant, 100, {"from": tenant})
    pool.withdraw(tenant, 60, {"from": tenant})
    assert (pool.balanceOf(tenant), token.balanceOf(pool)) == (40, 40)


def test_a_token_that_takes_a_fee_on_transfer_is_refused(odd_pool, tenant):
    token, pool = odd_pool(TaxedToken)
    token.setTaxed(True, {"from": tenant})
    with reverts("TokenTakesFee", 1000, 990):
        pool.deposit(tenant, 1000, {"from": tenant})


def test_a_token_that_says_no_credits_nothing(odd_pool, tenant):
    token, pool = odd_pool(RefusingToken)
    pool.deposit(tenant, 100, {"from": tenant})
    token.setRefusing(True, {"from": tenant})
    with reverts("SafeERC20FailedOperation", token):
        pool.deposit(tenant, 100, {"from": tenant})
    with reverts("SafeERC20FailedOperation", token):
        pool.withdraw(tenant, 100, {"from": tenant})
    assert pool.balanceOf(tenant) == 100


def test_an_account_that_the_token_blocks_withdraws_to_another_address(quiet, tenant, neighbour):
    token, pool = quiet
    pool.deposit(tenant, 100, {"from": tenant})
    token.setBlocked(tenant, True, {"from": neighbour})
    with reverts("Blocked", tenant):
        pool.withdraw(tenant, 100, {"from": tenant})
    pool.withdraw(neighbour, 100, {"from": tenant})
    assert pool.balanceOf(tenant) == 0


# ---------------------------------------------------------------------------------------------------------- multicall


def test_a_multicall_happens_whole(pool, tenant, neighbour):
    pool.multicall(
        [
            pool.deposit.encode_input(tenant, 10),
            pool.transfer.encode_input(neighbour, 4),
            pool.withdraw.encode_input(tenant, 6),
        ],
        {"from": tenant},
    )
    assert (pool.balanceOf(tenant), pool.balanceOf(neighbour)) == (0, 4)


def test_a_multicall_happens_not_at_all_and_tells_why(pool, tenant, neighbour):
    calls = [pool.deposit.encode_input(tenant, 10), pool.transfer.encode_input(neighbour, 11)]
    with reverts("InsufficientBalance", tenant, 10, 11):
        pool.multicall(calls, {"from": tenant})
    assert pool.balanceOf(tenant) == 0


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
