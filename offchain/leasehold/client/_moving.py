"""A lease on another machine: by one's own wish, or because its machine is down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.chain import (
    ZERO_DIGEST,
    Lease,
    LeaseOpened,
    LeaseRequest,
    Machine,
    WorkloadSet,
    cost,
    decode_log,
    format_lease,
    logs_since,
)
from leasehold.client._carried_volumes import carry_volumes, let_run, said_of
from leasehold.client._closing_order import order_closing, wants_closing
from leasehold.client._errors import AlreadyThere, NoStandby, NoSuchMachine, StandbyUnknown
from leasehold.client._images import PinnedWorkload
from leasehold.client._outages import Outages, outages_of, take_off
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._set_workload import Delivered, WorkloadChanged, note_workload
from leasehold.client._standbys import restoration
from leasehold.client._tenancy import Unfetched, agents_word, live_lease, unfetched_results
from leasehold.client._volume_keys import own_workload
from leasehold.errors import LeaseholdError, MachineNotDown
from leasehold.market import (
    Bill,
    Delivery,
    DocumentUnavailable,
    Json,
    Listing,
    Money,
    Payment,
    Quote,
    Standby,
    Wish,
    capable,
    format_duration,
    format_share,
    format_time,
    funds_after_closing,
    parse_amount,
    per_hour,
    shortfall,
    standby_of,
)
from leasehold.workload import Workload, seal

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


# ------------------------------------------------------------------------------------------------------------- move


@dataclass(frozen=True)
class Move(Request["Moved"]):
    """Close a lease and open one on another machine, in one transaction: both happen, or neither.

    The new lease is paid out of what the old one gives back first. Workloads are sealed to one machine, so what runs
    there is named anew. Of what is here the volumes are carried along that the workload names, and nothing else: the
    container is stopped, they are exported, and those there begin with that.

    share: cells; seconds: for how long; `None` keeps what the lease has, and what is left of it. max_price: most whole
    tokens per GPU-hour. allow_unverified, without_agent, close_when_done: as in `Rent`.
    """

    lease: int
    machine: int
    workload: Workload
    share: int | None = None
    seconds: int | None = None
    max_price: Decimal | str | None = None
    allow_unverified: bool = False
    without_agent: bool = False
    close_when_done: bool | None = None

    async def plan(self, client: PoolClient) -> MovePlan:
        lease = await live_lease(client, self.lease)
        if self.machine == lease.machine:
            raise AlreadyThere(lease.id, lease.machine)
        pinned = await client.pin(self.workload)
        wanted = replace(self, workload=pinned.workload)
        outages = await outages_of(client, lease)
        quote, settle, listing = await _quote(client, wanted, outages.after)
        record = await (await client.index()).lease(lease.id)
        status, _ = await agents_word(client, lease)
        unfetched = unfetched_results(client, lease, record, status)
        payment = Payment(quote.deposit, quote.pulled, quote.approve)
        cautions = (*pinned.cautions, *said_of(client, lease, wanted.workload))
        return MovePlan(
            client, wanted, lease, outages, quote, settle, listing, unfetched, pinned, payment, cautions
        )


@dataclass
class MovePlan(Plan["Moved"]):
    """A lease that ends here and goes on there. unfetched: which results nobody here has. pinned: what runs there."""

    client: PoolClient
    request: Move
    lease: Lease
    outages: Outages
    quote: Quote
    settle: tuple[int, ...]
    listing: Listing
    unfetched: Unfetched | None
    pinned: PinnedWorkload
    payment: Payment
    cautions: tuple[str, ...] = ()
    _delivery: Delivery | None = None
    _stopped: bool = False

    def to_json(self) -> dict[str, Json]:
        money, quote = self.client.money, self.quote
        return {
            "closed": format_lease(self.lease.id),
            "machine": self.listing.id,
            "cells": quote.share,
            "duration": quote.duration,
            "price": money.exact(quote.price),
            "deposit": money.exact(quote.deposit),
            "from_wallet_at_most": money.exact(quote.pulled),
            "token": money.symbol,
            **self.pinned.to_json(),
        }

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What is leased there, and what pays for it: rows for people."""
        money, quote = self.client.money, self.quote
        rate = per_hour(self.listing.sells_gpus)
        gives, hourly = f"lease {format_lease(self.lease.id)} gives back", money.show(quote.hourly)
        return (
            ("share", f"{format_share(quote.share)}, for {format_duration(quote.duration)}"),
            ("price", f"{money.show(quote.price)} {rate}: {hourly} per hour for this"),
            ("escrow", money.show(quote.deposit)),
            (
                "paid from",
                f"{money.show(quote.from_ledger)} of the ledger and of what {gives}, at most "
                f"{money.show(quote.pulled)} of the wallet",
            ),
            *self.pinned.rows(),
        )

    async def prepare(self) -> AsyncIterator[Step]:
        """Hand the workload over: before any money moves."""
        if self.listing.contact is None:
            raise DocumentUnavailable(
                f"Machine {self.listing.id} cannot be given a workload: {self.listing.missing}"
            )
        carried, self._stopped = await carry_volumes(self.client, self.lease, self.request.workload)
        async with self._or_on_it_goes():
            workload = await own_workload(self.client, carried)
            sealed = seal(workload, self.listing.contact.age_recipient)
            self._delivery = await self.client.renter().deliver(
                self.listing, sealed, without_agent=self.request.without_agent
            )
        note_workload(self.client, self._delivery.digest, workload)
        yield Delivered(self._delivery)

    @asynccontextmanager
    async def _or_on_it_goes(self) -> AsyncIterator[None]:
        """Where what is within fails, the container that was stopped for the move is started again."""
        try:
            yield
        except BaseException:
            if self._stopped:
                await let_run(self.client, self.lease)
            raise

    async def steps(self) -> AsyncIterator[Step]:
        assert self._delivery is not None
        request = LeaseRequest(
            machine=self.quote.machine,
            revision=self.quote.revision,
            share=self.quote.share,
            duration=self.quote.duration,
            max_price=self.quote.max_price,
            workload=self._delivery.digest,
            allow_unverified=self.quote.allow_unverified,
            settle=self.settle,
        )
        pool = self.client.pool
        async with self._or_on_it_goes():
            await take_off(self.client, self.outages.faults, self.lease.id)
            receipt = await pool.multicall(
                [pool.encode("close", self.lease.id), pool.encode("open", request)]
            )
        opened = next(event.lease for event in pool.events(receipt) if isinstance(event, LeaseOpened))
        if wants_closing(self.client, self.request.close_when_done, self.request.workload):
            yield await order_closing(self.client, await self.client.lease(opened), self._delivery.digest)
        yield Moved(receipt, opened, self._delivery)


