"""A run: one command on one machine at a time, whichever of those that fit does it, from its code to its results.

Each look at what is noted and at the chain gives one act (`decide`), and the act is carried out; so a run that is
killed is gone on with by whoever asks for the same again, and opens no second lease for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from leasehold.chain import format_lease
from leasehold.client import Plan, Rent, RentPlan, Request, Step, look_over
from leasehold.errors import LeaseholdError
from leasehold.home import RunRecord, Try
from leasehold.market import InvalidInput, Json, Money, Payment, parse_amount
from leasehold.runs._acting import Acting, RunActed, plan_within
from leasehold.runs._deciding import CloseWhen, Do, RunRules, Word
from leasehold.runs._errors import (
    BudgetMissing,
    NoSuchRun,
    NotForARun,
    NothingRan,
    ResultsInTheWay,
    RunIsAnother,
)
from leasehold.runs._looking import Memory
from leasehold.runs._recipe import keep_recipe, recipe_of
from leasehold.workload import CodeContents, Workload

if TYPE_CHECKING:
    from leasehold.client import PoolClient

LOOK_EVERY = 2.0
"""Seconds between looks at a run that waits."""
SETTLING = 5.0
"""Seconds in which the rest of a log comes when its command has ended."""
_DEARER = 5, 4
"""How much more than the first machine the next may ask, where no price was named."""
_MOST_LOG = 64
_STEP = 3_600


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
class Run(Request["RunFinished"]):
    """Run a workload on a machine that fits; where that declines, does not start it in time or is gone, on the next.

    rent: what each try is: workload, code, search or machines, share, most per GPU-hour. Its `seconds` are what a lease
    is opened for and extended by while somebody watches. Where it names no price, the next machine may
    ask a quarter more than the first.
    name: what the run is called here; whoever asks for the same by the same name goes on with it. results: a new
    folder.
    at_most: seconds that a lease may last in all. budget: whole tokens that all tries may hold and spend together.
    start_within: how long a machine has to start, seconds. gone_after: how long it may be unusable before the lease is
    closed and another tried. close_when: when the lease is closed; idle: seconds without work that are idleness.
    detach: leave it alone once it has started; then it is paid for in one go, as long as it may last.
    approves: the pool may be approved what later tries and extensions need, too. recover: a guard of this home goes on
    with it where nobody watches, on other machines, within the budget, which has to be named.
    """

    rent: Rent
    name: str
    results: Path
    at_most: int = 43_200
    budget: Decimal | str | None = None
    start_within: int = 300
    gone_after: int = 300
    close_when: CloseWhen = CloseWhen.DONE
    idle: int = 600
    detach: bool = False
    approves: bool = False
    recover: bool = False

    def __post_init__(self) -> None:
        """Refuse what no run can be. Raises NotForARun, InvalidInput."""
        rent = self.rent
        if rent.workload is None or rent.again or rent.reuse:
            raise NotForARun("name a workload, and no earlier lease")
        if rent.gang != 1 or rent.offer is not None or rent.backup is not None:
            raise NotForARun("leave the gang, the offer or the standby away")
        if self.detach and self.close_when is CloseWhen.IDLE:
            raise InvalidInput(
                "Somebody has to stay to see that a lease is idle",
                "stay, or close it when its command is done.",
            )
        if self.recover and self.budget is None:
            raise BudgetMissing()
        if min(self.start_within, self.gone_after, self.at_most, self.idle) <= 0:
            raise InvalidInput("Nothing can be waited for that takes no time", "set the times above zero.")

    @property
    def wish(self) -> str:
        """What is asked for, as a digest: the same by the same name is the same run."""
        rent, workload = self.rent, self.rent.workload
        assert workload is not None
        said: dict[str, Any] = {
            "workload": workload.model_dump(mode="json", exclude={"secrets"}),  # a template makes them anew
            "code": None if rent.code is None else [str(rent.code.path.resolve()), rent.code.at],
            "rent": [rent.search, rent.machines, rent.share, str(rent.max_price), rent.spot],
        }
        return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()

    async def plan(self, client: PoolClient) -> RunPlan:
        if client.other is not None:
            raise NotForARun("rent as that account, or run as your own")
        runs = client.home.runs(client.deployment)
        known, budget = runs.get(self.name), 0
        if self.budget is not None:
            budget = parse_amount(str(self.budget), client.money.decimals)
        assert self.rent.workload is not None
        pinned = await client.pin(self.rent.workload)
        whole = self.detach and not self.recover
        seconds = self.at_most if whole else min(self.rent.seconds or _STEP, self.at_most)
        rent = replace(
            self.rent, workload=pinned.workload, seconds=seconds, wait=False, close_when_done=False
        )
        goes_on = known is not None and not known.ended
        if known is not None and goes_on and (known.wish, known.account) != (self.wish, client.account):
            raise RunIsAnother(self.name)
        if not goes_on and self.results.exists():
            raise ResultsInTheWay(str(self.results))
        tried = known is not None and goes_on and bool(known.tries)
        first = None if tried else await plan_within(client, rent, budget or None)
        code = first.code if first is not None else None
        if code is None and rent.code is not None:
            code = await look_over(client, rent.code)
        rules = self._rules(seconds, budget, first, known if goes_on else None)
        if rent.max_price is None and rules.price:
            rent = replace(rent, max_price=client.money.exact(rules.price))
        cautions = () if first is None else (*first.cautions, *pinned.cautions)
        return RunPlan(client, self, rules, rent, first, known if goes_on else None, code, _unique(cautions))

    def _rules(self, step: int, budget: int, first: RentPlan | None, known: RunRecord | None) -> RunRules:
        price = 0
        if first is not None and self.rent.max_price is None:
            price = first.openings[0].quote.price * _DEARER[0] // _DEARER[1]
        elif known is not None:
            price = rules_of(known).price
        return RunRules(
            self.start_within,
            self.gone_after,
            step,
            self.at_most,
            price,
            budget,
            self.close_when,
            self.idle,
            recover=self.recover,
        )


@dataclass(frozen=True)
class AttachRun(Request["RunFinished"]):
    """Go on with a run that was begun here: what it wrote, its results, what is due for its leases. No other machine is
    tried: whoever asks for the run itself again does that.
    """

    name: str

    async def plan(self, client: PoolClient) -> RunPlan:
        runs = client.home.runs(client.deployment)
        record = runs.get(self.name)
        if record is None or record.account != client.account:
            names = ", ".join(runs.names())
            raise NoSuchRun(self.name, f"there are {names}" if names else "begin one")
        return RunPlan(client, self, rules_of(record), None, None, record)


def rules_of(record: RunRecord) -> RunRules:
    """The bounds that a run was begun with."""
    rules = dict(record.rules)
    return RunRules(**{**rules, "close_when": CloseWhen(rules["close_when"])})


@dataclass
class RunPlan(Plan["RunFinished"]):
    """A run that would begin, or go on. first: the lease that would be opened. known: the run as it was left. code:
    what goes in. control: how it is told to leave or to end while it goes on.
    """

    client: PoolClient
    request: Run | AttachRun
    rules: RunRules
    rent: Rent | None
    first: RentPlan | None
    known: RunRecord | None = None
    code: CodeContents | None = None
    cautions: tuple[str, ...] = ()
    control: RunControl = field(default_factory=RunControl)

    @property
    def payment(self) -> Payment | None:  # type: ignore[override]  # what the first lease takes, where one is opened
        return None if self.first is None else self.first.payment

    def to_json(self) -> dict[str, Json]:
        """The first lease's quote, where one would be opened."""
        told: dict[str, Json] = {"run": self.request.name}
        return told if self.first is None else {**told, **self.first.to_json()}

    async def prepare(self) -> AsyncIterator[Step]:
        """Note the run, and do what is due for leases of earlier ones."""
        if self.known is None:
            await self._begin()
        async for step in settle_runs(self.client, but=(self.request.name,)):
            yield step

    async def steps(self) -> AsyncIterator[Step]:
        approves = isinstance(self.request, Run) and self.request.approves
        acting = Acting(
            self.client, self.request.name, self.rules, self.rent, self.first, approves, code=self.code
        )
        async with aclosing(_Following(acting, self.control, self._leaves).steps()) as steps:
            async for step in steps:
                yield step

    @property
    def _leaves(self) -> bool:
        return isinstance(self.request, Run) and self.request.detach

    async def _begin(self) -> None:
        request, client = self.request, self.client
        assert isinstance(request, Run)
        assert self.rent is not None
        assert self.rent.workload is not None
        runs = client.home.runs(client.deployment)
        if (before := runs.get(request.name)) is not None and before.owed:  # what it owes is not forgotten
            runs.keep(replace(before, name=f"{request.name[:48]}.{before.began}"))
        if request.recover:
            await keep_recipe(client, request.name, self.rent, self.code, approves=request.approves)
        else:
            client.home.jobs(client.deployment).drop(request.name)
        outputs, folder = bool(self.rent.workload.outputs), str(request.results.absolute())
        rules = asdict(self.rules)
        runs.keep(
            RunRecord(request.name, client.account, request.wish, int(time.time()), rules, outputs, folder)
        )


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


