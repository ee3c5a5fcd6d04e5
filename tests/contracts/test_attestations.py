"""What a quorum of validators says of a machine, and what it can no longer say."""

import pytest
from signing import consent, key_proof, outage_digest
from world import (
    ATTESTED,
    CONTACT,
    DAY,
    HARDWARE,
    HOUR,
    MATURITY,
    MINUTE,
    RUNNING,
    SEAT,
    SELF_REPORTED,
    Params,
    Terms,
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
        pool.deposit(thief, SEAT, {"from": thief})
        committee.join(1, {"from": thief})
    mature(MATURITY)
    assert committee.maturedSeats(1) == 12
    start = now() - HOUR
    proof = key_proof(keys[thief.address], outage_digest(pool, thief, 1, start, 0))
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
    assert tx.events["OutageAttested"] == {
        "fault": fault,
        "machine": 1,
        "from": start + 140 * MINUTE,
        "reporter": tx.events["QuorumSigned"]["quorum"],
    }


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


def test_late_words_fill_the_gaps_and_outages_never_overlap(faults, attest, signed_outage, validators, thief):
    """Minutes 20 to 30 are known. Then 10 to 25 is said, and of 0 to 60 what is left of it, from both sides."""
    start = now()

    def known(tx):
        told = tx.events["FaultFiled"]
        return (told["from"] - start) // MINUTE, (told["to"] - start) // MINUTE

    def before(following, from_, to):
        return faults.attest(1, following, from_, to, *signed_outage(1, from_, to), {"from": thief})

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
    # It is down again since minute 80. What is known of before reaches that far.
    at(start + 90 * MINUTE)
    attest(1, start + 80 * MINUTE)
    assert known(attest(1, start + 50 * MINUTE, start + 85 * MINUTE)) == (60, 80)
    # 80 minutes in all, however they were cut: 8 %, and never more.
    assert plain(faults.windowOf(1)) == (80 * MINUTE, 800)


def test_before_what_is_unknown_or_of_another_machine_there_is_nothing(
    pool, faults, attest, signed_outage, validators, provider, operator, thief
):
    pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    start = now()
    at(start + HOUR)
    fault = fault_of(attest(1, start + 20 * MINUTE, start + 30 * MINUTE))
    for machine, following in ((1, 7), (2, fault)):
        said = signed_outage(machine, start, start + MINUTE)
        with reverts("UnknownFault", following):
            faults.attest(machine, following, start, start + MINUTE, *said, {"from": thief})


def test_cheap_seats_judge_nothing_dear(
    pool, faults, committee, validators, signed_outage, keys, new_params, owner, thief
):
    """Seats of a fifth of the price, and many of them: the machine's own rules do not count them."""
    new_params(Params(seat_stake=Params().min_stake_per_gpu))
    for _ in range(13):
        pool.deposit(thief, SEAT, {"from": thief})
        committee.join(2, {"from": thief})
    mature(MATURITY)
    assert (committee.maturedSeats(1), committee.maturedSeats(2)) == (5, 18)
    start = now() - HOUR
    seats, proofs = signed_outage(1, start, 0, count=4)
    cheap = 13 * [key_proof(keys[thief.address], outage_digest(pool, thief, 1, start, 0))]
    with reverts("NoQuorum"):
        faults.attest(1, 0, start, 0, [*seats, *range(6, 19)], [*proofs, *cheap], {"from": thief})
    faults.attest(1, 0, start, 0, *signed_outage(1, start, 0), {"from": owner})
