"""Verifications from the outside: asking for one, drawing its committee, counting its votes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import CommitteeDrawn, Machine, Params, Round, RoundRecord, RoundState, VoteRecord
from leasehold.client._errors import PlanStale
from leasehold.client._ledger import check_ledger, from_ledger, pay_in
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.errors import BlockNotMined, RoundOpen, UnknownMachine, UnknownRound, WrongRoundState
from leasehold.market import Json, Money, Payment, round_json, vote_json

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def round_at(client: PoolClient, number: int) -> Round:
    """A verification at the head of the chain. Raises UnknownRound."""
    round_ = await (await client.pool.committee()).round_of(number)
    if round_.state is RoundState.NONE:
        raise UnknownRound(number)
    return round_


@dataclass(frozen=True)
class RoundDuty:
    """What is to be done next. what: ``draw``, ``commit``, ``reveal``, ``finalize``, or `None`. until: unix seconds."""

    what: str | None
    until: int | None = None


def duty_of(round_: RoundRecord, now: int, block: int) -> RoundDuty:
    """What is to be done next about a verification; `block` is the head's number."""
    if round_.state is RoundState.REQUESTED:
        return RoundDuty("draw" if block >= round_.block else None)
    if round_.state is not RoundState.DRAWN:
        return RoundDuty(None)
    if now < round_.commit_until:
        return RoundDuty("commit", round_.commit_until)
    if now < round_.reveal_until:
        return RoundDuty("reveal", round_.reveal_until)
    return RoundDuty("finalize")


@dataclass(frozen=True)
class RoundSeen:
    """A verification as the index has it, its committee's votes, and what is to be done next."""

    record: RoundRecord
    votes: tuple[VoteRecord, ...]
    duty: RoundDuty

    def to_json(self) -> dict[str, Json]:
        """For a program, as `Plan.to_json`."""
        votes: list[Json] = [vote_json(vote) for vote in self.votes]
        return {**round_json(self.record), "next": self.duty.what, "votes": votes}


async def rounds_of(client: PoolClient, machine: int | None = None) -> list[RoundSeen]:
    """The pool's verifications; of one machine, if that is named."""
    index, now, block = await client.index(), await client.now(), await client.rpc.block_number()
    return [
        RoundSeen(record, tuple(await index.votes(record.round)), duty_of(record, now, block))
        for record in await index.rounds(machine=machine)
    ]


# ---------------------------------------------------------------------------------------------------------- request


@dataclass(frozen=True)
class RequestVerification(Request["VerificationAsked"]):
    """Ask for a machine to be measured, as it describes itself now, by a committee of validators. Anyone may.

    The fee comes out of the ledger; what that lacks comes from the wallet first.
    """

    machine: int

    async def plan(self, client: PoolClient) -> RequestVerificationPlan:
        """Raises UnknownMachine, NotEnoughFunds."""
        machine = await client.pool.machine_of(self.machine)
        if not machine.gpus:
            raise UnknownMachine(self.machine)
        rules = await client.params(machine.params)  # which this revision accepts
        fee = await from_ledger(client, rules.verification_fee)
        return RequestVerificationPlan(client, machine, rules, fee)


@dataclass(frozen=True)
class RequestVerificationPlan(Plan["VerificationAsked"]):
    """A verification by these rules. payment: its fee."""

    client: PoolClient
    machine: Machine
    rules: Params
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "machine": self.machine.id,
            "revision": self.machine.revision,
            "fee": money.exact(self.payment.amount),
            "token": money.symbol,
        }

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it takes, and who measures: rows for people."""
        seats = f"{self.rules.committee_size} seats, drawn by lot; not the provider's nor yours"
        return (
            ("fee", self.payment.said(self.client.money)),
            ("committee", seats),
            ("takes", "4 hours to measure and 2 hours to reveal, after the draw"),
            ("without an outcome", "what is left of the fee comes back"),
        )

    async def check(self) -> None:
        """Raises PlanStale: the machine has another revision, or the ledger holds less."""
        if (await self.client.pool.machine_of(self.machine.id)).revision != self.machine.revision:
            raise PlanStale()
        await check_ledger(self.client, self.payment)

    async def steps(self) -> AsyncIterator[Step]:
        async for step in pay_in(self.client, self.payment):
            yield step
        committee, machine = await self.client.pool.committee(), self.machine
        number, receipt = await committee.request_verification(machine.id, machine.revision)
        yield VerificationAsked(receipt, number)


@dataclass(frozen=True)
class VerificationAsked(Sent):
    """A committee can be drawn for `round`, as soon as its block is there."""

    round: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"round": self.round}


# ------------------------------------------------------------------------------------------------------------- draw


@dataclass(frozen=True)
class DrawCommittee(Request["Drawn"]):
    """Draw a verification's committee, for a twentieth of its fee, more after each miss. Anyone may."""

    round: int

    async def plan(self, client: PoolClient) -> DrawPlan:
        """Raises UnknownRound, WrongRoundState, BlockNotMined."""
        round_ = await round_at(client, self.round)
        if round_.state is not RoundState.REQUESTED:
            raise WrongRoundState(round=round_.id, state=round_.state)
        if await client.rpc.block_number() < round_.block_:
            raise BlockNotMined(block_=round_.block_)
        return DrawPlan(client, round_, round_.fee * (round_.misses + 1) // 20)


@dataclass(frozen=True)
class DrawPlan(Plan["Drawn"]):
    """A committee that would be drawn. reward: token units, if the block is not too old by then."""

    client: PoolClient
    round: Round
    reward: int

    def to_json(self) -> dict[str, Json]:
        return {"round": self.round.id, "reward": self.client.money.exact(self.reward)}

    async def steps(self) -> AsyncIterator[Step]:
        committee = await self.client.pool.committee()
        receipt = await committee.draw(self.round.id)
        drawn = [event for event in committee.events(receipt) if isinstance(event, CommitteeDrawn)]
        seats = tuple(drawn[0].seats) if drawn else ()
        yield Drawn(receipt, await round_at(self.client, self.round.id), seats)


@dataclass(frozen=True)
class Drawn(Sent):
    """The committee; no seats where the block led to none."""

    round: Round
    seats: tuple[int, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "seats": list(self.seats),
            **({"commit_until": self.round.commit_until} if self.seats else {}),
        }


# --------------------------------------------------------------------------------------------------------- finalize


@dataclass(frozen=True)
class FinalizeRound(Request["Finalized"]):
    """Count a verification's votes, once reveals are over. Anyone may.

    If the committee agreed on other hardware than was declared, `FileFalseHardware` follows.
    """

    round: int

    async def plan(self, client: PoolClient) -> FinalizePlan:
        """Raises UnknownRound, WrongRoundState, RoundOpen."""
        round_ = await round_at(client, self.round)
        if round_.state is not RoundState.DRAWN:
            raise WrongRoundState(round=round_.id, state=round_.state)
        if await client.now() < round_.reveal_until:
            raise RoundOpen(round=round_.id, until=round_.reveal_until)
        return FinalizePlan(client, round_)


@dataclass(frozen=True)
class FinalizePlan(Plan["Finalized"]):
    """Votes that would be counted."""

    client: PoolClient
    round: Round

    def to_json(self) -> dict[str, Json]:
        return {"round": self.round.id}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await (await self.client.pool.committee()).finalize(self.round.id)
        yield Finalized(receipt, await round_at(self.client, self.round.id))


@dataclass(frozen=True)
class Finalized(Sent):
    """What the committee found."""

    round: Round

    def to_json(self, money: Money) -> dict[str, Json]:
        return round_json(self.round)
