"""Carries out what a run does next: under a lock of its own, noted first, and what it rests upon asked for again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import LeaseState
from leasehold.client import (
    Approved,
    Close,
    ClosingOrdered,
    Extended,
    HandedOver,
    LeasesOpened,
    NoResultsAnyMore,
    NoResultsYet,
    NotLive,
    Observer,
    Rent,
    RentPlan,
    Step,
    alone,
    fetch_lease_results,
    hand_in,
    hand_order,
    keep_checkpoint,
    key_of_checkpoints,
    newest_checkpoint,
    order_closing,
    published_results,
    under_way,
)
from leasehold.errors import AgentError, ContractError, DatasetCorrupt, DatasetError, DatasetTooLarge
from leasehold.home import GivenUp, RunRecord, Runs, Try
from leasehold.market import MarketError, NoMachineMatches, NotEnoughFunds, Payment
from leasehold.market.wire import AgentUnreachable
from leasehold.runs._deciding import (
    Act,
    Do,
    RunLook,
    RunRules,
    Word,
    affordable,
    decide,
)
from leasehold.runs._errors import BudgetTooSmall
from leasehold.runs._looking import Memory, look_at_run
from leasehold.workload import Checkpoint, CodeContents

if TYPE_CHECKING:
    from leasehold.client import PoolClient

NO_RESULTS = "none"
MISSED = "dataset-missing"
"""Why a machine declines that could not fetch the checkpoint that it was to begin with."""
UNKEPT_SECONDS = 30.0
"""How long a checkpoint is left that one's own node could not fetch."""
_ONLY_SETTLES = frozenset({Do.KNOW, Do.FORGET, Do.DROP, Do.END, Do.CANCEL, Do.CLOSE})


class CheckpointFound(StrEnum):
    """What became of a checkpoint that was to be kept. AWAY: it could not be had now. WRONG: it is none of this run."""

    HERE = "here"
    AWAY = "away"
    WRONG = "wrong"


@dataclass(frozen=True)
class RunActed(Step):
    """A run has done something, or noted it. record: the run afterwards."""

    act: Act
    record: RunRecord

    @property
    def tried(self) -> Try:
        """The try that it is about."""
        return self.record.tries[self.act.place]


@dataclass(frozen=True)
class RunFetched(Step):
    """The run's results are there. missing: outputs that the workload never made. unpinned: why one's own node keeps no
    copy.
    """

    folder: Path
    cid: str
    missing: tuple[str, ...] = ()
    unpinned: str | None = None


