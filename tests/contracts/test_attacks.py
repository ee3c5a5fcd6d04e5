"""The thief's tests: each way to money that is not one's own, and each trick that should cost more than it brings."""

import pytest
from brownie import EagerToken
from brownie.exceptions import VirtualMachineError
from signing import consent
from world import (
    CONTACT,
    DAY,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    PER_SECOND,
    STAKE,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    at,
    cost,
    fee,
    later,
    lease_of,
    now,
    reverts,
    selector,
    word,
)

DEPOSIT = HOUR * PER_SECOND


def wealth(pool, token, who):
    """Everything an account could lay its hands on."""
    return token.balanceOf(who) + pool.balanceOf(who)


# ------------------------------------------------------------------------------------------------------- reentrancy


# Everything that moves value, as calls that would do if they came from outside.
MOVING = {
    "deposit": lambda who: (who, 1),
    "depositWithPermit": lambda who: (who, 1, 0, 27, HARDWARE, HARDWARE),
    "transfer": lambda who: (who, 1),
    "withdraw": lambda who: (who, 1),
    "register": lambda who: (Terms(), 1, 1, HARDWARE, CONTACT, who, (0, b"")),
    "addStake": lambda who: (1, 1),
    "unstake": lambda who: (1,),
    "open": lambda who: (LeaseRequest(1),),
    "decline": lambda who: (1 << 16, word("no-disk")),
    "cancelUnstarted": lambda who: (1 << 16,),
    "reject": lambda who: (1 << 16,),
    "extend": lambda who: (1 << 16, HOUR),
    "terminate": lambda who: (1 << 16,),
    "close": lambda who: (1 << 16,),
    "claim": lambda who: ([1 << 16],),
    "pullFees": lambda who: ([who],),
}


@pytest.fixture(scope="session")
def eager(odd_pool, provider, operator, tenant):
    """A pool whose token calls out in the midst of every transfer, and a machine and a lease in it."""
    token, pool = odd_pool(EagerToken)
    pool.register(
        Terms(), 2, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    pool.open(LeaseRequest(1), {"from": tenant})
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    return token, pool


def kept_out(token):
    """Whether the guard met everything that the token tried."""
    return (
        token.attempts() > 0
        and not token.succeeded()
        and token.answer() == selector("ReentrancyGuardReentrantCall")
    )


@pytest.mark.parametrize("call", MOVING)
def test_nothing_that_moves_value_can_be_entered_from_within_a_deposit(eager, tenant, thief, call):
    token, pool = eager
    data = getattr(pool, call).encode_input(*MOVING[call](thief.address))
    token.arm(pool, data, {"from": thief})
    pool.deposit(tenant, 1, {"from": tenant})
    assert kept_out(token)


@pytest.mark.parametrize("outer", ["withdraw", "open", "extend", "addStake", "register"])
def test_no_call_that_moves_tokens_lets_another_in(eager, provider, operator, tenant, thief, outer):
    token, pool = eager
    pool.start(1 << 16, ENDPOINT, {"from": operator})
    pool.withdraw(tenant, 5 * UNIT, {"from": tenant})
    token.arm(pool, pool.withdraw.encode_input(thief, 1), {"from": thief})
    arguments = {
        "withdraw": (tenant, 1),
        "open": (LeaseRequest(1, duration=4 * HOUR),),
        "extend": (1 << 16, 4 * HOUR),
        "addStake": (1, 100 * UNIT),
        "register": (Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, tenant, operator)),
    }
    getattr(pool, outer)(*arguments[outer], {"from": tenant})
    assert kept_out(token)


def test_a_multicall_is_no_way_around_the_guard(eager, tenant, thief):
    token, pool = eager
    token.arm(pool, pool.multicall.encode_input([pool.withdraw.encode_input(thief, 1)]), {"from": thief})
    pool.multicall([pool.deposit.encode_input(tenant, 1)], {"from": tenant})
    assert kept_out(token)


def test_nobody_borrows_the_actor_of_a_running_execute(
    eager, hub, pool, tenant, thief, execute, approve_calls
):
    """While Accounts acts for the tenant, the token hands the thief's own, perfectly good approval to Accounts."""
    token, odd = eager
    calls = [(pool, pool.transfer.encode_input(thief, 1))]
    deadline = now() + DAY
    proof = approve_calls(thief, calls, 0, deadline)
    token.arm(hub, hub.execute.encode_input(thief, calls, 0, deadline, proof), {"from": thief})
    execute(tenant, (odd, odd.withdraw.encode_input(tenant, 1)))
    assert (token.attempts(), token.succeeded()) == (1, False)
    assert token.answer() == selector("Nested")


