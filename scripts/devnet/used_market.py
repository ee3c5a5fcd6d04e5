"""A market that has been in use for a month, on a real chain, in some seconds.

    with World(folder, chain=aged_chain()) as world:
        fill(world)

Machines joined, changed their prices, were measured, leased, rated, and were down now and then; some leases run still.
All of it was sent to the contracts and all documents are in the provider's IPFS node, so that whatever reads the pool
reads this as it reads any other. No machine of it has an agent: whoever asks one gets no answer.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from devnet.anvil import Anvil
from devnet.burst import Burst, Sending, bursts
from devnet.catalogue import DAY, OfferedMachine, offered
from devnet.crowd import Crowd, Standing
from devnet.measurements import Measurements
from devnet.world import World
from leasehold.chain import (
    Event,
    Faults,
    LeaseOpened,
    LeaseRequest,
    MachineRegistered,
    MachineStatusSet,
    OutageOpened,
    Reputation,
    decode_log,
)
from leasehold.market import cells_of, fits

WEEK: Final = 7 * DAY
MONTH: Final = 30 * DAY
_STEP: Final = DAY // 2
_HOUR: Final = 3_600
_HOURS: Final = (3, 6, 12, 24, 24, 48, 72, 120)
_MEASURED_ON: Final = (4 * DAY, 17 * DAY)
_OUTAGES: Final = ((9, 7, 40 * 60), (15, 16, 3 * _HOUR + 600), (22, 25, 26 * _HOUR))
"""On which day which machine was down, and for how long."""
_DOWN_NOW: Final = 21
_CLOSED: Final = 12
_WITHHELD: Final = {5: 0x0F, 14: 0xFF, 19: 0x03}
E = TypeVar("E", bound=Event)


def aged_chain() -> Anvil:
    """A chain that begins a month ago."""
    return Anvil(args=("--timestamp", str(int(time.time()) - MONTH)))


def fill(world: World, seed: int = 7, tell: Callable[[str], None] = lambda text: None) -> int:
    """Lets a month pass in the world's pool, up to now; how many machines it has then. tell: hears of each week.

    Raises BurstRefused.
    """
    crowd = Crowd(world)
    with bursts(world.anvil) as burst:
        market = UsedMarket(crowd, burst, random.Random(seed), tell)
        market.pass_by(world.anvil.timestamp + 10, int(time.time()) - 1)
        burst.pass_to(int(time.time()))  # playing it took some seconds
    crowd.publish()
    return len(market.machines)


@dataclass
class LeaseGoing:
    """A lease that has been opened and not closed. leaves: when its tenant ends it, unix seconds."""

    lease: int
    machine: Standing
    tenant: str
    placement: int
    began: int
    leaves: int


@dataclass
class OutageGoing:
    """An outage that was reported. ends: unix seconds. ended: whether the chain knows."""

    fault: int
    machine: Standing
    ends: int
    ended: bool = False


class UsedMarket:
    """What happens, half a day after the other."""

    def __init__(
        self,
        crowd: Crowd,
        burst: Burst,
        chance: random.Random,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.machines: dict[int, Standing] = {}
        self._tell = tell
        self._opened = 0
        self._joined: set[int] = set()
        self._crowd, self._burst, self._chance = crowd, burst, chance
        self._leases: list[LeaseGoing] = []
        self._unrated: list[LeaseGoing] = []
        self._outages: list[OutageGoing] = []

    def pass_by(self, begin: int, end: int) -> None:
        """Everything from one moment to the other, unix seconds."""
        coming = list(offered())
        self._crowd.come(self._burst, coming, begin)
        measurements = Measurements(self._crowd, self._burst, self._chance)
        for at in range(begin + 600, end - _STEP, _STEP):
            age = at - begin
            if (age + _STEP) // WEEK > age // WEEK:
                self._tell(
                    f"{(age + _STEP) // DAY} days: {len(self.machines)} machines, {self._opened} leases"
                )
            self._step(at, [machine for machine in coming if machine.joins * DAY <= age])
            self._burst_of(self._rare(at, age), at + 1_500)
            if any(day <= age < day + _STEP for day in _MEASURED_ON):
                measurements.make(list(self.machines.values()), at + 2_000)
        self._last(end)

    def _step(self, at: int, coming: Sequence[OfferedMachine]) -> None:
        """Who leaves, who changes something and who comes; then what is rated and what starts."""
        joining = self._crowd.joining(
            [machine for machine in coming if machine.number not in self._joined], at
        )
        self._joined |= {machine.number for machine in coming}
        self._burst_of([*self._closings(at), *self._ends(at), *self._prices(at)], at)
        self._burst_of(self._top_ups(), at + 60)
        registered = _of(MachineRegistered, self._burst.send([call for _, call in joining], at + 120))
        for (standing, _), event in zip(joining, registered, strict=True):
            standing.number = event.machine
            self.machines[event.machine] = standing
        self._open(at + 600)

    # ------------------------------------------------------------------------------------------------------- machines

    def _prices(self, at: int) -> Iterator[Sending]:
        """New prices, which fall a little more than they rise."""
        for machine in self.machines.values():
            if self._chance.random() < 0.05 and not machine.closed:
                machine.hourly = max(8, round(machine.hourly * self._chance.uniform(0.9, 1.07)))
                machine.revision += 1
                terms = self._crowd.terms(machine, at)
                yield self._crowd.to_pool(machine.provider, "setTerms", machine.number, terms)

    def _top_ups(self) -> Iterator[Sending]:
        """Stake for machines that have too little: something was taken of it, or of what their provider is worth."""
        for machine in self.machines.values():
            if machine.short:
                amount = machine.offered.gpus * 60 * self._crowd.unit
                yield self._crowd.to_pool(machine.provider, "addStake", machine.number, amount)

    def _rare(self, at: int, age: int) -> Iterator[Sending]:
        """Outages that begin, cells that are withheld, a machine that takes no more leases."""
        for day, number, seconds in _OUTAGES:
            if day * DAY <= age < day * DAY + _STEP:
                self._go_down(number, at + 1_000, at + 1_000 + seconds)
        if not 20 * DAY <= age < 20 * DAY + _STEP:
            return
        for number, cells in _WITHHELD.items():
            machine = self.machines[number]
            machine.withheld = cells
            yield self._crowd.to_pool(machine.operator, "withhold", number, cells)
        closed = self.machines[_CLOSED]
        closed.closed = True
        yield self._crowd.to_pool(closed.provider, "delist", _CLOSED)

    def _go_down(self, number: int, at: int, ends: int) -> None:
        machine = self.machines[number]
        report = self._to_faults(machine.operator, "reportOutage", number)
        (opened,) = _of(OutageOpened, self._burst.send([report], at))
        machine.down = True
        self._outages.append(OutageGoing(opened.fault, machine, ends))

    def _ends(self, at: int) -> Iterator[Sending]:
        """Outages that are over, and what those cost once nobody has appealed."""
        for outage in list(self._outages):
            if not outage.ended and outage.ends <= at:
                outage.ended, outage.machine.down = True, False
                yield self._to_faults(outage.machine.operator, "recover", outage.machine.number, 0, b"")
            elif outage.ended and outage.ends + 3 * DAY <= at:
                self._outages.remove(outage)
                yield self._to_faults(self._crowd.validators[0], "execute", outage.fault)

    def _to_faults(self, sender: str, function: str, *values: object) -> Sending:
        return Sending(sender, self._crowd.companions["faults"], Faults.encode(function, *values))

    # --------------------------------------------------------------------------------------------------------- leases

    def _closings(self, at: int) -> Iterator[Sending]:
        """Tenants end what they do not need any more, and some rate it later."""
        for going in list(self._leases):
            if going.leaves > at:
                continue
            self._leases.remove(going)
            going.machine.leased &= ~cells_of(going.placement)
            if self._chance.random() < 0.55:
                self._unrated.append(going)
            yield self._crowd.to_pool(going.tenant, "close", going.lease)

    def _ratings(self) -> Iterator[Sending]:
        reputation = self._crowd.companions["reputation"]
        for going in self._unrated:
            pleased = self._chance.random() * 100 < going.machine.offered.provider.pleases
            stars = self._chance.choice((5, 5, 5, 4)) if pleased else self._chance.choice((1, 2, 3))
            yield Sending(going.tenant, reputation, Reputation.encode("rate", going.lease, stars, bytes(32)))
        self._unrated = []

    def _open(self, at: int) -> None:
        """Leases begin where there is room, and what ended before is rated. A few are declined."""
        wanted = [wish for machine in self.machines.values() for wish in self._wishes(machine)]
        opening = [self._opening(machine, share, hours, tenant) for machine, share, hours, tenant in wanted]
        ratings = list(self._ratings())
        opened = _of(LeaseOpened, self._burst.send([*opening, *ratings], at))
        self._opened += len(opened)
        starting = []
        for (machine, _, hours, tenant), event in zip(wanted, opened, strict=True):
            going = LeaseGoing(event.lease, machine, tenant, event.placement, at, self._leaves(at, hours))
            if self._chance.random() < 0.02:
                reason = b"image-unknown".ljust(32, b"\0")
                starting.append(self._crowd.to_pool(machine.operator, "decline", event.lease, reason))
                continue
            machine.leased |= cells_of(event.placement)
            self._leases.append(going)
            starting.append(self._crowd.to_pool(machine.operator, "start", event.lease, bytes(32)))
        self._burst_of(starting, at + self._chance.randint(40, 150))

    def _wishes(self, machine: Standing) -> Iterator[tuple[Standing, int, int, str]]:
        """Of each machine one lease at most in a step: cells, hours and tenant."""
        gpus, least = machine.offered.gpus, machine.offered.share
        shares = [share for share in (1, 2, 4, *range(8, 8 * gpus + 1, 8)) if share >= least]
        share, hours = self._chance.choice(shares), self._chance.choice(_HOURS)
        if machine.closed or machine.down or machine.short or self._chance.random() > 0.4:
            return
        if fits(machine.busy, gpus, share):
            yield machine, share, hours, self._chance.choice(self._crowd.tenants)

    def _opening(self, machine: Standing, share: int, hours: int, tenant: str) -> Sending:
        request = LeaseRequest(
            machine=machine.number,
            revision=machine.revision,
            share=share,
            duration=hours * _HOUR,
            max_price=2**80 - 1,
            workload=self._chance.randbytes(32),
            spot=machine.offered.spot and self._chance.random() < 0.2,
            allow_unverified=True,
        )
        return self._crowd.to_pool(tenant, "open", request)

    def _leaves(self, at: int, hours: int) -> int:
        """Most stay to the end; the others leave somewhere in the second half."""
        part = 1.0 if self._chance.random() < 0.65 else self._chance.uniform(0.5, 1.0)
        return at + round(hours * _HOUR * part)

    # ------------------------------------------------------------------------------------------------------ at the end

    def _last(self, end: int) -> None:
        """What is so now: one machine down, leases that run, earnings collected in part, agents heard of lately."""
        self._burst_of([*self._closings(end - 3 * _HOUR), *self._ends(end - 3 * _HOUR)], end - 3 * _HOUR)
        self._go_down(_DOWN_NOW, end - 2 * _HOUR, end + DAY)
        self._open(end - 5_400)
        long = [going for going in self._leases if going.began < end - DAY and not going.machine.down]
        of_provider: dict[str, list[int]] = defaultdict(list)
        for going in long:
            of_provider[going.machine.provider].append(going.lease)
        claims = [self._crowd.to_pool(provider, "claim", own) for provider, own in of_provider.items()]
        pulling = self._crowd.to_pool(self._crowd.validators[0], "pullFees", self._crowd.providers)
        self._burst_of([*claims, pulling], end - 1_800)
        self._burst_of([self._heard_of(machine, end) for machine in self.machines.values()], end - 900)
        self._burst.pass_to(end)

    def _heard_of(self, machine: Standing, end: int) -> Sending:
        """Most within the day; of what is down, when it went."""
        ago = 2 * _HOUR if machine.down else 900 + 600 * (machine.number**2 % 97)
        return self._crowd.heard_of(machine, end - ago)

    def _burst_of(self, sendings: Iterable[Sending], at: int) -> None:
        for event in _of(MachineStatusSet, self._burst.send(list(sendings), at)):
            self.machines[event.machine].short = event.under_staked


def _of(kind: type[E], logs: Sequence[Sequence[dict[str, Any]]]) -> list[E]:
    """The events of that kind in the logs of several transactions, in their order."""
    events = (decode_log(log) for some in logs for log in some)
    return [event for event in events if isinstance(event, kind)]