@dataclass
class Acting:
    """One run, as one process carries it on.

    rent: what each try is; `None` for who only looks after what is there. first: its plan, for the first try. approves:
    the pool may be approved what later tries and extensions need.
    """

    client: PoolClient
    name: str
    rules: RunRules
    rent: Rent | None = None
    first: RentPlan | None = None
    approves: bool = False
    memory: Memory = field(default_factory=Memory)
    refused: MarketError | None = None
    code: CodeContents | None = None

    def __post_init__(self) -> None:
        self.memory.others = self.rent is not None
        self.memory.code = self.code is not None

    @property
    def runs(self) -> Runs:
        return self.client.home.runs(self.client.deployment)

    @property
    def record(self) -> RunRecord:
        """What is noted now; another process may have noted it."""
        record = self.runs.get(self.name)
        assert record is not None, self.name
        return record

    async def once(self, word: Word) -> AsyncIterator[Step]:
        """Look, decide, act. The last step is the `RunActed`."""
        async with self._alone():
            look = await self._look(word)
            act = decide(look)
            async for step in self._act(act, look):
                yield step
        yield RunActed(act, self.record)

    async def settle(self) -> AsyncIterator[Step]:
        """Do what is due for leases that the run does not want, and nothing else."""
        for _ in range(4 * len(self.record.tries) + 1):
            async with self._alone():
                look = await self._look(Word.GO_ON)
                act = decide(look)
                if act.do not in _ONLY_SETTLES:
                    return
                async for step in self._act(act, look):
                    yield step
            yield RunActed(act, self.record)

    def _alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        deployment = self.client.deployment
        lock = f"run-{deployment.chain_id}-{deployment.controller.lower()}-{self.name}"
        waiting = f"Waiting for who else carries run {self.name} on"
        return alone(self.client.home.locks / lock, self._quiet.observer, waiting)

    @cached_property
    def _quiet(self) -> PoolClient:
        """The client that looks: nobody wants to hear of each look."""
        if type(self.client.observer) is Observer:  # it is that already, and has an index open
            return self.client
        return replace(self.client, observer=Observer(), _index=None)

    async def _look(self, word: Word) -> RunLook:
        return await look_at_run(self._quiet, self.record, self.rules, self.memory, word)

    def _note(self, place: int, **changes: object) -> None:
        self.runs.keep(self.record.with_try(place, **changes))

    # --------------------------------------------------------------------------------------------------- the acts

    async def _act(self, act: Act, look: RunLook) -> AsyncIterator[Step]:
        place = act.place
        seen = look.seen[place] if place >= 0 else None
        lease = seen.lease if seen is not None else None
        if act.do is Do.KNOW:
            assert lease is not None
            self._note(place, lease=lease.id, **_revived(self.record.tries[place]))
        elif act.do is Do.FORGET:
            self._note(place, lease=None)
        elif act.do is Do.DROP:
            self._note(place, cost=0, given_up=GivenUp.UNSENT, why="it was never opened")
        elif act.do is Do.END:
            assert seen is not None
            noted = self.record.tries[place]
            self._note(place, cost=seen.cost, given_up=act.given_up, why=act.why or noted.why)
        elif act.do is Do.DONE:
            assert seen is not None
            self._note(place, done=True, exit_code=seen.exit_code, why=act.why)
        elif act.do is Do.GIVE_UP:
            self._note(place, given_up=act.given_up, why=act.why)
        elif act.do is Do.TAKE_UP:
            self._note(place, given_up=None, why="")
        elif act.do is Do.FINISH:
            self.runs.keep(replace(self.record, ended=act.why))
            self.client.home.jobs(self.client.deployment).drop(self.name)
        else:
            async for step in self._sent(act, look):
                yield step

    async def _sent(self, act: Act, look: RunLook) -> AsyncIterator[Step]:
        """The acts that others see."""
        if act.do is Do.OPEN:
            async for step in self._open(look):
                yield step
            return
        if act.do in (Do.WAIT, Do.LEAVE):
            return
        tried = look.record.tries[act.place]
        assert tried.lease is not None
        if act.do is Do.CANCEL:
            await self._cancel(tried.lease)
        elif act.do is Do.CLOSE:
            async for step in self._close(tried.lease):
                yield step
        elif act.do is Do.ORDER:
            yield await self._order(tried.lease, tried)
        elif act.do is Do.HAND_IN:
            assert self.code is not None
            self.memory.handed.add(tried.lease)
            with contextlib.suppress(AgentError):  # then the agent declines for want of it
                yield await hand_in(self.client, tried.lease, self.code)
        elif act.do is Do.EXTEND:
            async for step in self._extend(tried.lease, act.seconds):
                yield step
        elif act.do is Do.KEEP:
            await self._keep(act.place, tried.lease, act.why)
        elif act.do is Do.FETCH:
            async for step in self._fetch(tried.lease):
                yield step

    async def _cancel(self, number: int) -> None:
        lease = await self.client.lease(number)
        window = (await self.client.params(lease.params)).start_window
        if lease.state is LeaseState.OPENED and await self.client.now() > lease.start + window:
            with contextlib.suppress(ContractError):  # somebody else has, or it has started
                await self.client.pool.cancel_unstarted(number)

    async def _close(self, number: int) -> AsyncIterator[Step]:
        """End a lease that has started: before its start that would cost a hold fee."""
        if (await self.client.known_lease(number)).state is not LeaseState.ACTIVE:
            return
        with contextlib.suppress(ContractError, NotLive):  # its agent was faster
            plan = await self.client.plan(Close(number))
            if plan.lease.state is LeaseState.ACTIVE:
                async for step in plan.steps():
                    yield step

    async def _order(self, number: int, tried: Try) -> Step:
        """Have it signed. Nobody signs for an account but its own wallet: a delegate closes it himself."""
        self.memory.ordered.add(number)
        if self.client.other is not None:
            return ClosingOrdered(number, None)
        kept = self.client.home.closing_orders(self.client.deployment).get(number)
        if kept is not None:
            return await hand_order(self.client, *kept)
        return await order_closing(
            self.client, await self.client.lease(number), bytes.fromhex(tried.workload)
        )

    async def _extend(self, number: int, seconds: int) -> AsyncIterator[Step]:
        if await under_way(self.client):  # it may be the last extension
            return
        before = await self.client.lease(number)
        try:
            payment = await self.client.renter().extension(before, seconds)
            async for step in self._allowed(payment):
                yield step
            receipt = await self.client.pool.extend(number, seconds)
        except (ContractError, NotEnoughFunds):
            self.memory.extends = False
            return
        after = await self.client.lease(number)
        yield Extended(receipt, after, after.deposit - before.deposit)

    async def _allowed(self, payment: Payment) -> AsyncIterator[Step]:
        renter = self.client.renter()
        if not self.approves:
            renter.check_allowance(payment)
        elif (receipt := await renter.approve(payment)) is not None:
            yield Approved(receipt, payment.pulled)

    async def _keep(self, place: int, number: int, cid: str) -> CheckpointFound:
        """A copy of a checkpoint on one's own node, for the machine after this one. What cannot be had now is left for
        a while: the run goes on.
        """
        try:
            await keep_checkpoint(self.client, number, cid, await self._checkpoint())
        except (DatasetError, TimeoutError) as error:
            self.memory.unkept = {cid: time.monotonic() + UNKEPT_SECONDS}
            return (
                CheckpointFound.WRONG
                if isinstance(error, DatasetCorrupt | DatasetTooLarge)
                else CheckpointFound.AWAY
            )
        self._note(place, checkpoint=cid)
        return CheckpointFound.HERE

    async def _checkpoint(self) -> Checkpoint | None:
        """What the workload says of its checkpoints, with their key, for which the wallet is asked once at most."""
        workload = None if self.rent is None else self.rent.workload
        known = self.memory.checkpoint
        if known is None and workload is not None and (known := workload.checkpoint) is not None:
            key = known.key or await key_of_checkpoints(self.client, known.name)
            known = self.memory.checkpoint = known.model_copy(update={"key": key})
        return known

    async def _fetch(self, number: int) -> AsyncIterator[Step]:
        """Fetch the results into a new folder. One that is there may be ours of before, or anybody's: it stays."""
        client, record = self.client, self.record
        try:
            published = await published_results(client, number)
        except (NoResultsYet, NoResultsAnyMore):
            self.runs.keep(replace(record, fetched=NO_RESULTS))
            return
        folder = _free(Path(record.folder))
        results = await fetch_lease_results(client, number, published, folder, await client.age_identity())
        self.runs.keep(replace(record, fetched=published.cid, folder=str(folder)))
        missing = tuple(output.path for output in results.manifest.outputs if output.missing)
        yield RunFetched(folder, published.cid, missing, results.unpinned)

    # --------------------------------------------------------------------------------------------------- the next try

    async def _open(self, look: RunLook) -> AsyncIterator[Step]:
        """Choose a machine, hand it the workload, note that, open the lease, hand in the code."""
        try:
            plan = await self._next_plan(look)
        except MarketError as error:
            if not look.record.tries or isinstance(error, NotEnoughFunds):
                raise
            self.memory.others, self.refused = False, error
            return
        machine, escrow = plan.listings[0].id, plan.payment.amount
        if plan is not self.first or look.record.tries:
            async for step in self._allowed(plan.payment):
                yield step
        delivered = b""
        try:
            async for step in plan.prepare():
                if isinstance(step, HandedOver):
                    delivered = step.delivery.digest
                yield step
        except AgentError as error:
            self._begin(Try(machine, cost=0, why=error.problem))
            return
        self._begin(Try(machine, delivered.hex(), escrow))
        try:
            async for step in plan.steps():
                if isinstance(step, LeasesOpened):
                    number = step.opened[0].lease
                    self._note(len(self.record.tries) - 1, lease=number)
                    self.memory.handed.add(number)
                yield step
        except ContractError as error:  # it was refused before anything was sent, or failed
            self._note(len(self.record.tries) - 1, cost=0, why=error.in_money(self.client.money).problem)
        except AgentUnreachable as error:  # it opened; the code did not get there
            self._note(len(self.record.tries) - 1, why=error.problem)

    def _begin(self, tried: Try) -> None:
        record = self.record
        self.runs.keep(replace(record, tries=(*record.tries, tried)))

    async def _next_plan(self, look: RunLook) -> RentPlan:
        """The plan of the next try, on a machine that was not tried, that what is left of the budget pays for."""
        if self.first is not None and not look.record.tries:
            return self.first
        assert self.rent is not None
        rent = without_machines(await self._restored(self.rent), avoided(look))
        return await plan_within(self.client, rent, look.left)

    async def _restored(self, rent: Rent) -> Rent:
        """The same wish, beginning with the newest checkpoint of the last try that made one."""
        if rent.workload is None or rent.workload.checkpoint is None:
            return rent
        for place, tried in reversed(list(enumerate(self.record.tries))):
            if cid := await self._newest(place, tried):
                return replace(rent, workload=rent.workload.restored_from(cid))
        return rent

    async def _newest(self, place: int, tried: Try) -> str:
        """The newest checkpoint of a try; empty: there is none. What its machine names and is no checkpoint of this run
        is none; what it names and nobody can fetch is one where there is no other, until a machine has missed it.
        """
        named = None if tried.lease is None else await newest_checkpoint(self.client, tried.lease)
        if tried.lease is None or named is None or named == tried.checkpoint:
            return tried.checkpoint
        here = self.client.home.checkpoints(self.client.deployment).get(tried.lease)
        if not self.memory.keeps and here is not None:
            return here
        kept = await self._keep(place, tried.lease, named)
        if kept is CheckpointFound.HERE:
            return named
        missed = any(later.why == MISSED for later in self.record.tries[place + 1 :])
        return tried.checkpoint or ("" if missed or kept is CheckpointFound.WRONG else named)


