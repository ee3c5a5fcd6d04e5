"""`leasehold validator stake`, `top-up`, `list`, `leave`, `exit`: seats."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._completion import known_seats
from leasehold.cli._options import Approve, argument, option
from leasehold.client import MATURITY, ExitSeat, LeaveSeat, StakeSeat, TopUpSeat, seats_of
from leasehold.market import format_time, quorum_said
from leasehold.tables import seats_table

SeatId = Annotated[
    int, argument("SEAT", "As `leasehold validator status` shows it.", min=1, autocompletion=known_seats)
]


@shared(SENDS | PROPOSES)
async def stake(
    call: Invocation,
    version: Annotated[
        int | None, option("--version VERSION", "Of the parameters; by default the one in force.", min=1)
    ] = None,
    approve: Approve = False,
) -> None:
    """Stake a validator's seat out of your ledger; what that lacks comes from the wallet first."""
    async with planned(call, StakeSeat(version)) as plan:
        call.out.pairs("A validator's seat", plan.rows())
        await carry_out(
            call,
            plan,
            f"Stake {plan.client.money.show(plan.payment.amount)} for a seat?",
            lambda done: f"Seat {done.seat.id} matures {format_time(done.seat.joined_at + MATURITY)}.",
            approve=approve,
        )


@shared(SENDS | PROPOSES)
async def top_up(
    call: Invocation,
    seat: SeatId,
    amount: Annotated[
        str | None, argument("[AMOUNT]", "Whole tokens; by default all that is missing.")
    ] = None,
    approve: Approve = False,
) -> None:
    """Add to a seat's stake after it lost some. One that is fined again, a week later, leaves by itself."""
    async with planned(call, TopUpSeat(seat, amount)) as plan:
        money = plan.client.money
        call.out.say(f"Seat {seat} lacks {money.show(plan.missing)}; this takes {plan.payment.said(money)}.")
        await carry_out(
            call,
            plan,
            f"Add {money.show(plan.payment.amount)} to seat {seat}?",
            lambda done: f"Seat {seat} has {money.show(done.seat.stake)}.",
            approve=approve,
        )


@shared(ANSWERS, "list")
async def list_seats(call: Invocation) -> None:
    """List the pool's seats, and how many of them make a quorum."""
    async with open_session(call, account=False) as client:
        view, money = await seats_of(client), client.money
    table = seats_table(view.seats, view.now, money)
    empty = "Nobody has a seat yet: stake one with `leasehold validator stake`."
    call.out.listing(view.to_json(money), *table, empty=empty)
    if not call.out.as_json:
        call.out.say(f"Quorum: {quorum_said(view.matured)}.")


@shared(SENDS | PROPOSES)
async def leave(call: Invocation, seat: SeatId) -> None:
    """Begin to leave a seat. It signs no more, and reveals where it was drawn; `exit` brings its stake in 3 weeks."""
    async with planned(call, LeaveSeat(seat)) as plan:
        await carry_out(
            call,
            plan,
            f"Leave seat {seat}? This cannot be undone.",
            lambda done: f"`leasehold validator exit {seat}` from {format_time(done.seat.leaves_at)} on.",
        )


@shared(SENDS, "exit")
async def exit_seat(call: Invocation, seat: SeatId) -> None:
    """Move the stake of a seat that has left into its validator's ledger. Anyone may send it."""
    async with planned(call, ExitSeat(seat)) as plan:
        amount, where = plan.client.money.show(plan.seat.stake), f"the ledger of {plan.seat.validator}"
        await carry_out(call, plan, f"Move {amount} into {where}?", f"{amount} went into {where}.")
