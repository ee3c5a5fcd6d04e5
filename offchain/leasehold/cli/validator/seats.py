"""`leasehold validator stake`, `top-up`, `list`, `leave`, `exit`: seats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._completion import known_seats
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli._shown import payment_said, utc
from leasehold.client import (
    LEAVE_DELAY,
    MATURITY,
    QUORUM_VALIDATORS,
    ExitSeat,
    LeaveSeat,
    StakeSeat,
    StakeSeatPlan,
    TopUpSeat,
    full_of,
    quorum_of,
    quorum_said,
)
from leasehold.market import Money, format_amount, format_duration

if TYPE_CHECKING:
    from leasehold.chain import SeatRecord

SeatId = Annotated[
    int,
    typer.Argument(
        metavar="SEAT", min=1, help="As `leasehold validator status` shows it.", autocompletion=known_seats
    ),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(stake)
    app.command("top-up")(top_up)
    app.command("list")(list_seats)
    app.command()(leave)
    app.command("exit")(exit_seat)


@shared(SENDS | PROPOSES)
async def stake(
    call: Invocation,
    version: Annotated[
        int | None,
        typer.Option(
            "--version", metavar="VERSION", min=1, help="Of the parameters; by default the one in force."
        ),
    ] = None,
    approve: Approve = False,
) -> None:
    """Stake a validator's seat out of your ledger; what that lacks comes from the wallet first."""
    async with open_session(call, signs=True) as client:
        plan, money = await StakeSeat(version).plan(client), client.money
        call.out.pairs("A validator's seat", _rows(plan))
        document: dict[str, Json] = {
            "stake": format_amount(plan.payment.amount, money.decimals),
            "from_wallet": format_amount(plan.payment.pulled, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Stake {money.show(plan.payment.amount)} for a seat?",
            document=document,
            answer=lambda done: {
                **document,
                "seat": done.seat.id,
                "matures_at": done.seat.joined_at + MATURITY,
            },
            said=lambda done: f"Seat {done.seat.id} matures {utc(done.seat.joined_at + MATURITY)}.",
            approve=approve,
        )


def _rows(plan: StakeSeatPlan) -> tuple[tuple[str, str], ...]:
    money, rules = plan.client.money, plan.rules
    price, fee, tenth = map(money.show, (rules.seat_stake, rules.verification_fee, rules.seat_stake // 10))
    return (
        ("stake", payment_said(plan.payment, money)),
        ("judges", f"machines whose accepted rules ask {price} or less of a seat"),
        ("matures", f"in {format_duration(MATURITY)}: then it is drawn, and signs outages"),
        ("earns", f"a part of {fee} for each verification, and of slashes that it attested"),
        ("can be lost", f"{tenth} once a week at most: for silence, and for what an arbiter took back"),
        ("comes back", f"{format_duration(LEAVE_DELAY)} after `leasehold validator leave`"),
    )


@shared(SENDS | PROPOSES)
async def top_up(
    call: Invocation,
    seat: SeatId,
    amount: Annotated[
        str | None, typer.Argument(metavar="[AMOUNT]", help="Whole tokens; by default all that is missing.")
    ] = None,
    approve: Approve = False,
) -> None:
    """Add to a seat's stake after it lost some. One that is fined again, a week later, leaves by itself."""
    async with open_session(call, signs=True) as client:
        plan, money = await TopUpSeat(seat, amount).plan(client), client.money
        paid = payment_said(plan.payment, money)
        call.out.say(f"Seat {seat} lacks {money.show(plan.missing)}; this takes {paid}.")
        document: dict[str, Json] = {
            "seat": seat,
            "amount": format_amount(plan.payment.amount, money.decimals),
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Add {money.show(plan.payment.amount)} to seat {seat}?",
            document=document,
            answer=lambda done: {**document, "stake": format_amount(done.seat.stake, money.decimals)},
            said=lambda done: f"Seat {seat} has {money.show(done.seat.stake)}.",
            approve=approve,
        )


@shared(ANSWERS)
async def list_seats(call: Invocation) -> None:
    """List the pool's seats, and how many of them make a quorum."""
    async with open_session(call, account=False) as client:
        index, now, money = await client.index(), await client.now(), client.money
        seats = [seat for seat in await index.seats() if not seat.exited]
        version = await client.pool.params_version()
        matured = await (await client.pool.committee()).matured_seats(version)
        call.out.answer(
            {
                "seats": [seat_json(seat, now, money) for seat in seats],
                "matured": matured,
                "quorum": {"seats": quorum_of(matured), "validators": QUORUM_VALIDATORS},
            }
        )
        call.out.table(
            (">seat", "validator", ">stake", "state"),
            [seat_row(seat, now, money) for seat in seats],
            empty="Nobody has a seat yet: stake one with `leasehold validator stake`.",
        )
        if not call.out.as_json:
            call.out.say(f"Quorum: {quorum_said(matured)}.")


@shared(SENDS | PROPOSES)
async def leave(call: Invocation, seat: SeatId) -> None:
    """Begin to leave a seat. It signs no more, and reveals where it was drawn; `exit` brings its stake in 3 weeks."""
    async with open_session(call, signs=True) as client:
        await carry_out(
            call,
            client,
            await LeaveSeat(seat).plan(client),
            question=f"Leave seat {seat}? This cannot be undone.",
            document={"seat": seat},
            answer=lambda done: {"seat": seat, "leaves_at": done.seat.leaves_at},
            said=lambda done: f"`leasehold validator exit {seat}` from {utc(done.seat.leaves_at)} on.",
        )


@shared(SENDS)
async def exit_seat(call: Invocation, seat: SeatId) -> None:
    """Move the stake of a seat that has left into its validator's ledger. Anyone may send it."""
    async with open_session(call, signs=True) as client:
        plan, money = await ExitSeat(seat).plan(client), client.money
        amount, validator = money.show(plan.seat.stake), plan.seat.validator
        await carry_out(
            call,
            client,
            plan,
            question=f"Move {amount} into the ledger of {validator}?",
            document={"seat": seat, "stake": format_amount(plan.seat.stake, money.decimals)},
            said=lambda done: f"{amount} went into the ledger of {validator}.",
        )


def _state(seat: SeatRecord, now: int) -> str:
    if seat.leaves_at:
        return f"leaving, {utc(seat.leaves_at)}" if now < seat.leaves_at else "has left: exit"
    matures = seat.joined_at + MATURITY
    return "matured" if matures <= now else f"matures {utc(matures)}"


def seat_row(seat: SeatRecord, now: int, money: Money) -> tuple[str, ...]:
    """A seat for people."""
    stake_, full = (
        format_amount(units, money.decimals, places=6) for units in (seat.stake, full_of(seat.level))
    )
    return str(seat.seat), seat.validator, f"{stake_}/{full}", _state(seat, now)


def seat_json(seat: SeatRecord, now: int, money: Money) -> dict[str, Json]:
    """A seat in JSON."""
    return {
        "seat": seat.seat,
        "validator": seat.validator,
        "stake": format_amount(seat.stake, money.decimals),
        "full": format_amount(full_of(seat.level), money.decimals),
        "joined_at": seat.joined_at,
        "matured": seat.joined_at + MATURITY <= now,
        "level": format_amount(seat.level, money.decimals),
        "leaves_at": seat.leaves_at or None,
    }