def avoided(look: RunLook) -> set[int]:
    """Machines that are not tried again. Of a run that is recovered these are not those that it was on before the
    last: a spot machine that was wanted elsewhere for an hour is as good as any.
    """
    tries = [tried for tried in look.record.tries if tried.given_up is not GivenUp.UNSENT]
    last = tries[-1:]
    return {
        tried.machine
        for tried in tries
        if not look.rules.recover or tried in last or tried.given_up is not GivenUp.GONE
    }


def _revived(tried: Try) -> dict[str, object]:
    """What changes of a try that was dropped as never sent, and was."""
    return {"given_up": None, "cost": None, "why": ""} if tried.given_up is GivenUp.UNSENT else {}


def without_machines(rent: Rent, tried: set[int]) -> Rent:
    """The same wish, on other machines. Raises NoMachineMatches where only these were named."""
    if rent.machines:
        rest = tuple(machine for machine in rent.machines if machine not in tried)
        if not rest:
            raise NoMachineMatches("The machines that were named have all been tried", "name others.")
        return replace(rent, machines=rest)
    return replace(
        rent, search=" ".join((rent.search, *(f"id!={machine}" for machine in sorted(tried)))).strip()
    )


async def plan_within(client: PoolClient, rent: Rent, left: int | None) -> RentPlan:
    """The plan of a lease that holds no more than what is left: for less time, where need be.

    Raises:
        BudgetTooSmall: not even a minute is paid for. As `Rent.plan`.
    """
    plan = await client.plan(rent)
    if left is None or plan.payment.amount <= left:
        return plan
    quote = plan.openings[0].quote
    seconds = affordable(quote.price, quote.share, quote.duration, left)
    if not seconds:
        raise BudgetTooSmall(left).in_money(client.money)
    return await client.plan(replace(rent, seconds=seconds))


def _free(folder: Path) -> Path:
    """The folder, or the first beside it whose name nobody has."""
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free