def test_a_token_that_calls_another_pool_acts_for_itself(eager, pool, token, tenant, thief, execute):
    eager_token, odd = eager
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    eager_token.arm(pool, pool.withdraw.encode_input(thief, 1), {"from": thief})
    execute(tenant, (odd, odd.withdraw.encode_input(tenant, 1)))
    assert (eager_token.attempts(), eager_token.succeeded()) == (1, False)
    assert pool.balanceOf(tenant) == 10 * UNIT


# ------------------------------------------------------------------------------------------------- other people's money


def test_a_thief_has_no_balance_to_move(pool, tenant, thief):
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    for call in (pool.withdraw, pool.transfer):
        with reverts("InsufficientBalance", thief, 0, 1):
            call(thief, 1, {"from": thief})


def test_an_allowance_is_its_owner_s_to_use(pool, token, tenant, thief):
    had = token.balanceOf(tenant)
    pool.deposit(thief, UNIT, {"from": thief})
    pool.open(LeaseRequest(1), {"from": thief})
    assert token.balanceOf(tenant) == had


def test_what_others_pay_for_one_s_lease_is_refunded_to_its_tenant_alone(
    pool, token, tenant, neighbour, thief
):
    lease = lease_of(pool.open(LeaseRequest(1), {"from": tenant}))
    had = wealth(pool, token, thief)
    later(Params().start_window + 1)
    pool.close(lease, {"from": thief})
    assert wealth(pool, token, thief) == had
    assert pool.balanceOf(tenant) == DEPOSIT


def test_settling_for_others_pays_the_thief_nothing(pool, token, provider, tenant, thief, running):
    had = wealth(pool, token, thief)
    later(HOUR + DAY)
    pool.claim([running], {"from": thief})
    pool.close(running, {"from": thief})
    pool.pullFees([provider], {"from": thief})
    pool.retire(1, {"from": provider})
    later(Params().unstake_delay)
    pool.unstake(1, {"from": thief})
    assert wealth(pool, token, thief) == had
    assert pool.balanceOf(provider) == STAKE + DEPOSIT - fee(DEPOSIT)


def test_a_closed_lease_pays_nobody_twice(pool, provider, tenant, thief, running):
    later(HOUR // 2)
    pool.close(running, {"from": tenant})
    paid = pool.balanceOf(provider), pool.balanceOf(tenant)
    for call in (
        lambda: pool.close(running, {"from": tenant}),
        lambda: pool.claim([running], {"from": provider}),
        lambda: pool.reject(running, {"from": tenant}),
        lambda: pool.cancelUnstarted(running, {"from": thief}),
        lambda: pool.terminate(running, {"from": provider}),
        lambda: pool.extend(running, HOUR, {"from": tenant}),
    ):
        with pytest.raises(VirtualMachineError):
            call()
    assert (pool.balanceOf(provider), pool.balanceOf(tenant)) == paid


def test_a_lease_s_slot_is_reused_once(pool, tenant, running):
    pool.close(running, {"from": tenant})
    again = pool.open.encode_input(LeaseRequest(1, reuse=running))
    with reverts("UnknownLease", running):
        pool.multicall([again, again], {"from": tenant})


def test_the_operator_s_key_moves_no_money(pool, token, people, operator, running):
    before = {role: wealth(pool, token, who) for role, who in people.items()}
    pool.setContact(1, CONTACT, {"from": operator})
    pool.withhold(1, 0xFFFF, {"from": operator})
    pool.publishResult(running, b"\x01", {"from": operator})
    with reverts("NotAuthorized", operator):
        pool.terminate(running, {"from": operator})
    with reverts("NotAuthorized", operator):
        pool.retire(1, {"from": operator})
    assert {role: wealth(pool, token, who) for role, who in people.items()} == before


def test_the_owner_reaches_no_lease_that_is_open(pool, token, owner, provider, tenant, running, new_params):
    """Everything an owner can do, done to the worst, and the lease is billed as it opened."""
    later(10 * MINUTE)
    pool.setPaused(True, {"from": owner})
    pool.setTreasury(owner, {"from": owner})
    dear = 10**9 * UNIT
    new_params(Params(fee_bps=1000, hold_fee_bps=10_000, min_stake_per_gpu=dear, seat_stake=dear))
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert (closed["fee"], closed["paid"]) == (fee(DEPOSIT), DEPOSIT - fee(DEPOSIT))
    pool.withdraw(provider, closed["paid"], {"from": provider})


def test_tokens_sent_by_mistake_are_nobody_s_and_harm_nothing(pool, token, tenant, thief, running):
    token.transfer(pool, 5 * UNIT, {"from": tenant})
    with reverts("InsufficientBalance", thief, 0, 1):
        pool.withdraw(thief, 1, {"from": thief})
    later(100)
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert closed["refunded"] == DEPOSIT - cost(100)


# ---------------------------------------------------------------------------------------------------------- free rides


def test_opening_and_rejecting_over_and_over_costs_more_than_it_gives(pool, token, provider, operator, thief):
    """Five trials, each to its last second: the provider is paid for each."""
    had, earned = wealth(pool, token, thief), pool.balanceOf(provider)
    reuse = 0
    for _ in range(5):
        lease = lease_of(pool.open(LeaseRequest(1, reuse=reuse), {"from": thief}))
        pool.start(lease, ENDPOINT, {"from": operator})
        later(Terms().trial - 1)
        pool.reject(lease, {"from": thief})
        reuse = lease
    held = cost(Terms().trial - 1) * Params().hold_fee_bps // 10_000
    assert had - wealth(pool, token, thief) == 5 * held
    assert pool.balanceOf(provider) - earned == 5 * (held - fee(held)) > 0


def test_blocking_a_machine_by_opening_and_closing_costs_the_hold_fee(pool, token, provider, thief):
    had = wealth(pool, token, thief)
    for call in (pool.close, pool.reject):
        lease = lease_of(pool.open(LeaseRequest(1), {"from": thief}))
        later(Params().start_window)
        call(lease, {"from": thief})
    held = cost(Params().start_window) * Params().hold_fee_bps // 10_000
    assert had - wealth(pool, token, thief) == 2 * held
    assert pool.balanceOf(provider) == 2 * (held - fee(held))


def test_an_ambush_of_an_absent_operator_earns_nothing(pool, token, provider, thief):
    had = wealth(pool, token, thief)
    lease = lease_of(pool.open(LeaseRequest(1), {"from": thief}))
    later(Params().start_window + 1)
    pool.cancelUnstarted(lease, {"from": thief})
    assert wealth(pool, token, thief) == had
    assert pool.machineOf(1).dict()["stake"] == STAKE


def test_leasing_to_oneself_costs_the_fee(pool, token, provider, operator, treasury):
    had = wealth(pool, token, provider)
    lease = lease_of(pool.open(LeaseRequest(1), {"from": provider}))
    pool.start(lease, ENDPOINT, {"from": operator})
    later(HOUR)
    pool.close(lease, {"from": provider})
    assert had - wealth(pool, token, provider) == fee(DEPOSIT)


def test_giving_oneself_notice_earns_nothing(pool, token, provider, operator):
    pool.deposit(provider, 100 * UNIT, {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, duration=DAY), {"from": provider}))
    pool.start(lease, ENDPOINT, {"from": operator})
    had = pool.balanceOf(provider)
    pool.terminate(lease, {"from": provider})
    assert pool.balanceOf(provider) == had


