"""A lease that is kept going, as its tenant or as a delegate with a cap, up to a bound.

Each look decides from the chain: a lease that is paid for long enough needs nothing, so a second run, or one that was
cut off, changes nothing. Of one that it is about to extend it asks the agent, too: nobody pays on for a job that is
done. Runs on one computer wait for one another, and for what the wallet has sent. (Extending adds to the end as it is,
so the wallets of two delegates could both extend; what each can spend is its cap.)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import Lease, LeaseState, format_lease
from leasehold.client._index import alone
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenancy import Extended, agents_word, for_a_stranger
from leasehold.client._tenant_errors import KeptNoLonger
from leasehold.errors import CapExceeded, DelegationExpired, RpcUnavailable
from leasehold.market import InvalidInput, Json, Money, extension_cost, format_time

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_ASKING_SECONDS = 20.0
SHORTEST = 60  # seconds between looks at least


@dataclass(frozen=True)
class KeepGoing(Request["LeaseKept"]):
    """Extend a lease again and again before it ends, as long as it stays its tenant's. Seconds.

    by: how much more at a time. longest: of its life since the start, all extensions included. before: how long before
    its end. once: one look and no more, as from cron; else it lasts until the lease has lived so long, or is over.
    """

    lease: int
    by: int
    longest: int
    before: int = 900
    once: bool = False

    async def plan(self, client: PoolClient) -> KeepPlan:
        if self.by <= 0 or self.before <= 0:
            raise InvalidInput("Nothing is kept by steps of nothing", "set both times above zero.")
        lease = await client.lease(self.lease)
        if lease.state is LeaseState.OPENED:
            raise InvalidInput(f"Lease {format_lease(lease.id)} has not started", "try again when it has.")
        keeping = Keeping(self.before, self.by, lease.start + self.longest, lease.tenant)
        cautions = () if lease.tenant == client.account else (for_a_stranger(lease),)
        return KeepPlan(client, keeping, self.once, await _look(client, self.lease, keeping), cautions)


@dataclass(frozen=True)
class Keeping:
    """How a lease is kept: `before` its end, by `step`, and never past `until`. Seconds and unix seconds.

    tenant: whose it has to stay, if that is named.
    """

    before: int
    step: int
    until: int
    tenant: str = ""


@dataclass(frozen=True)
class Next:
    """What a look at a lease says: extend by `seconds` (0: nothing now), look again `at` (0: never), and why."""

    seconds: int
    at: int
    why: str


def decide(lease: Lease, keeping: Keeping, now: int) -> Next:
    """What to do now. Pure: the same lease at the same time gets the same answer."""
    shown, end = f"Lease {format_lease(lease.id)}", format_time(lease.end)
    if lease.state is LeaseState.OPENED:
        return Next(0, now + keeping.before, f"{shown} has not started yet.")
    if lease.state is not LeaseState.ACTIVE:
        return Next(0, 0, f"{shown} is {lease.state.word}.")
    if keeping.tenant not in ("", lease.tenant):
        return Next(0, 0, f"{shown} is {lease.tenant}'s now, and was to be kept for {keeping.tenant}.")
    if lease.noticed:
        return Next(0, 0, f"{shown} is under notice and ends {end}.")
    if now >= lease.end:
        return Next(0, 0, f"{shown} ended {end}.")
    if lease.end >= keeping.until:
        return Next(0, 0, f"{shown} is paid until {end}, as long as it was to be kept.")
    if lease.end - now > keeping.before:
        return Next(0, lease.end - keeping.before, f"{shown} is paid until {end}: nothing to do yet.")
    seconds = min(keeping.step, keeping.until - lease.end)
    return Next(seconds, lease.end + seconds - keeping.before, f"{shown} ends {end}.")


@dataclass(frozen=True)
class LeaseLook:
    """How a lease stands, and what to do. waits: the wallet has something under way, maybe the last extension.

    taken: unix seconds. cost: of what is to be extended now, token units.
    """

    lease: Lease
    taken: int
    next: Next
    waits: bool
    cost: int

    def to_json(self, money: Money) -> dict[str, Json]:
        """How the lease stands, and what extending it now costs, for a program."""
        cost = {"cost": money.exact(self.cost)} if self.next.seconds else {}
        return {"lease": format_lease(self.lease.id), "end": self.lease.end, "extended": 0, **cost}


@dataclass(frozen=True)
class KeepPlan(Plan["LeaseKept"]):
    """A lease to be kept. look: how it stands now."""

    client: PoolClient
    keeping: Keeping
    once: bool
    look: LeaseLook
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.look.lease.id)}

    async def steps(self) -> AsyncIterator[Step]:
        client, number, extended = self.client, self.look.lease.id, None
        pool = f"{client.deployment.chain_id}-{client.deployment.controller.lower()}"
        lock = client.home.locks / f"extend-{pool}-{number}"
        waiting = f"Waiting for who else keeps lease {format_lease(number)} here"
        while True:
            async with alone(lock, client.observer, waiting):
                try:
                    look = await _look(client, number, self.keeping)
                except RpcUnavailable as error:  # nothing was sent: in the loop there is another time
                    if self.once:
                        raise
                    yield LookFailed(error)
                    await asyncio.sleep(SHORTEST)
                    continue
                yield Looked(look)
                extended = None
                if look.next.seconds:
                    extended = await _extend(client, look.lease, look.next.seconds)
                    yield extended
            if self.once or not look.next.at:
                yield LeaseKept(look, extended)
                return
            await asyncio.sleep(max(SHORTEST, look.next.at - look.taken))


@dataclass(frozen=True)
class Looked(Step):
    """What it says is done next. Whoever does not want that asks for no more steps."""

    look: LeaseLook


@dataclass(frozen=True)
class LookFailed(Step):
    """No node answers; another look is taken later."""

    error: RpcUnavailable


@dataclass(frozen=True)
class LeaseKept(Step):
    """It needs no more, or was only to be looked at once. extended: what the last look led to."""

    look: LeaseLook
    extended: Extended | None

    def to_json(self, money: Money) -> dict[str, Json]:
        told = self.look.to_json(money)
        if self.extended is not None:
            told |= {"end": self.extended.lease.end, "extended": self.look.next.seconds}
            told |= self.extended.transaction()
        return told


async def _look(client: PoolClient, number: int, keeping: Keeping) -> LeaseLook:
    lease, now = await client.lease(number), await client.now()
    step = decide(lease, keeping, now)
    if step.seconds and (code := await _exit_code(client, lease)) is not None:
        step = Next(0, 0, f"Lease {format_lease(number)} has finished with {code}: it is kept no longer.")
    waits = bool(step.seconds) and await under_way(client)
    cost = extension_cost(lease, step.seconds) if step.seconds else 0
    if waits:
        step = Next(0, now + SHORTEST, step.why)
    return LeaseLook(lease, now, step, waits, cost)


async def _exit_code(client: PoolClient, lease: Lease) -> int | None:
    """With which its command has ended for good, if its agent says so in time: a silent one hinders nobody."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_ASKING_SECONDS):
            status, _ = await agents_word(client, lease)
            return status.exit_code if status is not None else None
    return None


async def under_way(client: PoolClient) -> bool:
    """Whether the wallet has sent something that is not mined: an earlier run may have been cut off."""
    if client.signer is None:
        return False
    asked = [("eth_getTransactionCount", (client.signer.address, tag)) for tag in ("latest", "pending")]
    mined, sent = await client.rpc.batch(asked)
    return int(sent, 16) > int(mined, 16)


async def _extend(client: PoolClient, lease: Lease, seconds: int) -> Extended:
    """Send it. What it says in the end is what the chain says."""
    renter = client.renter()
    renter.check_allowance(await renter.extension(lease, seconds))
    try:
        with client.observer.working("Waiting for the transaction"):
            receipt = await client.pool.extend(lease.id, seconds)
    except (CapExceeded, DelegationExpired) as error:
        raise KeptNoLonger(lease.id, error.in_money(client.money)) from error
    after = await client.lease(lease.id)
    return Extended(receipt, after, after.deposit - lease.deposit)