async def settle_runs(client: PoolClient, *, but: Collection[str] = ()) -> AsyncIterator[Step]:
    """Do what is due for leases that runs of this account gave up: cancel what was never started, close what started
    after all, note what they cost. but: runs that are carried on anyway.

    Raises ChainError, WalletError.
    """
    runs = client.home.runs(client.deployment)
    for name in runs.names():
        record = runs.get(name) if name not in but else None
        if record is not None and record.owed and record.account == client.account:
            async for step in Acting(client, name, rules_of(record)).settle():
                yield step


async def carrying(client: PoolClient, name: str, memory: Memory) -> Acting | None:
    """One run as a guard carries it on, with what it was begun with; `None` where it is not to be recovered.

    memory: what the guard remembers of it. Raises RunUnreadable, CodeInvalid.
    """
    record = client.home.runs(client.deployment).get(name)
    if record is None or not rules_of(record).recover:
        return None
    recipe = await recipe_of(client, name)
    if recipe is None:
        return None
    return Acting(
        client, name, rules_of(record), recipe.rent, None, recipe.approves, memory, code=recipe.code
    )


def run_named(workload: Workload, folder: Path | None) -> str:
    """What a run is called that nobody named: after its folder, or its image, and what it does."""
    image = workload.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    base = folder.resolve().name if folder is not None else image
    kept = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in base).strip("-")
    mark = sha256(orjson.dumps([workload.image, list(workload.command or ())])).hexdigest()[:6]
    return f"{kept[:40] or 'run'}-{mark}"


# ------------------------------------------------------------------------------------------------------- following


class _Following:
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


def _unique(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
