"""A run over a real chain, by the library alone: the machine's operator acts by hand, and no agent answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold import Rent, Run
from leasehold.chain import LeaseState
from leasehold.client import PoolClient
from leasehold.provider import AskedTerms, Join
from leasehold.runs import AttachRun, RunActed, Word, _following, settle_runs
from leasehold.runs._errors import NothingRan, RunIsAnother

from .conftest import Opening

RENTER, PROVIDER, OPERATOR = 1, 2, 3
JOB = {"version": 1, "kind": "batch", "image": "sha256:" + "0" * 64, "egress": "none", "command": ["true"]}


@pytest.fixture
async def renter(
    opened: Opening, machine_file: Path, chain: PoolChain, monkeypatch: pytest.MonkeyPatch
) -> PoolClient:
    """Who may pay for the one machine that there is."""
    monkeypatch.setattr(_following, "LOOK_EVERY", 0.05)
    provider = await opened(PROVIDER)
    plan = await provider.plan(Join(machine_file, AskedTerms(price="1")))
    await provider.carry_out(plan, approve=True)
    await chain.token(RENTER).approve(chain.deployment.controller)
    client = await opened(RENTER)
    client._ipfs = provider._ipfs
    return client


def a_run(renter: PoolClient, tmp_path: Path, **more: int) -> Run:
    rent = Rent(
        renter.workload(JOB), seconds=3_600, allow_unverified=True, without_agent=True, share=8, max_price="2"
    )
    return Run(rent, "train", tmp_path / "results", **more)


async def meanwhile(chain: PoolChain, act: Callable[[int], Awaitable[object]]) -> None:
    """Do it to the first lease that is opened."""
    async with asyncio.timeout(patient(30)):
        while (lease := await chain.pool().lease_of(1 << 16)).state is not LeaseState.OPENED:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await act(lease.id)


async def carried_out(renter: PoolClient, run: Run, act: Awaitable[None]) -> NothingRan:
    acting = asyncio.ensure_future(act)
    with pytest.raises(NothingRan) as nothing:
        await renter.carry_out(run)
    await acting
    return nothing.value


async def test_a_machine_that_declines_costs_nothing(
    chain: PoolChain, renter: PoolClient, tmp_path: Path
) -> None:
    operator, before = chain.pool(OPERATOR), await renter.renter().funds()
    act = meanwhile(chain, lambda lease: operator.decline(lease, "no-disk"))
    said = str(await carried_out(renter, a_run(renter, tmp_path), act))
    assert said == (
        "Run train found no machine that ran it: machine 1 (no-disk); of the rest: No machine matches."
    )
    after = await renter.renter().funds()
    assert after.ledger + after.wallet == before.ledger + before.wallet
    record = renter.home.runs(chain.deployment).get("train")
    assert record is not None
    assert (record.ended, record.owed, record.tries[0].cost) == ("none", False, 0)


async def test_one_that_never_starts_is_cancelled_when_its_window_is_over(
    chain: PoolChain, renter: PoolClient, tmp_path: Path
) -> None:
    """No other fits, so that it is waited for, and everything comes back."""

    async def pass_time(lease: int) -> None:
        chain.anvil.advance(1_900)

    said = await carried_out(renter, a_run(renter, tmp_path, start_within=1), meanwhile(chain, pass_time))
    assert "machine 1 (" in said.problem
    assert (await renter.lease(1 << 16)).state is LeaseState.CANCELLED


async def test_one_whose_agent_is_silent_is_paid_for_its_seconds(
    chain: PoolChain, renter: PoolClient, tmp_path: Path
) -> None:
    operator, before = chain.pool(OPERATOR), await renter.renter().funds()
    act = meanwhile(chain, lambda lease: operator.start(lease, bytes(32)))
    said = await carried_out(renter, a_run(renter, tmp_path, gone_after=1), act)
    assert "machine 1 (its machine is gone)" in said.problem
    lease, after = await renter.lease(1 << 16), await renter.renter().funds()
    assert lease.state is LeaseState.ENDED
    record = renter.home.runs(chain.deployment).get("train")
    assert record is not None
    assert after.ledger + after.wallet == before.ledger + before.wallet - (record.tries[0].cost or 0)


async def test_it_is_gone_on_with_and_another_wish_is_refused(
    chain: PoolChain, renter: PoolClient, tmp_path: Path
) -> None:
    """Left before its start; the same request attaches, and closing it leaves the lease to be cancelled."""
    plan = await renter.plan(a_run(renter, tmp_path))
    plan.control.say(Word.LEAVE)
    left = await renter.carry_out(plan)
    assert (left.outcome, left.lease, left.to_json(renter.money)["outcome"]) == ("left", 1 << 16, "left")
    other = {**JOB, "command": ["false"]}
    rent = Rent(renter.workload(other), seconds=3_600, allow_unverified=True, without_agent=True)
    with pytest.raises(RunIsAnother):
        await renter.plan(Run(rent, "train", tmp_path / "results"))
    again = await renter.plan(a_run(renter, tmp_path))
    assert (again.first, again.payment) == (None, None)
    attached = await renter.plan(AttachRun("train"))
    attached.control.say(Word.CLOSE)
    closed = await renter.carry_out(attached)
    assert (closed.outcome, [tried.machine for tried in closed.waiting]) == ("closed", [1])
    assert (await renter.lease(1 << 16)).state is LeaseState.OPENED
    chain.anvil.advance(1_900)
    steps = [step async for step in settle_runs(renter)]
    assert [step.act.do.name for step in steps if isinstance(step, RunActed)] == ["CANCEL", "END"]
    assert (await renter.lease(1 << 16)).state is LeaseState.CANCELLED
    assert [step async for step in settle_runs(renter)] == []
