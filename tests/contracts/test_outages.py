"""Outages: reported by the operator, or shown by a challenge that nobody answers; how they end, and what waits."""

import pytest
from world import (
    HOUR,
    MINUTE,
    RUNNING,
    SELF_REPORTED,
    SINK,
    LeaseRequest,
    Params,
    at,
    fault_of,
    later,
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


def test_a_question_that_is_over_makes_room_for_the_next(pool, faults, tenant, rent, challenge):
    lease = rent(tenant, duration=3 * HOUR)
    challenge()
    at(now() + WINDOW + PROVE_TIME + 1)
    pool.deposit(tenant, BOND, {"from": tenant})
    tx = faults.challenge(1, lease, {"from": tenant})
    assert (tx.events["ChallengeEnded"]["challenge"], tx.events["Challenged"]["challenge"]) == (1, 2)
    assert (pool.balanceOf(tenant), pool.balanceOf(faults)) == (BOND, BOND)
