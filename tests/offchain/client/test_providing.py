"""What a provider does with a machine that is in the pool, through the library; and what came between."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import LeaseRequest, LocalSigner, MachineStatus
from leasehold.client import (
    DescribesAnother,
    LedgerNotCovered,
    NothingToDo,
    NotItsKeeper,
    OperatorOnly,
    PaidIn,
    PlanStale,
    PoolClient,
    StakeStillLocked,
)
from leasehold.errors import AlreadyDown, ContractError
from leasehold.market import AlreadyJoined, PenaltyNotCovered, SomebodyElses
from leasehold.provider import (
    AddStake,
    Appeal,
    AskedTerms,
    ChangeOperator,
    Claim,
    Delist,
    GiveNotice,
    Join,
    PublishDocuments,
    RecoverMachine,
    Relist,
    ReportOutage,
    Retire,
    SetTerms,
    Unstake,
    Withhold,
    provider_status,
    tenants_of,
)

from .conftest import Opening, described

UNIT = 10**18
HOUR, DAY = 3_600, 86_400


@dataclass
class Offered:
    """A machine of account 2's, with its operator's and a stranger's client."""

    chain: PoolChain
    provider: PoolClient
    operator: PoolClient
    stranger: PoolClient
    file: Path

    async def lease(self, seconds: int, share: int = 8) -> int:
        """A lease of account 1's that has started and is past its trial."""
        await self.chain.token(1).approve(self.chain.deployment.controller)
        machine = await self.chain.pool().machine_of(1)
        wanted = LeaseRequest(
            1, machine.revision, share, seconds, 10 * UNIT, bytes(32), allow_unverified=True
        )
        lease, _ = await self.chain.pool(1).open(wanted)
        await self.chain.pool(3).start(lease, bytes(32))
        self.chain.anvil.advance(700)
        return lease


@pytest.fixture
async def offered(chain: PoolChain, opened: Opening, machine_file: Path) -> Offered:
    provider = await opened(2)
    await provider.carry_out(Join(machine_file, AskedTerms("2.5")), approve=True)
    return Offered(chain, provider, await opened(3), await opened(4), machine_file)


async def test_how_tenants_have_done(offered: Offered) -> None:
    first = await offered.lease(HOUR)
    await offered.chain.pool(1).close(first)
    await offered.lease(HOUR)
    (record,) = await tenants_of(offered.stranger, "leases>=2")
    assert (record.account, record.leases, record.ended) == (offered.chain.address(1), 2, 1)
    assert record.paid > 0
    assert list(await tenants_of(offered.stranger, "ended>=2")) == []


