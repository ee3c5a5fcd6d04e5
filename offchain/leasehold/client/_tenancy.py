"""What a tenant can do with a lease: keep it longer, resize it, give it back, close it, rate it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from leasehold.chain import (
    ZERO_DIGEST,
    Lease,
    LeaseClosed,
    LeaseRecord,
    LeaseRejected,
    LeaseState,
    Machine,
    Receipt,
    cid_from_bytes,
    cid_of_digest,
    format_lease,
)
from leasehold.client._errors import NotLive
from leasehold.client._outages import Outages, outages_of, take_off
from leasehold.client._plan import OnePlan, Plan, Request, Sent, Step
from leasehold.client._sessions import asker
from leasehold.errors import AgentError, LeaseholdError, StartWindowPassed, TrialOver
from leasehold.market import (
    Bill,
    InvalidInput,
    Json,
    MarketError,
    Money,
    Payment,
    Resizing,
    check_resizing,
    format_duration,
    format_time,
    hold_fee,
    resizing,
    trial_end,
)
from leasehold.market.wire import LeaseStatus

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def live_lease(client: PoolClient, number: int) -> Lease:
    """A lease at the head of the chain, which has to hold cells. Raises UnknownLease, InvalidInput."""
    lease = await client.lease(number)
    if not lease.state.live:
        raise NotLive(lease.id, lease.state.word)
    return lease


async def agents_word(client: PoolClient, lease: Lease) -> tuple[LeaseStatus | None, LeaseholdError | None]:
    """What the agent says of the lease, or why it says nothing. Only its tenant is told anything, and whoever he has
    let see it.
    """
    if lease.tenant.lower() != asker(client, lease).lower():
        return None, None
    await client.index()
    try:
        with client.observer.working("Asking the machine's agent"):
            async with client.agent_of(lease.id) as agent:
                return await agent.status(lease.id), None
    except (AgentError, MarketError) as error:
        return None, error


# ----------------------------------------------------------------------------------------------------------- extend


@dataclass(frozen=True)
class Extend(Request["Extended"]):
    """Pay for `seconds` more of a lease. Anybody may, for anybody's."""

    lease: int
    seconds: int

    async def plan(self, client: PoolClient) -> ExtendPlan:
        lease = await live_lease(client, self.lease)
        payment = await client.renter().extension(lease, self.seconds)
        cautions = () if lease.tenant == client.account else (for_a_stranger(lease),)
        return ExtendPlan(client, self, lease, payment, cautions)


def for_a_stranger(lease: Lease) -> str:
    return (
        f"Lease {format_lease(lease.id)} is {lease.tenant}'s, who may take a larger share before this arrives and "
        "close the lease for himself: keep no more in the ledger, nor approved, than you mean to give."
    )


@dataclass(frozen=True)
class ExtendPlan(OnePlan["Extended"]):
    """A lease that would end later."""

    from_ledger = True
    client: PoolClient
    request: Extend
    lease: Lease
    payment: Payment
    cautions: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """When it would end, unix seconds."""
        return self.lease.end + self.request.seconds

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {"cost": money.exact(self.payment.amount), "end": self.end}

    def said(self) -> str:
        more, shown = format_duration(self.request.seconds), format_lease(self.lease.id)
        cost = self.client.money.show(self.payment.amount)
        return f"{more} more on lease {shown} cost {cost}: it would end {format_time(self.end)}."

    async def steps(self) -> AsyncIterator[Step]:
        yield await self.outcome(await self.client.pool.extend(self.lease.id, self.request.seconds))

    def call(self) -> bytes:
        return self.client.pool.encode("extend", self.lease.id, self.request.seconds)

    async def outcome(self, receipt: Receipt) -> Extended:
        after = await self.client.lease(self.lease.id)
        return Extended(receipt, after, after.deposit - self.lease.deposit)


@dataclass(frozen=True)
class Extended(Sent):
    """It ends later. cost: what went into escrow, token units."""

    lease: Lease
    cost: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"lease": format_lease(self.lease.id), "cost": money.exact(self.cost), "end": self.lease.end}


# ----------------------------------------------------------------------------------------------------------- resize


