"""Validators' seats, and rounds of verification by some of them: `Committee` over again."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from .book import BURNT, Book, Refused
from .rules import (
    COMMIT_WINDOW,
    FINE_DIVISOR,
    FINE_INTERVAL,
    LEAVE_DELAY,
    MATURITY,
    QUORUM_VALIDATORS,
    REVEAL_WINDOW,
    REWARD_DIVISOR,
    Mends,
    Rules,
)


@dataclass
class Seat:
    """`level` is what it was bought for, `stake` that and a fine's worth more, at first."""

    validator: str
    stake: int
    level: int
    joined_at: int
    version: int  # that it joined by, from 1
    arbiter: str  # whom that names
    leaves_at: int = 0
    fined_at: int | None = None


class State(Enum):
    REQUESTED = auto()
    DRAWN = auto()
    PASSED = auto()
    FAILED = auto()
    INCONCLUSIVE = auto()


@dataclass(frozen=True)
class View:
    """What a seat says of a machine. spec: what it measured, 0 if it says nothing of it."""

    passed: bool
    spec: int


@dataclass
class Round:
    """paid: the fee that was asked for; fee: what is left of it, and once it is over what each has got."""

    machine: int
    requester: str
    size: int
    fee: int
    requested_at: int
    least: int  # what a seat that may be drawn must have cost
    paid: int
    state: State = State.REQUESTED
    drawn: list[int] = field(default_factory=list)
    commit_until: int = 0
    views: dict[int, View] = field(default_factory=dict)
    outcome: View | None = None


