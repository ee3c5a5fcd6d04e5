"""The pool's own affairs: parameters with a delay, a pause that stops nobody leaving, its owner and its treasury."""

import pytest
from brownie.exceptions import VirtualMachineError
from signing import consent
from world import (
    CONTACT,
    DAY,
    HARDWARE,
    HOUR,
    MINUTE,
    NOBODY,
    SINK,
    STAKE,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    at,
    fee,
    later,
    lease_of,
    plain,
    reverts,
)

TIMELOCK = 2 * DAY
GPU_STAKE = Params().min_stake_per_gpu


# ---------------------------------------------------------------------------------------------------------- parameters


def test_the_first_parameters_are_in_force_at_once(pool):
    assert pool.paramsVersion() == 1
    assert plain(pool.params(1)) == Params()
    assert plain(pool.proposedParams()) == (0, 0)


def test_a_proposal_comes_into_force_by_time_alone_and_to_the_second(pool, owner, tenant):
    dearer = Params(fee_bps=700)
    tx = pool.proposeParams(dearer, {"from": owner})
    due = tx.timestamp + TIMELOCK
    assert tx.events["ParamsProposed"]["inForceAt"] == due
    assert plain(pool.proposedParams()) == (2, due)

    at(due - 1)
    pool.deposit(tenant, 1, {"from": tenant})
    assert pool.paramsVersion() == 1
    at(due)
    pool.deposit(tenant, 1, {"from": tenant})
    assert pool.paramsVersion() == 2
    assert plain(pool.params(2)) == dearer
    assert plain(pool.params(1)) == Params()
    assert plain(pool.proposedParams()) == (0, 0)


def test_one_proposal_waits_at_a_time(pool, owner):
    tx = pool.proposeParams(Params(), {"from": owner})
    with reverts("ProposalPending", tx.timestamp + TIMELOCK):
        pool.proposeParams(Params(fee_bps=1), {"from": owner})


def test_a_proposal_can_be_withdrawn_before_its_time(pool, owner):
    pool.proposeParams(Params(fee_bps=700), {"from": owner})
    assert pool.cancelParams({"from": owner}).events["ParamsCancelled"] == {"version": 2}
    later(TIMELOCK + DAY)
    pool.proposeParams(Params(fee_bps=1), {"from": owner})
    assert pool.paramsVersion() == 1


def test_there_must_be_a_proposal_to_withdraw(pool, owner):
    with reverts("NoProposal"):
        pool.cancelParams({"from": owner})


def test_what_is_in_force_cannot_be_withdrawn(pool, owner):
    pool.proposeParams(Params(fee_bps=700), {"from": owner})
    later(TIMELOCK)
    with reverts("NoProposal"):
        pool.cancelParams({"from": owner})


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("feeBps", Params(fee_bps=1001)),
        ("holdFeeBps", Params(hold_fee_bps=10_001)),
        ("maxSlashBps", Params(max_slash_bps=10_001)),
        ("startWindow", Params(start_window=MINUTE - 1)),
        ("startWindow", Params(start_window=DAY + 1)),
        ("noticeSeconds", Params(notice_seconds=30 * DAY + 1)),
        ("challengeWindow", Params(challenge_window=10 * MINUTE - 1)),
        ("claimLag", Params(claim_lag=15 * MINUTE - 1)),  # a claim never reaches into a trial
        ("claimLag", Params(claim_lag=20 * MINUTE, challenge_window=20 * MINUTE + 1)),
        ("claimLag", Params(claim_lag=7 * DAY + 1)),
        ("filingWindow", Params(filing_window=5 * DAY)),  # whoever leaves is judged by no seat of later rules
        ("appealWindow", Params(appeal_window=DAY - 1)),
        ("rulingWindow", Params(ruling_window=DAY - 1)),
        ("rulingWindow", Params(appeal_window=7 * DAY, ruling_window=7 * DAY + 1, unstake_delay=30 * DAY)),
        ("unstakeDelay", Params(unstake_delay=7 * DAY)),
        ("unstakeDelay", Params(unstake_delay=90 * DAY + 1)),
        ("bond", Params(bond=GPU_STAKE + 1)),
        ("seatStake", Params(seat_stake=GPU_STAKE - 1)),  # a quorum costs no less than what it judges
        ("seatStake", Params(seat_stake=0)),
        ("committeeSize", Params(committee_size=1)),
        ("committeeSize", Params(committee_size=4)),  # a vote could be a draw
        ("committeeSize", Params(committee_size=17)),
        (
            "verificationFee",
            Params(verification_fee=Params().seat_stake // 10 + 1),
        ),  # a lie costs more than it earns
        ("sink", Params(arbiter=SINK)),
    ],
)
def test_parameters_out_of_bounds_are_refused_by_name(pool, owner, field, params):
    with reverts("InvalidParams", field.encode()):
        pool.proposeParams(params, {"from": owner})


