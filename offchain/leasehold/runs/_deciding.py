"""What a run does next: a pure function of what is noted of it and of how its leases stand.

Nothing here remembers: a run that was killed between two acts looks again, and gets the act that was missing. One place
carries acts out (`_acting.py`), each after asking once more for what it rests upon.

What holds whatever happens:

* a lease that has not started is never closed, which would cost a hold fee: it is left, and cancelled once its start
  window has passed, which gives everything back;
* of the leases of a run one is wanted at a time, and the first to start is it; another that starts is closed at once;
* what is held in escrow and what was spent are together never more than the budget;
* a lease that a reorganisation took back is looked for again, and one that comes to be after it was dropped is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from leasehold.chain import Lease, LeaseState, cost
from leasehold.home import GivenUp, RunRecord, Try
from leasehold.market import extension_cost

MOST_TRIES = 8
"""Machines that one run tries at most: a workload that none of them can run should not ask them all."""
MOST_RECOVERED = 64
"""Leases of one run that is recovered."""
OWN_FAULTS = frozenset({"not-ready", "start-failed"})
"""Why machines decline what is probably the workload's own doing: two such words are enough."""
LEAVING = 60
"""Seconds after the end that a notice has brought in which its last checkpoint is made and fetched."""
MARGIN = 900
"""How long before its end a lease is extended at the latest, seconds; of a short step a quarter."""
SHORTEST = 60
"""The least that a lease is opened for, or extended by, seconds."""
_MOST_OF_OWN_FAULT = 2


class CloseWhen(StrEnum):
    """When the run's lease is closed: its command has ended, it has nothing to do, or never by the run."""

    DONE = "done"
    IDLE = "idle"
    NEVER = "never"


class Word(Enum):
    """What whoever watches a run wants of it. LEAVE: the run is to go on alone, from now."""

    GO_ON = auto()
    LEAVE = auto()
    CLOSE = auto()


@dataclass(frozen=True)
class RunRules:
    """Bounds of a run. Seconds, and token units.

    start_within: how long a machine has to start. gone_after: how long it may be unusable. step: what a lease is opened
    for, and extended by. at_most: how long one may last in all. price: the most per GPU-hour; 0: any. budget: the most
    that all tries may hold and spend together; 0: no bound. idle: how long without work is idle.
    """

    start_within: int = 300
    gone_after: int = 300
    step: int = 3_600
    at_most: int = 43_200
    price: int = 0
    budget: int = 0
    close_when: CloseWhen = CloseWhen.DONE
    idle: int = 600
    closing_patience: int = 60
    publishing: int = 960
    recover: bool = False


@dataclass(frozen=True)
class TryLook:
    """How one try stands now. Seconds, and token units.

    lease: as the chain has it; `None` where it knows none of this workload. ours: it is the account's still. window:
    its start window. exit_code: of a command that has ended by itself. reason: why it was declined. handed: none of its
    code is to be handed in from here. order_used: the order to close it was carried out. ordered: such an order is
    there. published: nothing of its results is missing on the chain. unusable: for how long its agent has said nothing,
    or its machine been down. ended_for: how long its command has been seen to have ended. waited: how long it has been
    seen to wait for its start, by this computer's clock: a chain that makes no blocks has none. lost: the chain knows
    the lease that was noted no more, a reorganisation having taken it back; `lease` is what it has in its place.
    checkpoint: the CID of its newest one, where that is to be had.
    """

    lease: Lease | None = None
    ours: bool = True
    window: int = 0
    cost: int = 0
    exit_code: int | None = None
    reason: str = ""
    handed: bool = True
    order_used: bool = False
    ordered: bool = False
    published: bool = True
    unusable: int = 0
    ended_for: int = 0
    idle: bool = False
    waited: int = 0
    lost: bool = False
    checkpoint: str = ""

    @property
    def state(self) -> LeaseState:
        return LeaseState.NONE if self.lease is None else self.lease.state


