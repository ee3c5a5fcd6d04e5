"""A machine is not what it says it is, and a committee finds out.

Its provider declared one card and built in a lesser one. A tenant who has it for half a day wants to know, and pays
5 tokens to have it measured. The five validators are drawn, measure, and agree. Half of the stake goes, which is the
most that may.
"""

import pytest
from brownie import chain
from signing import commitment
from world import (
    DAY,
    FALSE_HARDWARE,
    FILED,
    HOUR,
    PER_SECOND,
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
    reverts,
    word,
)

FEE = Params().verification_fee
LESSER, SALT = word("a lesser card"), word("salt")


@pytest.fixture
def measured(pool, committee, validators):
    """All of the committee find `spec` and say that this is not what was declared; returns the round's end."""

    def agree(round_, spec):
        seats = committee.drawnFor(round_)
        for seat in seats:
            holder = {"from": committee.seatOf(seat)[0]}
            committee.commit(round_, seat, commitment(pool, round_, seat, False, spec, 0, SALT), holder)
        mature(4 * HOUR)
        for seat in seats:
            committee.reveal(round_, seat, False, spec, 0, SALT, {"from": committee.seatOf(seat)[0]})
        mature(2 * HOUR)
        return now()

    return agree


def test_a_lesser_card(
    pool, committee, faults, books, rent, measured, validators, provider, tenant, neighbour, treasury, thief
):
    start = now()
    lease = rent(tenant, duration=12 * HOUR)
    pool.deposit(tenant, FEE, {"from": tenant})
    round_ = committee.requestVerification(1, 1, {"from": tenant}).events["VerificationRequested"]["round"]
    chain.mine(2)

    # Whoever draws has a twentieth of the fee, 0.25 tokens; the rest, 4.75, the five who agree, 0.95 each.
    committee.draw(round_, {"from": neighbour})
    assert pool.balanceOf(neighbour) == FEE // 20
    assert measured(round_, LESSER) == start + 6 * HOUR
    committee.finalize(round_, {"from": thief})
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [95 * UNIT // 100]
    assert pool.machineOf(1).dict()["status"] == UNVERIFIED

    # False hardware costs the whole stake, but never more than half of it in seven days.
    fault = fault_of(faults.reportFalseHardware(round_, {"from": thief}))
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["state"], seen["bps"]) == (FALSE_HARDWARE, FILED, 5000)
    assert (seen["from"], seen["to"], seen["amount"]) == (start, start + 6 * HOUR, STAKE // 2)
    with reverts("NoFalseHardware", round_):
        faults.reportFalseHardware(round_, {"from": thief})

    # The tenant had it for the six hours since it asked: it shares in what the provider loses, all alone. The bill
    # stays, for the machine did run.
    faults.applyOutage(fault, [lease], {"from": tenant})
    assert faults.faultOf(fault).dict()["weight"] == 8 * 6 * HOUR
    at(start + 12 * HOUR)
    pool.close(lease, {"from": thief})
    assert pool.balanceOf(tenant) == 0
    billed = 12 * HOUR * PER_SECOND
    assert pool.balanceOf(provider) == billed - fee(billed)

    # Two days later: 50 tokens for the tenant, nothing for reporters, as nobody said anything but the committee; the
    # treasury has the other 50.
    at(start + 6 * HOUR + 2 * DAY)
    with reverts("AppealOpen", fault, start + 6 * HOUR + 2 * DAY):
        faults.execute(fault, [], {"from": thief})
    at(start + 6 * HOUR + 2 * DAY + 1)
    faults.execute(fault, [], {"from": thief})
    faults.compensate(fault, [lease], {"from": tenant})
    assert (pool.balanceOf(tenant), pool.balanceOf(treasury)) == (50 * UNIT, 50 * UNIT)
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