def test_nobody_who_has_a_say_is_a_sink(pool, owner, treasury):
    """Whoever rules, sets the rules or has the fees gains nothing by a slash."""
    for who in (owner, treasury, pool):
        with reverts("InvalidParams", b"sink"):
            pool.proposeParams(Params(arbiter=NOBODY, sink=str(who)), {"from": owner})


def test_parameters_at_their_bounds_are_taken(pool, owner):
    widest = Params(
        fee_bps=1000,
        hold_fee_bps=10_000,
        max_slash_bps=10_000,
        start_window=DAY,
        notice_seconds=30 * DAY,
        claim_lag=7 * DAY,
        filing_window=5 * DAY - 1,
        appeal_window=7 * DAY,
        ruling_window=7 * DAY,
        unstake_delay=90 * DAY,
        bond=GPU_STAKE,
        committee_size=15,
        verification_fee=Params().seat_stake // 10,
    )
    pool.proposeParams(widest, {"from": owner})
    pool.cancelParams({"from": owner})
    tightest = Params(
        start_window=MINUTE,
        claim_lag=15 * MINUTE,
        appeal_window=DAY,
        ruling_window=DAY,
        seat_stake=GPU_STAKE,
        committee_size=3,
        arbiter=NOBODY,
        sink=NOBODY,
    )
    pool.proposeParams(tightest, {"from": owner})


def test_an_open_lease_keeps_the_fee_that_it_opened_with(
    pool, provider, tenant, opened, operator, new_params
):
    new_params(Params(fee_bps=1000, start_window=DAY))
    with reverts("StartWindowPassed"):  # the lease's own window, not the new one
        pool.start(opened, HARDWARE, {"from": operator})
    assert pool.leaseOf(opened).dict()["params"] == 1


def test_a_running_lease_pays_the_fee_of_its_version(pool, provider, tenant, operator, new_params):
    request = LeaseRequest(1, duration=7 * DAY)
    lease = lease_of(pool.open(request, {"from": tenant}))
    pool.start(lease, HARDWARE, {"from": operator})
    new_params(Params(fee_bps=1000))
    closed = pool.close(lease, {"from": tenant}).events["LeaseClosed"]
    assert closed["fee"] == fee(closed["paid"] + closed["fee"], bps=500)


def test_a_machine_takes_leases_under_new_parameters_once_its_provider_accepts_them(
    pool, provider, tenant, new_params
):
    new_params(Params(fee_bps=700))
    with reverts("ParamsOutdated", 1, 2):
        pool.open(LeaseRequest(1), {"from": tenant})
    pool.setTerms(1, Terms(), {"from": provider})
    lease = lease_of(pool.open(LeaseRequest(1, revision=2), {"from": tenant}))
    assert pool.leaseOf(lease).dict()["params"] == 2


# --------------------------------------------------------------------------------------------------------------- pause


def test_a_pause_stops_opening_and_registering(pool, owner, provider, operator, tenant):
    assert pool.setPaused(True, {"from": owner}).events["PausedSet"] == {"paused": True}
    with reverts("Paused"):
        pool.open(LeaseRequest(1), {"from": tenant})
    with reverts("Paused"):
        pool.register(
            Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
        )
    pool.setPaused(False, {"from": owner})
    pool.open(LeaseRequest(1), {"from": tenant})


