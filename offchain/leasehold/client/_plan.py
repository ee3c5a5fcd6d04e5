"""What is asked for, what that would do and cost, and what happens when it is done.

    plan = await pool.plan(Extend(lease, seconds=3600))     nothing has been sent
    print(plan.to_json(), plan.cautions)
    extended = await pool.carry_out(plan, approve=True)

A request is data. Its plan is made from the chain as it is now, and holds everything that a person may want to see
before saying yes. Carrying it out yields steps; the last of them is what was asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from leasehold.chain import Lease, Receipt
from leasehold.market import Json, Money, Payment

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

R = TypeVar("R", bound="Step", covariant=True)
P = TypeVar("P", bound="Plan[Any]", covariant=True)


@dataclass(frozen=True)
class Step:
    """Something that has happened while a plan was carried out."""

    def to_json(self, money: Money) -> dict[str, Json]:
        """What came of it, for a program. `Plan.to_json` says in which units."""
        return {}


@dataclass(frozen=True)
class Sent(Step):
    """A transaction that was mined."""

    receipt: Receipt

    def transaction(self) -> dict[str, Json]:
        """The transaction, for a program."""
        receipt = self.receipt
        return {"transaction": receipt.tx_hash, "block": receipt.block_number, "gas": receipt.gas_used}


@dataclass(frozen=True)
class Approved(Sent):
    """The pool may now take `amount` token units from the wallet."""

    amount: int


class Request(ABC, Generic[R]):
    """Something that somebody wants done, and what comes of it."""

    @abstractmethod
    async def plan(self, client: PoolClient) -> Plan[R]:
        """What it would do now.

        Raises:
            LeaseholdError: why it cannot be done. Nothing was sent.
        """


class Plannable(Protocol[P]):
    """A request, by the kind of its plan: what `Rent` will cost is in a `RentPlan`, and a type checker knows."""

    async def plan(self, client: PoolClient) -> P:
        """As `Request.plan`."""


class Plan(ABC, Generic[R]):
    """What a request would do, and what it costs. payment: `None` where it takes nothing. cautions: sentences that
    somebody should read before saying yes. from_ledger: all that it takes it takes by its first call to the pool, from
    the ledger first, so that a permit for it may go along.
    """

    from_ledger: ClassVar[bool] = False
    client: PoolClient
    payment: Payment | None = None
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """What it would do and cost, for a program: amounts in whole tokens as texts, times in unix seconds,
        durations in seconds. The outcome's `to_json` adds what comes of it.
        """
        return {}

    async def check(self) -> None:
        """See, before anything is done, that it would still do and cost what it says. Raises PlanStale."""

    async def prepare(self) -> AsyncIterator[Step]:
        """Do what has to be done before any money may move."""
        nothing: tuple[Step, ...] = ()
        for step in nothing:
            yield step

    @abstractmethod
    def steps(self) -> AsyncIterator[Step]:
        """Do it. What must be approved has been. The last step is the request's outcome."""


class OnePlan(Plan[R]):
    """What is one call about one lease: several of these are done together (`Together`)."""

    lease: Lease

    @abstractmethod
    def said(self) -> str:
        """What it would do, in a sentence for people."""

    async def before(self) -> None:
        """Send what has to be on the chain before the call."""

    @abstractmethod
    def call(self) -> bytes | None:
        """The call of the pool, which may go into one transaction with others; `None`: it calls another contract."""

    @abstractmethod
    async def outcome(self, receipt: Receipt) -> R:
        """What came of it, by the receipt of the transaction that it was in."""
