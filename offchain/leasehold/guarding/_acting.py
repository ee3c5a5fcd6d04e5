"""Carries out what a guard does: each deed in a turn of its wallet, after asking once more what it rests upon.

The nonce is asked for before the chain is: where another guard of the same wallet is faster, at home or elsewhere, what
was decided here is not sent (`leasehold.chain.turn`). What another wallet does meanwhile is found by the asking.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from leasehold.chain import TurnTaken, format_lease, free_nonce, turn
from leasehold.client import (
    USUAL_MOST,
    ChallengeMachine,
    Failover,
    FaultsSettled,
    KeepGoing,
    LeaseKept,
    LeasesOpened,
    ProveSilence,
    SettleFaults,
    keep_checkpoint,
    restoration,
    standby_checkpoint,
)
from leasehold.errors import DatasetCorrupt, DatasetError, DatasetTooLarge, LeaseholdError
from leasehold.guarding._alerts import Alert, AlertKind, acted, keep_of, trouble
from leasehold.guarding._deeds import Deed, GuardDo, extension
from leasehold.guarding._settings import GuardSettings
from leasehold.guarding._sights import LeaseSight
from leasehold.home import GivenUp
from leasehold.market import format_time
from leasehold.runs import (
    UNKEPT_SECONDS,
    Acting,
    Do,
    Memory,
    RunActed,
    Word,
    carrying,
    recipe_workload,
    settle_runs,
)
from leasehold.workload import Checkpoint

if TYPE_CHECKING:
    from leasehold.client import PoolClient

DEED_SECONDS = 300.0
"""For a deed that is not a run's: what is under way then is looked at again at the next look."""
MOST_UNKEPT = 64
WRONG_SECONDS = 86_400.0
"""How long a checkpoint is left that is none, or more than it may be."""
MOST_ACTS = 64
"""Acts of one run in a row."""
_AT_REST = frozenset({Do.WAIT, Do.LEAVE, Do.FINISH})


