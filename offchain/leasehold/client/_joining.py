"""Offering a machine: what it asks for, what joining takes, earns and can lose, and the stake."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import Machine, MachineStatus, Receipt, Terms
from leasehold.client._errors import NoPrice, NoSuchShare, PlanStale, ShareNotKeptApart
from leasehold.client._ledger import check_ledger
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.market import (
    JoinQuote,
    Json,
    MachineFile,
    Money,
    Neighbour,
    Payment,
    format_amount,
    format_duration,
    parse_amount,
    stake_shortfall,
    terms_rows,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

DAY = 86_400
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class AskedTerms:
    """What a machine asks for. What is `None` stays as it is; joining, it is what is usual, and a price is needed.

    price, spot_price: whole tokens for a GPU (or CPU unit) an hour; a spot price of 0 sells no such leases. shortest,
    longest: of a lease, seconds. trial: for how many seconds a started lease may be given back. until: the last day
    (UTC) by whose end every lease ends.
    """

    price: Decimal | str | None = None
    spot_price: Decimal | str | None = None
    shortest: int | None = None
    longest: int | None = None
    trial: int | None = None
    until: date | None = None

    def over(self, terms: Terms, money: Money) -> Terms:
        """`terms` with what is asked. Raises InvalidAmount."""
        changes = {
            "price": _units(self.price, money),
            "spot_price": _units(self.spot_price, money),
            "min_duration": self.shortest,
            "max_duration": self.longest,
            "trial": self.trial,
            "available_until_day": None if self.until is None else (self.until - EPOCH).days,
        }
        return replace(terms, **{name: value for name, value in changes.items() if value is not None})


def _units(amount: Decimal | str | None, money: Money) -> int | None:
    return None if amount is None else parse_amount(str(amount), money.decimals)


def usual_terms(now: int) -> Terms:
    """What a machine offers unless its provider says otherwise, but for the price. now: unix seconds."""
    return Terms(
        price=0,
        spot_price=0,
        min_duration=600,
        max_duration=7 * DAY,
        trial=600,
        available_until_day=now // DAY + 365,
    )


# ------------------------------------------------------------------------------------------------------------- join


@dataclass(frozen=True)
class Join(Request["Joined"]):
    """Stake and register a machine, whose agent has described it for this account in a machine.json.

    Its two documents are pinned on one's own IPFS node, the stake is taken from the ledger and then from the wallet,
    and the agent's key is sent gas money.

    machine: the file, or where it lies. gpus: GPUs (or CPU units) to offer; smallest_share: the least that is leased,
    in cells; `None` takes what the host suggests. operator_gas: wei for the agent; `None` is enough for 200 leases.
    """

    machine: MachineFile | Path | str
    asked: AskedTerms
    gpus: int | None = None
    smallest_share: int | None = None
    operator_gas: int | None = None

    async def plan(self, client: PoolClient) -> JoinPlan:
        """Raises DocumentInvalid, InvalidInput, AlreadyJoined, RulesChange, NotEnoughFunds: why it cannot join."""
        described = MachineFile.of(self.machine)
        if self.asked.price is None:
            raise NoPrice()
        share = _kept_apart(described.suggested.smallest_share, self.smallest_share)
        gpus, provider = self.gpus or described.suggested.gpus, client.provider()
        terms = self.asked.over(usual_terms(await client.now()), client.money)
        known = await neighbours(client, described.operator)
        version = await client.pool.params_version()
        quote = await provider.quote(described, gpus, terms, known)
        gas = self.operator_gas
        if gas is None:
            gas = await provider.operator_gas(described.operator)
        cautions = [f"What its host found: {trouble}" for trouble in described.troubles]
        if client.other is not None and gas:
            cautions.append(_send_it_yourself(described.operator, gas))
        payment = Payment(quote.stake, quote.pulled, quote.approve)
        return JoinPlan(client, self, described, share, terms, quote, version, gas, payment, tuple(cautions))


async def neighbours(client: PoolClient, operator: str) -> list[Neighbour]:
    """The machines that this operator's key serves, with what they were described as."""
    records = await (await client.index(again=True)).machines()
    served = [record for record in records if record.machine.operator.lower() == operator.lower()]
    in_service = [record for record in served if record.machine.status is not MachineStatus.RETIRED]
    return [Neighbour(record.machine, await client.machines().hardware(record)) for record in in_service]


def _kept_apart(least: int, wished: int | None) -> int:
    if wished is None:
        return least
    if wished not in (1, 2, 4, 8):
        raise NoSuchShare(wished)
    if wished < least:
        raise ShareNotKeptApart(least)
    return wished


def _send_it_yourself(operator: str, gas: int) -> str:
    coins = format_amount(gas, 18, places=6)
    return f"Send {coins} of the chain's own coin to {operator} yourself, for the agent's gas."


