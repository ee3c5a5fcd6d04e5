"""A pool's owner turns hostile.

It proposes the harshest rules that the bounds allow, with an arbiter of its own, pauses the pool, closes its gate, and
names another treasury; then the validators join in as well. Whoever had money in a ledger or an escrow takes out every
unit of it, and whoever wants to leave leaves. What they can destroy together is stake: half of it, as the provider has
agreed to. What they have of it is the validators' tenth.
"""

import pytest
from signing import consent
from world import (
    CONTACT,
    DAY,
    HARDWARE,
    HOUR,
    PER_SECOND,
    SEAT,
    SINK,
    STAKE,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    at,
    escrow,
    fault_of,
    fee,
    later,
    mature,
    now,
    reverts,
)

HARSHEST = Params(
    min_stake_per_gpu=10_000 * UNIT,
    fee_bps=1000,
    hold_fee_bps=10_000,
    max_slash_bps=10_000,
    penalty_seconds=0,
    notice_seconds=0,
    claim_lag=7 * DAY,
    unstake_delay=90 * DAY,
    bond=10_000 * UNIT,
    seat_stake=10_000 * UNIT,
)
SAVED = 50 * UNIT  # in the neighbour's ledger


@pytest.fixture
def hostile(pool, owner, thief):
    """All that an owner can do, on one day; the thief is its friend."""

    def turn():
        pool.proposeParams(HARSHEST._replace(arbiter=thief.address), {"from": owner})
        pool.setPaused(True, {"from": owner})
        pool.setGated(True, {"from": owner})
        pool.setTreasury(thief, {"from": owner})

    return turn


def test_nobody_loses_a_unit_of_ledger_or_escrow(
    pool,
    token,
    committee,
    books,
    hostile,
    rent,
    validators,
    provider,
    operator,
    tenant,
    neighbour,
    thief,
    owner,
):
    """The tenant has a GPU for seven days, and leaves after three; the provider after that."""
    had = {who: token.balanceOf(who) for who in (tenant, provider, neighbour)}
    start = now()
    lease = rent(tenant, duration=7 * DAY)
    pool.deposit(neighbour, SAVED, {"from": neighbour})
    assert had[tenant] - token.balanceOf(tenant) == escrow(7 * DAY)

    at(start + HOUR)
    hostile()
    books()
    for call in (
        lambda: pool.open(LeaseRequest(1), {"from": thief}),
        lambda: pool.register(
            Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, thief, operator), {"from": thief}
        ),
    ):
        with reverts("Paused"):
            call()

    # Two days later the rules are in force. The lease and the machine have never agreed to them: 5 % of three days are
    # the fee, 4 of 7 days' money comes back, and the claim reaches up to twenty minutes ago and not a week.
    at(start + 3 * DAY - 10)
    pool.claim([lease], {"from": provider})
    assert pool.paramsVersion() == 2
    claimed = (3 * DAY - 10 - Params().claim_lag) * PER_SECOND
    assert pool.balanceOf(provider) == claimed - fee(claimed)
    at(start + 3 * DAY)
    pool.close(lease, {"from": tenant})
    billed = 3 * DAY * PER_SECOND
    assert pool.balanceOf(tenant) == 4 * DAY * PER_SECOND
    assert pool.balanceOf(provider) == billed - fee(billed)
    pool.withdraw(tenant, pool.balanceOf(tenant), {"from": tenant})
    pool.withdraw(neighbour, SAVED, {"from": neighbour})

    # The stake comes back after the eight days that were agreed.
    pool.retire(1, {"from": provider})
    at(start + 3 * DAY + Params().unstake_delay)
    pool.unstake(1, {"from": provider})
    pool.withdraw(provider, pool.balanceOf(provider), {"from": provider})
    for seat, validator in enumerate(validators, 1):
        committee.leave(seat, {"from": validator})
    later(21 * DAY)
    for seat, validator in enumerate(validators, 1):
        committee.exit(seat, {"from": thief})
        pool.withdraw(validator, SEAT, {"from": validator})
        assert token.balanceOf(validator) == SEAT

    # To the unit: the tenant has paid three days, the provider has been paid them, and the fee is what is left in the
    # pool and all that the owner's new treasury gets.
    assert had[tenant] - token.balanceOf(tenant) == billed
    assert token.balanceOf(provider) - had[provider] == billed - fee(billed) + STAKE
    assert token.balanceOf(neighbour) == had[neighbour]
    assert token.balanceOf(pool) == fee(billed)
    pool.pullFees([provider], {"from": owner})
    assert pool.balanceOf(thief) == fee(billed)
    books()


