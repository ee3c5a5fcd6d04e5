"""A run as whoever watches it sees it: its acts and its log in one stream, until it has ended or is left."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from leasehold.chain import format_lease
from leasehold.client import Step
from leasehold.errors import LeaseholdError
from leasehold.home import RunRecord, Try
from leasehold.market import Json, Money
from leasehold.runs._acting import Acting, RunActed
from leasehold.runs._deciding import Do, Word
from leasehold.runs._errors import NothingRan

LOOK_EVERY = 2.0
"""Seconds between looks at a run that waits."""
SETTLING = 5.0
"""Seconds in which the rest of a log comes when its command has ended."""
_MOST_LOG = 64


@dataclass
class RunControl:
    """How whoever watches a run says what he wants of it, at any time."""

    word: Word = Word.GO_ON
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, word: Word) -> None:
        """The run hears it before its next act."""
        self.word = word
        self.changed.set()


@dataclass(frozen=True)
class RunLog(Step):
    """What the command has written since."""

    data: bytes


@dataclass(frozen=True)
class RunFinished(Step):
    """A run has ended, or is left to go on alone. outcome: `done`, `closed`, `time` (it lasted as long as it may) or
    `left`. cost: token units that all its leases have cost so far. lease: the last one.
    """

    record: RunRecord
    outcome: str
    cost: int
    lease: int | None

    @property
    def exit_code(self) -> int | None:
        """The command's own, where its machine's agent told it."""
        return next((tried.exit_code for tried in self.record.tries if tried.done), None)

    @property
    def waiting(self) -> tuple[Try, ...]:
        """Leases that the run has given up and whose money is still held."""
        return tuple(tried for tried in self.record.tries if not tried.over and tried.given_up is not None)

    def to_json(self, money: Money) -> dict[str, Json]:
        record = self.record
        return {
            "run": record.name,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "lease": None if self.lease is None else format_lease(self.lease),
            "cost": money.exact(self.cost),
            "token": money.symbol,
            "results": record.folder if record.fetched not in ("", "none") else None,
            "tries": [_try_json(tried, money) for tried in record.tries],
        }


class Following:
    """One run's acts and its log, in one stream."""

    def __init__(self, acting: Acting, control: RunControl, leaves: bool) -> None:
        self._acting, self._control, self._leaves = acting, control, leaves
        self._log: asyncio.Queue[bytes] = asyncio.Queue(_MOST_LOG)
        self._pump: asyncio.Task[None] | None = None
        self._pumped, self._read = 0, 0

    async def steps(self) -> AsyncGenerator[Step, None]:
        try:
            async for step in self._steps():
                yield step
        finally:
            await self._stop()

    async def _steps(self) -> AsyncIterator[Step]:
        acting = self._acting
        with acting.client.observer.working(f"Carrying run {acting.name} on") as update:
            while True:
                acted: RunActed | None = None
                async for step in acting.once(self._word()):
                    acted = step if isinstance(step, RunActed) else None
                    if acted is None:
                        yield step
                assert acted is not None
                if acted.act.do is Do.WAIT:
                    update(_waits(acted))
                    await self._follow(acted)
                    async for log in self._wait():
                        yield log
                    continue
                if acted.act.do is Do.DONE:
                    async for log in self._rest():
                        yield log
                if acted.act.do in (Do.FINISH, Do.LEAVE):
                    yield self._finished(acted)
                    return
                yield acted

    def _word(self) -> Word:
        """What is wanted: a run that is to be left is so once its lease has started."""
        started = any(
            tried.lease is not None and tried.lease == self._pumped for tried in self._acting.record.tries
        )
        if self._control.word is Word.GO_ON and self._leaves and started:
            return Word.LEAVE
        return self._control.word

    async def _follow(self, acted: RunActed) -> None:
        """Have the log of the lease that runs come in."""
        if acted.act.place < 0 or acted.act.why not in ("running", "closing"):
            return
        lease = acted.tried.lease
        assert lease is not None
        if self._pumped != lease:
            await self._stop()
            self._pumped, self._read = lease, 0
        if (self._pump is None or self._pump.done()) and not self._leaves:
            self._pump = asyncio.create_task(self._pumping(lease))

    async def _pumping(self, lease: int) -> None:
        """The log, from where the last time ended. A broken one is taken up at the next look."""
        skip, client = self._read, self._acting.client
        with contextlib.suppress(LeaseholdError):
            async with client.agent_of(lease) as agent, aclosing(agent.logs(lease, follow=True)) as log:
                async for data in log:
                    fresh, skip = data[skip:], max(0, skip - len(data))
                    if fresh:
                        await self._log.put(fresh)
                        self._read += len(fresh)

    async def _wait(self) -> AsyncIterator[Step]:
        """What is written until the next look is due, or somebody wants something else."""
        until = time.monotonic() + LOOK_EVERY
        while (left := until - time.monotonic()) > 0 and not self._control.changed.is_set():
            if (data := await self._written(left)) is not None:
                yield RunLog(data)
        self._control.changed.clear()

    async def _written(self, seconds: float) -> bytes | None:
        getting = asyncio.create_task(self._log.get())
        changing = asyncio.create_task(self._control.changed.wait())
        await asyncio.wait((getting, changing), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        changing.cancel()
        if getting.done():
            return getting.result()
        getting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            return await getting  # it may have come meanwhile
        return None

    async def _rest(self) -> AsyncIterator[Step]:
        """The end of the log, which its agent sends when the command has ended."""
        until = time.monotonic() + SETTLING
        while self._pump is not None and time.monotonic() < until:
            if (data := await self._written(0.1)) is not None:
                yield RunLog(data)
            elif self._pump.done():
                break
        while not self._log.empty():
            yield RunLog(self._log.get_nowait())

    async def _stop(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump
            self._pump = None

    def _finished(self, acted: RunActed) -> RunFinished:
        """Raises NothingRan: no machine did."""
        record = acted.record
        outcome = acted.act.why if acted.act.why in ("done", "closed", "time", "none") else "left"
        if outcome == "none":
            raise NothingRan(record.name, _tries_said(record), _last(self._acting))
        cost = sum(tried.cost or 0 for tried in record.tries)
        leases = [tried.lease for tried in record.tries if tried.lease is not None]
        return RunFinished(record, outcome, cost, leases[-1] if leases else None)


def _waits(acted: RunActed) -> str:
    name, act = acted.record.name, acted.act
    if act.place < 0:
        fits = "that fits" if act.why == "machine" else "that is late"
        return f"Run {name} waits for a machine {fits}"
    machine = acted.tried.machine
    return {
        "sending": f"Waiting for the transaction that rents machine {machine}",
        "starting": f"Waiting for machine {machine} to start run {name}",
        "closing": f"Run {name} has ended on machine {machine}: waiting until its lease is closed",
    }.get(act.why, f"Run {name} runs on machine {machine}")


def _tries_said(record: RunRecord) -> str:
    said = [f"machine {tried.machine} ({tried.why or 'it ended'})" for tried in record.tries]
    return ", ".join(said) or "none was there"


def _last(acting: Acting) -> str:
    if acting.refused is not None:
        return f"of the rest: {acting.refused.problem}"
    if acting.rent is None:
        return "ask for the run itself again to try another machine"
    return "widen the search, or look at the workload"


def _try_json(tried: Try, money: Money) -> dict[str, Json]:
    return {
        "machine": tried.machine,
        "lease": None if tried.lease is None else format_lease(tried.lease),
        "cost": None if tried.cost is None else money.exact(tried.cost),
        "given_up": None if tried.given_up is None else str(tried.given_up),
        "why": tried.why or None,
    }