@dataclass
class Performer:
    """Who carries deeds out. client: acts for the account. plain: the wallet for itself, where it is a delegate: what
    anybody may send goes by it. Runs are remembered in `runs`. turns: one of the wallet's deeds at a time. unkept:
    checkpoints that could not be had, and until when they are left.
    """

    client: PoolClient
    settings: GuardSettings
    plain: PoolClient | None = None
    runs: dict[str, Memory] = field(default_factory=dict)
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    unkept: dict[str, float] = field(default_factory=dict)

    async def perform(self, deed: Deed, sight: LeaseSight | None) -> list[Alert]:
        """Do it, and say what was done, or why it could not be. sight: the lease that it is about, as it was seen."""
        told: list[Alert] = []
        try:
            if deed.do is GuardDo.CARRY:
                async for alert in self._carry(deed.run):
                    told.append(alert)  # what was done is told, whatever comes after it
            elif deed.do is GuardDo.KEEP:  # it sends nothing, and whoever lets it wait holds up nothing else
                await self._keep(deed, sight)
            else:
                async with asyncio.timeout(DEED_SECONDS):
                    told += await self._in_turn(deed, sight)
        except (TurnTaken, TimeoutError):
            pass  # the next look says what is left to do
        except (LeaseholdError, OSError) as error:
            said = error.problem if isinstance(error, LeaseholdError) else str(error.strerror or error)
            about = f"{deed.do}-{deed.lease or deed.machine or deed.run}"
            told.append(trouble(about, _could_not(deed, said)))
        return told

    async def settle_runs(self) -> None:
        """What is due for leases that other runs gave up. What fails is tried at the next look."""
        async with self.turns:
            if (nonce := await self._free()) is None:
                return
            with contextlib.suppress(LeaseholdError), turn(self._wallet, nonce):
                async for _ in settle_runs(self.client, but=self._carried()):
                    pass

    def _carried(self) -> Collection[str]:
        """The runs that are gone on with anyway."""
        jobs = self.client.home.jobs(self.client.deployment)
        return jobs.names() if self.settings.recover else ()

    @property
    def _wallet(self) -> str:
        return self.client.wallet.address

    @property
    def _anybody(self) -> PoolClient:
        return self.plain or self.client

    async def _free(self) -> int | None:
        return await free_nonce(self.client.rpc, self._wallet)

    async def _in_turn(self, deed: Deed, sight: LeaseSight | None) -> list[Alert]:
        async with self.turns:
            if (nonce := await self._free()) is None:
                return []
            with turn(self._wallet, nonce):
                return await self._sent(deed, sight)

    async def _sent(self, deed: Deed, sight: LeaseSight | None) -> list[Alert]:
        if deed.do is GuardDo.EXTEND and sight is not None:
            return await self._extend(deed, sight)
        if deed.do is GuardDo.CHALLENGE:
            return await self._challenge(deed)
        if deed.do is GuardDo.PROVE:
            return await self._prove(deed)
        if deed.do is GuardDo.FAIL_OVER:
            return await self._fail_over(deed)
        if deed.do is GuardDo.RESTORE:
            return await self._restore(deed)
        return await self._settle()

    async def _extend(self, deed: Deed, sight: LeaseSight) -> list[Alert]:
        client, keep = self.client, keep_of(sight, self.settings)
        assert keep is not None
        fresh = replace(sight, lease=await client.lease(deed.lease))
        if not extension(fresh, keep, await client.now(), client.money):
            return []
        kept = await client.carry_out(KeepGoing(deed.lease, keep.by, keep.at_most, keep.before, once=True))
        if not isinstance(kept, LeaseKept) or (extended := kept.extended) is None:
            return []
        shown, cost = format_lease(deed.lease), client.money.show(extended.cost)
        said = f"Lease {shown} was extended for {cost}: it is paid until {format_time(extended.lease.end)}."
        return [acted(f"{deed.lease}-extended-{extended.lease.end}", said, deed.lease)]

    async def _challenge(self, deed: Deed) -> list[Alert]:
        if await self._answers(deed.lease):
            return []
        asked = await self.client.carry_out(ChallengeMachine(deed.machine, deed.lease))
        until = format_time(asked.until)
        said = f"Machine {deed.machine}, which says nothing, was challenged: it has until {until} to answer."
        return [acted(f"{deed.machine}-challenged-{asked.challenge}", said, deed.lease)]

    async def _answers(self, lease: int) -> bool:
        """Whether the agent says anything at all now."""
        try:
            async with asyncio.timeout(20), self.client.agent_of(lease) as agent:
                await agent.status(lease)
        except (LeaseholdError, TimeoutError, OSError):
            return False
        return True

    async def _prove(self, deed: Deed) -> list[Alert]:
        pool = self._anybody.pool
        standing = await (await pool.faults()).challenge_of(deed.machine)
        if not standing.at or await self._anybody.now() <= await pool.answer_until(deed.machine, standing.at):
            return []
        proven = await self._anybody.carry_out(ProveSilence(deed.machine))
        said = f"Machine {deed.machine} did not answer in time, which stands on the chain now: it is down."
        if proven.fault is None:
            said = f"Machine {deed.machine} did not answer in time; it was too late to say so."
        return [acted(f"{deed.machine}-proven-{standing.id}", said)]

    async def _fail_over(self, deed: Deed) -> list[Alert]:
        over = await self._anybody.carry_out(Failover(deed.lease))
        here, there = format_lease(deed.lease), format_lease(over.lease.id)
        said = f"Lease {here} went over to its standby: lease {there} on machine {over.lease.machine}."
        return [
            acted(f"{deed.lease}-failed-over", said, over.lease.id),
            *_began(over.lease.id, restored=over.restored),
        ]

    async def _restore(self, deed: Deed) -> list[Alert]:
        """What it rests upon is asked for by `restoration`: given once, it is there no more."""
        restoring = await restoration(self.client, deed.lease)
        if restoring is None:
            return []
        await self.client.carry_out(restoring)
        return _began(deed.lease, restored=True)

    async def _keep(self, deed: Deed, sight: LeaseSight | None) -> None:
        """Fetch a checkpoint for the day on which its machine is gone. Raises DatasetTooLarge, DatasetCorrupt."""
        client = self.client
        try:
            known = await self._checkpoint_of(deed.lease, sight)
            most = self.settings.checkpoints or USUAL_MOST
            await keep_checkpoint(client, deed.lease, deed.cid, known, most=most)
        except (DatasetError, TimeoutError) as error:
            wrong = isinstance(error, DatasetTooLarge | DatasetCorrupt)
            if len(self.unkept) >= MOST_UNKEPT:
                self.unkept.clear()
            self.unkept[deed.cid] = time.monotonic() + (WRONG_SECONDS if wrong else UNKEPT_SECONDS)
            if wrong:
                raise

    async def _checkpoint_of(self, lease: int, sight: LeaseSight | None) -> Checkpoint | None:
        """What is known here of a lease's checkpoints, with their key: of a run's, and of one that named a standby."""
        if sight is not None and sight.job is not None:
            workload = recipe_workload(self.client, sight.job)
            return None if workload is None else workload.checkpoint
        record = await (await self.client.index()).lease(lease)
        return None if record is None else standby_checkpoint(self.client, record.workload)

    async def _settle(self) -> list[Alert]:
        everyone = self.plain is not None
        settled = await self._anybody.carry_out(SettleFaults(everyone=everyone))
        if not isinstance(settled, FaultsSettled) or not settled.made:
            return []
        gained = self.client.money.show(settled.gained)
        steps = ", ".join(made.settlement.said(self.client.money) for made in settled.made[:3])
        return [acted(f"settled-{settled.made[-1].receipt.tx_hash}", f"Settled: {steps}; {gained} came in.")]

    # --------------------------------------------------------------------------------------------------- runs

    async def _carry(self, name: str) -> AsyncIterator[Alert]:
        """Go on with a run until there is nothing to do for it now."""
        memory = self.runs.setdefault(name, Memory())
        memory.extends = True  # the ledger may have been filled since
        memory.keeps = False
        acting = await carrying(self.client, name, memory)
        for _ in range(MOST_ACTS):
            if acting is None:
                return
            done = any(tried.done for tried in acting.record.tries)
            async with contextlib.nullcontext() if done else self.turns:  # fetching results may take an hour
                if (nonce := await self._free()) is None:
                    return
                with turn(self._wallet, nonce):
                    steps = [step async for step in acting.once(Word.GO_ON)]
            step = steps[-1]
            assert isinstance(step, RunActed)
            for alert in _told(acting, step, [one for one in steps if isinstance(one, LeasesOpened)]):
                yield alert
            if step.act.do in _AT_REST or (step.act.do is Do.FETCH and self.client.other is not None):
                return