@dataclass(frozen=True)
class RunLook:
    """A run as it stands at `now`. seen: each of its tries. sending: the wallet has something under way, maybe an
    opening. others: another machine can be tried. extends: the last lease can be extended, as far as is known.
    """

    record: RunRecord
    rules: RunRules
    seen: tuple[TryLook, ...]
    now: int
    sending: bool = False
    word: Word = Word.GO_ON
    others: bool = True
    extends: bool = True

    def pairs(self) -> Iterator[tuple[int, Try, TryLook]]:
        """Each try that is not over, with its place."""
        for place, (tried, seen) in enumerate(zip(self.record.tries, self.seen, strict=True)):
            if not tried.over:
                yield place, tried, seen

    @property
    def held(self) -> int:
        """What all tries have cost, or may yet."""
        return sum(
            tried.cost
            if tried.cost is not None
            else seen.lease.deposit
            if seen.lease is not None
            else tried.escrow
            for tried, seen in zip(self.record.tries, self.seen, strict=True)
        )

    @property
    def left(self) -> int | None:
        """What may still go into escrow; `None`: no bound."""
        return max(0, self.rules.budget - self.held) if self.rules.budget else None


class Do(Enum):
    """What an act does. Those before OPEN change only what is noted, or end what costs."""

    KNOW = auto()  # note which lease it is
    FORGET = auto()  # note that nobody knows which: the chain has it no more
    DROP = auto()  # note that it was never opened
    END = auto()  # note that it is over, and what it cost
    TAKE_UP = auto()  # a lease that was given up for late has started first: it is wanted after all
    GIVE_UP = auto()
    DONE = auto()  # note that its command has ended
    CANCEL = auto()  # its start window has passed: everything comes back
    CLOSE = auto()
    HAND_IN = auto()  # its code
    ORDER = auto()  # have it signed that it closes when done
    OPEN = auto()
    EXTEND = auto()
    FETCH = auto()
    KEEP = auto()  # a copy of its newest checkpoint
    FINISH = auto()
    LEAVE = auto()
    WAIT = auto()


@dataclass(frozen=True)
class Act:
    """One act. place: of which try. seconds: to extend by. given_up: what a try is given up for. why: for FINISH how
    the run has ended (`done`, `closed`, `time`, `none`), else in a few words what for.
    """

    do: Do
    place: int = -1
    seconds: int = 0
    given_up: GivenUp | None = None
    why: str = ""


def decide(look: RunLook) -> Act:
    """The next act. Pure: the same look gets the same answer."""
    for place, (tried, seen) in enumerate(zip(look.record.tries, look.seen, strict=True)):
        if tried.given_up is GivenUp.UNSENT and seen.lease is not None:  # it was sent after all
            return Act(Do.KNOW, place)
    for place, tried, seen in look.pairs():
        if act := _settled(look, place, tried, seen):
            return act
    if look.record.ended:
        return Act(Do.LEAVE, why=look.record.ended)
    wanted = [pair for pair in look.pairs() if pair[1].given_up is None]
    if look.word is Word.CLOSE and not any(tried.done for tried in look.record.tries):
        return _closing(wanted)
    if running := next((pair for pair in wanted if pair[2].state is LeaseState.ACTIVE), None):
        for place, _, _ in wanted:
            if place != running[0]:
                return Act(Do.GIVE_UP, place, given_up=GivenUp.UNWANTED, why="another runs")
        return _running(look, *running)
    if wanted:
        return _starting(look, *wanted[0])
    return _without(look)


def affordable(price: int, cells: int, seconds: int, left: int | None) -> int:
    """How many seconds of these cells, at most `seconds`, what is left pays for; 0 where that is too short."""
    if left is None or cost(price, cells, seconds, up=True) <= left:
        return seconds
    paid = left * 3_600 * 8 // (price * cells)
    while paid > 0 and cost(price, cells, paid, up=True) > left:
        paid -= 1
    return paid if paid >= SHORTEST else 0


# --------------------------------------------------------------------------- what a try is owed, wanted or not


