"""What a fault costs and who gets it: outages applied to leases, appeals, rulings, the slash, and the tenants' part."""

import pytest
from signing import consent, key_proof
from world import (
    APPEALED,
    BURNT,
    CONTACT,
    DAY,
    DROPPED,
    EXECUTED,
    FILED,
    HARDWARE,
    HOUR,
    MINUTE,
    NOBODY,
    PER_SECOND,
    RUNNING,
    SEAT,
    SINK,
    STAKE,
    UPHELD,
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


def test_what_an_outage_does_not_touch_is_passed_over(
    pool, faults, provider, operator, running, filed, rent, tenant
):
    pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    elsewhere, afterwards = rent(tenant, machine=2), rent(tenant)
    nowhere = 99 << 16
    faults.applyOutage(filed, [elsewhere, afterwards, nowhere, running], {"from": tenant})
    assert [pool.leaseOf(lease).dict()["paused"] for lease in (elsewhere, afterwards)] == [0, 0]
    with reverts("NothingToApply", filed):
        faults.applyOutage(filed, [elsewhere, afterwards, nowhere], {"from": tenant})


def test_an_outage_that_runs_is_not_applied_yet(faults, operator, running, thief):
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    with reverts("WrongFaultState", fault, RUNNING):
        faults.applyOutage(fault, [running], {"from": thief})


def test_a_lease_closed_in_between_has_its_part(pool, faults, operator, tenant, running):
    """Five of the ten minutes were the tenant's. Its bill stopped when it closed; what it lost is registered."""
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    later(5 * MINUTE)
    pool.close(running, {"from": tenant})
    later(5 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    tx = faults.applyOutage(fault, [running], {"from": tenant})
    assert tx.events["OutageApplied"]["part"] == PART // 2
    assert "LeasePaused" not in tx.events


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


def test_applied_after_the_slash_it_pauses_and_shares_nothing(pool, faults, operator, tenant, rent, thief):
    lease = rent(tenant, duration=5 * DAY)
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    later(10 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    later(APPEAL + 1)
    faults.execute(fault, {"from": thief})
    faults.applyOutage(fault, [lease], {"from": tenant})
    assert pool.leaseOf(lease).dict()["paused"] == 10 * MINUTE
    assert faults.faultOf(fault).dict()["pot"] == 0
    faults.compensate(fault, [lease], {"from": tenant})
    assert pool.balanceOf(tenant) == 0


def test_a_tenant_who_got_the_lease_later_has_not_lost_what_the_other_lost(
    pool, hub, faults, keys, running, filed, tenant, neighbour, thief
):
    faults.applyOutage(filed, [running], {"from": thief})
    digest = hub.acceptTransferDigest(neighbour, pool, running, 2**40)
    pool.transferLease(
        running, neighbour, 2**40, key_proof(keys[neighbour.address], digest), {"from": tenant}
    )
    later(APPEAL + 1)
    faults.execute(filed, {"from": thief})
    faults.compensate(filed, [running], {"from": thief})
    assert (pool.balanceOf(tenant), pool.balanceOf(neighbour)) == (PART, 0)


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


def test_an_appeal_can_come_too_late(pool, faults, provider, filed):
    deadline = now() + APPEAL
    pool.deposit(provider, BOND, {"from": provider})
    at(deadline + 1)
    with reverts("AppealOver", filed, deadline):
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


def test_an_appeal_that_fails_costs_the_bond_and_lets_it_stand(
    pool, faults, owner, provider, appealed, thief
):
    """However soon the arbiter rules, the tenants have the time that they would have had without an appeal."""
    until = faults.faultOf(appealed).dict()["filedAt"] + APPEAL
    faults.rule(appealed, True, {"from": owner})
    assert faults.faultOf(appealed).dict()["deadline"] == until
    assert state(faults, appealed) == UPHELD
    with reverts("WrongFaultState", appealed, UPHELD):
        faults.rule(appealed, False, {"from": owner})
    with reverts("AppealOpen", appealed, until):
        faults.execute(appealed, {"from": thief})
    at(until + 1)
    faults.execute(appealed, {"from": thief})
    assert pool.balanceOf(SINK) == BOND + COST
    assert pool.balanceOf(provider) == 0


def test_an_arbiter_s_silence_lets_it_stand_and_gives_the_bond_back(
    pool, faults, owner, provider, appealed, thief
):
    deadline = now() + RULING
    at(deadline)
    with reverts("AppealOpen", appealed, deadline):
        faults.execute(appealed, {"from": thief})
    at(deadline + 1)
    with reverts("RulingOver", appealed, deadline):
        faults.rule(appealed, False, {"from": owner})
    faults.execute(appealed, {"from": thief})
    assert pool.balanceOf(provider) == BOND
    assert pool.machineOf(1).dict()["stake"] == STAKE - COST


@pytest.fixture
def outage(faults, operator):
    """Ten minutes more of machine 1, said by its operator and over."""

    def happen():
        fault = fault_of(faults.reportOutage(1, {"from": operator}))
        later(10 * MINUTE)
        faults.recover(1, 0, b"", {"from": operator})
        return fault

    return happen


def test_the_arbiter_is_named_by_the_rules_that_the_provider_had_accepted(
    pool, faults, outage, new_params, provider, owner, neighbour
):
    pool.deposit(provider, 2 * BOND, {"from": provider})
    new_params(Params(arbiter=neighbour.address))
    for version, arbiter, other in ((1, owner, neighbour), (2, neighbour, owner)):
        fault = outage()
        assert faults.faultOf(fault).dict()["rules"] == version
        faults.appeal(fault, {"from": provider})
        with reverts("NotAuthorized", other):
            faults.rule(fault, False, {"from": other})
        faults.rule(fault, False, {"from": arbiter})
        pool.setTerms(1, Terms(), {"from": provider})


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


def test_where_nobody_rules_there_is_no_appeal(pool, faults, outage, new_params, provider):
    new_params(Params(arbiter=NOBODY))
    pool.setTerms(1, Terms(), {"from": provider})
    fault = outage()
    with reverts("NobodyRules", fault):
        faults.appeal(fault, {"from": provider})


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


def test_an_arbiter_fines_nobody_who_joined_by_rules_of_another(
    pool, faults, committee, new_params, attest, validators, signers, provider, thief
):
    """An owner could name himself, and rule against every seat on a machine of his own."""
    new_params(Params(arbiter=thief.address))
    pool.setTerms(1, Terms(), {"from": provider})
    start = now()
    at(start + HOUR)
    fault = fault_of(attest(1, start + MINUTE, start + 10 * MINUTE))
    pool.deposit(provider, BOND, {"from": provider})
    faults.appeal(fault, {"from": provider})
    faults.rule(fault, False, {"from": thief})
    tx = committee.fineQuorum(signers(range(1, 6)), thief, {"from": thief})
    assert tx.events["QuorumFined"]["amount"] == 0
    assert [committee.seatOf(seat).dict()["stake"] for seat in range(1, 6)] == 5 * [SEAT]


def test_a_challenger_is_the_reporter(pool, faults, running, tenant, operator, thief):
    pool.deposit(tenant, BOND, {"from": tenant})
    faults.challenge(1, running, {"from": tenant})
    later(Params().challenge_window + 1)
    fault = fault_of(faults.prove(1, {"from": thief}))
    faults.recover(1, 0, b"", {"from": operator})
    later(APPEAL + 1)
    faults.execute(fault, {"from": thief})
    slash = slashed(400)
    assert pool.balanceOf(tenant) == BOND + slash // 10
    assert pool.balanceOf(SINK) == slash - slash // 10


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


def test_a_fault_keeps_the_stake_until_it_is_settled(pool, faults, provider, operator, thief):
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    later(10 * MINUTE)
    pool.retire(1, {"from": provider})
    later(Params().unstake_delay)
    with reverts("SlashPending", 1, 1):
        pool.unstake(1, {"from": thief})
    faults.roll(1, {"from": thief})
    with reverts("SlashPending", 1, 1):
        pool.unstake(1, {"from": thief})
    later(APPEAL + 1)
    faults.execute(fault, {"from": thief})
    pool.unstake(1, {"from": thief})
    assert pool.balanceOf(provider) == STAKE - COST


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


def test_a_dead_machine_s_hour_costs_nothing_but_the_stake(pool, faults, tenant, running, filed):
    """The bill of a lease that ran through the outage and to its end is an hour less ten minutes."""
    faults.applyOutage(filed, [running], {"from": tenant})
    later(HOUR)
    pool.close(running, {"from": tenant})
    assert pool.balanceOf(tenant) == 10 * MINUTE * PER_SECOND