@pytest.mark.parametrize("price", [7, Terms().price + 1])
def test_fifty_claims_pay_the_fee_of_one(pool, provider, operator, tenant, price):
    """Each claim's own fee would round away at such prices; the fee is of the total."""
    pool.setTerms(1, Terms(price=price, trial=0), {"from": provider})
    lease = lease_of(
        pool.open(LeaseRequest(1, revision=2, share=1, duration=DAY, max_price=price), {"from": tenant})
    )
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    first = start + Params().claim_lag
    for i in range(1, 51):
        at(first + 613 * i)
        if cost(613 * i, cells=1, price=price) > cost(613 * (i - 1), cells=1, price=price):
            pool.claim([lease], {"from": provider})
    bill = cost(50 * 613, cells=1, price=price)
    assert pool.accountOf(provider).dict()["feesDue"] == fee(bill)
    assert pool.balanceOf(provider) == bill - fee(bill)


def test_seconds_cannot_be_had_for_nothing_by_closing_early_and_often(pool, token, provider, operator, thief):
    """Ten leases of a second each cost ten seconds."""
    had = wealth(pool, token, thief)
    reuse = 0
    for _ in range(10):
        lease = lease_of(pool.open(LeaseRequest(1, reuse=reuse), {"from": thief}))
        at(pool.start(lease, ENDPOINT, {"from": operator}).timestamp + 1)
        pool.close(lease, {"from": thief})
        reuse = lease
    assert had - wealth(pool, token, thief) == 10 * cost(1) == 10 * PER_SECOND


# -------------------------------------------------------------------------------------------------------- spoiling it


def test_a_batch_of_others_cannot_be_spoilt(pool, provider, operator, tenant, thief, running):
    """The thief closes a lease just before it is claimed in a batch, and one just before an opening settles it."""
    other = lease_of(pool.open(LeaseRequest(1, duration=2 * HOUR), {"from": tenant}))
    pool.start(other, ENDPOINT, {"from": operator})
    later(HOUR + MINUTE)
    pool.close(running, {"from": thief})
    pool.claim([running, other], {"from": provider})
    pool.open(LeaseRequest(1, settle=[running]), {"from": tenant})


def test_extending_another_s_lease_is_a_gift(pool, token, tenant, provider, thief, running):
    had = wealth(pool, token, thief)
    pool.extend(running, HOUR, {"from": thief})
    pool.close(running, {"from": tenant})
    assert wealth(pool, token, thief) == had - DEPOSIT