@dataclass(frozen=True)
class Resize(Request["Resized"]):
    """Take another share (cells) of the same machine from now on, at the same price and until the same end."""

    lease: int
    share: int

    async def plan(self, client: PoolClient) -> ResizePlan:
        lease = await live_lease(client, self.lease)
        if self.share == lease.cells:
            raise InvalidInput(f"Lease {format_lease(lease.id)} has that share already: name another.")
        machine = await client.pool.machine_of(lease.machine)
        terms, _ = await client.pool.terms_of(lease.machine, lease.revision)
        funds, outages = await client.renter().funds(), await outages_of(client, lease)
        change = resizing(outages.after, machine, terms.trial, self.share, await client.now(), funds)
        check_resizing(change, funds, client.money)
        payment = Payment(change.charged, change.pulled, change.approve)
        return ResizePlan(client, lease, outages, change, payment)


@dataclass(frozen=True)
class ResizePlan(Plan["Resized"]):
    """A lease with another share."""

    from_ledger = True
    client: PoolClient
    lease: Lease
    outages: Outages
    change: Resizing
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        money, change = self.client.money, self.change
        return {
            "lease": format_lease(self.lease.id),
            "pays": money.exact(change.pays),
            "charged": money.exact(change.charged),
            "refunded": money.exact(change.refunded),
            "hourly": money.exact(change.hourly),
            "hourly_before": money.exact(change.hourly_before),
            "token": money.symbol,
        }

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What is paid, and what it costs from now on: rows for people."""
        money, change = self.client.money, self.change
        return (
            ("paid to the provider now", money.show(change.pays)),
            ("into escrow", money.show(change.charged)),
            ("back to your ledger", money.show(change.refunded)),
            ("costs from now on", f"{money.show(change.hourly)} per hour"),
            ("cost until now", f"{money.show(change.hourly_before)} per hour"),
            ("ends", format_time(self.lease.end)),
        )

    async def steps(self) -> AsyncIterator[Step]:
        await take_off(self.client, self.outages.faults, self.lease.id)
        receipt = await self.client.pool.resize(self.lease.id, self.change.share)
        yield Resized(receipt, await self.client.lease(self.lease.id))


@dataclass(frozen=True)
class Resized(Sent):
    """It has another share; its container follows."""

    lease: Lease

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"cells": self.lease.cells, "deposit": money.exact(self.lease.deposit)}


# ------------------------------------------------------------------------------------------------- reject and close


@dataclass(frozen=True)
class Reject(Request["Ended"]):
    """Give a lease back inside its trial: everything comes back but the hold fee."""

    lease: int

    async def plan(self, client: PoolClient) -> RejectPlan:
        lease = await live_lease(client, self.lease)
        now = await client.now()
        await _check_rejectable(client, lease, now)
        machine = await client.pool.machine_of(lease.machine)
        fee = hold_fee(lease, await client.params(lease.params), now, down_since=machine.down_since)
        return RejectPlan(client, lease, fee)


@dataclass(frozen=True)
class RejectPlan(OnePlan["Ended"]):
    """A lease given back. fee: what it has cost so far, token units."""

    client: PoolClient
    lease: Lease
    fee: int

    def to_json(self) -> dict[str, Json]:
        money, back = self.client.money, self.lease.deposit - self.fee
        return {
            "lease": format_lease(self.lease.id),
            "cost": money.exact(self.fee),
            "back": money.exact(back),
        }

    def said(self) -> str:
        shown, fee = format_lease(self.lease.id), self.client.money.show(self.fee)
        return f"Rejecting lease {shown} costs {fee} so far; the rest comes back."

    async def steps(self) -> AsyncIterator[Step]:
        yield await self.outcome(await self.client.pool.reject(self.lease.id))

    def call(self) -> bytes:
        return self.client.pool.encode("reject", self.lease.id)

    async def outcome(self, receipt: Receipt) -> Ended:
        return await _ended(self.client, self.lease, receipt)


@dataclass(frozen=True)
class Close(Request["Ended"]):
    """End a lease now: pay for the seconds used, get the rest back."""

    lease: int

    async def plan(self, client: PoolClient) -> ClosePlan:
        lease, index = await live_lease(client, self.lease), await client.index()
        machine, now = await client.pool.machine_of(lease.machine), await client.now()
        outages = await outages_of(client, lease)
        bill = await client.bill(outages.after, now, down_since=machine.down_since)
        trial = await _cheaper_trial(client, outages.after, bill, machine, now)
        status, _ = await agents_word(client, lease)
        unfetched = unfetched_results(client, lease, await index.lease(lease.id), status)
        cautions = () if status is None or not status.volumes else (_volumes_said(lease, status.volumes),)
        return ClosePlan(client, lease, outages, bill, trial, unfetched, cautions)


def _volumes_said(lease: Lease, volumes: Sequence[str]) -> str:
    names = ", ".join(volumes)
    return (
        f"Its volumes ({names}) stay on machine {lease.machine} as long as what the lease leaves is kept there: "
        "another lease of yours there that names them keeps them longer, and an export takes them elsewhere."
    )


@dataclass(frozen=True)
class Trial:
    """A trial in which rejecting the lease costs `fee` instead of its bill. until: unix seconds."""

    until: int
    fee: int


@dataclass(frozen=True)
class ClosePlan(OnePlan["Ended"]):
    """A lease ended now. trial: where rejecting it instead is cheaper. unfetched: which results nobody here has."""

    client: PoolClient
    lease: Lease
    outages: Outages
    bill: Bill
    trial: Trial | None
    unfetched: Unfetched | None
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "lease": format_lease(self.lease.id),
            "used": money.exact(self.bill.used),
            "unused": money.exact(self.bill.unused),
            "becomes": self.bill.outcome.word,
            "token": money.symbol,
        }

    def said(self) -> str:
        """What closing it takes and gives back, for people."""
        money, shown = self.client.money, f"Lease {format_lease(self.lease.id)}"
        taken, back = money.show(self.bill.used), money.show(self.bill.unused)
        if self.bill.outcome is LeaseState.CANCELLED:
            return f"{shown} was not started in time: all of its {back} come back."
        if self.bill.outcome is LeaseState.REJECTED:
            return f"{shown} has not started: closing it keeps a hold fee, {taken} so far; {back} come back."
        return f"{shown} has used {taken} so far; {back} come back."

    async def steps(self) -> AsyncIterator[Step]:
        await self.before()
        yield await self.outcome(await self.client.pool.close(self.lease.id))

    async def before(self) -> None:
        await take_off(self.client, self.outages.faults, self.lease.id)

    def call(self) -> bytes:
        return self.client.pool.encode("close", self.lease.id)

    async def outcome(self, receipt: Receipt) -> Ended:
        return await _ended(self.client, self.lease, receipt)


@dataclass(frozen=True)
class Ended(Sent):
    """It is over. cost: token units that it cost its tenant in all, the pool's fee included. record: the same in parts,
    and what came back; `None` where the index has not seen it yet.
    """

    lease: Lease
    cost: int
    record: LeaseRecord | None

    def to_json(self, money: Money) -> dict[str, Json]:
        told: dict[str, Json] = {"lease": format_lease(self.lease.id)}
        if (record := self.record) is None:
            return told
        return {
            **told,
            "paid": money.exact(record.paid),
            "fee": money.exact(record.fee),
            "refunded": money.exact(record.refunded),
            "taken": money.exact(record.paid + record.fee),
            "state": record.lease.state.word,
            "token": money.symbol,
        }

    def said(self, money: Money) -> str | None:
        """What was paid and what came back, for people; `None` where the index does not know yet."""
        if (record := self.record) is None:
            return None
        return (
            f"Lease {format_lease(self.lease.id)} is {record.lease.state.word}: {money.show(record.paid + record.fee)} "
            f"were paid and {money.show(record.refunded)} came back to your ledger."
        )


async def _ended(client: PoolClient, lease: Lease, receipt: Receipt) -> Ended:
    told = (event for event in client.pool.events(receipt) if isinstance(event, LeaseClosed | LeaseRejected))
    cost = sum(event.paid + event.fee for event in told if event.lease == lease.id)  # nothing where cancelled
    index = await client.index(again=True)
    return Ended(receipt, lease, cost, await index.lease(lease.id))


@dataclass(frozen=True)
class Unfetched:
    """Results that were not fetched here. cid: where they are, or `None` while they are on the machine alone."""

    cid: str | None


def unfetched_results(
    client: PoolClient, lease: Lease, record: LeaseRecord | None, status: LeaseStatus | None
) -> Unfetched | None:
    """The results of a lease that is about to end which nobody has fetched here. status: its agent's word."""
    if record is not None and record.result:
        cid = cid_from_bytes(record.result)
        return (
            None if client.home.fetched_results(client.deployment).last(lease.id) == cid else Unfetched(cid)
        )
    return Unfetched(None) if status is not None and status.outputs else None