def test_a_pause_stops_nobody_leaving(pool, token, owner, provider, operator, tenant, neighbour, running):
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    other = lease_of(pool.open(LeaseRequest(1), {"from": tenant}))
    pool.setPaused(True, {"from": owner})

    later(HOUR // 2)
    pool.claim([running], {"from": provider})
    pool.cancelUnstarted(other, {"from": neighbour})
    pool.close(running, {"from": tenant})
    pool.withdraw(tenant, pool.balanceOf(tenant), {"from": tenant})
    pool.withdraw(provider, pool.balanceOf(provider), {"from": provider})
    pool.retire(1, {"from": provider})
    later(Params().unstake_delay)
    pool.unstake(1, {"from": provider})
    pool.withdraw(provider, STAKE, {"from": provider})

    assert token.balanceOf(pool) == pool.accountOf(provider).dict()["feesDue"]


# ------------------------------------------------------------------------------------------------ owner and treasury


def test_ownership_passes_in_two_steps(pool, owner, neighbour):
    tx = pool.transferOwnership(neighbour, {"from": owner})
    assert tx.events["OwnershipTransferStarted"] == {"owner": owner, "pendingOwner": neighbour}
    assert (pool.owner(), pool.pendingOwner()) == (owner, neighbour)
    tx = pool.acceptOwnership({"from": neighbour})
    assert tx.events["OwnershipTransferred"] == {"owner": neighbour}
    assert (pool.owner(), pool.pendingOwner()) == (neighbour, NOBODY)
    with reverts("NotAuthorized", owner):
        pool.setPaused(True, {"from": owner})


def test_an_offer_of_ownership_can_be_taken_back(pool, owner, neighbour):
    pool.transferOwnership(neighbour, {"from": owner})
    pool.transferOwnership(NOBODY, {"from": owner})
    with reverts("NotAuthorized", neighbour):
        pool.acceptOwnership({"from": neighbour})


def test_fees_gather_with_the_provider_and_are_pulled_to_the_treasury(
    pool, provider, treasury, tenant, neighbour, running
):
    later(HOUR // 2)
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    account = pool.accountOf(provider).dict()
    assert account["feesDue"] == account["feesPaid"] == closed["fee"] > 0

    tx = pool.pullFees([provider], {"from": neighbour})

    assert tx.events["FeesPulled"] == {"provider": provider, "treasury": treasury, "amount": closed["fee"]}
    assert pool.balanceOf(treasury) == closed["fee"]
    account = pool.accountOf(provider).dict()
    assert (account["feesDue"], account["feesPaid"]) == (0, closed["fee"])


def test_fees_are_pulled_once_however_often_a_provider_is_named(
    pool, provider, treasury, tenant, thief, running
):
    later(HOUR // 2)
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    pool.pullFees([provider, provider, thief], {"from": thief})
    pool.pullFees([provider], {"from": thief})
    assert pool.balanceOf(treasury) == closed["fee"]


def test_fees_go_to_the_treasury_of_the_day(pool, owner, provider, treasury, tenant, neighbour, running):
    later(HOUR // 2)
    closed = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert pool.setTreasury(neighbour, {"from": owner}).events["TreasurySet"] == {"treasury": neighbour}
    pool.pullFees([provider], {"from": owner})
    assert (pool.balanceOf(treasury), pool.balanceOf(neighbour)) == (0, closed["fee"])


def test_the_treasury_cannot_be_nobody(pool, owner):
    with reverts("ZeroAddress"):
        pool.setTreasury(NOBODY, {"from": owner})


# --------------------------------------------------------------------------------------------------------------- reads


def test_the_pool_knows_its_parts(pool, token, hub, owner, treasury):
    assert pool.token() == token
    assert pool.accounts() == hub
    assert pool.owner() == owner
    assert pool.treasury() == treasury
    assert not pool.paused()
    assert (pool.machineCount(), pool.slotCount()) == (1, 0)


def test_raw_storage_can_be_read_in_bulk(pool):
    slots = [f"0x{slot:064x}" for slot in range(4)]
    values = pool.extsload(slots)
    assert len(values) == 4
    assert any(int(str(value), 16) for value in values)


def test_the_pool_tells_its_typed_data_domain(pool, chain):
    _, name, version, chain_id, contract, _, extensions = pool.eip712Domain()
    assert (name, version, chain_id, contract, extensions) == ("Leasehold", "1", chain.id, pool, ())


def test_what_a_pool_does_not_know_it_refuses(pool, tenant):
    with pytest.raises(VirtualMachineError):
        tenant.transfer(pool, data="0xdeadbeef")