def _began(lease: int, *, restored: bool) -> list[Alert]:
    said = f"Lease {format_lease(lease)} goes on from the last checkpoint of the lease whose place it took."
    return [acted(f"{lease}-restored", said, lease)] if restored else []


def _told(acting: Acting, step: RunActed, opened: list[LeasesOpened]) -> list[Alert]:
    """What of an act is worth telling."""
    act, name, record = step.act, acting.name, step.record
    if opened:
        lease, machine = opened[0].opened[0].lease, record.tries[-1].machine
        said = f"Run {name} goes on as lease {format_lease(lease)} on machine {machine}."
        return [acted(f"{name}-{lease}-opened", said, lease)]
    if act.do is Do.GIVE_UP and act.given_up in (GivenUp.GONE, GivenUp.LATE):
        said = f"Run {name} leaves machine {step.tried.machine}: {act.why}."
        return [acted(f"{name}-{act.place}-left", said, step.tried.lease)]
    if act.do is Do.FINISH:
        how = {"done": "has done its work", "none": "found no machine that runs it, within its bounds"}
        return [acted(f"{name}-ended", f"Run {name} {how.get(act.why, f'has ended ({act.why})')}.")]
    if act.do is Do.WAIT and act.why == "machine":
        return [
            Alert(
                AlertKind.JOB,
                f"{name}-waits",
                f"Run {name} waits until a machine fits, within its price and budget.",
            )
        ]
    return []


def _could_not(deed: Deed, why: str) -> str:
    what = (
        f"lease {format_lease(deed.lease)}"
        if deed.lease
        else f"machine {deed.machine}"
        if deed.machine
        else ""
    )
    return f"Could not {str(deed.do).replace('-', ' ')} {what or deed.run or 'what faults left'}: {why}."
