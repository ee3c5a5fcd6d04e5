"""Sixty days of a pool with honest people and one adversary in it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from . import faults, seats
from .book import Refused
from .people import ADVERSARY, DAYS, PRICE, START, TREASURY, Outage, Setting, Visit, fate
from .pool import Pool
from .rules import COMMIT_WINDOW, DAY, FINE_DIVISOR, HOUR, MATURITY, MINUTE, REVEAL_WINDOW, UNIT, Mends, Rules
from .seats import View
from .strategies import Act, Strategy

TRUE, FALSE, SILENT = View(True, 7), View(False, 9), None
SEATS_PURSE = "adversary's seats"


@dataclass
class Verdict:
    """What is true of a fault. honest: whose machine it is; so: whether it was as the fault says."""

    honest: bool
    so: bool


class World:
    """Honest people do as the documentation says; the adversary does as its strategy says."""

    def __init__(self, setting: Setting, strategy: Strategy, mends: Mends) -> None:
        self.setting, self.strategy = setting, strategy
        self.pool = Pool(Rules(arbiter=setting.arbiter), mends, START - 30 * DAY)
        self.verdicts: dict[int, Verdict] = {}
        self._rng = Random(setting.seed + 1)
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._down: dict[int, Outage] = {}
        self._waiting: set[int] = set()  # machines with a challenge
        self._names = 0
        self._populate()

    # ----------------------------------------------------------------------------------------------------- setting up

    def _populate(self) -> None:
        book, pool = self.pool.book, self.pool
        book.owners |= {SEATS_PURSE: ADVERSARY, TREASURY: ADVERSARY if self.setting.owner else TREASURY}
        book.mint(ADVERSARY, self.setting.purse)
        book.mint(SEATS_PURSE, self.setting.seats_purse)
        for n in range(self.setting.honest_seats):
            book.mint(f"validator {n}", 10_000 * UNIT)
            pool.join(f"validator {n}", 1)
        self._join(10**9)
        drawn = fate(self.setting)
        for n, gpus in enumerate(drawn.gpus):
            book.mint(f"provider {n}", 20_000 * UNIT)
            pool.register(f"provider {n}", gpus)
        book.mint("tenant", 10**6 * UNIT)
        book.now = START
        for outage in drawn.outages:
            self.at(outage.begin, lambda o=outage: self._falls(o))
        for visit in drawn.visits:
            self.at(visit.begin, lambda v=visit: self._visits(v))
        for when, machine in drawn.checks:
            self.at(when, lambda m=machine: self._request("tenant", m + 1))
        if drawn.cheaper_at:
            cheaper = replace(self.pool.rules(0), seat_stake=UNIT, min_stake_per_gpu=UNIT, bond=UNIT)
            self.at(drawn.cheaper_at, lambda: self.pool.propose(cheaper))
        for act in self.strategy.acts:
            self.at(act.at, lambda a=act: self._act(a))

    def at(self, when: int, what: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (when, self._order, what))

    def run(self) -> None:
        """To the end. What the contract would refuse does not happen."""
        book = self.pool.book
        self.before = book.wealth(frozenset({ADVERSARY}))
        while self._queue and self._queue[0][0] <= START + DAYS * DAY:
            book.now, _, what = heapq.heappop(self._queue)
            with suppress(Refused):
                what()

    def honest(self, machine: int) -> bool:
        return self.pool.leasing.machines[machine].provider.startswith("provider")

    # --------------------------------------------------------------------------------------------------- honest people

    def _visits(self, visit: Visit) -> None:
        lease = self.pool.open("tenant", visit.machine + 1, visit.cells, visit.seconds, PRICE)
        self.at(self.pool.leasing.leases[lease].end + 3 * DAY, lambda: self.pool.leasing.close(lease))

    def _falls(self, outage: Outage) -> None:
        """The provider says so, or a tenant asks and hears nothing."""
        machine = outage.machine + 1
        self._down[machine] = outage
        self.at(outage.end, lambda: self._rises(machine))
        if outage.reported:
            self._open_fault(machine, faults.Kind.REPORTED, self.pool.book.now, [])
        elif self.pool.leasing.machines[machine].leased:
            self.at(self.pool.book.now + 5 * MINUTE, lambda: self._challenge("tenant", machine))

    def _rises(self, machine: int) -> None:
        del self._down[machine]
        ended = self.pool.up(machine)
        if ended is not None:
            self._filed(ended)

    def _challenge(self, who: str, machine: int) -> None:
        """The operator answers unless the machine is down."""
        pool = self.pool
        bond, since = pool.accepted(machine).bond, pool.book.now
        if machine in self._waiting or pool.faults.running(machine) is not None:
            raise Refused("one stands, or it is down")
        if machine not in self._down:
            if self.honest(machine):
                pool.answer(who, machine, bond)
            return
        self._waiting.add(machine)
        self.at(since + pool.accepted(machine).challenge_window + 1, lambda: self._prove(who, machine, since))

    def _prove(self, who: str, machine: int, since: int) -> None:
        self._waiting.discard(machine)
        if machine in self._down:
            self._open_fault(machine, faults.Kind.CHALLENGED, since, [faults.Reporter(who)])

    def _open_fault(
        self, machine: int, kind: faults.Kind, since: int, reporters: list[faults.Reporter]
    ) -> None:
        fault = self.pool.down(machine, kind, since, reporters)
        self.verdicts[fault] = Verdict(self.honest(machine), True)

    def _filed(self, number: int) -> None:
        """Appealed if it is not so, applied by everybody before its deadline, executed after."""
        pool, fault = self.pool, self.pool.faults.faults[number]
        verdict, now = self.verdicts[number], pool.book.now
        rules = fault.rules
        if fault.state is faults.State.EXECUTED:
            return
        if not verdict.so or not verdict.honest:
            self.at(now + HOUR, lambda: pool.faults.appeal(number))
            self.at(now + DAY, lambda: self._rules(number))
        leases = [n for n, lease in pool.leasing.leases.items() if lease.machine == fault.machine]
        self.at(now + HOUR, lambda: pool.faults.apply(number, leases))
        for last in (rules.appeal_window, rules.ruling_window + HOUR):
            self.at(now + last + 1, lambda: pool.faults.execute(number))

    def _rules(self, number: int) -> None:
        verdict, arbiter = self.verdicts[number], self.pool.faults.faults[number].rules.arbiter
        if arbiter == "honest":
            self._ruled(number, verdict.so)
        elif arbiter == "bought":
            self._ruled(number, verdict.honest)

    def _ruled(self, number: int, stands: bool) -> None:
        self.pool.faults.rule(number, stands)
        fault = self.pool.faults.faults[number]
        if not stands and fault.round:
            self.pool.seats.overturn(fault.round, fault.rules.arbiter)

    # --------------------------------------------------------------------------------------------------------- rounds

    def _request(self, who: str, machine: int) -> None:
        number = self.pool.request(who, machine)
        self.at(self.pool.book.now + MINUTE, lambda: self._draw(number))

    def _draw(self, number: int) -> None:
        pool, held = self.pool, self.pool.seats.rounds[number]
        machine = pool.leasing.machines[held.machine]
        among = pool.seats.candidates(number, machine.provider)
        if len(among) < held.size:
            pool.book.move(f"round {number}", held.requester, held.fee, "back", number)
            held.state = seats.State.INCONCLUSIVE
            return
        pool.seats.draw(number, self._rng.sample(among, held.size), "tenant")
        self._vote(held)
        self.at(pool.book.now + COMMIT_WINDOW + REVEAL_WINDOW, lambda: self._finalize(number))

    def _vote(self, held: seats.Round) -> None:
        honest_machine = self.honest(held.machine)
        so = honest_machine or not self.strategy.own_are_false
        truth = TRUE if so else FALSE
        own = [n for n in held.drawn if self._is_own(n)]
        habit = self.strategy.vote_on_others if honest_machine else self.strategy.vote_on_own
        lies = habit == "lie" or (habit == "lie with a majority" and 2 * len(own) > held.size)
        lie = View(not so, 9 if self.strategy.names_say_hardware else 0)
        for n in held.drawn:
            if n not in own:
                if self._rng.random() > 0.02:
                    held.views[n] = truth
            elif habit != "silence":
                held.views[n] = lie if lies else truth

    def _is_own(self, seat: int) -> bool:
        return self.pool.book.owner(self.pool.seats.seats[seat].validator) == ADVERSARY

    def _finalize(self, number: int) -> None:
        self.pool.seats.finalize(number)
        held = self.pool.seats.rounds[number]
        if held.outcome is None or held.outcome.passed or not held.outcome.spec:
            return
        rules = self.pool.accepted(held.machine)
        fault = self.pool.faults.false_hardware(held.machine, held.requested_at, number, rules)
        honest = self.honest(held.machine)
        self.verdicts[fault] = Verdict(honest, not honest and self.strategy.own_are_false)
        self._filed(fault)

    # -------------------------------------------------------------------------------------------------- the adversary

    def _name(self, kind: str) -> str:
        self._names += 1
        name = f"adversary's {kind} {self._names}"
        self.pool.book.owners[name] = ADVERSARY
        return name

    def _funded(self, kind: str, amount: int, purse: str = ADVERSARY) -> str:
        name = self._name(kind)
        self.pool.book.move(purse, name, amount, "own", 0)
        return name

    def _join(self, count: int) -> None:
        """As many as the purse for seats pays, and forty at most: so is a third of them what they cost."""
        pool = self.pool
        open_to_all = (n for n, (since, _) in enumerate(pool.versions) if since <= pool.book.now)
        cheapest = min(open_to_all, key=lambda n: pool.rules(n).seat_stake)
        level = pool.rules(cheapest).seat_stake
        price = level + level // FINE_DIVISOR
        left = pool.book.balances[SEATS_PURSE]
        for _ in range(min(count, left // price if price else 40, 40)):
            pool.join(self._funded("validator", price, SEATS_PURSE), cheapest + 1)

    def _targets(self, act: Act) -> list[int]:
        machines = list(self.pool.leasing.machines)
        return machines if act.a >= 48 else [machines[act.a % len(machines)]]

    def _own(self, act: Act) -> list[int]:
        own = [n for n in self.pool.leasing.machines if not self.honest(n)]
        return own if act.a >= 32 or not own else [own[act.a % len(own)]]

    def _act(self, act: Act) -> None:
        getattr(self, f"_act_{act.verb}")(act)

    def _each(self, numbers: list[int], what: Callable[[int], object]) -> None:
        for n in numbers:
            with suppress(Refused):
                what(n)

    def _act_propose(self, act: Act) -> None:
        if self.setting.owner:
            cheap = act.a % 3
            self.pool.propose(
                replace(
                    Rules(),
                    seat_stake=(500, 1, 0)[cheap] * UNIT,
                    min_stake_per_gpu=(100, 1, 0)[cheap] * UNIT,
                    bond=0 if cheap == 2 else UNIT,
                    arbiter="bought",
                    committee_size=(3, 5, 15)[act.b % 3],
                    verification_fee=(0, 5)[act.b // 3 % 2] * UNIT,
                    reverify_interval=(0, DAY)[act.c % 2],
                )
            )

    def _act_join(self, act: Act) -> None:
        self._join(40 if act.a >= 8 else 1 + act.a)

    def _act_leave(self, act: Act) -> None:
        own = [n for n in self.pool.seats.seats if self._is_own(n)]
        for n in own[: 1 + act.a % 8]:
            self._leave(n)

    def _leave(self, seat: int) -> None:
        self.pool.seats.leave(seat)
        self.at(self.pool.seats.seats[seat].leaves_at, lambda: self._exit(seat))

    def _exit(self, seat: int) -> None:
        validator = self.pool.seats.seats[seat].validator
        self.pool.seats.exit(seat)
        self.pool.book.move(validator, SEATS_PURSE, self.pool.book.balances[validator], "own")

    def _act_register(self, act: Act) -> None:
        for _ in range(1 + act.b % 20):
            gpus = 1 + act.c % 2
            stake = self.pool.rules(self.pool.in_force).min_stake_per_gpu * gpus
            # Appeals are paid for by its provider.
            self.pool.register(self._funded("provider", stake + 20 * UNIT), gpus)

    def _act_rent(self, act: Act) -> None:
        def rent(machine: int) -> None:
            held = self.pool.leasing.machines[machine]
            cells = min(held.cells - held.leased, (1, 1, 8, 64)[act.b % 4])
            seconds = (HOUR, DAY, 5 * DAY, 20 * DAY)[act.c % 4]
            deposit = PRICE * cells * seconds // 28_800 + 1
            if cells:
                lease = self.pool.open(self._funded("tenant", deposit), machine, cells, seconds, PRICE)
                self.at(self.pool.leasing.leases[lease].end, lambda: self.pool.leasing.close(lease))

        self._each(self._targets(act), rent)

    def _act_close(self, act: Act) -> None:
        own = [
            n for n, lease in self.pool.leasing.leases.items()
            if not lease.closed and self.pool.book.owner(lease.tenant) == ADVERSARY
        ]  # fmt: skip
        self._each(own[act.a % 4 :], self.pool.leasing.close)

    def _act_request(self, act: Act) -> None:
        """A few days running, if the rules let it."""
        for day in range(1 + act.b % 8):
            when = self.pool.book.now + day * (DAY + 1 if act.c % 2 else 7 * HOUR)
            for machine in self._targets(act):
                self.at(when, lambda m=machine: self._request(self._funded("requester", 5 * UNIT), m))

    def _act_attest(self, act: Act) -> None:
        seats = self.pool.seats.seats
        own = [n for n in seats if self._is_own(n) and self._matured(n) and not seats[n].leaves_at]
        lasts = (10 * MINUTE, 3 * HOUR, 50 * HOUR, 130 * HOUR)[act.b % 4]

        def attest(machine: int) -> None:
            now = self.pool.book.now
            fault = self.pool.attest(machine, now - lasts, now, own)
            self.verdicts[fault] = Verdict(self.honest(machine), False)
            self._filed(fault)

        self._each(self._targets(act), attest)

    def _matured(self, seat: int) -> bool:
        return self.pool.book.now >= self.pool.seats.seats[seat].joined_at + MATURITY

    def _act_report(self, act: Act) -> None:
        """A machine of its own goes down, truly, for a while."""
        lasts = (10 * MINUTE, 3 * HOUR, 50 * HOUR)[act.b % 3]

        def report(machine: int) -> None:
            self._open_fault(machine, faults.Kind.REPORTED, self.pool.book.now, [])
            self.at(self.pool.book.now + lasts, lambda: self._recovers(machine))

        self._each(self._own(act), report)

    def _recovers(self, machine: int) -> None:
        ended = self.pool.up(machine)
        if ended is not None:
            self._filed(ended)

    def _act_challenge(self, act: Act) -> None:
        leased = {
            lease.machine for lease in self.pool.leasing.leases.values()
            if not lease.closed and self.pool.book.owner(lease.tenant) == ADVERSARY
        }  # fmt: skip
        self._each([m for m in self._targets(act) if m in leased], self._asks)

    def _asks(self, machine: int) -> None:
        self._challenge(self._funded("challenger", self.pool.accepted(machine).bond), machine)

    def _act_accept(self, act: Act) -> None:
        self._each(self._own(act), self.pool.accept)

    def _act_retire(self, act: Act) -> None:
        def retire(machine: int) -> None:
            self.pool.retire(machine)
            self.at(self.pool.book.now + 15 * DAY, lambda: self.pool.unstake(machine))

        self._each(self._own(act), retire)
