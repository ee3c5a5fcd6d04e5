"""What a quorum of validators says of a machine, and what it can no longer say."""

import pytest
from signing import OUTAGE, key_proof, typed_digest
from world import (
    ATTESTED,
    DAY,
    FILED,
    HOUR,
    MINUTE,
    RUNNING,
    SELF_REPORTED,
    Params,
    at,
    fault_of,
    later,
    mature,
    now,
    plain,
    reverts,
    slashed,
)

FILING = Params().filing_window


def test_a_quorum_opens_an_outage_that_runs(pool, faults, attest, validators, operator):
    start = now()
    at(start + HOUR)
    fault = fault_of(attest(1, start))
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["state"], seen["from"], seen["to"]) == (ATTESTED, RUNNING, start, 0)
    assert pool.machineOf(1).dict()["downSince"] == start
    later(HOUR)
    assert faults.recover(1, 0, b"", {"from": operator}).events["FaultFiled"]["bps"] == 800


def test_a_quorum_files_an_outage_that_is_over(pool, faults, attest, validators):
    start = now()
    at(start + HOUR)
    told = attest(1, start + MINUTE, start + 6 * MINUTE).events["FaultFiled"]
    assert (told["from"], told["to"], told["bps"]) == (start + MINUTE, start + 6 * MINUTE, 400)
    assert faults.runningFault(1) == 0
    seen = pool.machineOf(1).dict()
    assert (seen["downSince"], seen["heldFrom"]) == (0, start + MINUTE)


@pytest.mark.parametrize(
    ("seconds", "bps"),
    [
        (7 * MINUTE, 400),
        (7 * MINUTE + 1, 800),
        (48 * HOUR, 800),
        (48 * HOUR + 1, 5000),  # of 6000: no more than half in a week
        (120 * HOUR + 1, 5000),
    ],
)
def test_what_an_attested_outage_costs_by_its_length(attest, validators, seconds, bps):
    start = now()
    at(start + seconds)
    told = attest(1, start, start + seconds).events["FaultFiled"]
    assert (told["bps"], told["amount"]) == (bps, slashed(bps))


def test_less_than_a_quorum_is_nothing(faults, signed_outage, validators, committee, pool, owner, thief):
    start = now()
    later(HOUR)
    seats, proofs = signed_outage(1, start, 0)
    for some in (slice(0, 4), slice(0, 0), slice(1, 5)):
        with reverts("NoQuorum"):
            faults.attest(1, 0, start, 0, seats[some], proofs[some], {"from": thief})
    with reverts("NoQuorum"):  # the word of one for another
        faults.attest(1, 0, start, 0, seats, proofs[::-1], {"from": thief})
    with reverts("NoQuorum"):  # not in order
        faults.attest(1, 0, start, 0, seats[::-1], proofs[::-1], {"from": thief})
    with reverts("NoQuorum"):  # another time than they signed
        faults.attest(1, 0, start + 1, 0, seats, proofs, {"from": thief})
    with reverts("NoQuorum"):  # another machine
        faults.attest(2, 0, start, 0, seats, proofs, {"from": thief})
    faults.attest(1, 0, start, 0, seats, proofs, {"from": thief})


def test_one_validator_with_many_seats_is_no_quorum(
    pool, faults, committee, validators, signed_outage, keys, thief
):
    """Seven more seats, all the thief's: the other five are two thirds no longer, and the thief needs four of them."""
    for _ in range(7):
        pool.deposit(thief, Params().seat_stake, {"from": thief})
        committee.join({"from": thief})
    mature(3 * DAY)
    assert committee.maturedSeats() == 12
    start = now() - HOUR
    proof = key_proof(keys[thief.address], typed_digest(pool, OUTAGE, thief.address, 1, start, 0))
    for honest in (5, 0, 3):
        seats, proofs = signed_outage(1, start, 0, count=honest)
        if honest < 5:
            seats, proofs = [*seats, *range(6, 13)], [*proofs, *(7 * [proof])]
        with reverts("NoQuorum"):
            faults.attest(1, 0, start, 0, seats, proofs, {"from": thief})
    seats, proofs = signed_outage(1, start, 0, count=4)
    faults.attest(1, 0, start, 0, [*seats, *range(6, 13)], [*proofs, *(7 * [proof])], {"from": thief})


def test_the_word_that_it_is_down_is_good_for_a_day(faults, attest, validators):
    start = now()
    at(start + DAY + 1)
    with reverts("OutageOutOfRange", start, start + DAY + 1):
        attest(1, start)
    with reverts("OutageOutOfRange"):  # what is to come
        attest(1, start + 2 * DAY)
    at(start + DAY + 1)
    attest(1, start + 1)