class Seats:
    """Every seat and every round of a pool."""

    def __init__(self, book: Book, mends: Mends) -> None:
        self._book, self._mends = book, mends
        self.seats: dict[int, Seat] = {}
        self.rounds: dict[int, Round] = {}
        self._last: dict[tuple[int, bool], Round] = {}  # by machine, and whether its provider asked
        self._count = 0

    def join(self, who: str, version: int, rules: Rules) -> int:
        """At the price of `version`, any that is or was in force."""
        number, level = self._count + 1, rules.seat_stake
        stake = level + level // FINE_DIVISOR
        self._book.owners[f"seat {number}"] = who
        self._book.move(who, f"seat {number}", stake, "seat", number)
        self._count = number
        self.seats[number] = Seat(who, stake, level, self._book.now, version, rules.arbiter)
        return number

    def top_up(self, number: int, who: str, amount: int) -> None:
        seat = self.seats[number]
        if seat.leaves_at:
            raise Refused("it leaves")
        amount = min(amount, seat.level + seat.level // FINE_DIVISOR - seat.stake)
        self._book.move(who, f"seat {number}", amount, "seat", number)
        seat.stake += amount

    def leave(self, number: int) -> None:
        seat = self.seats[number]
        if seat.leaves_at or not self._matured(seat):
            raise Refused("it leaves already, or has not matured")
        seat.leaves_at = self._book.now + LEAVE_DELAY

    def exit(self, number: int) -> None:
        seat = self.seats[number]
        if not seat.leaves_at or self._book.now < seat.leaves_at:
            raise Refused("its time has not come")
        del self.seats[number]
        self._book.move(f"seat {number}", seat.validator, seat.stake, "seat", number)

    def _matured(self, seat: Seat) -> bool:
        return self._book.now >= seat.joined_at + MATURITY

    def _least(self, accepted: Rules) -> int:
        return accepted.seat_stake if self._mends.seats_by_accepted_rules else 0

    def judging(self, accepted: Rules) -> list[int]:
        """Seats that a machine of these rules may be judged by."""
        least = self._least(accepted)
        return [
            n
            for n, seat in self.seats.items()
            if seat.level >= least and self._is_whole(seat) and self._matured(seat)
        ]

    def _is_whole(self, seat: Seat) -> bool:
        return seat.stake >= seat.level or not self._mends.dissent_is_free

    def is_quorum(self, numbers: list[int], accepted: Rules) -> bool:
        judging = set(self.judging(accepted))
        signing = {n for n in judging & set(numbers) if not self.seats[n].leaves_at}
        validators = {self.seats[n].validator for n in signing}
        return 3 * len(signing) > 2 * len(judging) and len(validators) >= QUORUM_VALIDATORS

    # ---------------------------------------------------------------------------------------------------- rounds

    def request(self, who: str, machine: int, provider: str, judging: Rules, accepted: Rules) -> int:
        """judging: whose size, fee and interval hold; accepted: whose seats may sit."""
        by_provider = who == provider
        self._may_be_verified(self._last.get((machine, by_provider)), judging.reverify_interval)
        if len(self.judging(accepted)) < judging.committee_size:
            raise Refused("too few seats")
        number, fee = len(self.rounds) + 1, judging.verification_fee
        self._book.owners[f"round {number}"] = who
        self._book.move(who, f"round {number}", fee, "verification", number)
        now, least = self._book.now, self._least(accepted)
        made = Round(machine, who, judging.committee_size, fee, now, least, paid=fee)
        self.rounds[number] = self._last[machine, by_provider] = made
        return number

    def _may_be_verified(self, before: Round | None, interval: int) -> None:
        if before is None or before.state is State.INCONCLUSIVE:
            return
        running = before.state in (State.REQUESTED, State.DRAWN)
        if running or self._book.now < before.requested_at + interval:
            raise Refused("too soon")

    def candidates(self, number: int, provider: str) -> list[int]:
        """Whom the draw may meet."""
        held = self.rounds[number]
        return [
            n
            for n, seat in self.seats.items()
            if seat.level >= held.least
            and seat.joined_at + MATURITY <= held.requested_at
            and not seat.leaves_at
            and seat.validator not in (provider, held.requester)
        ]

    def draw(self, number: int, drawn: list[int], by: str) -> None:
        held = self.rounds[number]
        held.state, held.drawn = State.DRAWN, drawn
        held.commit_until = self._book.now + COMMIT_WINDOW
        reward = held.fee // REWARD_DIVISOR
        held.fee -= reward
        self._book.move(f"round {number}", by, reward, "draw", number)

    def finalize(self, number: int) -> None:
        """Whoever revealed has a view; the rest were silent."""
        held = self.rounds[number]
        if self._book.now < held.commit_until + REVEAL_WINDOW:
            raise Refused("it is open")
        held.outcome = self._majority(held)
        if held.outcome is None:
            held.state = State.INCONCLUSIVE
            self._book.move(f"round {number}", held.requester, held.fee, "back", number)
            return
        held.state = State.PASSED if held.outcome.passed else State.FAILED
        for n in held.drawn:
            if n not in held.views:
                self._fine(n, held, "silence", BURNT)
            elif not self._mends.dissent_is_free and held.views[n] != held.outcome:
                self._fine(n, held, "dissent", "treasury")
        self._share(number, held)

    def _share(self, number: int, held: Round) -> None:
        """As many parts as were drawn: a majority gains nothing by there being few of it."""
        account, left = f"round {number}", held.fee
        held.fee = left // (held.size if self._mends.fee_by_size else len(self.agreeing(held)))
        for n in self.agreeing(held):
            if self._held_since(n, held.requested_at):
                left -= held.fee
                self._book.move(account, self.seats[n].validator, held.fee, "fee", number)
        self._book.move(account, BURNT, left, "fee", number)

    def agreeing(self, held: Round) -> list[int]:
        return [n for n in held.drawn if held.views.get(n) == held.outcome]

    def _majority(self, held: Round) -> View | None:
        for view in held.views.values():
            if 2 * sum(other == view for other in held.views.values()) > held.size:
                return view
        return None

    # ----------------------------------------------------------------------------------------------------- fines

    def _held_since(self, number: int, time: int) -> bool:
        return number in self.seats and self.seats[number].joined_at <= time

    def _answers_to(self, number: int, arbiter: str) -> bool:
        if not self._mends.fined_by_own_arbiter:
            return True
        return number in self.seats and self.seats[number].arbiter == arbiter

    def _fine(self, number: int, held: Round, why: str, target: str) -> int:
        """A tenth of a seat's level, at most once a week."""
        if not self._held_since(number, held.requested_at):
            return 0
        seat, limited = self.seats[number], self._mends.dissent_is_free
        if limited and seat.fined_at is not None and self._book.now < seat.fined_at + FINE_INTERVAL:
            return 0
        lost = min(seat.level // FINE_DIVISOR, seat.stake)
        seat.stake -= lost
        seat.fined_at = self._book.now
        self._book.move(f"seat {number}", target, lost, why, held.machine)
        weak = seat.stake < seat.level if limited else 2 * seat.stake < seat.level
        if weak and not seat.leaves_at:
            seat.leaves_at = self._book.now + LEAVE_DELAY
        return lost

    def overturn(self, number: int, arbiter: str) -> None:
        """The arbiter took back what the majority found: it is fined, and the others have what it got."""
        held, pot = self.rounds[number], f"fines {number}"
        agreeing = self.agreeing(held)
        fined = [n for n in agreeing if self._answers_to(n, arbiter)]
        fines = sum(self._fine(n, held, "overturned", pot) for n in fined)
        others = [n for n in held.views if n not in agreeing]
        each = min(held.fee, fines // len(others)) if others else 0
        for n in others:
            if self._held_since(n, held.requested_at):
                fines -= each
                self._book.move(pot, self.seats[n].validator, each, "redress", number)
        self._book.move(pot, BURNT, fines, "fines", number)
