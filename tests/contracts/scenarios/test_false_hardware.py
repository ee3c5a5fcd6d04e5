"""A machine is not what it says it is, and a committee finds out.

Its provider declared one card and built in a lesser one. A tenant who has had it for 42 hours wants to know, and pays
5 tokens to have it measured. The five validators are drawn, measure, and agree. Half of the stake goes, which is the
most that may.
"""

import pytest
from brownie import chain
from signing import commitment
from world import (
    BURNT,
    DAY,
    FALSE_HARDWARE,
    FILED,
    HARDWARE,
    HOUR,
    PER_SECOND,
    SEAT,
    SINK,
    STAKE,
    UNIT,
    UNVERIFIED,
    LeaseRequest,
    Params,
    at,
    fault_of,
    fee,
    mature,
    now,
    plain,
    reverts,
    word,
)

FEE = Params().verification_fee
LESSER, SALT = word("a lesser card"), word("salt")


@pytest.fixture
def measured(pool, committee, validators):
    """All of the committee find `spec` and say that this is not what was declared; returns the round's end.
    With `dissent` the first of them finds what was declared.
    """

    def agree(round_, spec, dissent=False):
        seats = committee.drawnFor(round_)
        views = dict.fromkeys(seats, (False, spec, 0))
        if dissent:
            views[seats[0]] = (True, HARDWARE, 900)
        for seat, view in views.items():
            holder = {"from": committee.seatOf(seat)[0]}
            committee.commit(round_, seat, commitment(pool, round_, seat, *view, SALT), holder)
        mature(4 * HOUR)
        for seat, view in views.items():
            committee.reveal(round_, seat, *view, SALT, {"from": committee.seatOf(seat)[0]})
        mature(2 * HOUR)
        return now()

    return agree


def test_a_lesser_card(
    pool, committee, faults, books, rent, measured, validators, provider, tenant, neighbour, thief
):
    start = now()
    lease = rent(tenant, duration=2 * DAY)
    asked = start + 42 * HOUR
    at(asked)
    pool.deposit(tenant, FEE, {"from": tenant})
    round_ = committee.requestVerification(1, 1, {"from": tenant}).events["VerificationRequested"]["round"]
    chain.mine(2)

    # Whoever draws has a twentieth of the fee, 0.25 tokens; the rest, 4.75, the five who agree, 0.95 each.
    committee.draw(round_, {"from": neighbour})
    assert pool.balanceOf(neighbour) == FEE // 20
    assert measured(round_, LESSER) == asked + 6 * HOUR
    committee.finalize(round_, {"from": thief})
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [95 * UNIT // 100]
    assert pool.machineOf(1).dict()["status"] == UNVERIFIED

    # False hardware costs the whole stake, but never more than half of it in seven days. What counts is the week before
    # it was asked for: whoever leases only then shares in nothing.
    assert plain(committee.falseHardwareOf(round_)) == (1, 1, asked, asked + 6 * HOUR)
    fault = fault_of(faults.reportFalseHardware(round_, {"from": thief}))
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["state"], seen["bps"]) == (FALSE_HARDWARE, FILED, 5000)
    assert (seen["from"], seen["to"], seen["amount"]) == (asked - 7 * DAY, asked, STAKE // 2)
    with reverts("ReportedAlready", round_):
        faults.reportFalseHardware(round_, {"from": thief})

    # The tenant had one of the two GPUs for 42 of these 168 hours: of the tenants' 50 tokens it has an eighth. The bill
    # stays, for the machine did run.
    faults.applyOutage(fault, [lease], {"from": tenant})
    part = 50 * UNIT // 8
    assert faults.faultOf(fault).dict()["pot"] == part
    pool.close(lease, {"from": thief})
    assert pool.balanceOf(tenant) == 0
    billed = 2 * DAY * PER_SECOND
    assert pool.balanceOf(provider) == billed - fee(billed)

    # Two days later: 6.25 tokens for the tenant, nothing for reporters, as nobody said anything but the committee; the
    # rest goes where the rules say.
    at(asked + 6 * HOUR + 2 * DAY)
    with reverts("AppealOpen", fault, asked + 6 * HOUR + 2 * DAY):
        faults.execute(fault, {"from": thief})
    at(asked + 6 * HOUR + 2 * DAY + 1)
    faults.execute(fault, {"from": thief})
    faults.compensate(fault, [lease], {"from": tenant})
    assert (pool.balanceOf(tenant), pool.balanceOf(SINK)) == (part, 100 * UNIT - part)
    assert pool.machineOf(1).dict()["stake"] == STAKE // 2
    with reverts("MachineUnderStaked", 1):
        pool.open(LeaseRequest(1), {"from": tenant})
    books()


def test_what_could_not_be_measured_is_no_false_hardware(
    pool, committee, faults, measured, provider, neighbour, thief
):
    """A machine that nobody reaches fails its verification, and loses nothing by it but its standing."""
    pool.deposit(provider, FEE, {"from": provider})
    round_ = committee.requestVerification(1, 1, {"from": provider}).events["VerificationRequested"]["round"]
    chain.mine(2)
    committee.draw(round_, {"from": neighbour})
    measured(round_, word(""))
    committee.finalize(round_, {"from": thief})
    with reverts("NoFalseHardware", round_):
        faults.reportFalseHardware(round_, {"from": thief})
    assert pool.machineOf(1).dict()["stake"] == STAKE


def test_an_arbiter_takes_back_what_four_of_five_had_made_up(
    pool, committee, faults, books, measured, validators, provider, owner, tenant, neighbour, thief
):
    """The one who had seen otherwise is made whole out of the fines of the four; the rest of these is burnt."""
    pool.deposit(tenant, FEE, {"from": tenant})
    round_ = committee.requestVerification(1, 1, {"from": tenant}).events["VerificationRequested"]["round"]
    chain.mine(2)
    committee.draw(round_, {"from": neighbour})
    measured(round_, LESSER, dissent=True)
    committee.finalize(round_, {"from": thief})
    fault = fault_of(faults.reportFalseHardware(round_, {"from": thief}))
    honest, *others = committee.drawnFor(round_)
    share = committee.roundOf(round_).dict()["fee"]
    assert pool.balanceOf(committee.seatOf(honest)[0]) == 0

    pool.deposit(provider, Params().bond, {"from": provider})
    faults.appeal(fault, {"from": provider})
    burnt = pool.balanceOf(BURNT)
    tx = faults.rule(fault, False, {"from": owner})
    assert tx.events["RoundOverturned"] == {"round": round_, "count": 1, "amount": share}
    fine = Params().seat_stake // 10
    assert [committee.seatOf(seat).dict()["stake"] for seat in others] == 4 * [SEAT - fine]
    assert committee.seatOf(honest).dict()["stake"] == SEAT
    assert pool.balanceOf(committee.seatOf(honest)[0]) == share
    assert pool.balanceOf(BURNT) - burnt == 4 * fine - share
    assert pool.machineOf(1).dict()["stake"] == STAKE
    assert pool.balanceOf(provider) == Params().bond
    books()