@dataclass(frozen=True)
class Moved(Sent):
    """The old lease is closed, and `lease` is open on the other machine."""

    lease: int
    delivery: Delivery

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"lease": format_lease(self.lease), "delivered_by": self.delivery.by}


async def _quote(client: PoolClient, wanted: Move, lease: Lease) -> tuple[Quote, tuple[int, ...], Listing]:
    """The quote on the other machine, paid first with what the lease gives back."""
    renter, now, index = client.renter(), await client.now(), await client.index()
    record = await index.machine(wanted.machine)
    if record is None:
        raise NoSuchMachine(wanted.machine)
    with client.observer.working("Fetching the machine's documents"):
        (listing,) = await client.machines().listings([record])
    here = await client.pool.machine_of(lease.machine)
    bill = await client.bill(lease, now, down_since=here.down_since)
    wish = Wish(
        wanted.share or lease.cells,
        wanted.seconds or bill.left,
        None if wanted.max_price is None else parse_amount(str(wanted.max_price), client.money.decimals),
        wanted.allow_unverified,
    )
    capable([listing], wanted.workload, wish.share)
    leases = [known.lease for known in await index.leases(machine=listing.id, live=True)]
    offer, settle = await renter.quote(listing, wish, leases)
    rules = await client.params(lease.params)
    funds = funds_after_closing(lease, now, rules, here.down_since, await renter.funds())
    from_ledger = min(funds.ledger, offer.deposit)
    pulled = offer.deposit - from_ledger
    offer = replace(offer, from_ledger=from_ledger, pulled=pulled, approve=max(0, pulled - funds.allowance))
    if problem := shortfall(offer, funds, client.money):
        raise problem
    return offer, settle, listing


# --------------------------------------------------------------------------------------------------------- failover