async def test_terms_that_were_set_since_are_not_undone(offered: Offered) -> None:
    """What is not asked stays as it was: as it is now, not as it was when the plan was made."""
    pool = offered.provider
    cheaper = await pool.plan(SetTerms(1, AskedTerms(price="2")))
    longer = await pool.carry_out(SetTerms(1, AskedTerms(longest=DAY, until=date(2040, 1, 1))))
    with pytest.raises(PlanStale):
        await pool.carry_out(cheaper)
    assert (longer.machine.terms.price, longer.machine.terms.max_duration) == (25 * UNIT // 10, DAY)
    plan = await pool.plan(SetTerms(1, AskedTerms(price="2")))
    owner = offered.chain.pool(0)
    await owner.propose_params(replace(await owner.params(1), fee_bps=900))
    offered.chain.anvil.advance(2 * DAY + 1)
    with pytest.raises(PlanStale):
        await pool.carry_out(plan)
    assert (await pool.carry_out(SetTerms(1, AskedTerms(price="2")))).machine.params == 2


async def test_a_machine_goes_out_of_sale_and_for_good(offered: Offered) -> None:
    pool = offered.provider
    assert (await pool.plan(Withhold(1, "0:0-3"))).cells == 0b1111
    assert (await pool.carry_out(Withhold(1, "0:0-3"))).machine.withheld == 0b1111
    assert (await pool.carry_out(Delist(1))).machine.delisted
    assert not (await pool.carry_out(Relist(1))).machine.delisted
    for request in (
        SetTerms(1, AskedTerms("9")),
        Withhold(1, "all"),
        Delist(1),
        Relist(1),
        Retire(1),
        Unstake(1),
    ):
        with pytest.raises(SomebodyElses):
            await offered.stranger.plan(request)
    retiring = await pool.plan(Retire(1))
    assert (await pool.carry_out(retiring)).machine.status is MachineStatus.RETIRED
    with pytest.raises(StakeStillLocked):
        await pool.plan(Unstake(1))
    offered.chain.anvil.advance(retiring.delay + 1)
    await pool.carry_out(Unstake(1))
    assert (await provider_status(pool)).ledger == 200 * UNIT


async def test_a_second_machine_takes_what_its_dry_run_showed(offered: Offered, tmp_path: Path) -> None:
    """To the unit: fees that were paid take something off the least stake."""
    pool, key = offered.provider, LocalSigner("0x" + "77" * 32)
    lease = await offered.lease(7 * HOUR + 1)
    offered.chain.anvil.advance(8 * HOUR)
    await pool.pool.close(lease)
    plan = await pool.plan(
        Join(await described(offered.chain, tmp_path / "b.json", operator=key), AskedTerms("1"))
    )
    assert 0 < plan.quote.discount_bps < 10_000
    assert dict(plan.rows())["stake"].startswith(f"{pool.money.show(plan.quote.stake)}, ")
    joined = await pool.carry_out(plan, approve=True)
    assert joined.machine == 2
    assert (await pool.pool.machine_of(2)).stake == plan.quote.stake < 200 * UNIT


async def test_another_host_takes_a_machine_over(offered: Offered, tmp_path: Path) -> None:
    pool, key = offered.provider, LocalSigner("0x" + "77" * 32)
    other = await described(offered.chain, tmp_path / "other.json", operator=key)
    with pytest.raises(NothingToDo):
        await pool.carry_out(PublishDocuments(1, offered.file))
    with pytest.raises(DescribesAnother):
        await pool.plan(PublishDocuments(1, other))
    changed = await pool.carry_out(ChangeOperator(1, other))
    assert (changed.machine.operator, changed.funding is None) == (key.address, False)
    document = json.loads(other.read_text())
    document["hardware"]["memory_bytes"] += 1
    other.write_text(json.dumps(document))
    plan = await pool.plan(PublishDocuments(1, other))
    assert plan.changed == ("hardware", "contact")
    assert len(plan.cautions) == 1
    assert (await pool.carry_out(plan)).machine.revision == 2
    spare = await described(offered.chain, tmp_path / "spare.json", operator=offered.chain.signer(5))
    await pool.carry_out(Join(spare, AskedTerms("1")), approve=True)
    with pytest.raises(AlreadyJoined):
        await pool.plan(ChangeOperator(1, spare))


async def test_a_tenants_penalty_does_not_grow_behind_a_plan(offered: Offered) -> None:
    """Who is to be given notice might take more of the machine first, and be paid for that."""
    pool, lease = offered.provider, await offered.lease(DAY)
    with pytest.raises(PenaltyNotCovered):
        await pool.plan(GiveNotice(lease))
    await pool.token.approve(offered.chain.deployment.controller, 500 * UNIT)
    await pool.pool.deposit(offered.chain.address(2), 500 * UNIT)
    plan = await pool.plan(GiveNotice(lease))
    await offered.chain.pool(1).resize(lease, 16)
    with pytest.raises(PlanStale):
        await pool.carry_out(plan)
    with pytest.raises(SomebodyElses):
        await offered.stranger.plan(GiveNotice(lease))
    given = await pool.carry_out(GiveNotice(lease))
    assert given.lease.noticed


async def test_what_is_earned_is_collected_once(offered: Offered) -> None:
    pool = offered.provider
    with pytest.raises(NothingToDo):
        await pool.carry_out(Claim())
    lease = await offered.lease(HOUR)
    offered.chain.anvil.advance(HOUR)
    first, second = [await pool.plan(Claim()) for _ in range(2)]
    assert first.due.overdue == (lease,)
    assert (await pool.carry_out(first)).gained == pytest.approx(2.5 * 0.97 * UNIT, rel=0.01)
    with pytest.raises(ContractError):
        await pool.carry_out(second)


async def test_an_outage_is_said_ended_and_appealed_against(offered: Offered) -> None:
    pool, operator = offered.provider, offered.operator
    with pytest.raises(OperatorOnly):
        await pool.plan(ReportOutage(1))
    plan = await operator.plan(ReportOutage(1))
    assert plan.scale[0] == (420, 200, 400)
    reported = await operator.carry_out(plan)
    with pytest.raises(AlreadyDown):
        await operator.plan(ReportOutage(1))
    with pytest.raises(NotItsKeeper):
        await offered.stranger.plan(RecoverMachine(1))
    (duty,) = (await provider_status(pool)).duties
    assert (duty.what, duty.machine.id) == ("recover", 1)
    offered.chain.anvil.advance(HOUR)
    recovered = await pool.carry_out(RecoverMachine(1))
    assert recovered.fault is not None
    appeal = await pool.plan(Appeal(reported.fault))
    assert (appeal.payment.amount, appeal.payment.pulled) == (5 * UNIT, 5 * UNIT)
    steps = [step async for step in pool.steps(appeal, approve=True)]
    assert [step.amount for step in steps if isinstance(step, PaidIn)] == [5 * UNIT]
    with pytest.raises(SomebodyElses):
        await offered.stranger.plan(Appeal(reported.fault))


async def test_a_bond_that_nobody_has(offered: Offered) -> None:
    pool = offered.provider
    reported = await offered.operator.carry_out(ReportOutage(1))
    offered.chain.anvil.advance(HOUR)
    await pool.carry_out(RecoverMachine(1))
    await pool.token.transfer(offered.chain.address(9), await pool.token.balance(offered.chain.address(2)))
    with pytest.raises(LedgerNotCovered):
        await pool.plan(Appeal(reported.fault))
    with pytest.raises(SomebodyElses):
        await offered.stranger.plan(AddStake(1, "1"))
