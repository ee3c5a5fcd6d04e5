"""`leasehold validator stake`, `top-up`, `list`, `status`, `leave`, `exit`: seats."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import RoundState, Seat, SeatRecord
from leasehold.cli._completion import known_seats
from leasehold.cli._doing import Done, carry_out, pay_in
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import quorum_said, utc
from leasehold.cli.validator._shown import ROUNDS, duty_of
from leasehold.client import QUORUM_VALIDATORS, PoolClient, quorum_of
from leasehold.errors import (
    SeatLeavingAlready,
    SeatLocked,
    SeatNotLeaving,
    SeatNotMatured,
    UnknownSeat,
)
from leasehold.market import InvalidInput, Money, format_amount, format_duration, parse_amount

MATURITY = 3 * 86_400
LEAVE_DELAY = 21 * 86_400
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
    for command in (status, leave, exit_seat):
        app.command(command.__name__.removesuffix("_seat"))(command)


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
    async with open_session(call, signs=True) as session:
        money, pool = session.money, session.pool
        chosen = version or await pool.params_version()
        rules = await pool.params(chosen)
        stake_ = rules.seat_stake + rules.seat_stake // 10
        paid = await pay_in(session, stake_, approve=approve or call.dry_run)
        fee, tenth = money.show(rules.verification_fee), money.show(rules.seat_stake // 10)
        call.out.pairs(
            "A validator's seat",
            (
                ("stake", paid.said(session)),
                (
                    "judges",
                    f"machines whose accepted rules ask {money.show(rules.seat_stake)} or less of a seat",
                ),
                ("matures", f"in {format_duration(MATURITY)}: then it is drawn, and signs outages"),
                ("earns", f"a part of {fee} for each verification, and of slashes that it attested"),
                (
                    "can be lost",
                    f"{tenth} once a week at most: for silence, and for what an arbiter took back",
                ),
                ("comes back", f"{format_duration(LEAVE_DELAY)} after `leasehold validator leave`"),
            ),
        )

        async def send() -> Done:
            await paid.send(session)
            seat, receipt = await (await pool.committee()).join(chosen)
            matures = (await (await pool.committee()).seat_of(seat)).joined_at + MATURITY
            return Done(
                receipt, f"Seat {seat} matures {utc(matures)}.", {"seat": seat, "matures_at": matures}
            )

        document: dict[str, Json] = {
            "stake": format_amount(stake_, money.decimals),
            "from_wallet": format_amount(paid.missing, money.decimals),
            "token": money.symbol,
        }
        question = f"Stake {money.show(stake_)} for a seat?"
        await carry_out(call, question, document, send)


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
    async with open_session(call, signs=True) as session:
        money, found = session.money, await _seat(session, seat)
        if found.leaves_at:
            raise SeatLeavingAlready(seat=seat)
        missing = full_of(found.level) - found.stake
        units = min(missing, parse_amount(amount, money.decimals)) if amount is not None else missing
        if not units:
            raise InvalidInput(
                f"Seat {seat} has its whole stake of {money.show(full_of(found.level))}: nothing is missing."
            )
        paid = await pay_in(session, units, approve=approve or call.dry_run)
        call.out.say(f"Seat {seat} lacks {money.show(missing)}; this takes {paid.said(session)}.")

        async def send() -> Done:
            await paid.send(session)
            committee = await session.pool.committee()
            receipt = await committee.top_up(seat, units)
            after = await committee.seat_of(seat)
            now = format_amount(after.stake, money.decimals)
            return Done(receipt, f"Seat {seat} has {money.show(after.stake)}.", {"stake": now})

        document: dict[str, Json] = {"seat": seat, "amount": format_amount(units, money.decimals)}
        await carry_out(call, f"Add {money.show(units)} to seat {seat}?", document, send)


@shared(ANSWERS)
async def list_seats(call: Invocation) -> None:
    """List the pool's seats, and how many of them make a quorum."""
    async with open_session(call, account=False) as session:
        index, now, money = await session.index(), await session.now(), session.money
        found = [each for each in await index.seats() if not each.exited]
        version = await session.pool.params_version()
        matured = await (await session.pool.committee()).matured_seats(version)
        call.out.answer(
            {
                "seats": [_json(each, now, money) for each in found],
                "matured": matured,
                "quorum": {"seats": quorum_of(matured), "validators": QUORUM_VALIDATORS},
            }
        )
        call.out.table(
            (">seat", "validator", ">stake", "state"),
            [_row(each, now, money) for each in found],
            empty="Nobody has a seat yet: stake one with `leasehold validator stake`.",
        )
        if not call.out.as_json:
            call.out.say(f"Quorum: {quorum_said(matured)}.")


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your seats, and what they have to do now: draw, commit, reveal, finalize."""
    async with open_session(call) as session:
        index, now, money = await session.index(), await session.now(), session.money
        mine = [each for each in await index.seats(validator=session.account) if not each.exited]
        numbers = {each.seat for each in mine}
        block = await session.rpc.block_number()
        running = [
            each
            for each in await index.rounds()
            if not each.state.over
            and (each.state is RoundState.REQUESTED or numbers.intersection(each.seats))
        ]
        duties = [duty_of(each, now, block) for each in running]
        ledger = await session.pool.balance_of(session.account)
        call.out.answer(
            {
                "account": session.account,
                "ledger": format_amount(ledger, money.decimals),
                "token": money.symbol,
                "seats": [_json(each, now, money) for each in mine],
                "rounds": [
                    {
                        "round": each.round,
                        "machine": each.machine,
                        "state": ROUNDS[each.state],
                        "seats": sorted(numbers.intersection(each.seats)),
                        "next": duty.verb,
                        "until": duty.until,
                    }
                    for each, duty in zip(running, duties, strict=True)
                ],
            }
        )
        call.out.table(
            (">seat", "validator", ">stake", "state"),
            [_row(each, now, money) for each in mine],
            empty="You have no seat: stake one with `leasehold validator stake`.",
        )
        call.out.table(
            (">round", ">machine", "state", "your seats", "next"),
            [
                (
                    str(each.round),
                    str(each.machine),
                    ROUNDS[each.state],
                    ", ".join(map(str, sorted(numbers.intersection(each.seats)))) or "-",
                    duty.said,
                )
                for each, duty in zip(running, duties, strict=True)
            ],
            empty="No verification waits for you.",
        )
        if not call.out.as_json:
            call.out.say(f"In the ledger: {money.show(ledger)}.")


@shared(SENDS | PROPOSES)
async def leave(call: Invocation, seat: SeatId) -> None:
    """Begin to leave a seat. It signs no more, and reveals where it was drawn; `exit` brings its stake in 3 weeks."""
    async with open_session(call, signs=True) as session:
        found, now = await _seat(session, seat), await session.now()
        if found.leaves_at:
            raise SeatLeavingAlready(seat=seat)
        if now < found.joined_at + MATURITY:
            raise SeatNotMatured(seat=seat, matures_at=found.joined_at + MATURITY)

        async def send() -> Done:
            committee = await session.pool.committee()
            receipt = await committee.leave(seat)
            at = (await committee.seat_of(seat)).leaves_at
            return Done(receipt, f"`leasehold validator exit {seat}` from {utc(at)} on.", {"leaves_at": at})

        question = f"Leave seat {seat}? This cannot be undone."
        await carry_out(call, question, {"seat": seat}, send)


@shared(SENDS)
async def exit_seat(call: Invocation, seat: SeatId) -> None:
    """Move the stake of a seat that has left into its validator's ledger. Anyone may send it."""
    async with open_session(call, signs=True) as session:
        found, money = await _seat(session, seat), session.money
        if not found.leaves_at:
            raise SeatNotLeaving(seat=seat)
        if await session.now() < found.leaves_at:
            raise SeatLocked(seat=seat, until=found.leaves_at)

        async def send() -> Done:
            receipt = await (await session.pool.committee()).exit(seat)
            return Done(receipt, f"{money.show(found.stake)} went into the ledger of {found.validator}.")

        document: dict[str, Json] = {"seat": seat, "stake": format_amount(found.stake, money.decimals)}
        question = f"Move {money.show(found.stake)} into the ledger of {found.validator}?"
        await carry_out(call, question, document, send)


def full_of(level: int) -> int:
    """What a seat of this level is bought with: a tenth more, out of which fines come."""
    return level + level // 10


async def _seat(session: PoolClient, seat: int) -> Seat:
    found = await (await session.pool.committee()).seat_of(seat)
    if int(found.validator, 16) == 0:
        raise UnknownSeat(seat)
    return found


def _state(seat: SeatRecord, now: int) -> str:
    if seat.leaves_at:
        return f"leaving, {utc(seat.leaves_at)}" if now < seat.leaves_at else "has left: exit"
    matures = seat.joined_at + MATURITY
    return "matured" if matures <= now else f"matures {utc(matures)}"


def _row(seat: SeatRecord, now: int, money: Money) -> tuple[str, ...]:
    stake_, full = (
        format_amount(each, money.decimals, places=6) for each in (seat.stake, full_of(seat.level))
    )
    return str(seat.seat), seat.validator, f"{stake_}/{full}", _state(seat, now)


def _json(seat: SeatRecord, now: int, money: Money) -> dict[str, Json]:
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