async def _cheaper_trial(
    client: PoolClient, lease: Lease, bill: Bill, machine: Machine, now: int
) -> Trial | None:
    if lease.state is not LeaseState.ACTIVE:
        return None
    terms, _ = await client.pool.terms_of(lease.machine, lease.revision)
    until, rules = trial_end(lease, terms.trial), await client.params(lease.params)
    fee = hold_fee(lease, rules, now, down_since=machine.down_since)
    return Trial(until, fee) if now < until and fee < bill.used else None


async def _check_rejectable(client: PoolClient, lease: Lease, now: int) -> None:
    """Refuse what the pool would: a trial that is over, a start window that has passed.

    Raises:
        TrialOver, StartWindowPassed.
    """
    if lease.state is LeaseState.OPENED:
        deadline = lease.start + (await client.params(lease.params)).start_window
        if now > deadline:
            raise StartWindowPassed(lease=lease.id, deadline=deadline)
        return
    terms, _ = await client.pool.terms_of(lease.machine, lease.revision)
    until = trial_end(lease, terms.trial)
    if now >= until:
        raise TrialOver(lease=lease.id, deadline=until)


# ------------------------------------------------------------------------------------------------------------- rate


@dataclass(frozen=True)
class Rate(Request["Rated"]):
    """Rate a lease that has ended and was paid, once. stars: 1 to 5. comment: pinned on one's own IPFS node."""

    lease: int
    stars: int
    comment: str = ""

    @property
    def digest(self) -> bytes:
        """What the chain has of the comment; zeros where there is none."""
        return sha256(self.comment.encode()).digest() if self.comment else ZERO_DIGEST

    @property
    def cid(self) -> str | None:
        """Where the comment is found on IPFS; `None` where there is none."""
        return cid_of_digest(self.digest) if self.comment else None

    async def plan(self, client: PoolClient) -> RatePlan:
        lease = await client.lease(self.lease)
        if lease.state is not LeaseState.ENDED:
            shown = format_lease(lease.id)
            raise InvalidInput(
                f"Lease {shown} is {lease.state.word}: only a lease that has ended can be rated."
            )
        return RatePlan(client, self, lease, (await client.pool.machine_of(lease.machine)).provider)


@dataclass(frozen=True)
class RatePlan(OnePlan["Rated"]):
    """A rating of `provider`, for everybody to see and for good."""

    client: PoolClient
    request: Rate
    lease: Lease
    provider: str

    def to_json(self) -> dict[str, Json]:
        return {
            "lease": format_lease(self.request.lease),
            "stars": self.request.stars,
            "provider": self.provider,
            "comment": self.request.cid,
        }

    def said(self) -> str:
        whom = f"{self.provider} (lease {format_lease(self.lease.id)})"
        return f"{self.request.stars} of 5 stars for {whom}, for everybody to see and for good."

    async def steps(self) -> AsyncIterator[Step]:
        await self.before()
        reputation = await self.client.pool.reputation()
        yield await self.outcome(
            await reputation.rate(self.request.lease, self.request.stars, self.request.digest)
        )

    async def before(self) -> None:
        if self.request.comment:
            await self.client.ipfs.put_block(self.request.comment.encode())

    def call(self) -> None:
        return None

    async def outcome(self, receipt: Receipt) -> Rated:
        return Rated(receipt, self.lease.id)


@dataclass(frozen=True)
class Rated(Sent):
    """The lease is rated."""

    lease: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"lease": format_lease(self.lease)}