@dataclass(frozen=True)
class Failover(Request["FailedOver"]):
    """While a lease's machine is down, open the standby that the lease named.

    The lease ends, billed to the begin of the outage, and its refund pays for the standby. Anyone may send it; while an
    earlier outage may still be taken off the bill, only the tenant.
    """

    lease: int

    async def plan(self, client: PoolClient) -> FailoverPlan:
        lease = await live_lease(client, self.lease)
        if lease.backup == ZERO_DIGEST:
            raise NoStandby(lease.id)
        here = await client.pool.machine_of(lease.machine)
        if not here.down:
            raise MachineNotDown(machine=here.id)
        outages = await outages_of(client, lease)
        standby = await _standby(client, lease)
        terms, _ = await client.pool.terms_of(standby.machine, standby.revision)
        bill = await client.bill(outages.after, await client.now(), down_since=here.down_since)
        hourly = cost(terms.spot_price if lease.spot else terms.price, lease.cells, 3_600, up=True)
        return FailoverPlan(client, lease, here, outages, standby, bill, hourly)


@dataclass(frozen=True)
class FailoverPlan(Plan["FailedOver"]):
    """A lease that ends where its machine is down. hourly: what the standby costs, token units."""

    client: PoolClient
    lease: Lease
    here: Machine
    outages: Outages
    standby: Standby
    bill: Bill
    hourly: int

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "ended": format_lease(self.lease.id),
            "machine": self.standby.machine,
            "used": money.exact(self.bill.used),
            "left": money.exact(self.bill.unused),
            "token": money.symbol,
        }

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What is billed here, and what the standby costs: rows for people."""
        money, end = self.client.money, format_time(self.lease.end)
        return (
            ("billed here", f"{money.show(self.bill.used)}, up to the begin of the outage"),
            ("left for the standby", money.show(self.bill.unused)),
            ("costs there", f"{money.show(self.hourly)} per hour, until {end} if that lasts"),
        )

    async def steps(self) -> AsyncIterator[Step]:
        await take_off(self.client, self.outages.faults, self.lease.id)
        there = self.standby
        backup, receipt = await self.client.pool.failover(
            self.lease.id, there.machine, there.revision, there.placement, there.workload
        )
        opened = await self.client.lease(backup)
        done = FailedOver(receipt, opened)
        if opened.tenant == self.client.account and self.client.group is None:
            try:
                async for step in self._gone_on(opened):
                    yield step
                    if isinstance(step, WorkloadChanged):
                        done = replace(done, restored=True)
            except LeaseholdError as error:  # it is over all the same, and may be given later
                done = replace(done, unrestored=error.problem)
        yield done

    async def _gone_on(self, opened: Lease) -> AsyncIterator[Step]:
        """As the lease before: with its last checkpoint that is kept here, and closed when done if that was so."""
        restoring = await restoration(self.client, opened.id)
        if restoring is not None:
            async for step in (await self.client.plan(restoring)).steps():
                yield step
        elif self.client.home.closing_orders(self.client.deployment).get(self.lease.id) is not None:
            yield await order_closing(self.client, opened, self.standby.workload)


@dataclass(frozen=True)
class FailedOver(Sent):
    """The lease is over, and its standby open. lease: the standby. restored: it begins with the last checkpoint of the
    lease that is kept here. unrestored: why it was not given that, though there is one.
    """

    lease: Lease
    restored: bool = False
    unrestored: str = ""

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "lease": format_lease(self.lease.id),
            "deposit": money.exact(self.lease.deposit),
            "restored": self.restored,
        }


async def _standby(client: PoolClient, lease: Lease) -> Standby:
    """What the lease's digest means. Raises StandbyUnknown."""
    index = await client.index()
    machines = [record.machine for record in await index.machines() if record.machine.id != lease.machine]
    with client.observer.working("Looking for the standby"):
        standby = standby_of(lease.backup, machines, await _workloads_of(client, lease.id))
    if standby is None:
        raise StandbyUnknown(lease.id)
    return standby


async def _workloads_of(client: PoolClient, lease: int) -> Sequence[bytes]:
    """The digests of the workloads that the lease was opened with and given later."""
    topics = [None, f"0x{lease:064x}"]
    logs = await logs_since(client.rpc, client.deployment.block, address=client.pool.address, topics=topics)
    events = [decode_log(raw) for raw in logs]
    return [event.workload for event in events if isinstance(event, LeaseOpened | WorkloadSet)]
