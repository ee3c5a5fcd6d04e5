"""Who may rent from an account's ledger, up to a cap."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.chain import DelegateRecord
from leasehold.client._address import parse_address
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._tenant_errors import NotADelegate, NothingAllowed
from leasehold.market import InvalidInput, Json, format_duration, format_time, parse_amount

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

LONGEST_PERIOD = (1 << 32) - 1  # seconds
MONTH = 30 * 86_400


@dataclass(frozen=True)
class AllowDelegate(Request["DelegateAllowed"]):
    """Let an account rent from this account's ledger, in this pool. Asked again it begins anew, nothing spent.

    A delegate may open, extend, close, reject and resize leases and set workloads; never withdraw or transfer. It can
    waste up to the cap (around the border of two periods, two caps).

    cap: most whole tokens that may leave the ledger in each `period` of seconds (0: ever). lasting: seconds from now.
    """

    delegate: str
    cap: Decimal | str
    period: int = 0
    lasting: int = MONTH

    async def plan(self, client: PoolClient) -> AllowDelegatePlan:
        delegate, units = parse_address(self.delegate), parse_amount(str(self.cap), client.money.decimals)
        if self.period > LONGEST_PERIOD:
            raise InvalidInput(
                f"A period lasts at most {format_duration(LONGEST_PERIOD)}", "choose a shorter one."
            )
        if units == 0:
            raise NothingAllowed()
        if delegate == client.account:
            raise InvalidInput("That is the account itself, which needs no leave", "name another.")
        return AllowDelegatePlan(client, delegate, units, self.period, await client.now() + self.lasting)


@dataclass(frozen=True)
class AllowDelegatePlan(Plan["DelegateAllowed"]):
    """What `delegate` might spend. cap: token units. period: seconds. expiry: unix seconds."""

    client: PoolClient
    delegate: str
    cap: int
    period: int
    expiry: int

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "account": self.client.account,
            "delegate": self.delegate,
            "cap": money.exact(self.cap),
            "period": self.period,
            "expiry": self.expiry,
            "token": money.symbol,
        }

    def said(self) -> str:
        """What it may spend, in a sentence for people."""
        span = f"in each {format_duration(self.period)}" if self.period else "altogether"
        return (
            f"{self.delegate} may spend {self.client.money.show(self.cap)} {span} of the ledger of "
            f"{self.client.account}, until {format_time(self.expiry)}."
        )

    async def steps(self) -> AsyncIterator[Step]:
        pool = self.client.pool.address
        yield DelegateAllowed(
            await self.client.accounts.set_delegate(pool, self.delegate, self.cap, self.period, self.expiry)
        )


@dataclass(frozen=True)
class DelegateAllowed(Sent):
    """It may."""


@dataclass(frozen=True)
class RevokeDelegate(Request["DelegateRevoked"]):
    """End a delegate's leave, from the next block on. Leases that it has opened run on."""

    delegate: str

    async def plan(self, client: PoolClient) -> RevokeDelegatePlan:
        delegate = parse_address(self.delegate)
        standing = await client.accounts.delegation_of(client.account, client.pool.address, delegate)
        if standing.since == 0:
            raise NotADelegate(delegate, client.account)
        return RevokeDelegatePlan(client, delegate)


@dataclass(frozen=True)
class RevokeDelegatePlan(Plan["DelegateRevoked"]):
    """A delegate who may no more."""

    client: PoolClient
    delegate: str

    def to_json(self) -> dict[str, Json]:
        return {"account": self.client.account, "delegate": self.delegate}

    async def steps(self) -> AsyncIterator[Step]:
        pool = self.client.pool.address
        yield DelegateRevoked(await self.client.accounts.set_delegate(pool, self.delegate, 0, 0, 0))


@dataclass(frozen=True)
class DelegateRevoked(Sent):
    """It may no more."""


async def delegates_of(client: PoolClient) -> list[DelegateRecord]:
    """Who may rent from the account's ledger, and from whose ledgers the account may."""
    return [
        record
        for record in await (await client.index()).delegates()
        if client.account in (record.account, record.delegate) and (record.cap or record.expiry)
    ]
