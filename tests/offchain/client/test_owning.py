"""What a pool's owner and arbiter do through the library, and what must not happen in between."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold import (
    AcceptPool,
    Appeal,
    AskedTerms,
    CancelRules,
    CollectFees,
    CreatePool,
    ExecuteFault,
    HandPoolOver,
    IssueLicence,
    Join,
    ProposeRules,
    RecoverMachine,
    ReportOutage,
    RuleOnFault,
    SetGated,
    SetPaused,
    SetTreasury,
    connect,
    powers_of,
)
from leasehold.chain import FaultState
from leasehold.client import ChangesNothing, NothingToDo, PlanStale
from leasehold.errors import (
    ContractError,
    NoProposal,
    NotAuthorized,
    ProposalPending,
    Unlicensed,
    WrongFaultState,
)
from leasehold.market import InvalidInput, table_of_powers

from .conftest import Opening

DAY = 86_400
UNIT = 10**18


async def test_rules_are_proposed_over_those_that_were_looked_at(chain: PoolChain, opened: Opening) -> None:
    """A plan names one parameter; the others it would set back to what they were when it was made."""
    owner = await opened(0)
    with pytest.raises(ChangesNothing):
        await owner.plan(ProposeRules({"fee_bps": "3%"}))
    with pytest.raises(NoProposal):
        await owner.plan(CancelRules())
    for wrong in ({"fee_bps": "11%"}, {"fee": "1"}):
        with pytest.raises(InvalidInput):
            await owner.plan(ProposeRules(wrong))
    bond = await owner.plan(ProposeRules({"bond": "7"}))
    made = await owner.carry_out(ProposeRules({"fee_bps": "2%"}))
    assert made.proposed.version == 2
    with pytest.raises(ProposalPending):
        await owner.plan(ProposeRules({"bond": "7"}))
    chain.anvil.advance(2 * DAY + 1)
    with pytest.raises(PlanStale):
        await owner.carry_out(bond)
    await owner.carry_out(ProposeRules({"bond": "7"}))
    cancel, late = await owner.plan(CancelRules()), await owner.plan(CancelRules())
    await owner.carry_out(cancel)
    with pytest.raises(PlanStale):
        await owner.carry_out(late)


async def test_a_pool_has_one_owner_who_gates_and_hands_over(
    chain: PoolChain, opened: Opening, machine_file: Path
) -> None:
    owner, provider, stranger = await opened(0), await opened(2), await opened(4)
    for request in (SetPaused(True), SetGated(True), SetTreasury(chain.address(4)), HandPoolOver(chain.address(4)),
                    IssueLicence(chain.address(4)), ProposeRules({"fee_bps": "9%"})):  # fmt: skip
        with pytest.raises(ContractError):
            await stranger.carry_out(request)
    await owner.carry_out(SetGated(True))
    with pytest.raises(Unlicensed):
        await provider.carry_out(Join(machine_file, AskedTerms("1")), approve=True)
    with pytest.raises(InvalidInput):
        await owner.plan(IssueLicence(chain.address(2), kind="é"))
    await owner.carry_out(IssueLicence(chain.address(2), until=date(2040, 12, 31)))
    await provider.carry_out(Join(machine_file, AskedTerms("1")), approve=True)
    await owner.carry_out(IssueLicence(chain.address(2), seats=0))
    await owner.carry_out(HandPoolOver(chain.address(4)))
    await stranger.carry_out(AcceptPool())
    await stranger.carry_out(SetTreasury(chain.address(5)))
    with pytest.raises(NothingToDo):
        await provider.carry_out(CollectFees())
    assert await chain.pool().treasury() == chain.address(5)


async def test_an_appeal_is_ruled_on_once_by_its_arbiter(
    chain: PoolChain, opened: Opening, machine_file: Path
) -> None:
    arbiter, provider, operator = await opened(0), await opened(2), await opened(3)
    await provider.carry_out(Join(machine_file, AskedTerms("1")), approve=True)
    fault = (await operator.carry_out(ReportOutage(1))).fault
    chain.anvil.advance(3_600)
    await provider.carry_out(RecoverMachine(1))
    with pytest.raises(WrongFaultState):
        await arbiter.plan(RuleOnFault(fault, stands=False))
    await provider.carry_out(Appeal(fault), approve=True)
    with pytest.raises(NotAuthorized):
        await provider.plan(RuleOnFault(fault, stands=False))
    first, second = [await arbiter.plan(RuleOnFault(fault, stands)) for stands in (False, True)]
    assert (await arbiter.carry_out(first)).fault.state is FaultState.DROPPED
    with pytest.raises(ContractError):
        await arbiter.carry_out(second)
    with pytest.raises(ContractError):
        await provider.carry_out(ExecuteFault(fault))


async def test_a_pool_of_ones_own(chain: PoolChain, opened: Opening, tmp_path: Path) -> None:
    pool = await opened(1)
    plan = await pool.plan(CreatePool({"fee_bps": "0"}, treasury=chain.address(6)))
    assert (plan.owner, plan.rules.fee_bps) == (chain.address(1), 0)
    made = await pool.carry_out(plan)
    async with connect(made.deployment, rpc=chain.anvil.url, home=tmp_path / "other") as other:
        assert (await other.pool.owner(), await other.pool.treasury()) == (chain.address(1), chain.address(6))
        assert await other.search() == []


async def test_who_has_which_power_is_read_from_the_chain(chain: PoolChain, opened: Opening) -> None:
    pool = await opened(4)
    before = table_of_powers(await powers_of(pool), pool.money)
    assert {power.address for power in before if power.who in ("owner", "arbiter", "treasury")} == {
        chain.address(0)
    }
    owner = await opened(0)
    await owner.carry_out(HandPoolOver(chain.address(4)))
    await owner.carry_out(SetGated(True))
    added = [power.who for power in table_of_powers(await powers_of(pool), pool.money) if power not in before]
    assert added == ["the next owner", "owner"]
