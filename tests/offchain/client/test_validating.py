"""What validators do through the library: seats, a verification, a quorum's word; and what must not come of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import RoundState
from leasehold.client import (
    BadOutage,
    NoScore,
    NotAttested,
    NotOnCommittee,
    OtherHardware,
    PlanStale,
    PoolClient,
    VoteNotHere,
)
from leasehold.errors import (
    ContractError,
    NoQuorum,
    RevealNotOpen,
    SeatLocked,
    SeatNotMatured,
    UnknownSeat,
    WrongRoundState,
)
from leasehold.market import InvalidInput
from leasehold.provider import AskedTerms, Join, RequestVerification, SetTerms
from leasehold.validator import (
    Attest,
    CollectReward,
    CommitVotes,
    DrawCommittee,
    ExitSeat,
    FileFalseHardware,
    FinalizeRound,
    FineQuorum,
    LeaveSeat,
    RevealVotes,
    SignOutage,
    StakeSeat,
    TopUpSeat,
    validator_status,
)

from .conftest import Opening

UNIT = 10**18
HOUR, DAY = 3_600, 86_400


@pytest.fixture
async def validators(chain: PoolChain, opened: Opening, machine_file: Path) -> list[PoolClient]:
    """A machine, and five validators with a matured seat each: accounts 4 to 8."""
    await (await opened(2)).carry_out(Join(machine_file, AskedTerms("2")), approve=True)
    clients = [await opened(account) for account in range(4, 9)]
    for client in clients:
        await client.carry_out(StakeSeat(), approve=True)
    chain.anvil.advance(3 * DAY + 1)
    return clients


async def test_a_seat_is_staked_kept_whole_and_left(chain: PoolChain, opened: Opening) -> None:
    pool, stranger = await opened(4), await opened(5)
    plan = await pool.plan(StakeSeat())
    assert (plan.payment.amount, plan.payment.pulled) == (550 * UNIT, 550 * UNIT)
    seat = (await pool.carry_out(plan, approve=True)).seat
    assert (await validator_status(pool)).seats[0].seat == seat.id
    with pytest.raises(InvalidInput):
        await pool.plan(TopUpSeat(seat.id))
    with pytest.raises(SeatNotMatured):
        await pool.plan(LeaveSeat(seat.id))
    with pytest.raises(UnknownSeat):
        await pool.plan(LeaveSeat(9))
    chain.anvil.advance(3 * DAY + 1)
    with pytest.raises(ContractError):
        await stranger.carry_out(LeaveSeat(seat.id))
    await pool.carry_out(LeaveSeat(seat.id))
    with pytest.raises(SeatLocked):
        await pool.plan(ExitSeat(seat.id))
    chain.anvil.advance(21 * DAY + 1)
    await stranger.carry_out(ExitSeat(seat.id))
    assert (await validator_status(pool)).ledger == 550 * UNIT


async def test_a_seat_is_not_paid_out_of_the_wallet_where_the_ledger_was_to_pay(
    chain: PoolChain, opened: Opening
) -> None:
    pool = await opened(4)
    await pool.token.approve(chain.deployment.controller, 2_000 * UNIT)
    await pool.pool.deposit(chain.address(4), 550 * UNIT)
    plan = await pool.plan(StakeSeat())
    assert plan.payment.pulled == 0
    await pool.pool.withdraw(chain.address(4), 1)
    with pytest.raises(PlanStale):
        await pool.carry_out(plan)


async def test_a_committee_measures_a_machine(
    chain: PoolChain, opened: Opening, validators: list[PoolClient]
) -> None:
    first, provider, tenant = validators[0], await opened(2), await opened(1)
    stale = await tenant.plan(RequestVerification(1))
    await provider.carry_out(SetTerms(1, AskedTerms("3")))
    with pytest.raises(PlanStale):
        await tenant.carry_out(stale, approve=True)
    asked = await tenant.carry_out(RequestVerification(1), approve=True)
    chain.anvil.mine()
    drawn = await tenant.carry_out(DrawCommittee(asked.round))
    assert sorted(drawn.seats) == [1, 2, 3, 4, 5]
    with pytest.raises(WrongRoundState):
        await tenant.plan(DrawCommittee(asked.round))
    for request, refusal in (
        (CommitVotes(1, passed=True), NoScore),
        (CommitVotes(1, passed=True, score=1, spec=b"\x01" * 32), OtherHardware),
        (RevealVotes(1), RevealNotOpen),
    ):
        with pytest.raises(refusal):
            await first.plan(request)
    with pytest.raises(NotOnCommittee):
        await tenant.plan(CommitVotes(1, passed=False))
    plans = [await first.plan(CommitVotes(1, passed=False, spec=b"\x01" * 32)) for _ in range(2)]
    assert len(plans[0].cautions) == 1
    await first.carry_out(plans[0])
    with pytest.raises(
        ContractError
    ):  # and what it kept under another salt takes the first one's place nowhere
        await first.carry_out(plans[1])
    for client in validators[1:]:
        await client.carry_out(CommitVotes(1, passed=False, spec=b"\x01" * 32))
    chain.anvil.advance(4 * HOUR)
    assert (await validator_status(first)).rounds[0][1].what == "reveal"
    kept = validators[4].home.votes(chain.deployment).path(1, 5)
    kept.rename(kept.with_suffix(".gone"))
    with pytest.raises(VoteNotHere):
        await validators[4].plan(RevealVotes(1))
    for client in validators[:4]:
        await client.carry_out(RevealVotes(1))
    with pytest.raises(InvalidInput):
        await first.plan(RevealVotes(1))
    chain.anvil.advance(2 * HOUR)
    done = await tenant.carry_out(FinalizeRound(1))
    assert (done.round.state, done.round.spec) == (RoundState.FAILED, b"\x01" * 32)
    filing, again = [await tenant.plan(FileFalseHardware(1)) for _ in range(2)]
    await tenant.carry_out(filing)
    with pytest.raises(ContractError):
        await tenant.carry_out(again)


@pytest.mark.slow
async def test_a_quorums_word(chain: PoolChain, opened: Opening, validators: list[PoolClient]) -> None:
    tenant, begin = await opened(1), chain.anvil.timestamp
    chain.anvil.advance(HOUR)
    with pytest.raises(BadOutage):
        await validators[0].plan(SignOutage(1, begin, begin))
    with pytest.raises(InvalidInput):
        await tenant.plan(SignOutage(1, begin))
    words = [(await client.carry_out(SignOutage(1, begin))).attestation for client in validators]
    with pytest.raises(NoQuorum):
        await tenant.carry_out(Attest(words[:4]))
    forged = words[4].model_copy(update={"validator": chain.address(9)})
    plan = await tenant.plan(Attest([*words[:4], forged]))
    assert (plan.enough, len(plan.cautions), list(plan.proofs)) == (False, 1, [1, 2, 3, 4])
    twice = await tenant.plan(Attest([words[0]] * 5))
    assert (twice.enough, len(twice.proofs)) == (False, 1)
    for other in ({"to": begin + 1}, {"controller": chain.address(9)}):
        with pytest.raises(InvalidInput):
            await tenant.plan(Attest([words[0], words[1].model_copy(update=other)]))
    first, second = [await tenant.plan(Attest(list(reversed(words)))) for _ in range(2)]
    fault = (await tenant.carry_out(first)).fault
    with pytest.raises(ContractError):
        await tenant.carry_out(second)
    for request in (CollectReward(fault), FineQuorum(fault)):
        with pytest.raises(ContractError):
            await tenant.plan(request)
    with pytest.raises((NotAttested, ContractError, InvalidInput)):
        await tenant.plan(CollectReward(fault + 1))
