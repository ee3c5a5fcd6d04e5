"""What a run does next, over many random worlds, with a kill between any two acts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from leasehold.chain import Lease, LeaseState, cost
from leasehold.home import GivenUp, RunRecord, Try
from leasehold.runs._deciding import (
    LEAVING,
    Act,
    CloseWhen,
    Do,
    RunLook,
    RunRules,
    TryLook,
    Word,
    affordable,
    decide,
)

WINDOW, PRICE, CELLS = 1_800, 800_000, 8
STEP = 3_600
RULES = RunRules(start_within=300, gone_after=300, step=STEP, at_most=4 * STEP)


class Killed(Exception):
    """The process is gone: what it remembered, too."""


def new_record() -> RunRecord:
    return RunRecord("train", "0xA", "wish", 0, {}, True, "/results")


def a_lease(number: int, start: int, state: LeaseState = LeaseState.OPENED, seconds: int = STEP) -> Lease:
    deposit = cost(PRICE, CELLS, seconds, up=True)
    return Lease(
        number, "0xA", number, 1 << 8 | 0xFF, state, False, False, start, start + seconds, deposit, PRICE, 1, 1, 0,
        b"\0" * 32,
    )  # fmt: skip


@dataclass
class Machine:
    """How one behaves: seconds until it declines, starts, dies (after its start), gives notice; `None`: it does not."""

    declines: int | None = None
    starts: int | None = None
    dies: int | None = None
    notice: int | None = None


@dataclass
class World:
    """Chain, machines and one run, by a seed. killing: how often a process is killed where it can be."""

    luck: random.Random
    machines: list[Machine]
    job: int
    rules: RunRules
    killing: float
    now: int = 0
    record: RunRecord = field(default_factory=new_record)
    leases: dict[str, Lease] = field(default_factory=dict)
    costs: dict[str, int] = field(default_factory=dict)
    pending: list[tuple[int, str, Lease]] = field(default_factory=list)
    ended_well: set[str] = field(default_factory=set)
    silent: dict[str, int] = field(default_factory=dict)
    ordered: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    opened: int = 0
    others: bool = True
    extends: bool = True

    def maybe_killed(self) -> None:
        if self.luck.random() < self.killing:
            raise Killed

    # ------------------------------------------------------------------------------------------------- the world

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            for due, key, lease in list(self.pending):
                if due <= self.now:
                    self.pending.remove((due, key, lease))
                    self.leases[key] = replace(lease, start=self.now, end=self.now + lease.end - lease.start)
            for key, lease in list(self.leases.items()):
                self._lives(key, lease)

    def _lives(self, key: str, lease: Lease) -> None:
        machine, age = self.machines[lease.machine], self.now - lease.start
        if lease.state is LeaseState.OPENED:
            if machine.declines is not None and age >= machine.declines:
                self._over(key, lease, LeaseState.CANCELLED, 0)
            elif machine.starts is not None and machine.starts <= age <= WINDOW:
                length = lease.end - lease.start
                self.leases[key] = replace(
                    lease, state=LeaseState.ACTIVE, start=self.now, end=self.now + length
                )
        elif lease.state is LeaseState.ACTIVE:
            dead = machine.dies is not None and age >= machine.dies
            if dead:
                self.silent.setdefault(key, self.now)
            elif age >= self.job:
                self.ended_well.add(key)
                if key in self.ordered and age >= self.job + 5:
                    self.used.add(key)
                    self.close(key)
            elif machine.notice is not None and age >= machine.notice and not lease.noticed:
                self.leases[key] = replace(lease, noticed=True, end=min(lease.end, self.now + 60))
            noticed = self.leases[key].noticed  # whoever has to go on elsewhere closes it himself
            if self.now >= self.leases[key].end and not noticed and self.luck.random() < 0.01:
                self.close(key)  # anybody may

    def _over(self, key: str, lease: Lease, state: LeaseState, paid: int) -> None:
        self.leases[key], self.costs[key] = replace(lease, state=state, end=max(lease.start, self.now)), paid

    def close(self, key: str) -> None:
        lease = self.leases[key]
        assert lease.state is not LeaseState.OPENED, "a hold fee was paid"
        if lease.state is LeaseState.ACTIVE:
            used = min(self.now, lease.end) - lease.start
            paid = cost(lease.price, lease.cells, used)
            self.leases[key], self.costs[key] = (
                replace(lease, state=LeaseState.ENDED, end=lease.start + used), min(paid, lease.deposit),
            )  # fmt: skip

    # --------------------------------------------------------------------------------------------------- the run

    def look(self, word: Word) -> RunLook:
        sending, seen = bool(self.pending), list[TryLook]()
        for tried in self.record.tries:
            lease = self.leases.get(tried.workload)
            key = tried.workload
            live = lease is not None and lease.state is LeaseState.ACTIVE
            heard = key not in self.silent
            seen.append(
                TryLook(
                    lease,
                    True,
                    WINDOW,
                    self.costs.get(key, 0),
                    3 if key in self.ended_well and heard else None,
                    order_used=key in self.used,
                    ordered=key in self.ordered,
                    unusable=self.now - self.silent[key] if live and not heard else 0,
                    ended_for=100 if key in self.ended_well else 0,
                )
            )
        return RunLook(
            self.record, self.rules, tuple(seen), self.now, sending, word, self.others, self.extends
        )

    def act(self, act: Act, look: RunLook) -> None:
        place = act.place
        seen = look.seen[place] if place >= 0 else TryLook()
        key = self.record.tries[place].workload if place >= 0 else ""
        if act.do is Do.KNOW:
            assert seen.lease is not None
            self.note(place, lease=seen.lease.id)
        elif act.do is Do.DROP:
            assert not any(key == waiting for _, waiting, _ in self.pending)
            self.note(place, cost=0, given_up=GivenUp.UNSENT)
        elif act.do is Do.END:
            self.note(place, cost=seen.cost, given_up=act.given_up)
        elif act.do is Do.DONE:
            self.note(place, done=True, exit_code=seen.exit_code)
        elif act.do is Do.GIVE_UP:
            self.note(place, given_up=act.given_up, why=act.why)
        elif act.do is Do.TAKE_UP:
            self.note(place, given_up=None)
        elif act.do is Do.CANCEL:
            assert self.now > self.leases[key].start + WINDOW
            if self.leases[key].state is LeaseState.OPENED:
                self._over(key, self.leases[key], LeaseState.CANCELLED, 0)
        elif act.do is Do.CLOSE:
            self.close(key)
        elif act.do is Do.ORDER:
            self.ordered.add(key)
        elif act.do is Do.OPEN:
            self.open(look)
        elif act.do is Do.EXTEND:
            lease = self.leases[key]
            longer = replace(lease, end=lease.end + act.seconds)
            deposit = cost(lease.price, lease.cells, longer.end - longer.start, up=True)
            self.leases[key] = replace(longer, deposit=deposit)
        elif act.do is Do.FETCH:
            self.record = replace(self.record, fetched="cid")
        elif act.do is Do.FINISH:
            self.record = replace(self.record, ended=act.why)

    def note(self, place: int, **changes: object) -> None:
        self.record = self.record.with_try(place, **changes)

    def open(self, look: RunLook) -> None:
        tried = {known.machine for known in self.record.tries if known.given_up is not GivenUp.UNSENT}
        rest = [number for number in range(len(self.machines)) if number not in tried]
        seconds = affordable(PRICE, CELLS, STEP, look.left)
        if not rest or not seconds:
            self.others = False
            return
        self.opened += 1
        key, escrow = f"digest-{self.opened}", cost(PRICE, CELLS, seconds, up=True)
        self.record = replace(self.record, tries=(*self.record.tries, Try(rest[0], key, escrow)))
        self.maybe_killed()
        lease = replace(a_lease(self.opened, self.now, seconds=seconds), machine=rest[0])
        self.pending.append((self.now + self.luck.randrange(4), key, lease))
        self.maybe_killed()
        self.pass_time(5)
        self.note(len(self.record.tries) - 1, lease=self.leases[key].id)

    def check(self) -> None:
        """What holds at every moment."""
        held = sum(lease.deposit for lease in self.leases.values() if lease.state.live)
        held += sum(lease.deposit for _, _, lease in self.pending)
        assert not self.rules.budget or held + sum(self.costs.values()) <= self.rules.budget
        had = [tried.machine for tried in self.record.tries if tried.given_up is not GivenUp.UNSENT]
        assert len(set(had)) == len(had)
        wanted = [tried for tried in self.record.tries if not tried.over and tried.given_up is None]
        running = [
            one for one in wanted if self.leases.get(one.workload, a_lease(0, 0)).state is LeaseState.ACTIVE
        ]
        assert len(running) <= 2  # one that was late, until the next act


def carried_on(world: World, word_at: tuple[int, Word] | None = None) -> int:
    """Until it has ended and owes nothing, by as many processes as it takes; how many were killed."""
    killed = 0
    for _ in range(4_000):
        word = word_at[1] if word_at is not None and world.now >= word_at[0] else Word.GO_ON
        look = world.look(word)
        act = decide(look)
        assert act == decide(look)
        try:
            world.maybe_killed()
            world.act(act, look)
            world.check()
            world.maybe_killed()
        except Killed:
            killed += 1
            world.silent.update(dict.fromkeys(world.silent, world.now))  # a new process counts anew
            world.others = world.extends = True
        if act.do is Do.LEAVE and world.record.ended and not world.record.owed:
            return killed
        world.pass_time(30 if act.do in (Do.WAIT, Do.LEAVE) else 1)
    raise AssertionError(f"it never ends: {world.record}")


def settled(world: World) -> None:
    """Nothing was forgotten, nothing is open, and nothing is paid that the contract does not say."""
    assert not world.pending
    known = {tried.workload: tried for tried in world.record.tries}
    for key, lease in world.leases.items():
        assert key in known
        assert not lease.state.live
        assert known[key].cost == world.costs[key]
        if lease.state is LeaseState.CANCELLED:
            assert world.costs[key] == 0


@pytest.mark.parametrize("killing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("worlds", [12, pytest.param(300, marks=pytest.mark.slow)])
def test_whatever_happens_it_ends_and_nothing_is_forgotten(killing: float, worlds: int) -> None:
    outcomes, killed = set[str](), 0
    for seed in range(worlds):
        luck = random.Random(seed * 7 + int(killing * 10))
        machines = [
            luck.choice(
                [
                    Machine(declines=luck.randrange(1, 200)),
                    Machine(),
                    Machine(starts=luck.randrange(1, 2_000)),
                    Machine(starts=luck.randrange(1, 300), dies=luck.randrange(1, 3_000)),
                    Machine(starts=1, notice=luck.randrange(1, 3_000)),
                    Machine(starts=5),
                ]
            )
            for _ in range(luck.randrange(1, 6))
        ]
        budget = luck.choice([0, 0, 1_000_000, 2_500_000])
        rules = replace(RULES, budget=budget)
        world = World(luck, machines, luck.randrange(1, 9_000), rules, killing)
        killed += carried_on(world)
        settled(world)
        outcomes.add(world.record.ended)
        works = any(one.starts == 5 for one in machines)
        if works and not budget and len(world.leases) == len(machines) and world.job < 3 * STEP:
            assert world.record.ended in ("done", "time")
    assert {"done", "none"} <= outcomes
    assert (killed > 0) == (killing > 0)


@pytest.mark.parametrize("killing", [0.0, 0.2])
def test_whoever_ends_it_pays_no_hold_fee(killing: float) -> None:
    for seed in range(20):
        luck = random.Random(seed)
        machines = [Machine(starts=luck.choice([None, 10, 1_000])) for _ in range(3)]
        world = World(luck, machines, 5_000, RULES, killing)
        carried_on(world, (luck.randrange(2_000), Word.CLOSE))
        settled(world)
        assert world.record.ended in ("closed", "done", "none", "time")


def test_a_declined_run_goes_on_at_once_and_pays_nothing() -> None:
    world = World(random.Random(1), [Machine(declines=1), Machine(starts=2)], 100, RULES, 0.0)
    carried_on(world)
    assert [tried.cost for tried in world.record.tries] == [0, cost(PRICE, CELLS, 105)]
    assert world.now < 300


def test_the_late_one_that_starts_first_is_taken_up() -> None:
    """The second is slower still: there is no reason to wait for it, and both are never wanted."""
    world = World(random.Random(1), [Machine(starts=400), Machine(starts=500)], 50, RULES, 0.0)
    carried_on(world)
    first, second = world.record.tries
    assert (first.done, first.given_up) == (True, None)
    assert second.given_up is GivenUp.UNWANTED
    settled(world)


def a_look(tried: Try, seen: TryLook, **more: object) -> RunLook:
    look = RunLook(replace(new_record(), tries=(tried,)), RULES, (seen,), now=1_000)
    return replace(look, **more)  # type: ignore[arg-type]


def test_a_chain_that_makes_no_blocks_holds_up_no_run() -> None:
    """Its time stands still, and whoever waits counts by his own clock."""
    record = replace(new_record(), tries=(Try(1, "aa", 5, lease=1),))
    waiting = TryLook(a_lease(1, start=1_000), window=WINDOW, ordered=True)
    look = RunLook(record, RULES, (waiting,), now=1_000)
    assert decide(look).do is Do.WAIT
    act = decide(replace(look, seen=(replace(waiting, waited=301),)))
    assert (act.do, act.given_up) == (Do.GIVE_UP, GivenUp.LATE)


def test_a_lease_that_its_tenant_ended_is_not_replaced() -> None:
    ended = replace(a_lease(1, 0, LeaseState.ENDED), end=100)
    known = Try(1, "d", 1, lease=1)
    act = decide(a_look(known, TryLook(ended)))
    assert (act.do, act.given_up) == (Do.END, GivenUp.ENDED)
    over = replace(known, cost=5, given_up=GivenUp.ENDED)
    assert decide(a_look(over, TryLook())) == Act(Do.FINISH, why="closed")


def test_an_opening_that_may_yet_be_mined_is_waited_for() -> None:
    unknown = Try(1, "d", 1)
    assert decide(a_look(unknown, TryLook(), sending=True)) == Act(Do.WAIT, 0, why="sending")
    assert decide(a_look(unknown, TryLook())).do is Do.DROP
    assert decide(a_look(unknown, TryLook(a_lease(7, 0)))).do is Do.KNOW


def test_who_leaves_pays_for_the_rest_in_one_go() -> None:
    running = TryLook(a_lease(1, 900, LeaseState.ACTIVE), ordered=True)
    known = Try(1, "d", 1, lease=1)
    act = decide(a_look(known, running, word=Word.LEAVE))
    assert (act.do, act.seconds) == (Do.EXTEND, 3 * STEP)
    bounded = replace(RULES, budget=2 * PRICE)
    assert decide(a_look(known, running, word=Word.LEAVE, rules=bounded)).seconds == STEP
    assert decide(a_look(known, running, word=Word.LEAVE, extends=False)).do is Do.LEAVE


def test_a_kept_lease_is_left_to_whoever_began_it() -> None:
    rules = replace(RULES, close_when=CloseWhen.NEVER)
    done = Try(1, "d", 1, lease=1, done=True)
    running = TryLook(a_lease(1, 900, LeaseState.ACTIVE), exit_code=0)
    assert decide(a_look(done, running, rules=rules)).do is Do.FETCH
    fetched = replace(new_record(), tries=(done,), fetched="cid")
    act = decide(RunLook(fetched, rules, (running,), 1_000))
    assert (act.do, act.given_up) == (Do.GIVE_UP, GivenUp.KEPT)


def test_what_an_idle_or_a_finished_lease_waits_for() -> None:
    known, active = Try(1, "d", 1, lease=1), a_lease(1, 900, LeaseState.ACTIVE)
    idle = replace(RULES, close_when=CloseWhen.IDLE)
    assert decide(a_look(known, TryLook(active, idle=True), rules=idle)) == Act(Do.DONE, 0, why="idle")
    finished = replace(known, done=True)
    owes = TryLook(active, ordered=True, published=False, ended_for=100)
    assert decide(a_look(finished, owes)).do is Do.WAIT
    assert decide(a_look(finished, replace(owes, published=True))).do is Do.CLOSE
    assert decide(a_look(known, TryLook(active, handed=False, ordered=True))).do is Do.WAIT
    waiting = TryLook(a_lease(1, 900), window=WINDOW, handed=False)
    assert decide(a_look(known, waiting)).do is Do.HAND_IN


def test_two_machines_that_say_the_workload_is_at_fault_are_enough() -> None:
    tries = tuple(Try(number, f"d{number}", 1, lease=number, cost=0, why="start-failed") for number in (1, 2))
    look = RunLook(replace(new_record(), tries=tries), RULES, (TryLook(), TryLook()), 1_000)
    assert decide(look) == Act(Do.FINISH, why="none")
    one = RunLook(replace(new_record(), tries=tries[:1]), RULES, (TryLook(),), 1_000)
    assert decide(one).do is Do.OPEN


def test_seconds_that_a_budget_pays_for() -> None:
    assert affordable(PRICE, 8, STEP, None) == STEP
    assert affordable(PRICE, 8, STEP, PRICE // 2) == STEP // 2
    assert affordable(PRICE, 8, STEP, PRICE // 100) == 0
    for left in range(1, 2_000_000, 77_777):
        seconds = affordable(777_777, 3, STEP, left)
        assert cost(777_777, 3, seconds, up=True) <= left


def test_a_copy_of_each_checkpoint_is_kept_while_it_runs() -> None:
    """Once each, and not of a machine that has done its work."""
    lease = a_lease(1 << 16, 0, LeaseState.ACTIVE)
    tried, seen = Try(1, "00", lease=1 << 16), TryLook(lease=lease, ordered=True, checkpoint="one")
    record = replace(new_record(), tries=(tried,))
    assert decide(RunLook(record, RULES, (seen,), 10)) == Act(Do.KEEP, 0, why="one")
    kept = replace(record, tries=(replace(tried, checkpoint="one"),))
    assert decide(RunLook(kept, RULES, (seen,), 10)).do is Do.WAIT
    assert decide(RunLook(kept, RULES, (replace(seen, checkpoint="two"),), 10)).why == "two"
    assert decide(RunLook(record, RULES, (replace(seen, exit_code=0),), 10)).do is Do.DONE


def test_a_lease_under_notice_is_left_a_minute_after_its_end_and_not_done() -> None:
    """Nobody else need ever close it; until then its last checkpoint is made and fetched."""
    lease = replace(a_lease(1, 0, LeaseState.ACTIVE), noticed=True)
    record = replace(new_record(), tries=(Try(1, "d", 1, lease=1, checkpoint="one"),))
    seen = TryLook(lease, True, WINDOW, ordered=True, checkpoint="one")
    end = lease.end
    assert decide(RunLook(record, RULES, (seen,), end + LEAVING - 1)).do is Do.WAIT
    act = decide(RunLook(record, RULES, (seen,), end + LEAVING))
    assert (act.do, act.given_up) == (Do.GIVE_UP, GivenUp.GONE)
    last = replace(seen, checkpoint="two")
    assert decide(RunLook(record, RULES, (last,), end + LEAVING)).do is Do.KEEP