def test_an_arbiter_whom_the_provider_has_not_accepted_rules_on_nothing(
    pool, faults, books, hostile, provider, operator, owner, thief
):
    """The new rules are in force, and still an outage is ruled on by whoever the provider had agreed to."""
    start = now()
    hostile()
    at(start + 2 * DAY + HOUR)
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    assert pool.paramsVersion() == 2
    at(start + 2 * DAY + 2 * HOUR)
    faults.recover(1, 0, b"", {"from": operator})
    assert faults.faultOf(fault).dict()["rules"] == 1
    assert pool.judging(1).dict()["arbiter"] == owner
    assert pool.judging(2).dict()["arbiter"] == thief
    pool.deposit(provider, Params().bond, {"from": provider})
    faults.appeal(fault, {"from": provider})
    with reverts("NotAuthorized", thief):
        faults.rule(fault, True, {"from": thief})
    faults.rule(fault, False, {"from": owner})
    assert pool.balanceOf(provider) == Params().bond
    assert pool.machineOf(1).dict()["stake"] == STAKE
    books()


def test_owner_arbiter_and_quorum_together_take_half_of_a_stake(
    pool,
    committee,
    faults,
    books,
    hostile,
    rent,
    attest,
    validators,
    signers,
    owner,
    provider,
    tenant,
    neighbour,
    thief,
):
    """They say that a machine was dark for two days that was not, and the arbiter, the owner, lets it stand."""
    pool.deposit(neighbour, SAVED, {"from": neighbour})
    start = now()
    lease = rent(tenant, duration=DAY)
    hostile()
    at(start + DAY)
    pool.close(lease, {"from": tenant})
    billed = DAY * PER_SECOND
    earned = billed - fee(billed)
    assert pool.balanceOf(provider) == earned

    # 55 hours, shown by others, are 60 %; but half is the most that the provider has agreed to, whatever is in force.
    at(start + 55 * HOUR)
    fault = fault_of(attest(1, start, start + 55 * HOUR))
    assert faults.faultOf(fault).dict()["amount"] == STAKE // 2
    # The bond is that of the rules that the provider accepted, too.
    pool.deposit(provider, Params().bond, {"from": provider})
    faults.appeal(fault, {"from": provider})
    faults.rule(fault, True, {"from": owner})
    at(faults.faultOf(fault).dict()["deadline"] + 1)
    faults.execute(fault, {"from": thief})
    committee.payQuorum(signers(range(1, 6)), {"from": thief})

    # 100 tokens of stake and the bond: a tenth of the stake to the validators; the rest, as no tenant said anything,
    # goes where the accepted rules say, which is neither to the owner nor to the arbiter nor to the treasury. Every
    # ledger is as it was.
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [2 * UNIT]
    assert pool.balanceOf(SINK) == 90 * UNIT + Params().bond
    assert [pool.balanceOf(who) for who in (owner, thief)] == [0, 0]
    assert pool.balanceOf(provider) == earned
    assert pool.balanceOf(neighbour) == SAVED
    books()

    # The same again brings nothing: no week costs more than half, and its last week lasts as long as a stake is left.
    mature(HOUR)
    pool.retire(1, {"from": provider})
    again = fault_of(attest(1, start + 55 * HOUR, start + 56 * HOUR))
    assert faults.faultOf(again).dict()["amount"] == 0
    later(Params().unstake_delay)
    faults.execute(again, {"from": thief})  # for nothing, but what a quorum says may be appealed until then
    pool.unstake(1, {"from": provider})
    assert pool.balanceOf(provider) == earned + STAKE // 2
    books()
