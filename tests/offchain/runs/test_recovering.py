"""A run that a guard carries on: machines come and go, a reorganisation takes openings back, and there is one job."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from leasehold.chain import Lease, LeaseState
from leasehold.home import GivenUp, Try
from leasehold.runs._acting import avoided
from leasehold.runs._deciding import MOST_RECOVERED, Act, Do, RunLook, TryLook, Word, decide

from .test_deciding import (
    PRICE,
    RULES,
    STEP,
    Killed,
    Machine,
    World,
    a_lease,
    a_look,
    carried_on,
    new_record,
    settled,
)

RECOVERS = replace(RULES, recover=True, budget=40 * PRICE)


@dataclass
class Forked(World):
    """A world in which an opening is taken back now and then: mined again under another number, kept back until the
    account sends something else, or dropped by every node.
    """

    zombies: dict[str, Lease] = field(default_factory=dict)
    forks: int = 0

    def pass_time(self, seconds: int) -> None:
        super().pass_time(seconds)
        for key, lease in list(self.leases.items()):
            if lease.state is LeaseState.OPENED and self.now - lease.start < 40 and self.luck.random() < 0.2:
                self._taken_back(key, lease)
        for key, lease in list(self.zombies.items()):
            if self.luck.random() < 0.1:
                del self.zombies[key]
                self._mined(key, lease)

    def _taken_back(self, key: str, lease: Lease) -> None:
        self.forks += 1
        del self.leases[key]
        how = self.luck.randrange(3)
        if how == 0:
            self._mined(key, lease)
        elif how == 1:
            self.zombies[key] = lease

    def _mined(self, key: str, lease: Lease) -> None:
        length = lease.end - lease.start
        self.leases[key] = replace(lease, id=1_000 + self.forks, start=self.now, end=self.now + length)

    def look(self, word: Word) -> RunLook:
        look, seen = super().look(word), list[TryLook]()
        for tried, one in zip(self.record.tries, look.seen, strict=True):
            known = self.leases.get(tried.workload)
            lost = tried.lease is not None and not tried.over and (known is None or known.id != tried.lease)
            seen.append(replace(one, lost=lost))
        return replace(look, seen=tuple(seen))

    def act(self, act: Act, look: RunLook) -> None:
        if act.do is Do.OPEN:
            self.zombies.clear()  # it takes the nonce that they had
        if act.do is Do.FORGET:
            self.note(act.place, lease=None)
        elif act.do is Do.KNOW and look.record.tries[act.place].given_up is GivenUp.UNSENT:
            lease = look.seen[act.place].lease
            assert lease is not None
            self.note(act.place, lease=lease.id, given_up=None, cost=None)
        else:
            super().act(act, look)

    def open(self, look: RunLook) -> None:
        try:
            super().open(look)
        except KeyError as gone:  # it was taken back before its sender saw it
            raise Killed from gone

    def check(self) -> None:
        super().check()
        noted = {tried.lease for tried in self.record.tries if tried.lease is not None}
        running = [lease for lease in self.leases.values() if lease.state is LeaseState.ACTIVE]
        assert len([lease for lease in running if lease.id in noted]) <= 2


@pytest.mark.parametrize("killing", [0.0, 0.2])
@pytest.mark.parametrize("worlds", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_a_reorganisation_forgets_no_lease_and_makes_no_second(killing: float, worlds: int) -> None:
    forks = 0
    for seed in range(worlds):
        luck = random.Random(seed)
        machines = [
            Machine(starts=luck.randrange(50, 200)),
            Machine(starts=60, notice=500),
            Machine(starts=70),
        ]
        luck.shuffle(machines)
        world = Forked(luck, machines, luck.randrange(1, 3_000), RULES, killing)
        carried_on(world)
        while world.zombies:  # nothing comes to be of what no transaction followed
            world.pass_time(1)
            carried_on(world)
        settled(world)
        forks += world.forks
    assert forks > worlds // 4


def test_a_lease_that_was_taken_back_is_looked_for_and_then_opened_anew() -> None:
    known, gone = Try(1, "d", 1, lease=7), TryLook(lost=True)
    assert decide(a_look(known, gone)) == Act(Do.FORGET, 0)
    assert decide(a_look(known, TryLook(a_lease(8, 0), lost=True))) == Act(Do.KNOW, 0)
    unknown = replace(known, lease=None)
    assert decide(a_look(unknown, TryLook(), sending=True)).do is Do.WAIT
    assert decide(a_look(unknown, TryLook())).do is Do.DROP
    dropped = replace(unknown, given_up=GivenUp.UNSENT, cost=0)
    assert decide(a_look(dropped, TryLook())).do is Do.OPEN
    assert decide(a_look(dropped, TryLook(a_lease(9, 0)))) == Act(Do.KNOW, 0)


def been(number: int, given_up: GivenUp = GivenUp.GONE) -> Try:
    return Try(number, f"d{number}", 1, lease=number, cost=5, given_up=given_up)


def looked(*tries: Try, **more: object) -> RunLook:
    record = replace(new_record(), tries=tries)
    look = RunLook(record, RECOVERS, tuple(TryLook() for _ in tries), now=1_000)
    return replace(look, **more)  # type: ignore[arg-type]


def test_one_that_was_somewhere_waits_for_a_machine() -> None:
    assert decide(looked(been(1))).do is Do.OPEN
    assert decide(looked(been(1), others=False)) == Act(Do.WAIT, why="machine")
    assert decide(looked(been(1), others=False, rules=replace(RECOVERS, recover=False))).do is Do.FINISH
    assert decide(looked(been(1), others=False, rules=replace(RECOVERS, budget=5))).do is Do.FINISH
    assert decide(looked(others=False)) == Act(Do.FINISH, why="none")
    spent = [been(number) for number in range(MOST_RECOVERED)]
    assert decide(looked(*spent)) == Act(Do.FINISH, why="none")
    assert decide(looked(*spent[:-1])).do is Do.OPEN  # more than other runs try: these did not fail to run it


def test_machines_that_took_it_back_are_tried_again_but_for_the_last() -> None:
    tries = (been(1), been(2, GivenUp.LATE), replace(been(3), given_up=None, why="no-disk"), been(4))
    assert avoided(looked(*tries)) == {2, 3, 4}
    assert avoided(looked(*tries, rules=RULES)) == {1, 2, 3, 4}
    assert avoided(looked(replace(been(1), given_up=GivenUp.UNSENT))) == set()


def test_a_workload_that_is_at_fault_itself_is_not_recovered() -> None:
    faulty = [replace(been(number), given_up=None, why="start-failed", cost=0) for number in (1, 2)]
    assert decide(looked(*faulty, been(3))) == Act(Do.FINISH, why="none")


def test_who_leaves_it_to_a_guard_pays_for_a_step_at_a_time() -> None:
    running = TryLook(a_lease(1, 900, LeaseState.ACTIVE), ordered=True)
    known = Try(1, "d", 1, lease=1)
    assert decide(a_look(known, running, word=Word.LEAVE, rules=RECOVERS)).do is Do.LEAVE
    near = a_look(known, running, rules=RECOVERS, now=900 + STEP - 60)
    assert (decide(near).do, decide(near).seconds) == (Do.EXTEND, STEP)
