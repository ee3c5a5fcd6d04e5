"""Ordering beforehand that a lease closes when its job is done: signed, kept here, and handed to its machine's agent.

The signature waits with the agent, which sends it when the command has ended and its results are out. Where the agent
lacks it, whoever looks after the lease from here gives it again, and sends it himself if nobody else does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import CLOSING_SECONDS, ClosingOrder, Lease, LeaseState, closing_key
from leasehold.chain.typed import Domain
from leasehold.client._outages import outages_of, take_off
from leasehold.client._plan import Step
from leasehold.client._tenancy import agents_word
from leasehold.errors import ContractError, LeaseholdError, WalletError
from leasehold.market import Json, Money
from leasehold.market.wire import (
    ChainUnreachable,
    LeaseStatus,
    NotRunning,
    TooManyRequests,
    UnknownLease,
)
from leasehold.workload import Workload, WorkloadKind

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

HANDING_SECONDS = 30.0
"""How long an agent that does not know the lease yet is asked again."""
CLOSING_PATIENCE = 60.0
"""How long the agent's close is waited for before it is sent from here."""
PUBLISHING_SECONDS = 960.0
"""How long a job's results are waited for that are to be out before its lease closes: longer than the agent does."""
LOOK_EVERY = 1.0
_NOT_YET = (UnknownLease, NotRunning, TooManyRequests, ChainUnreachable)


@dataclass(frozen=True)
class ClosingOrdered(Step):
    """A lease closes when its job is done. order: `None` where the wallet did not sign. problem: why its agent does not
    have the order, which lies here then, or why there is none.
    """

    lease: int
    order: ClosingOrder | None
    problem: LeaseholdError | None = None

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"closes_when_done": self.order is not None, "agent_knows": self.problem is None}


@dataclass(frozen=True)
class Finish:
    """How a lease and its command stand. status: what the agent says, if it says anything. cost: token units that a
    lease which is over cost its tenant in all, the pool's fee included; `None` while it is not, or nobody asked.
    exit_code: of a command that has ended by itself, and is not started again.
    """

    lease: Lease
    status: LeaseStatus | None
    cost: int | None = None

    @property
    def exit_code(self) -> int | None:
        return self.status.exit_code if self.status is not None else None

    @property
    def done(self) -> bool:
        """Whether there is nothing more to wait for: the command has ended, or the lease."""
        return self.exit_code is not None or not self.lease.state.live


def wants_closing(client: PoolClient, wish: bool | None, workload: Workload) -> bool:
    """Whether a lease that runs `workload` is to close at its end: as wished, else if it is a batch job. Whoever acts
    for another account has nothing that signs for it.
    """
    wanted = workload.kind is WorkloadKind.BATCH if wish is None else wish
    return wanted and client.other is None


async def unsigned_order(client: PoolClient, lease: Lease) -> ClosingOrder:
    """The order to close that lease of the client's account, good for as long as it can run."""
    controller = client.deployment.controller
    nonce = await client.accounts.nonce_of(client.account, closing_key(controller, lease.id))
    return ClosingOrder(client.account, controller, lease.id, nonce, lease.end + CLOSING_SECONDS)


async def order_closing(client: PoolClient, lease: Lease, workload: bytes) -> ClosingOrdered:
    """Have the wallet sign the order, keep it here and hand it over. workload: the digest of what the lease runs.

    A wallet that refuses, or an agent that does not take it, is told and is no error: the lease runs all the same.
    """
    order = await unsigned_order(client, lease)
    domain = Domain(client.deployment.chain_id, client.deployment.accounts)
    try:
        signed = await order.signed(domain, client.wallet)
    except WalletError as error:
        return ClosingOrdered(lease.id, None, error)
    return await hand_order(client, signed, workload)


async def hand_order(client: PoolClient, order: ClosingOrder, workload: bytes) -> ClosingOrdered:
    """Keep a signed order here, and give it to the lease's agent."""
    client.home.closing_orders(client.deployment).keep(order, workload)
    with client.observer.working("Ordering that the lease closes when its job is done"):
        problem = await _give(client, order, workload, HANDING_SECONDS)
    return ClosingOrdered(order.lease, order, problem)


async def finish_of(
    client: PoolClient, number: int, *, patience: float = 0.0, closing: float = 0.0
) -> Finish:
    """How a lease's command has ended. An order that lies here is given to its agent where that lacks it.

    patience: seconds to wait until the agent has seen an end. closing: seconds to wait until a lease that has an order
    is closed; then, once the results are out, it is closed from here, if the client may send. 0: not waited for.

    Raises:
        UnknownLease, ChainError.
    """
    kept = client.home.closing_orders(client.deployment).get(number)
    began, handed = time.monotonic(), False
    while True:
        finish, passed = await _look(client, number), time.monotonic() - began
        if not finish.lease.state.live or (finish.exit_code is not None and kept is None):
            return finish
        if kept is not None and not handed and finish.status and not finish.status.closes_when_done:
            handed = True
            await _give(client, *kept, 0.0)
        if kept is not None and closing and passed >= closing and _may_send(client, finish):
            return await _sent(client, finish, kept[0])
        if passed >= _limit(finish, patience, closing):
            return finish
        await asyncio.sleep(LOOK_EVERY)


def _limit(finish: Finish, patience: float, closing: float) -> float:
    """Seconds that are waited in all, as things stand."""
    if finish.exit_code is None:
        return patience
    return PUBLISHING_SECONDS if closing and _owes(finish.status) else closing


def _owes(status: LeaseStatus | None) -> bool:
    return status is not None and bool(status.outputs) and status.result_cid is None


async def _look(client: PoolClient, number: int) -> Finish:
    lease = await client.lease(number)
    status, _ = await agents_word(client, lease)
    return Finish(lease, status)


def _may_send(client: PoolClient, finish: Finish) -> bool:
    """Whether the job is done, what it leaves is out, and this client's wallet pays the gas."""
    status = finish.status
    if status is None or status.exit_code is None or _owes(status):
        return False
    return client.sender is not None and client.other is None and finish.lease.state is LeaseState.ACTIVE


async def _sent(client: PoolClient, finish: Finish, order: ClosingOrder) -> Finish:
    """Send it. Who was faster has done the same."""
    with contextlib.suppress(ContractError):
        await take_off(client, (await outages_of(client, finish.lease)).faults, order.lease)
        await client.accounts.execute(order.account, order.calls, order.nonce, order.deadline, order.proof)
    return Finish(await client.lease(order.lease), finish.status)


async def _give(
    client: PoolClient, order: ClosingOrder, workload: bytes, patience: float
) -> LeaseholdError | None:
    """Give the agent the order; `None`, or why it has it not. One that does not know the lease yet is asked again."""
    until = time.monotonic() + patience
    while True:
        try:
            await client.index()
            async with client.agent_of(order.lease) as agent:
                await agent.put_closing_order(order.lease, order, workload)
            return None
        except _NOT_YET as error:
            if time.monotonic() >= until:
                return error
        except LeaseholdError as error:
            return error
        await asyncio.sleep(LOOK_EVERY)
