"""What a quorum of validators says of a machine, and what it can no longer say."""

from world import (
    ATTESTED,
    HOUR,
    MINUTE,
    RUNNING,
    SELF_REPORTED,
    at,
    fault_of,
    later,
    now,
    reverts,
)


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