def test_times_that_cannot_be(faults, attest, validators):
    start = now()
    at(start + DAY)
    for from_, to in (
        (start + HOUR, start + HOUR),  # nothing
        (start + HOUR, start + MINUTE),  # backwards
        (start + HOUR, start + DAY + 1),  # what is to come
    ):
        with reverts("OutageOutOfRange"):
            attest(1, from_, to)


def test_outages_lapse(faults, attest, validators):
    start = now()
    at(start + HOUR + FILING)
    attest(1, start, start + HOUR)
    at(start + 2 * HOUR + FILING + 1)
    with reverts("OutageOutOfRange", start + HOUR, start + 2 * HOUR):
        attest(1, start + HOUR, start + 2 * HOUR)


def test_a_self_report_keeps_its_price_and_the_same_word_changes_nothing(
    faults, attest, validators, operator
):
    start = now()
    at(start + HOUR)
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    at(start + 2 * HOUR)
    with reverts("AlreadyDown", 1, fault):
        attest(1, start + HOUR)
    assert faults.faultOf(fault).dict()["kind"] == SELF_REPORTED
    faults.recover(1, 0, b"", {"from": operator})
    at(start + 3 * HOUR)
    fault = fault_of(attest(1, start + 150 * MINUTE))
    with reverts("AlreadyDown", 1, fault):
        attest(1, start + 151 * MINUTE)
    tx = attest(1, start + 140 * MINUTE)  # it began earlier
    assert tx.events["OutageAttested"] == {"fault": fault, "machine": 1, "from": start + 140 * MINUTE}


def test_a_word_is_not_good_after_a_recovery(faults, attest, validators, operator):
    start = now()
    at(start + HOUR)
    attest(1, start)
    at(start + 2 * HOUR)
    faults.recover(1, 0, b"", {"from": operator})
    with reverts("OutageOutOfRange"):
        attest(1, start)
    with reverts("OutageOutOfRange"):
        attest(1, start + 2 * HOUR)


def test_whoever_waits_for_an_answer_was_right(pool, faults, rent, attest, validators, tenant):
    lease = rent(tenant)
    start = now()
    pool.deposit(tenant, Params().bond, {"from": tenant})
    faults.challenge(1, lease, {"from": tenant})
    later(MINUTE)
    attest(1, start)
    assert pool.balanceOf(tenant) == Params().bond
    with reverts("NoChallenge", 1):
        faults.prove(1, {"from": tenant})


def test_late_words_fill_the_gaps_and_outages_never_overlap(
    faults, attest, signed_outage, validators, operator, thief
):
    """Minutes 20 to 30 are known. Then 10 to 25 is said, and of 0 to 60 what is left of it, from both sides."""
    start = now()

    def known(tx):
        told = tx.events["FaultFiled"]
        return (told["from"] - start) // MINUTE, (told["to"] - start) // MINUTE

    def before(following, from_, to):
        seats, proofs = signed_outage(1, from_, to)
        return faults.attestBefore(following, from_, to, seats, proofs, {"from": thief})

    at(start + HOUR)
    first = attest(1, start + 20 * MINUTE, start + 30 * MINUTE)
    middle = fault_of(first)
    second = before(middle, start + 10 * MINUTE, start + 25 * MINUTE)
    assert (known(first), known(second)) == ((20, 30), (10, 20))
    assert faults.faultOf(middle).dict()["previous"] == fault_of(second)
    assert known(before(fault_of(second), start, start + 60 * MINUTE)) == (0, 10)
    assert known(attest(1, start, start + 60 * MINUTE)) == (30, 60)
    for following in (middle, fault_of(second)):
        with reverts("OutageOutOfRange"):
            before(following, start, start + 60 * MINUTE)
    # An hour in all, however it was cut: 8 %, and never more.
    assert plain(faults.windowOf(1)) == (HOUR, 800)


def test_before_what_is_unknown_there_is_nothing(faults, signed_outage, validators, thief):
    start = now()
    later(HOUR)
    with reverts("UnknownFault", 7):
        faults.attestBefore(
            7, start, start + MINUTE, *signed_outage(1, start, start + MINUTE), {"from": thief}
        )


def test_before_a_fault_of_one_machine_nothing_is_said_of_another(
    faults, attest, signed_outage, validators, thief
):
    start = now()
    at(start + HOUR)
    fault = fault_of(attest(1, start + 20 * MINUTE, start + 30 * MINUTE))
    with reverts("NoQuorum"):
        faults.attestBefore(
            fault, start, start + MINUTE, *signed_outage(2, start, start + MINUTE), {"from": thief}
        )
    assert faults.faultOf(fault).dict()["state"] == FILED
