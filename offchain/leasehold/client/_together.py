"""The same thing done with several leases: looked at one by one, asked once, sent in one transaction, all or none.

    plan = await pool.plan(Together(tuple(map(Close, leases))))
    done = await pool.carry_out(plan)

A delegate's calls are counted against its cap one by one, so that `Accounts` takes them one by one, and ratings are no
calls of the pool: then each is a transaction, and what was sent before one that is refused stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from leasehold.chain import format_lease
from leasehold.client._choosing_errors import TooManyTogether
from leasehold.client._plan import OnePlan, Plan, Plannable, Sent, Step
from leasehold.market import Json, Money, Payment

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

Q = TypeVar("Q", bound=OnePlan[Any], covariant=True)

MOST_TOGETHER: Final = 64
"""Leases in one transaction, as many as a gang has at most."""
_AT_ONCE: Final = 8  # leases that are looked at, each of which may ask an agent


@dataclass(frozen=True)
class Together(Generic[Q]):
    """Do all of these, which are of one kind and about different leases: `Close`, `Extend`, `Reject` or `Rate`."""

    requests: Sequence[Plannable[Q]]

    async def plan(self, client: PoolClient) -> TogetherPlan[Q]:
        """Raises TooManyTogether, and as the requests' own plans: nothing is sent where one cannot be done."""
        if len(self.requests) > MOST_TOGETHER:
            raise TooManyTogether(len(self.requests), MOST_TOGETHER)
        first, *others = self.requests
        plans = [await first.plan(client)]  # alone: it may ask for a password
        if others:
            with client.observer.working(f"Looking at {len(self.requests)} leases"):
                plans += await _looks(client, others)
        return TogetherPlan(client, tuple(plans), await _payment(client, plans), _cautions(plans))


@dataclass(frozen=True)
class TogetherPlan(Plan["TogetherDone"], Generic[Q]):
    """What each would do, and what all of it takes."""

    client: PoolClient
    plans: tuple[Q, ...]
    payment: Payment | None
    cautions: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Of each a document in a list; of one, that alone."""
        if len(self.plans) == 1:
            return self.plans[0].to_json()
        return {"leases": [{"lease": format_lease(plan.lease.id), **plan.to_json()} for plan in self.plans]}

    async def check(self) -> None:
        for plan in self.plans:
            await plan.check()

    async def steps(self) -> AsyncIterator[Step]:
        calls = [call for plan in self.plans if (call := plan.call()) is not None]
        if len(self.plans) == 1 or len(calls) < len(self.plans) or self._as_delegate:
            done = list[Sent]()
            for plan in self.plans:
                async for step in plan.steps():
                    yield step
                done.append(cast(Sent, step))
            yield TogetherDone(done[-1].receipt, tuple(done))
            return
        for plan in self.plans:
            await plan.before()
        receipt = await self.client.pool.multicall(calls)
        yield TogetherDone(receipt, tuple([await plan.outcome(receipt) for plan in self.plans]))

    @property
    def _as_delegate(self) -> bool:
        return self.client.other is not None and self.client.group is None


@dataclass(frozen=True)
class TogetherDone(Sent):
    """All of it is done. receipt: of the last transaction. done: the outcomes, in the requests' order."""

    done: tuple[Sent, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        """As `TogetherPlan.to_json`."""
        if len(self.done) == 1:
            return self.done[0].to_json(money)
        return {"leases": [outcome.to_json(money) for outcome in self.done]}


async def _looks(client: PoolClient, requests: Sequence[Plannable[Q]]) -> list[Q]:
    """Their plans. The first that cannot be made ends the others."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def look(request: Plannable[Q]) -> Q:
        async with gate:
            return await request.plan(client)

    looks = [asyncio.ensure_future(look(request)) for request in requests]
    try:
        return await asyncio.gather(*looks)
    finally:
        for task in looks:
            task.cancel()
        await asyncio.gather(*looks, return_exceptions=True)


async def _payment(client: PoolClient, plans: Sequence[OnePlan[Sent]]) -> Payment | None:
    """What all take together, since each alone counts on the same ledger and wallet. Raises NotEnoughFunds."""
    payments = [plan.payment for plan in plans if plan.payment is not None]
    if len(payments) < 2:
        return payments[0] if payments else None
    renter, amount = client.renter(), sum(payment.amount for payment in payments)
    funds = await renter.funds()
    pulled = max(0, amount - funds.ledger)
    payment = Payment(amount, pulled, 0 if client.ledger_only else max(0, pulled - funds.allowance))
    await renter.check_funds(payment)
    return payment


def _cautions(plans: Sequence[OnePlan[Sent]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(caution for plan in plans for caution in plan.cautions))
