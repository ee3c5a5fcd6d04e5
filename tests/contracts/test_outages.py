"""Outages: reported by the operator, or shown by a challenge that nobody answers; how they end, and what waits."""

import pytest
from signing import ANSWER, RECOVER, consent, key_proof, typed_digest
from world import (
    CHALLENGED,
    CONTACT,
    DAY,
    EXECUTED,
    FILED,
    HARDWARE,
    HOUR,
    MINUTE,
    PER_SECOND,
    RUNNING,
    SELF_REPORTED,
    SINK,
    LeaseRequest,
    Params,
    Terms,
    at,
    fault_of,
    later,
    lease_of,
    now,
    plain,
    reverts,
    slashed,
    word,
)

BOND = Params().bond
ANSWER_FEE = BOND // 10
WINDOW = Params().challenge_window
PROVE_TIME = HOUR


@pytest.fixture
def down(faults, operator):
    """An outage of machine 1, reported by its operator."""
    return fault_of(faults.reportOutage(1, {"from": operator}))


@pytest.fixture
def challenge(pool, faults, tenant, running):
    """The tenant challenges machine 1, with a bond as high as is asked; returns the challenge."""

    def send():
        pool.deposit(tenant, faults.bondOf(1, tenant), {"from": tenant})
        return faults.challenge(1, running, {"from": tenant}).events["Challenged"]["challenge"]

    return send


@pytest.fixture
def answered(pool, keys, operator):
    """The operator's proof over an answer."""

    def sign(challenge, issued_at, machine=1):
        return key_proof(
            keys[operator.address],
            typed_digest(pool, ANSWER, operator.address, machine, challenge, issued_at),
        )

    return sign


@pytest.fixture
def recovered(pool, keys, operator):
    """The operator's proof over a recovery."""

    def sign(issued_at, machine=1):
        return key_proof(
            keys[operator.address], typed_digest(pool, RECOVER, operator.address, machine, issued_at)
        )

    return sign


# ------------------------------------------------------------------------------------------------------- self-reports


def test_a_report_takes_the_machine_out_of_service(pool, faults, operator, tenant):
    tx = faults.reportOutage(1, {"from": operator})
    assert tx.events["OutageOpened"] == {
        "fault": 1,
        "machine": 1,
        "kind": SELF_REPORTED,
        "from": tx.timestamp,
        "rules": 1,
        "reporter": word(""),
    }
    assert tx.events["MachineWentDown"]["machine"] == 1
    assert (faults.faultCount(), faults.runningFault(1)) == (1, 1)
    assert faults.faultOf(1).dict()["state"] == RUNNING
    seen = pool.machineOf(1).dict()
    assert (seen["downSince"], seen["pendingSlashes"]) == (tx.timestamp, 1)
    with reverts("MachineDown", 1, tx.timestamp):
        pool.open(LeaseRequest(1), {"from": tenant})
    with reverts("MachineDown", 1, tx.timestamp):
        pool.recover(1, {"from": operator})
    with reverts("AlreadyDown", 1, 1):
        faults.reportOutage(1, {"from": operator})


def test_only_the_operator_reports(pool, faults, people):
    for role in set(people) - {"operator"}:
        with reverts("NotAuthorized", people[role]):
            faults.reportOutage(1, {"from": people[role]})


def test_no_report_of_what_is_retired_or_challenged(pool, faults, provider, operator, challenge, neighbour):
    until = now() + WINDOW
    challenge()
    with reverts("ChallengeStands", 1, until):
        faults.reportOutage(1, {"from": operator})
    other = pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    assert other.events["MachineRegistered"]["machine"] == 2
    pool.retire(2, {"from": provider})
    with reverts("MachineRetiredAlready", 2):
        faults.reportOutage(2, {"from": operator})


@pytest.mark.parametrize(
    ("seconds", "bps"),
    [
        (1, 200),
        (7 * MINUTE, 200),
        (7 * MINUTE + 1, 400),
        (48 * HOUR, 400),
        (48 * HOUR + 1, 3000),
        (120 * HOUR, 3000),
        (120 * HOUR + 1, 5000),
    ],
)
def test_what_a_self_reported_outage_costs_by_its_length(faults, operator, down, seconds, bps):
    later(seconds)
    told = faults.recover(1, 0, b"", {"from": operator}).events["FaultFiled"]
    assert (told["to"] - told["from"], told["bps"], told["amount"]) == (seconds, bps, slashed(bps))


def test_outages_of_a_week_cost_together_what_one_would(faults, operator):
    """Six minutes and six minutes are twelve: 4 %, of which 2 % have been charged already. The third is for nothing."""
    told = []
    for _ in range(3):
        faults.reportOutage(1, {"from": operator})
        later(6 * MINUTE)
        told.append(faults.recover(1, 0, b"", {"from": operator}).events["FaultFiled"])
        later(HOUR)
    assert [one["amount"] for one in told] == [slashed(200), slashed(400) - slashed(200), 0]
    assert faults.faultOf(told[2]["fault"]).dict()["state"] == EXECUTED
    assert plain(faults.windowOf(1)) == (18 * MINUTE, 400)