def _settled(look: RunLook, place: int, tried: Try, seen: TryLook) -> Act | None:
    if tried.lease is None:
        if seen.lease is not None:
            return Act(Do.KNOW, place)
        return Act(Do.WAIT, place, why="sending") if look.sending else Act(Do.DROP, place)
    if seen.lost:
        return Act(Do.KNOW if seen.lease is not None else Do.FORGET, place)
    if not seen.state.live or not seen.ours:
        return _ended(look, place, tried, seen)
    if tried.given_up is None:
        return None
    if seen.state is LeaseState.OPENED:
        assert seen.lease is not None
        return Act(Do.CANCEL, place) if look.now > seen.lease.start + seen.window else None
    if tried.given_up is GivenUp.LATE and not _one_runs(look) and _goes_on(look):
        return Act(Do.TAKE_UP, place)
    return Act(Do.CLOSE, place, why=str(tried.given_up))


def _ended(look: RunLook, place: int, tried: Try, seen: TryLook) -> Act:
    """What is noted of a lease that is over: whether its job was done, and else why the run may go on elsewhere."""
    if tried.done or tried.given_up is not None:
        return Act(Do.END, place, given_up=tried.given_up)
    if seen.ours and (seen.exit_code is not None or seen.order_used):
        return Act(Do.DONE, place)
    return Act(Do.END, place, given_up=_how(seen), why=seen.reason)


def _how(seen: TryLook) -> GivenUp | None:
    """`None`: not by its tenant's will, nor by its time."""
    lease = seen.lease
    assert lease is not None
    if lease.state is LeaseState.CANCELLED:
        return None
    if not seen.ours or lease.state is LeaseState.REJECTED:
        return GivenUp.ENDED
    if lease.noticed:
        return GivenUp.GONE
    whole = cost(lease.price, lease.cells, lease.end - lease.start, up=True) >= lease.deposit
    return GivenUp.TIME if whole else GivenUp.ENDED


def _one_runs(look: RunLook) -> bool:
    return any(tried.given_up is None and seen.state is LeaseState.ACTIVE for _, tried, seen in look.pairs())


def _goes_on(look: RunLook) -> bool:
    """Whether the run wants a lease at all."""
    tries = look.record.tries
    last = (GivenUp.TIME, GivenUp.KEPT, GivenUp.ENDED)
    ended = any(tried.done or tried.given_up in last for tried in tries)
    return not look.record.ended and not ended and look.word is not Word.CLOSE


# ------------------------------------------------------------------------------------------- the one that is wanted


def _closing(wanted: list[tuple[int, Try, TryLook]]) -> Act:
    for place, _, _ in wanted:
        return Act(Do.GIVE_UP, place, given_up=GivenUp.ENDED, why="closed")
    return Act(Do.FINISH, why="closed")


def _starting(look: RunLook, place: int, tried: Try, seen: TryLook) -> Act:
    lease = seen.lease
    assert lease is not None
    if look.now > lease.start + seen.window:
        return Act(Do.GIVE_UP, place, given_up=GivenUp.LATE, why="its start window has passed")
    if not seen.handed:
        return Act(Do.HAND_IN, place)
    if look.rules.close_when is CloseWhen.DONE and not seen.ordered:
        return Act(Do.ORDER, place)
    if look.word is Word.LEAVE:
        return Act(Do.LEAVE, place)
    if max(look.now - lease.start, seen.waited) > look.rules.start_within and _may_try(look):
        return Act(Do.GIVE_UP, place, given_up=GivenUp.LATE, why="it did not start in time")
    return Act(Do.WAIT, place, why="starting")


def _running(look: RunLook, place: int, tried: Try, seen: TryLook) -> Act:
    lease, rules = seen.lease, look.rules
    assert lease is not None
    if tried.done:
        return _finishing(look, place, tried, seen)
    if seen.exit_code is not None:
        return Act(Do.DONE, place)
    if rules.close_when is CloseWhen.IDLE and seen.idle:
        return Act(Do.DONE, place, why="idle")
    if seen.checkpoint not in ("", tried.checkpoint):
        return Act(Do.KEEP, place, why=seen.checkpoint)
    if seen.unusable >= rules.gone_after:
        return Act(Do.GIVE_UP, place, given_up=GivenUp.GONE, why="its machine is gone")
    if look.now >= lease.end and not lease.noticed:
        return Act(Do.GIVE_UP, place, given_up=GivenUp.TIME, why="its time is used up")
    if look.now >= lease.end + LEAVING:  # nobody else need ever close it
        return Act(Do.GIVE_UP, place, given_up=GivenUp.GONE, why="its machine was wanted elsewhere")
    if rules.close_when is CloseWhen.DONE and not seen.ordered:
        return Act(Do.ORDER, place)
    seconds = _more(look, lease)
    if look.word is Word.LEAVE:
        return Act(Do.EXTEND, place, seconds) if seconds else Act(Do.LEAVE, place)
    return Act(Do.EXTEND, place, seconds) if seconds else Act(Do.WAIT, place, why="running")


