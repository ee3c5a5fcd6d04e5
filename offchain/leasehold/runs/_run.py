"""A run as it is asked for, by whoever begins it, goes back to it, or looks after it: requests and their plan.

Each look at what is noted and at the chain gives one act (`decide`), and the act is carried out; so a run that is
killed is gone on with by whoever asks for the same again, and opens no second lease for it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from leasehold.chain import cost
from leasehold.client import Plan, Rent, RentPlan, Request, Step, look_over
from leasehold.home import RunRecord
from leasehold.market import InvalidInput, Json, Payment, parse_amount
from leasehold.runs._acting import Acting, plan_within
from leasehold.runs._deciding import CloseWhen, RunRules
from leasehold.runs._errors import (
    BudgetMissing,
    NoSuchRun,
    NotForARun,
    ResultsInTheWay,
    RunIsAnother,
)
from leasehold.runs._following import Following, RunControl, RunFinished
from leasehold.runs._looking import Memory
from leasehold.runs._recipe import keep_recipe, recipe_of
from leasehold.workload import CodeContents, Workload

if TYPE_CHECKING:
    from leasehold.client import PoolClient

_DEARER = 5, 4
"""How much more than the first machine the next may ask, where no price was named."""
_STEP = 3_600


@dataclass(frozen=True)
class Run(Request[RunFinished]):
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
class AttachRun(Request[RunFinished]):
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
class RunPlan(Plan[RunFinished]):
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

    @property
    def most(self) -> int:
        """What the first lease costs that lasts as long as it may, token units; 0 where none would be opened."""
        if self.first is None:
            return 0
        quote = self.first.openings[0].quote
        return cost(quote.price, quote.share, self.rules.at_most, up=True)

    def to_json(self) -> dict[str, Json]:
        """The first lease's quote, where one would be opened."""
        told: dict[str, Json] = {"run": self.request.name}
        if self.first is None:
            return told
        longest: dict[str, Json] = {
            "at_most": self.rules.at_most,
            "cost_at_most": self.client.money.exact(self.most),
        }
        return {**told, **self.first.to_json(), **longest}

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
        async with aclosing(Following(acting, self.control, self._leaves).steps()) as steps:
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


def _unique(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
