"""What a fault costs and who gets it: outages applied to leases, appeals, rulings, the slash, and the tenants' part."""

import pytest
from world import (
    APPEALED,
    BURNT,
    DAY,
    DROPPED,
    EXECUTED,
    FILED,
    HOUR,
    MINUTE,
    NOBODY,
    PER_SECOND,
    SEAT,
    SINK,
    STAKE,
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

APPEAL, RULING, BOND = Params().appeal_window, Params().ruling_window, Params().bond
COST = slashed(400)  # of ten minutes, said by the operator
PART = COST // 4  # whose half of the machine it was has half of the tenants' half


@pytest.fixture
def filed(faults, operator):
    """An outage of machine 1 of ten minutes, over."""
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    later(10 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    return fault


@pytest.fixture
def appealed(pool, faults, provider, filed):
    """The same, against which the provider has appealed."""
    pool.deposit(provider, BOND, {"from": provider})
    faults.appeal(filed, {"from": provider})
    return filed


def state(faults, fault):
    return faults.faultOf(fault).dict()["state"]


# ----------------------------------------------------------------------------------------------------- apply to leases


def test_an_outage_is_taken_off_a_bill_once(pool, faults, tenant, running, filed, thief):
    tx = faults.applyOutage(filed, [running, running], {"from": thief})
    assert tx.events["OutageApplied"] == {"fault": filed, "lease": running, "tenant": tenant, "part": PART}
    assert tx.events["LeasePaused"] == {"lease": running, "machine": 1, "paused": 10 * MINUTE}
    with reverts("NothingToApply", filed):
        faults.applyOutage(filed, [running], {"from": thief})
    with reverts("NothingToApply", filed):
        faults.applyOutage(filed, [], {"from": thief})
    assert faults.faultOf(filed).dict()["pot"] == PART


def test_who_closes_before_the_outage_is_applied_has_its_part_of_the_slash_and_no_seconds_back(
    pool, faults, tenant, running, filed
):
    """So a tenant has it applied first: nobody but the tenant can close meanwhile."""
    pool.close(running, {"from": tenant})
    assert pool.balanceOf(tenant) == 50 * MINUTE * PER_SECOND  # the ten dark minutes were billed
    tx = faults.applyOutage(filed, [running], {"from": tenant})
    assert tx.events["OutageApplied"]["part"] == PART
    later(APPEAL + 1)
    faults.execute(filed, {"from": tenant})
    faults.compensate(filed, [running], {"from": tenant})
    assert pool.balanceOf(tenant) == 50 * MINUTE * PER_SECOND + PART


# ------------------------------------------------------------------------------------------------- appeals and rulings


def test_only_the_provider_appeals_once_and_in_time(pool, faults, people, provider, filed):
    deadline = now() + APPEAL
    assert faults.faultOf(filed).dict()["deadline"] == deadline
    for role in set(people) - {"provider"}:
        with reverts("NotAuthorized", people[role]):
            faults.appeal(filed, {"from": people[role]})
    with reverts("InsufficientBalance", provider, 0, BOND):
        faults.appeal(filed, {"from": provider})
    pool.deposit(provider, BOND, {"from": provider})
    at(deadline)
    tx = faults.appeal(filed, {"from": provider})
    assert tx.events["Appealed"] == {"fault": filed, "machine": 1, "deadline": deadline + RULING}
    assert (pool.balanceOf(provider), pool.balanceOf(faults)) == (0, BOND)
    with reverts("WrongFaultState", filed, APPEALED):
        faults.appeal(filed, {"from": provider})


def test_an_appeal_that_succeeds_takes_the_fault_back(
    pool, faults, people, owner, provider, running, appealed, thief
):
    for role in set(people) - {"owner"}:
        with reverts("NotAuthorized", people[role]):
            faults.rule(appealed, False, {"from": people[role]})
    tx = faults.rule(appealed, False, {"from": owner})
    assert tx.events["Ruled"] == {"fault": appealed, "stands": False}
    assert state(faults, appealed) == DROPPED
    assert pool.balanceOf(provider) == BOND
    assert pool.machineOf(1).dict()["pendingSlashes"] == 0
    assert plain(faults.windowOf(1)) == (0, 0)
    later(APPEAL + RULING)
    for call in (
        lambda: faults.execute(appealed, {"from": thief}),
        lambda: faults.applyOutage(appealed, [running], {"from": thief}),
    ):
        with reverts("WrongFaultState", appealed, DROPPED):
            call()


@pytest.fixture
def outage(faults, operator):
    """Ten minutes more of machine 1, said by its operator and over."""

    def happen():
        fault = fault_of(faults.reportOutage(1, {"from": operator}))
        later(10 * MINUTE)
        faults.recover(1, 0, b"", {"from": operator})
        return fault

    return happen


def test_rules_accepted_during_an_outage_change_nothing_of_it(
    pool, faults, operator, new_params, provider, owner, thief
):
    """Milder ones, and an arbiter of one's own: neither is there for an outage that runs already."""
    new_params(Params(max_slash_bps=0, arbiter=provider.address))
    since = now()
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    later(10 * MINUTE)
    pool.setTerms(1, Terms(), {"from": provider})
    assert [pool.acceptedAt(1, moment) for moment in (since, now())] == [1, 2]
    faults.recover(1, 0, b"", {"from": operator})
    assert faults.faultOf(fault).dict()["amount"] == COST
    pool.deposit(provider, BOND, {"from": provider})
    faults.appeal(fault, {"from": provider})
    with reverts("NotAuthorized", provider):
        faults.rule(fault, False, {"from": provider})
    faults.rule(fault, True, {"from": owner})


def test_without_a_sink_what_nobody_has_coming_is_burnt(pool, faults, outage, new_params, provider, thief):
    new_params(Params(sink=NOBODY))
    pool.setTerms(1, Terms(), {"from": provider})
    fault = outage()
    later(APPEAL + 1)
    told = faults.execute(fault, {"from": thief}).events["FaultExecuted"]
    assert (told["rest"], told["sink"]) == (COST, BURNT)
    assert pool.balanceOf(BURNT) == COST


# ----------------------------------------------------------------------------------------------------------- the slash


def test_a_slash_waits_for_its_appeal_window_and_happens_once(pool, faults, filed, thief):
    deadline = now() + APPEAL
    at(deadline)
    with reverts("AppealOpen", filed, deadline):
        faults.execute(filed, {"from": thief})
    at(deadline + 1)
    tx = faults.execute(filed, {"from": thief})
    assert tx.events["FaultExecuted"] == {
        "fault": filed,
        "machine": 1,
        "amount": COST,
        "pot": 0,
        "reported": 0,
        "rest": COST,
        "sink": SINK,
    }
    assert state(faults, filed) == EXECUTED
    assert pool.balanceOf(SINK) == COST
    assert pool.machineOf(1).dict()["stake"] == STAKE - COST
    with reverts("WrongFaultState", filed, EXECUTED):
        faults.execute(filed, {"from": thief})


def test_a_quorum_shares_a_tenth(pool, faults, committee, attest, validators, signers, thief):
    start = now()
    at(start + HOUR)
    tx = attest(1, start, start + 10 * MINUTE)
    fault, quorum = fault_of(tx), tx.events["QuorumSigned"]["quorum"]
    seats = signers(range(1, 6))
    assert plain(tx.events["QuorumSigned"]["signers"]) == tuple(seats)
    with reverts("NothingForQuorum", quorum):
        committee.payQuorum(seats, {"from": thief})
    later(APPEAL + 1)
    tenth = slashed(800) // 10
    tx = faults.execute(fault, {"from": thief})
    assert tx.events["QuorumCredited"] == {"quorum": quorum, "due": tenth}
    assert pool.balanceOf(SINK) == slashed(800) - tenth
    assert committee.dueOf(quorum) == tenth
    for others in ([], seats[:4], seats[::-1], [*seats[:4], (5, thief.address, seats[4][2])]):
        with reverts("NothingForQuorum"):
            committee.payQuorum(others, {"from": thief})
    tx = committee.payQuorum(seats, {"from": thief})
    assert tx.events["QuorumPaid"] == {"quorum": quorum, "amount": tenth}
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [tenth // 5]
    with reverts("NothingForQuorum", quorum):
        committee.payQuorum(seats, {"from": thief})


def test_a_quorum_whose_word_was_taken_back_is_fined_and_nobody_has_it(
    pool, faults, committee, books, attest, validators, signers, provider, owner, thief
):
    start = now()
    at(start + HOUR)
    tx = attest(1, start, start + 10 * MINUTE)
    fault, quorum = fault_of(tx), tx.events["QuorumSigned"]["quorum"]
    seats = signers(range(1, 6))
    with reverts("NothingForQuorum", quorum):
        committee.fineQuorum(seats, owner, {"from": thief})
    pool.deposit(provider, BOND, {"from": provider})
    faults.appeal(fault, {"from": provider})
    tx = faults.rule(fault, False, {"from": owner})
    assert tx.events["QuorumDisowned"] == {"quorum": quorum, "arbiter": owner}
    assert committee.disownedAt(quorum, owner) == tx.timestamp
    fine = Params().seat_stake // 10
    with reverts("NothingForQuorum", quorum):  # another arbiter has said nothing
        committee.fineQuorum(seats, thief, {"from": thief})
    tx = committee.fineQuorum(seats, owner, {"from": thief})
    assert tx.events["QuorumFined"] == {"quorum": quorum, "arbiter": owner, "amount": 5 * fine}
    assert [committee.seatOf(seat).dict()["stake"] for seat in range(1, 6)] == 5 * [SEAT - fine]
    assert pool.balanceOf(BURNT) == 5 * fine
    assert pool.balanceOf(provider) == BOND
    with reverts("NothingForQuorum", quorum):
        committee.fineQuorum(seats, owner, {"from": thief})
    books()


def test_tenants_share_by_cells_and_seconds_and_what_nobody_lost_is_nobody_s(
    pool, faults, books, rent, operator, tenant, neighbour, thief
):
    """Eight cells, two and one, of sixteen: of the 4 tokens 2, a half and a quarter. Five cells were nobody's."""
    leases = [rent(tenant), rent(neighbour, share=2), rent(thief, share=1)]
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    later(10 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    with reverts("WrongFaultState", fault, FILED):
        faults.compensate(fault, leases, {"from": thief})
    faults.applyOutage(fault, leases, {"from": thief})
    later(APPEAL + 1)
    faults.execute(fault, {"from": thief})
    assert pool.balanceOf(SINK) == COST - COST // 2 * 11 // 16
    for lease, part in zip(leases, (COST // 4, COST // 16, COST // 32), strict=True):
        told = faults.compensate(fault, [lease], {"from": thief}).events["Compensated"]
        assert (told["lease"], told["amount"]) == (lease, part)
    assert "Compensated" not in faults.compensate(fault, leases, {"from": thief}).events
    assert pool.balanceOf(faults) == 0
    assert faults.faultOf(fault).dict()["pot"] == 0
    books()


def test_slashes_are_remembered_and_fade(pool, faults, provider, filed, thief):
    assert faults.slashedOf(provider) == 0
    later(APPEAL + 1)
    faults.execute(filed, {"from": thief})
    assert faults.slashedOf(provider) == COST
    mature(45 * DAY)
    assert faults.slashedOf(provider) == COST - COST // 4
    mature(45 * DAY)
    assert faults.slashedOf(provider) == COST // 2


@pytest.mark.parametrize("fault", [0, 1, 2**255])
def test_what_never_was_is_unknown_to_every_call(faults, owner, fault):
    for name, arguments in {
        "applyOutage": ([],),
        "appeal": (),
        "rule": (True,),
        "execute": (),
        "compensate": ([],),
    }.items():
        with reverts("UnknownFault", fault):
            getattr(faults, name)(fault, *arguments, {"from": owner})
