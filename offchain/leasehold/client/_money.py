"""Money between a wallet and its pool's ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.chain import UNLIMITED
from leasehold.client._address import parse_address
from leasehold.client._plan import Approved, Plan, Request, Sent, Step
from leasehold.client._tenant_errors import NothingToWithdraw
from leasehold.market import InvalidAmount, Json, Money, NotEnoughFunds, Payment, parse_amount

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

Tokens = Decimal | str
"""Whole tokens, with decimals where one likes."""


@dataclass(frozen=True)
class Approve(Request["Approved"]):
    """Let the pool take tokens from the wallet when something is paid. amount: `None` for any; 0 revokes it."""

    amount: Tokens | None

    async def plan(self, client: PoolClient) -> ApprovePlan:
        if self.amount is None:
            return ApprovePlan(client, UNLIMITED)
        return ApprovePlan(client, parse_amount(str(self.amount), client.money.decimals))


@dataclass(frozen=True)
class ApprovePlan(Plan["Approved"]):
    """What the pool might take. amount: token units."""

    client: PoolClient
    amount: int

    def to_json(self) -> dict[str, Json]:
        return {"approved": "unlimited" if self.amount == UNLIMITED else self.client.money.exact(self.amount)}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.token.approve(self.client.pool.address, self.amount)
        yield Approved(receipt, self.amount)


@dataclass(frozen=True)
class Deposit(Request["PaidToLedger"]):
    """Move tokens from the wallet into the ledger of the account `to`, by default one's own."""

    amount: Tokens
    to: str | None = None

    async def plan(self, client: PoolClient) -> DepositPlan:
        to = parse_address(self.to) if self.to else client.account
        money, units = client.money, _above_zero(client, self.amount)
        funds = await client.renter().funds()
        if units > funds.wallet:
            raise NotEnoughFunds(
                f"The wallet holds {money.show(funds.wallet)}, not {money.show(units)}",
                "deposit less, or get more of the token.",
            )
        return DepositPlan(client, to, Payment(units, units, max(0, units - funds.allowance)))


@dataclass(frozen=True)
class DepositPlan(Plan["PaidToLedger"]):
    """Tokens that would be in the ledger of `to`."""

    client: PoolClient
    to: str
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        return {"amount": self.client.money.exact(self.payment.amount), "to": self.to}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.deposit(self.to, self.payment.amount)
        yield PaidToLedger(receipt, await self.client.pool.balance_of(self.client.account))


@dataclass(frozen=True)
class PaidToLedger(Sent):
    """They are there. ledger: what the account's own ledger holds now, token units."""

    ledger: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"ledger": money.exact(self.ledger)}


@dataclass(frozen=True)
class Withdraw(Request["PaidFromLedger"]):
    """Pay tokens out of the ledger to the account `to`, by default one's own. amount: `None` for all."""

    amount: Tokens | None = None
    to: str | None = None

    async def plan(self, client: PoolClient) -> WithdrawPlan:
        to = parse_address(self.to) if self.to else client.account
        money, ledger = client.money, await client.pool.balance_of(client.account)
        if self.amount is None and ledger == 0:
            raise NothingToWithdraw()
        units = ledger if self.amount is None else _above_zero(client, self.amount)
        if units > ledger:
            raise NotEnoughFunds(
                f"The ledger holds {money.show(ledger)}, not {money.show(units)}", "withdraw less, or all."
            )
        strays = client.group is not None and to == client.account
        caution = f"{to} is the group's own address, which has no wallet: what goes there has to be rescued."
        return WithdrawPlan(client, units, to, (caution,) if strays else ())


@dataclass(frozen=True)
class WithdrawPlan(Plan["PaidFromLedger"]):
    """Tokens that would go to `to`. amount: token units."""

    client: PoolClient
    amount: int
    to: str
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {"amount": self.client.money.exact(self.amount), "to": self.to}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.withdraw(self.to, self.amount)
        arrived = self.client.token.arrived(receipt, self.to)
        yield PaidFromLedger(receipt, arrived, await self.client.pool.balance_of(self.client.account))


@dataclass(frozen=True)
class PaidFromLedger(Sent):
    """They are out. arrived: less than was sent where the token keeps some. ledger: what is left. Token units."""

    arrived: int
    ledger: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"ledger": money.exact(self.ledger), "arrived": money.exact(self.arrived)}


def _above_zero(client: PoolClient, amount: Tokens) -> int:
    units = parse_amount(str(amount), client.money.decimals)
    if units == 0:
        raise InvalidAmount("There is nothing to move", "name an amount above zero.")
    return units
