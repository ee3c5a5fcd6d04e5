"""Validators' seats, and rounds of verification by some of them: `Committee` over again."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from .book import BURNT, Book, Refused
from .rules import (
    COMMIT_WINDOW,
    LEAVE_DELAY,
    MATURITY,
    PENALTY_DIVISOR,
    QUORUM_VALIDATORS,
    REVEAL_WINDOW,
    REWARD_DIVISOR,
    Mends,
    Rules,
)


@dataclass
class Seat:
    validator: str
    stake: int
    full: int
    joined_at: int
    leaves_at: int = 0
    silenced_at: int | None = None  # when it last paid for silence


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
    machine: int
    requester: str
    size: int
    fee: int
    requested_at: int
    paid: int = 0  # the fee that was asked for; `fee` is what is left of it
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
        self._last: dict[int, Round] = {}  # by machine
        self._count = 0

    def join(self, who: str, in_force: Rules) -> int:
        """A seat costs what the rules in force ask."""
        number = self._count + 1
        self._book.owners[f"seat {number}"] = who
        self._book.move(who, f"seat {number}", in_force.seat_stake, "seat", number)
        self._count = number
        self.seats[number] = Seat(who, in_force.seat_stake, in_force.seat_stake, self._book.now)
        return number

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

    def admitted(self, accepted: Rules) -> list[int]:
        """Matured seats that a machine of these rules may be judged by."""
        least = accepted.seat_stake if self._mends.seats_by_accepted_rules else 0
        return [n for n, seat in self.seats.items() if self._matured(seat) and seat.full >= least]

    def is_quorum(self, numbers: list[int], accepted: Rules) -> bool:
        admitted = set(self.admitted(accepted))
        signing = admitted & set(numbers)
        validators = {self.seats[n].validator for n in signing}
        return 3 * len(signing) > 2 * len(admitted) and len(validators) >= QUORUM_VALIDATORS

    # ---------------------------------------------------------------------------------------------------- rounds

    def request(self, who: str, machine: int, judging: Rules, accepted: Rules) -> int:
        """judging: whose size, fee and interval hold; accepted: whose seats may sit."""
        self._may_be_verified(machine, judging.reverify_interval)
        if len(self.admitted(accepted)) < judging.committee_size:
            raise Refused("too few seats")
        number, fee = len(self.rounds) + 1, judging.verification_fee
        self._book.owners[f"round {number}"] = who
        self._book.move(who, f"round {number}", fee, "verification", number)
        made = Round(machine, who, judging.committee_size, fee, self._book.now, paid=fee)
        self.rounds[number] = self._last[machine] = made
        return number

    def _may_be_verified(self, machine: int, interval: int) -> None:
        before = self._last.get(machine)
        if before is None or before.state is State.INCONCLUSIVE:
            return
        running = before.state in (State.REQUESTED, State.DRAWN)
        if running or self._book.now < before.requested_at + interval:
            raise Refused("too soon")

    def candidates(self, number: int, provider: str, accepted: Rules) -> list[int]:
        """Whom the draw may meet."""
        held = self.rounds[number]
        return [
            n
            for n in self.admitted(accepted)
            if self.seats[n].joined_at <= held.requested_at - MATURITY
            and not self.seats[n].leaves_at
            and self.seats[n].validator not in (provider, held.requester)
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
        self._penalize(number, held)
        if held.outcome is None:
            held.state = State.INCONCLUSIVE
            self._book.move(f"round {number}", held.requester, held.fee, "back", number)
            return
        held.state = State.PASSED if held.outcome.passed else State.FAILED
        agreeing = [n for n in held.drawn if held.views.get(n) == held.outcome and n in self.seats]
        for n in agreeing:
            self._book.move(f"round {number}", self.seats[n].validator, held.fee // held.size, "fee", number)
        left = held.fee - held.fee // held.size * len(agreeing)
        self._book.move(f"round {number}", held.requester, left, "back", number)

    def _majority(self, held: Round) -> View | None:
        for view in held.views.values():
            if 2 * sum(other == view for other in held.views.values()) > held.size:
                return view
        return None

    def _penalize(self, number: int, held: Round) -> None:
        for n in held.drawn:
            seat = self.seats.get(n)
            if seat is None or held.views.get(n) == held.outcome is not None:
                continue
            if self._mends.dissent_is_free:
                if n in held.views or held.outcome is None:
                    continue
                if seat.silenced_at is not None and self._book.now < seat.silenced_at + LEAVE_DELAY:
                    continue
                seat.silenced_at = self._book.now
            elif held.outcome is None:
                continue
            lost = min(seat.full // PENALTY_DIVISOR, seat.stake)
            seat.stake -= lost
            target = BURNT if self._mends.dissent_is_free else "treasury"
            self._book.move(
                f"seat {n}", target, lost, "silence" if n not in held.views else "dissent", number
            )
            if 2 * seat.stake < seat.full and not seat.leaves_at:
                seat.leaves_at = self._book.now + LEAVE_DELAY
