"""Validators' seats, and the rounds in which committees measure machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from leasehold.chain import RoundState
from leasehold.client import MATURITY, full_of
from leasehold.market import Money, format_amount, format_time
from leasehold.tables._table import Table

if TYPE_CHECKING:
    from leasehold.chain import RoundRecord, SeatRecord
    from leasehold.client import RoundDuty, RoundSeen, ValidatorStatus

Naming = Callable[[str, int], str]
"""How a face names what is to be done about a round of that number: `draw`, `commit`, `reveal`, `finalize`."""

SEAT_COLUMNS: Final = (">seat", "validator", ">stake", "state")
ROUND_COLUMNS: Final = (">round", ">machine", "state", "committee", ">revealed", ">score", "next")
DUTY_COLUMNS: Final = (">round", ">machine", "state", "your seats", "next")


def seats_table(seats: Iterable[SeatRecord], now: int, money: Money) -> Table:
    """Seats, how much of their price they have, and how they stand. now: unix seconds of the chain."""
    rows = [(str(seat.seat), seat.validator, _stake(seat, money), _state(seat, now)) for seat in seats]
    return Table(SEAT_COLUMNS, rows)


def rounds_table(rounds: Iterable[RoundSeen], named: Naming | None = None) -> Table:
    """Verifications, what their committees said, and what is next."""
    rows = [
        (
            *_round(seen.record),
            _numbers(seen.record.seats),
            f"{sum(vote.revealed for vote in seen.votes)}/{len(seen.record.seats)}",
            str(seen.record.score) if seen.record.state.over else "-",
            duty_line(seen.record, seen.duty, named),
        )
        for seen in rounds
    ]
    return Table(ROUND_COLUMNS, rows)


def duties_table(known: ValidatorStatus, named: Naming | None = None) -> Table:
    """Verifications that wait for a validator's seats."""
    rows = [
        (*_round(record), _numbers(known.numbers.intersection(record.seats)), duty_line(record, duty, named))
        for record, duty in known.rounds
    ]
    return Table(DUTY_COLUMNS, rows)


def duty_line(record: RoundRecord, duty: RoundDuty, named: Naming | None = None) -> str:
    """What is to be done next about a verification, and until when."""
    if duty.what is None:
        waits = record.state is RoundState.REQUESTED
        return f"wait for block {record.block}" if waits else "nothing more"
    what = duty.what if named is None else named(duty.what, record.round)
    if duty.until is None:
        return f"{what}, for a reward" if duty.what == "draw" else what
    measure = "measure it, and " if duty.what == "commit" else ""
    return f"{measure}{what} until {format_time(duty.until)}"


def _round(record: RoundRecord) -> tuple[str, str, str]:
    return str(record.round), str(record.machine), record.state.word


def _numbers(seats: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(seats))) or "-"


def _stake(seat: SeatRecord, money: Money) -> str:
    units = (seat.stake, full_of(seat.level))
    return "/".join(format_amount(one, money.decimals, places=6) for one in units)


def _state(seat: SeatRecord, now: int) -> str:
    if seat.leaves_at:
        return f"leaving, {format_time(seat.leaves_at)}" if now < seat.leaves_at else "has left: exit"
    matures = seat.joined_at + MATURITY
    return "matured" if matures <= now else f"matures {format_time(matures)}"
