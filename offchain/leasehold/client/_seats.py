"""Validators' seats: staking one, keeping its stake whole, leaving."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.chain import Params, RoundRecord, RoundState, Seat, SeatRecord
from leasehold.client._ledger import check_ledger, from_ledger, pay_in
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._rounds import RoundDuty, duty_of
from leasehold.errors import SeatLeavingAlready, SeatLocked, SeatNotLeaving, SeatNotMatured, UnknownSeat
from leasehold.market import InvalidInput, Json, Money, Payment, format_duration, parse_amount, quorum_json

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

MATURITY = 3 * 86_400
LEAVE_DELAY = 21 * 86_400


def full_of(level: int) -> int:
    """What a seat of this level is bought with: a tenth more, out of which fines come."""
    return level + level // 10


async def seat_at(client: PoolClient, number: int) -> Seat:
    """A seat at the head of the chain. Raises UnknownSeat."""
    seat = await (await client.pool.committee()).seat_of(number)
    if int(seat.validator, 16) == 0:
        raise UnknownSeat(number)
    return seat


@dataclass(frozen=True)
class SeatChanged(Sent):
    """It is done. seat: as it is now."""

    seat: Seat

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "seat": self.seat.id,
            "stake": money.exact(self.seat.stake),
            "matures_at": self.seat.joined_at + MATURITY,
            "leaves_at": self.seat.leaves_at or None,
        }


# ------------------------------------------------------------------------------------------------------------ stake


@dataclass(frozen=True)
class StakeSeat(Request["SeatChanged"]):
    """Stake a validator's seat out of the ledger; what that lacks comes from the wallet first.

    version: of the pool's rules, by whose price it is bought; `None` is the one in force.
    """

    version: int | None = None

    async def plan(self, client: PoolClient) -> StakeSeatPlan:
        """Raises UnknownVersion, NotEnoughFunds."""
        version = self.version or await client.pool.params_version()
        rules = await client.pool.params(version)
        return StakeSeatPlan(client, version, rules, await from_ledger(client, full_of(rules.seat_stake)))


@dataclass(frozen=True)
class StakeSeatPlan(Plan["SeatChanged"]):
    """A seat by the rules of that version. payment: its stake."""

    client: PoolClient
    version: int
    rules: Params
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "stake": money.exact(self.payment.amount),
            "from_wallet": money.exact(self.payment.pulled),
            "token": money.symbol,
        }

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it takes, earns and can lose: rows for people."""
        money, rules = self.client.money, self.rules
        price, fee, tenth = map(
            money.show, (rules.seat_stake, rules.verification_fee, rules.seat_stake // 10)
        )
        return (
            ("stake", self.payment.said(money)),
            ("judges", f"machines whose accepted rules ask {price} or less of a seat"),
            ("matures", f"in {format_duration(MATURITY)}: then it is drawn, and signs outages"),
            ("earns", f"a part of {fee} for each verification, and of slashes that it attested"),
            ("can be lost", f"{tenth} once a week at most: for silence, and for what an arbiter took back"),
            ("comes back", f"{format_duration(LEAVE_DELAY)} after it begins to leave"),
        )

    async def check(self) -> None:
        await check_ledger(self.client, self.payment)

    async def steps(self) -> AsyncIterator[Step]:
        async for step in pay_in(self.client, self.payment):
            yield step
        seat, receipt = await (await self.client.pool.committee()).join(self.version)
        yield SeatChanged(receipt, await seat_at(self.client, seat))


@dataclass(frozen=True)
class TopUpSeat(Request["SeatChanged"]):
    """Add to a seat's stake after it lost some. amount: whole tokens at most; `None` is all that is missing."""

    seat: int
    amount: Decimal | str | None = None

    async def plan(self, client: PoolClient) -> TopUpPlan:
        """Raises UnknownSeat, SeatLeavingAlready, InvalidInput: nothing is missing. NotEnoughFunds."""
        seat, money = await seat_at(client, self.seat), client.money
        if seat.leaves_at:
            raise SeatLeavingAlready(seat=seat.id)
        units = missing = full_of(seat.level) - seat.stake
        if self.amount is not None:
            units = min(missing, parse_amount(str(self.amount), money.decimals))
        if not units:
            whole = money.show(full_of(seat.level))
            raise InvalidInput(f"Seat {seat.id} has its whole stake of {whole}", "nothing is missing.")
        return TopUpPlan(client, seat, missing, await from_ledger(client, units))


@dataclass(frozen=True)
class TopUpPlan(Plan["SeatChanged"]):
    """A stake that would be larger. missing: what it lacks, token units."""

    client: PoolClient
    seat: Seat
    missing: int
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        return {"seat": self.seat.id, "amount": self.client.money.exact(self.payment.amount)}

    async def check(self) -> None:
        await check_ledger(self.client, self.payment)

    async def steps(self) -> AsyncIterator[Step]:
        async for step in pay_in(self.client, self.payment):
            yield step
        receipt = await (await self.client.pool.committee()).top_up(self.seat.id, self.payment.amount)
        yield SeatChanged(receipt, await seat_at(self.client, self.seat.id))


# ------------------------------------------------------------------------------------------------------------ leave


@dataclass(frozen=True)
class LeaveSeat(Request["SeatChanged"]):
    """Begin to leave a seat. It signs no more, and reveals where it was drawn; `ExitSeat` brings its stake."""

    seat: int

    async def plan(self, client: PoolClient) -> LeaveSeatPlan:
        """Raises UnknownSeat, SeatLeavingAlready, SeatNotMatured."""
        seat = await seat_at(client, self.seat)
        if seat.leaves_at:
            raise SeatLeavingAlready(seat=seat.id)
        if await client.now() < seat.joined_at + MATURITY:
            raise SeatNotMatured(seat=seat.id, matures_at=seat.joined_at + MATURITY)
        return LeaveSeatPlan(client, seat)


@dataclass(frozen=True)
class LeaveSeatPlan(Plan["SeatChanged"]):
    """A seat that would leave, for good."""

    client: PoolClient
    seat: Seat

    def to_json(self) -> dict[str, Json]:
        return {"seat": self.seat.id}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await (await self.client.pool.committee()).leave(self.seat.id)
        yield SeatChanged(receipt, await seat_at(self.client, self.seat.id))


@dataclass(frozen=True)
class ExitSeat(Request["SeatEmptied"]):
    """Move the stake of a seat that has left into its validator's ledger. Anyone may send it."""

    seat: int

    async def plan(self, client: PoolClient) -> ExitSeatPlan:
        """Raises UnknownSeat, SeatNotLeaving, SeatLocked."""
        seat = await seat_at(client, self.seat)
        if not seat.leaves_at:
            raise SeatNotLeaving(seat=seat.id)
        if await client.now() < seat.leaves_at:
            raise SeatLocked(seat=seat.id, until=seat.leaves_at)
        return ExitSeatPlan(client, seat)


@dataclass(frozen=True)
class ExitSeatPlan(Plan["SeatEmptied"]):
    """A stake that would go into its validator's ledger."""

    client: PoolClient
    seat: Seat

    def to_json(self) -> dict[str, Json]:
        return {"seat": self.seat.id, "stake": self.client.money.exact(self.seat.stake)}

    async def steps(self) -> AsyncIterator[Step]:
        yield SeatEmptied(await (await self.client.pool.committee()).exit(self.seat.id))


@dataclass(frozen=True)
class SeatEmptied(Sent):
    """The seat is no more, and its stake is in the ledger."""


# ----------------------------------------------------------------------------------------------------------- status


@dataclass(frozen=True)
class SeatsView:
    """The seats of a pool that nobody has left. matured: how many may sign. now: unix seconds of the chain."""

    seats: tuple[SeatRecord, ...]
    matured: int
    now: int

    def to_json(self, money: Money) -> dict[str, Json]:
        """For a program, as `Plan.to_json`."""
        told: list[Json] = [seat_json(seat, self.now, money) for seat in self.seats]
        return {"seats": told, "matured": self.matured, "quorum": quorum_json(self.matured)}


async def seats_of(client: PoolClient) -> SeatsView:
    """The pool's seats, by the rules in force."""
    index, now = await client.index(), await client.now()
    seats = tuple(seat for seat in await index.seats() if not seat.exited)
    version = await client.pool.params_version()
    return SeatsView(seats, await (await client.pool.committee()).matured_seats(version), now)


@dataclass(frozen=True)
class ValidatorStatus:
    """A validator's seats, and the verifications that wait for them. ledger: token units. now: unix seconds."""

    seats: tuple[SeatRecord, ...]
    rounds: tuple[tuple[RoundRecord, RoundDuty], ...]
    ledger: int
    now: int

    @property
    def numbers(self) -> frozenset[int]:
        """The seats' numbers."""
        return frozenset(seat.seat for seat in self.seats)

    def to_json(self, money: Money) -> dict[str, Json]:
        """All of it for a program, as `Plan.to_json`."""
        return {
            "ledger": money.exact(self.ledger),
            "token": money.symbol,
            "seats": [seat_json(seat, self.now, money) for seat in self.seats],
            "rounds": [
                {
                    "round": round_.round,
                    "machine": round_.machine,
                    "state": round_.state.word,
                    "seats": sorted(self.numbers.intersection(round_.seats)),
                    "next": duty.what,
                    "until": duty.until,
                }
                for round_, duty in self.rounds
            ],
        }


async def validator_status(client: PoolClient) -> ValidatorStatus:
    """Where everything of the account's stands as a validator."""
    index, now = await client.index(again=True), await client.now()
    seats = tuple(seat for seat in await index.seats(validator=client.account) if not seat.exited)
    numbers, block = {seat.seat for seat in seats}, await client.rpc.block_number()
    rounds = tuple(
        (round_, duty_of(round_, now, block))
        for round_ in await index.rounds()
        if not round_.state.over
        and (round_.state is RoundState.REQUESTED or numbers.intersection(round_.seats))
    )
    return ValidatorStatus(seats, rounds, await client.pool.balance_of(client.account), now)


def seat_json(seat: SeatRecord, now: int, money: Money) -> dict[str, Json]:
    """A seat, for a program."""
    return {
        "seat": seat.seat,
        "validator": seat.validator,
        "stake": money.exact(seat.stake),
        "full": money.exact(full_of(seat.level)),
        "joined_at": seat.joined_at,
        "matured": seat.joined_at + MATURITY <= now,
        "level": money.exact(seat.level),
        "leaves_at": seat.leaves_at or None,
    }