# --------------------------------------------------------------------------------------------------------- recoveries


def test_who_recovers(faults, people, down):
    for role in set(people) - {"operator", "provider"}:
        with reverts("WrongSignature", people["operator"]):
            faults.recover(1, now(), b"", {"from": people[role]})
    tx = faults.recover(1, 0, b"", {"from": people["provider"]})
    assert tx.events["MachineCameUp"]["machine"] == 1
    with reverts("NotDown", 1):
        faults.recover(1, 0, b"", {"from": people["provider"]})
    with reverts("NotDown", 1):
        faults.roll(1, {"from": people["thief"]})


def test_a_recovery_by_proof_is_of_this_outage(faults, operator, thief, down, recovered):
    start = now()
    at(start + HOUR)
    for issued_at in (start - 1, start + HOUR + 1):
        with reverts("WrongSignature", operator):
            faults.recover(1, issued_at, recovered(issued_at), {"from": thief})
    with reverts("WrongSignature", operator):
        faults.recover(1, start, recovered(start, machine=2), {"from": thief})
    faults.recover(1, start, recovered(start), {"from": thief})
    assert faults.faultOf(down).dict()["state"] == FILED
    # The same word ends no later outage.
    faults.reportOutage(1, {"from": operator})
    with reverts("WrongSignature", operator):
        faults.recover(1, start, recovered(start), {"from": thief})