@dataclass(frozen=True)
class JoinPlan(Plan["Joined"]):
    """A machine that would be offered. quote: what it takes, earns and can lose. version: of the pool's rules, which
    it accepts. gas: wei that its agent is sent.
    """

    client: PoolClient
    request: Join
    described: MachineFile
    smallest_share: int
    terms: Terms
    quote: JoinQuote
    version: int
    gas: int
    payment: Payment
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        money, quote = self.client.money, self.quote
        return {
            "stake": money.exact(quote.stake),
            "discount_bps": quote.discount_bps,
            "from_ledger": money.exact(quote.from_ledger),
            "from_wallet": money.exact(quote.pulled),
            "earns_hourly": money.exact(quote.hourly),
            "earns_daily": money.exact(quote.daily),
            "lost_at_most": money.exact(quote.lost_at_most),
            "operator_gas": format_amount(self.gas, 18),
            "smallest_share": self.smallest_share,
            "token": money.symbol,
        }

    def rows(self) -> tuple[tuple[str, str], ...]:
        """The terms, what it takes, earns and can lose: rows for people."""
        quote, money, cells = self.quote, self.client.money, self.smallest_share
        paid = f"{money.show(quote.from_ledger)} from the ledger, {money.show(quote.pulled)} from the wallet"
        lost = f"{money.show(quote.lost_at_most)} ({quote.max_slash_bps / 100:g} % of the stake)"
        daily = f"{money.show(quote.daily)} a day less the pool's {quote.fee_bps / 100:g} %"
        off = f", {quote.discount_bps / 100:g} % off for the score" if quote.discount_bps else ""
        return (
            *terms_rows(self.terms, money, bool(self.described.hardware.get("gpus"))),
            ("stake", f"{money.show(quote.stake)}{off}: {paid}"),
            ("comes back", f"{format_duration(quote.unstake_delay)} after the machine retires"),
            ("earns, wholly leased", f"{money.show(quote.hourly)} an hour; {daily}"),
            ("earns, half leased", f"{money.show(quote.daily // 2)} a day"),
            ("can be lost", f"at most {lost} in seven days, for proven faults only, and you may appeal"),
            ("ending a lease early", f"costs up to {money.show(quote.notice_penalty)}, paid to its tenant"),
            ("gas for the operator", f"{format_amount(self.gas, 18, places=6)} of the chain's own coin"),
            ("smallest share", "1 cell" if cells == 1 else f"{cells} cells"),
        )

    async def check(self) -> None:
        """Raises PlanStale: other rules are in force, or more would be taken. What `Join.plan` raises."""
        now = await self.request.plan(self.client)
        if now.version != self.version or now.payment.pulled > self.payment.pulled:
            raise PlanStale()

    async def prepare(self) -> AsyncIterator[Step]:
        """Pin the documents, before any money moves."""
        await self.client.provider().pin(self.described)
        yield Pinned()

    async def steps(self) -> AsyncIterator[Step]:
        machine, receipt = await self.client.provider().register(
            self.described, self.quote.gpus, self.smallest_share, self.terms
        )
        yield Registered(receipt, machine)
        funding = None
        if self.gas and self.client.sender is not None:
            funding = await self.client.sender.send(self.described.operator, b"", self.gas)
        yield Joined(receipt, machine, funding)


@dataclass(frozen=True)
class Pinned(Step):
    """A machine's documents are on one's own IPFS node."""


@dataclass(frozen=True)
class Registered(Sent):
    """The stake is paid, and the machine is in the pool under its number."""

    machine: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"machine": self.machine}


@dataclass(frozen=True)
class Joined(Registered):
    """The machine can be leased once its agent runs. funding: what sent the agent gas money, if it needed any."""

    funding: Receipt | None


# ------------------------------------------------------------------------------------------------------------ stake


@dataclass(frozen=True)
class AddStake(Request["MachineStaked"]):
    """Add to the stake of a machine of one's own, for instance after the minimum was raised. amount: whole tokens."""

    machine: int
    amount: Decimal | str

    async def plan(self, client: PoolClient) -> AddStakePlan:
        """Raises InvalidAmount, UnknownMachine, SomebodyElses, StakeNotCovered."""
        units, provider = parse_amount(str(self.amount), client.money.decimals), client.provider()
        machine, funds = await provider.own(self.machine), await provider.funds()
        pulled = max(0, units - funds.ledger)
        if problem := stake_shortfall(pulled, funds, client.money):
            raise problem
        return AddStakePlan(client, machine, Payment(units, pulled, max(0, pulled - funds.allowance)))


@dataclass(frozen=True)
class AddStakePlan(Plan["MachineStaked"]):
    """A stake that would be larger, by the payment's amount."""

    client: PoolClient
    machine: Machine
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine.id, "adds": self.client.money.exact(self.payment.amount)}

    async def check(self) -> None:
        await check_ledger(self.client, self.payment)

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.add_stake(self.machine.id, self.payment.amount)
        yield MachineStaked(receipt, await self.client.pool.machine_of(self.machine.id))


@dataclass(frozen=True)
class MachineStaked(Sent):
    """The machine has more at stake. machine: as it is now."""

    machine: Machine

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"stake": money.exact(self.machine.stake)}