def _more(look: RunLook, lease: Lease) -> int:
    """Seconds by which the lease is extended now: a step before its end, or all that it may last where nobody stays."""
    rules, rest = look.rules, lease.start + look.rules.at_most - lease.end
    if not look.extends or lease.noticed or rest <= 0:
        return 0
    if look.word is Word.LEAVE:
        wanted = rest if rules.close_when is CloseWhen.DONE and not rules.recover else 0
    else:
        wanted = min(rules.step, rest) if lease.end - look.now <= min(MARGIN, rules.step // 4) else 0
    if not wanted:
        return 0
    seconds = affordable(lease.price, lease.cells, wanted, look.left)
    while seconds and look.left is not None and extension_cost(lease, seconds) > look.left:
        seconds -= 1
    return seconds if seconds >= min(SHORTEST, wanted) else 0


def _finishing(look: RunLook, place: int, tried: Try, seen: TryLook) -> Act:
    """Its command has ended: its results are fetched and, unless it is to be kept, it is closed once they are out."""
    rules = look.rules
    if rules.close_when is CloseWhen.NEVER:
        if look.record.outputs and not look.record.fetched:
            return Act(Do.FETCH, place)
        return Act(Do.GIVE_UP, place, given_up=GivenUp.KEPT, why="it is kept")
    patience = rules.closing_patience if seen.ordered else 0
    patience = patience if seen.published or tried.why == "idle" else rules.publishing
    return (
        Act(Do.CLOSE, place, why="done") if seen.ended_for >= patience else Act(Do.WAIT, place, why="closing")
    )


# ----------------------------------------------------------------------------------------------- none is wanted now


def _without(look: RunLook) -> Act:
    tries = look.record.tries
    if (place := next((place for place, tried in enumerate(tries) if tried.done), None)) is not None:
        fetches = look.record.outputs and not look.record.fetched
        return Act(Do.FETCH, place) if fetches else Act(Do.FINISH, why="done")
    if any(tried.given_up is GivenUp.TIME for tried in tries):
        return Act(Do.FINISH, why="time")
    if look.word is Word.CLOSE or any(tried.given_up is GivenUp.ENDED for tried in tries):
        return Act(Do.FINISH, why="closed")
    if _may_try(look):
        return Act(Do.OPEN)
    if _waits_for_one(look):
        return Act(Do.WAIT, why="machine")
    late = any(tried.given_up is GivenUp.LATE for _, tried, _ in look.pairs())
    return Act(Do.WAIT, why="late") if late and look.word is not Word.LEAVE else Act(Do.FINISH, why="none")


def _may_try(look: RunLook) -> bool:
    tries = [tried for tried in look.record.tries if tried.given_up is not GivenUp.UNSENT]
    counted = [tried for tried in tries if not (look.rules.recover and tried.given_up is GivenUp.GONE)]
    enough = len(counted) >= MOST_TRIES or len(tries) >= MOST_RECOVERED
    return look.others and _affords(look) and not enough and not _own_fault(look)


def _waits_for_one(look: RunLook) -> bool:
    """Whether a run that has already been somewhere is to wait until another machine fits."""
    been = any(tried.given_up is GivenUp.GONE for tried in look.record.tries)
    few = sum(tried.given_up is not GivenUp.UNSENT for tried in look.record.tries) < MOST_RECOVERED
    return look.rules.recover and been and few and _affords(look) and not _own_fault(look)


def _affords(look: RunLook) -> bool:
    return look.left is None or look.left > 0


def _own_fault(look: RunLook) -> bool:
    return sum(tried.why in OWN_FAULTS for tried in look.record.tries) >= _MOST_OF_OWN_FAULT