def test_a_recovery_clears_a_stall(pool, faults, operator, tenant, stalled):
    faults.reportOutage(1, {"from": operator})
    later(MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    assert not pool.machineOf(1).dict()["stalled"]


def test_a_long_outage_is_filed_by_anybody_and_runs_on(faults, down, thief):
    start = now()
    at(start + 120 * HOUR)
    with reverts("OutageTooShort", start + 120 * HOUR):
        faults.roll(1, {"from": thief})
    at(start + 120 * HOUR + 1)
    tx = faults.roll(1, {"from": thief})
    assert tx.events["FaultFiled"]["fault"] == down
    assert tx.events["OutageOpened"]["kind"] == SELF_REPORTED
    assert faults.runningFault(1) == down + 1
    assert faults.faultOf(down + 1).dict()["from"] == faults.faultOf(down).dict()["to"] == tx.timestamp


def test_an_outage_ends_when_its_machine_retires(pool, faults, provider, down, thief):
    start = now()
    at(start + MINUTE)
    pool.retire(1, {"from": provider})
    at(start + DAY)
    told = faults.roll(1, {"from": thief}).events["FaultFiled"]
    assert (told["to"] - told["from"], told["bps"]) == (MINUTE, 200)
    assert faults.runningFault(1) == 0


# --------------------------------------------------------------------------------------------------------- challenges


def test_a_tenant_challenges_under_a_bond(pool, faults, tenant, running):
    assert faults.bondOf(1, tenant) == BOND
    with reverts("InsufficientBalance", tenant, 0, BOND):
        faults.challenge(1, running, {"from": tenant})
    pool.deposit(tenant, BOND, {"from": tenant})
    tx = faults.challenge(1, running, {"from": tenant})
    assert tx.events["Challenged"] == {
        "machine": 1,
        "challenge": 1,
        "challenger": tenant,
        "lease": running,
        "bond": BOND,
    }
    assert plain(faults.challengeOf(1)) == (tenant, BOND, tx.timestamp, 1)
    assert (pool.balanceOf(tenant), pool.balanceOf(faults)) == (0, BOND)
    seen = pool.machineOf(1).dict()
    proven = tx.timestamp + WINDOW + PROVE_TIME
    assert (seen["heldFrom"], seen["heldTo"], seen["heldUntil"]) == (tx.timestamp, proven, proven)
    with reverts("ChallengeStands", 1, tx.timestamp + WINDOW):
        faults.challenge(1, running, {"from": tenant})


def test_only_a_tenant_of_a_running_lease_challenges(
    pool, faults, people, tenant, running, operator, provider
):
    for role in set(people) - {"tenant"}:
        with reverts("NotATenant", running, people[role]):
            faults.challenge(1, running, {"from": people[role]})
    waiting = lease_of(pool.open(LeaseRequest(1), {"from": tenant}))
    with reverts("NotATenant", waiting, tenant):
        faults.challenge(1, waiting, {"from": tenant})
    with reverts("WrongLease", running, 2):
        faults.challenge(2, running, {"from": tenant})
    later(HOUR)
    with reverts("NotATenant", running, tenant):
        faults.challenge(1, running, {"from": tenant})


def test_what_is_down_already_need_not_be_challenged(pool, faults, tenant, running, down):
    with reverts("AlreadyDown", 1, down):
        faults.challenge(1, running, {"from": tenant})


def test_an_answer_costs_the_challenger_its_bond(pool, faults, provider, operator, tenant, challenge):
    number = challenge()
    later(WINDOW)  # up to its last second
    tx = faults.answer(1, 0, b"", {"from": operator})
    assert tx.events["Answered"] == {"machine": 1, "challenge": number}
    assert (pool.balanceOf(provider), pool.balanceOf(SINK)) == (ANSWER_FEE, BOND - ANSWER_FEE)
    assert pool.balanceOf(faults) == 0
    with reverts("NoChallenge", 1):
        faults.answer(1, 0, b"", {"from": operator})
    with reverts("NoChallenge", 1):
        faults.prove(1, {"from": tenant})
    assert faults.runningFault(1) == 0


def test_an_answer_is_the_operator_s_and_of_this_challenge(
    faults, people, operator, thief, challenge, answered
):
    number, asked = challenge(), now()
    at(asked + MINUTE)
    for role in set(people) - {"operator"}:
        with reverts("WrongSignature", operator):
            faults.answer(1, asked, b"", {"from": people[role]})
    for proof, issued_at in (
        (answered(number, asked - 1), asked - 1),
        (answered(number, asked + 2 * MINUTE), asked + 2 * MINUTE),
        (answered(number + 1, asked), asked),
        (answered(number, asked, machine=2), asked),
        (answered(number, asked), asked + 1),
    ):
        with reverts("WrongSignature", operator):
            faults.answer(1, issued_at, proof, {"from": thief})
    faults.answer(1, asked, answered(number, asked), {"from": thief})


def test_an_answer_comes_in_time_or_not_at_all(faults, operator, challenge):
    challenge()
    deadline = now() + WINDOW
    at(deadline + 1)
    with reverts("ChallengeLapsed", 1, deadline):
        faults.answer(1, 0, b"", {"from": operator})


def test_an_answered_challenger_pays_double_for_a_day(
    pool, faults, tenant, neighbour, operator, rent, challenge
):
    lease = rent(tenant, duration=3 * DAY)
    challenge()
    later(MINUTE)
    faults.answer(1, 0, b"", {"from": operator})
    since = now()
    assert (faults.bondOf(1, tenant), faults.bondOf(1, neighbour)) == (2 * BOND, BOND)
    challenge()
    later(MINUTE)
    faults.answer(1, 0, b"", {"from": operator})
    assert faults.bondOf(1, tenant) == 4 * BOND
    at(since + MINUTE + DAY + 1)
    pool.deposit(tenant, 1, {"from": tenant})
    assert faults.bondOf(1, tenant) == BOND
    assert pool.leaseOf(lease).dict()["end"] > now()


def test_silence_is_proven_by_anybody(pool, faults, tenant, thief, operator, running, challenge):
    challenge()
    asked = now()
    with reverts("ChallengeStands", 1, asked + WINDOW):
        faults.prove(1, {"from": thief})
    at(asked + WINDOW + 1)
    fault = fault_of(faults.prove(1, {"from": thief}))
    assert pool.balanceOf(tenant) == BOND
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["from"]) == (CHALLENGED, asked)
    # It shows that the operator is silent, no more: however long it lasts, it costs the lowest tier.
    later(60 * HOUR)
    told = faults.recover(1, 0, b"", {"from": operator}).events["FaultFiled"]
    assert (told["bps"], told["amount"]) == (400, slashed(400))


def test_silence_is_proven_within_an_hour(faults, tenant, thief, challenge):
    challenge()
    asked = now()
    at(asked + WINDOW + PROVE_TIME)  # up to its last second
    seen = faults.faultOf(fault_of(faults.prove(1, {"from": thief}))).dict()
    assert seen["from"] == asked
    assert int(str(seen["reporter"]), 16) == int(str(tenant), 16)


def test_a_question_that_nobody_proved_in_time_moves_nothing_but_its_bond(
    pool, faults, tenant, thief, challenge
):
    number = challenge()
    at(now() + WINDOW + PROVE_TIME + 1)
    tx = faults.prove(1, {"from": thief})
    assert tx.events["ChallengeEnded"] == {"machine": 1, "challenge": number}
    assert (faults.faultCount(), faults.runningFault(1)) == (0, 0)
    assert pool.machineOf(1).dict()["downSince"] == 0
    assert pool.balanceOf(tenant) == BOND
    with reverts("NoChallenge", 1):
        faults.prove(1, {"from": thief})


def test_a_question_that_is_over_makes_room_for_the_next(pool, faults, tenant, rent, challenge):
    lease = rent(tenant, duration=3 * HOUR)
    challenge()
    at(now() + WINDOW + PROVE_TIME + 1)
    pool.deposit(tenant, BOND, {"from": tenant})
    tx = faults.challenge(1, lease, {"from": tenant})
    assert (tx.events["ChallengeEnded"]["challenge"], tx.events["Challenged"]["challenge"]) == (1, 2)
    assert (pool.balanceOf(tenant), pool.balanceOf(faults)) == (BOND, BOND)


# ---------------------------------------------------------------------------------------------- what waits meanwhile


def test_claims_stop_where_a_challenge_stands_and_go_on_when_it_is_answered(
    pool, faults, provider, operator, running, challenge
):
    start = now()
    at(start + 10 * MINUTE)
    challenge()
    at(start + 40 * MINUTE)  # within the window and the hour to prove it
    assert (
        pool.claim([running], {"from": provider}).events["LeaseClaimed"]["settled"]
        == 10 * MINUTE * PER_SECOND
    )


def test_an_answered_challenge_holds_nothing_up(pool, faults, provider, operator, running, challenge):
    start = now()
    at(start + 10 * MINUTE)
    challenge()
    later(MINUTE)
    faults.answer(1, 0, b"", {"from": operator})
    at(start + 40 * MINUTE)
    assert (
        pool.claim([running], {"from": provider}).events["LeaseClaimed"]["settled"]
        == 20 * MINUTE * PER_SECOND
    )


def test_a_tenant_leaves_a_dead_machine_billed_to_where_it_died(pool, faults, operator, tenant, running):
    start = now()
    at(start + 10 * MINUTE)
    faults.reportOutage(1, {"from": operator})
    at(start + 30 * MINUTE)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == 10 * MINUTE * PER_SECOND
    assert told["end"] == start + 30 * MINUTE


def test_nobody_else_ends_a_lease_while_its_machine_is_down_or_held(
    pool, faults, operator, tenant, thief, running
):
    start = now()
    at(start + 10 * MINUTE)
    faults.reportOutage(1, {"from": operator})
    at(start + 2 * HOUR)
    with reverts("LeaseNotOver", running, 2**256 - 1):
        pool.close(running, {"from": thief})
    faults.recover(1, 0, b"", {"from": operator})
    until = start + 2 * HOUR + Params().appeal_window
    with reverts("LeaseNotOver", running, until):
        pool.close(running, {"from": thief})
    at(until)
    pool.close(running, {"from": thief})
    assert pool.balanceOf(tenant) == 0  # nobody had the outage applied


def test_a_provider_who_forgoes_what_is_held_has_the_cells_back_at_once(
    pool, faults, provider, operator, tenant, running
):
    """The outage took minutes 10 to 30. Nobody had it applied, and still it is not billed."""
    start = now()
    at(start + 10 * MINUTE)
    faults.reportOutage(1, {"from": operator})
    at(start + 30 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    at(start + HOUR)
    told = pool.close(running, {"from": provider}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == 40 * MINUTE * PER_SECOND
    assert pool.balanceOf(tenant) == 20 * MINUTE * PER_SECOND


def test_what_began_after_an_outage_is_held_by_nobody(pool, faults, operator, tenant, rent, thief):
    faults.reportOutage(1, {"from": operator})
    later(MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    lease = rent(tenant)
    later(HOUR)
    pool.close(lease, {"from": thief})
    assert pool.balanceOf(tenant) == 0


def test_a_trial_rejected_while_the_machine_is_down_pays_for_no_dark_second(
    pool, faults, operator, tenant, running
):
    start = now()
    at(start + 100)
    faults.reportOutage(1, {"from": operator})
    at(start + 200)
    told = pool.reject(running, {"from": tenant}).events["LeaseRejected"]
    assert told["paid"] + told["fee"] == 100 * PER_SECOND // 10  # the hold fee of the first hundred seconds
    assert told["refunded"] == HOUR * PER_SECOND - 10 * PER_SECOND


def test_a_lease_that_was_opened_may_be_started_on_a_machine_that_is_down_and_bills_nothing(
    pool, faults, operator, tenant, opened
):
    faults.reportOutage(1, {"from": operator})
    later(MINUTE)
    pool.start(opened, HARDWARE, {"from": operator})
    later(10 * MINUTE)
    pool.close(opened, {"from": tenant})
    assert pool.balanceOf(tenant) == HOUR * PER_SECOND


def test_an_account_reports_and_recovers_through_accounts(faults, operator, execute):
    fault = fault_of(execute(operator, (faults, faults.reportOutage.encode_input(1))))
    execute(operator, (faults, faults.recover.encode_input(1, 0, b"")))
    assert faults.faultOf(fault).dict()["state"] == FILED
