"""`leasehold move` and `failover`: on another machine, by one's own wish or because the machine is down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from leasehold.chain import (
    ZERO_DIGEST,
    Lease,
    LeaseOpened,
    LeaseRequest,
    Receipt,
    WorkloadSet,
    cost,
    decode_log,
    format_lease,
    logs_since,
    parse_lease,
)
from leasehold.cli._doing import Done, carry_out, settle_allowance
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AllowUnverified, Approve, LeaseId, MachineId, MaxPrice, WithoutAgent
from leasehold.cli._outages import say_outages
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli._workload import CommandLine, WorkloadFlags, build_workload
from leasehold.cli.tenancy import warn_of_results
from leasehold.client import PoolClient, live_lease, outages_of, take_off, unfetched_results
from leasehold.errors import MachineNotDown
from leasehold.market import (
    DocumentUnavailable,
    InvalidInput,
    Listing,
    NoMachineMatches,
    Quote,
    Standby,
    Wish,
    capable,
    format_amount,
    format_duration,
    format_share,
    funds_after_closing,
    parse_amount,
    parse_duration,
    parse_share,
    shortfall,
    standby_of,
)
from leasehold.workload import Workload, seal


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(move)
    app.command()(failover)


@dataclass(frozen=True)
class Wanted:
    """What `move` was asked for; `None` keeps what the lease has."""

    machine: int
    workload: Workload
    share: int | None
    duration: int | None
    max_price: str | None
    allow_unverified: bool
    without_agent: bool


@shared(SENDS | PROPOSES)
async def move(
    call: Invocation,
    lease: LeaseId,
    machine: MachineId,
    *,
    command: CommandLine = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="By default the time that is left.")
    ] = None,
    share: Annotated[
        str | None, typer.Option("--share", metavar="SHARE", help="By default as much as the lease has.")
    ] = None,
    max_price: MaxPrice = None,
    allow_unverified: AllowUnverified = False,
    flags: WorkloadFlags,
    without_agent: WithoutAgent = False,
    approve: Approve = False,
) -> None:
    """Close a lease and open one on another machine instead, in one transaction: both happen, or neither.

    The new lease is paid out of what the old one gives back first. What runs there has to be named as for
    `leasehold rent`: workloads are sealed to one machine, and nothing is copied from the other.
    """
    number = parse_lease(lease)
    wanted = Wanted(
        machine,
        build_workload(call, flags, command),
        parse_share(share) if share else None,
        parse_duration(duration) if duration else None,
        max_price,
        allow_unverified,
        without_agent,
    )
    async with open_session(call, signs=True) as session:
        await _move(call, session, await live_lease(session, number), wanted, approve)


async def _move(call: Invocation, session: PoolClient, found: Lease, wanted: Wanted, approve: bool) -> None:
    money, renter, shown = session.money, session.renter(), format_lease(found.id)
    if wanted.machine == found.machine:
        raise InvalidInput(f"Lease {shown} is on machine {found.machine} already: see `leasehold resize`.")
    outages = await outages_of(session, found)
    say_outages(call, outages)
    offer, settle, listing = await _quote(call, session, outages.after, wanted)
    call.out.pairs(
        f"From machine {found.machine} to machine {listing.id}: {listing.model or 'unknown model'}",
        (
            ("share", f"{format_share(offer.share)}, for {format_duration(offer.duration)}"),
            (
                "price",
                f"{money.show(offer.price)} per GPU-hour: {money.show(offer.hourly, places=6)} per hour for this",
            ),
            ("escrow", money.show(offer.deposit)),
            (
                "paid from",
                f"{money.show(offer.from_ledger)} of the ledger and of what lease {shown} gives back, "
                f"at most {money.show(offer.pulled)} of the wallet",
            ),
        ),
    )
    record = await (await session.index()).lease(found.id)
    warn_of_results(call, found, await unfetched_results(session, found, record))
    if not call.dry_run:
        settle_allowance(call.out, renter, offer, approve=approve)

    async def send() -> Done:
        if listing.contact is None:
            raise DocumentUnavailable(f"Machine {listing.id} cannot be given a workload: {listing.missing}")
        sealed = seal(wanted.workload.for_tenant(session.account), listing.contact.age_recipient)
        delivery = await renter.deliver(listing, sealed, without_agent=wanted.without_agent)
        await take_off(session, outages.faults, found.id)
        await renter.approve(offer)
        request = LeaseRequest(
            machine=offer.machine,
            revision=offer.revision,
            share=offer.share,
            duration=offer.duration,
            max_price=offer.max_price,
            workload=delivery.digest,
            allow_unverified=offer.allow_unverified,
            settle=settle,
        )
        pool = session.pool
        receipt = await pool.multicall([pool.encode("close", found.id), pool.encode("open", request)])
        opened = format_lease(_opened(session, receipt))
        return Done(
            receipt,
            f"Lease {shown} is closed, and lease {opened} is open on machine {listing.id}.",
            {"lease": opened, "delivered_by": delivery.by},
        )

    document: dict[str, Json] = {
        "closed": shown,
        "machine": listing.id,
        "cells": offer.share,
        "duration": offer.duration,
        "price": format_amount(offer.price, money.decimals),
        "deposit": format_amount(offer.deposit, money.decimals),
        "from_wallet_at_most": format_amount(offer.pulled, money.decimals),
        "token": money.symbol,
    }
    await carry_out(call, f"Close lease {shown} and rent this instead?", document, send)


async def _quote(
    call: Invocation, session: PoolClient, found: Lease, wanted: Wanted
) -> tuple[Quote, tuple[int, ...], Listing]:
    """The quote on the other machine, paid first with what the lease gives back."""
    money, renter, now = session.money, session.renter(), await session.now()
    index = await session.index()
    record = await index.machine(wanted.machine)
    if record is None:
        raise NoMachineMatches(
            f"There is no machine {wanted.machine} in this pool: see `leasehold machines`."
        )
    with call.out.working("Fetching the machine's documents"):
        (listing,) = await session.machines().listings([record])
    here = await session.pool.machine_of(found.machine)
    account = await session.bill(found, now, down_since=here.down_since)
    wish = Wish(
        wanted.share or found.cells,
        wanted.duration or account.left,
        parse_amount(wanted.max_price, money.decimals) if wanted.max_price is not None else None,
        wanted.allow_unverified,
    )
    capable([listing], wanted.workload, wish.share)
    leases = [each.lease for each in await index.leases(machine=listing.id, live=True)]
    offer, settle = await renter.quote(listing, wish, leases)
    funds = funds_after_closing(
        found, now, await session.params(found.params), here.down_since, await renter.funds()
    )
    from_ledger = min(funds.ledger, offer.deposit)
    pulled = offer.deposit - from_ledger
    offer = replace(offer, from_ledger=from_ledger, pulled=pulled, approve=max(0, pulled - funds.allowance))
    if problem := shortfall(offer, funds, money):
        raise problem
    return offer, settle, listing


def _opened(session: PoolClient, receipt: Receipt) -> int:
    return next(event.lease for event in session.pool.events(receipt) if isinstance(event, LeaseOpened))


@shared(SENDS | PROPOSES)
async def failover(call: Invocation, lease: LeaseId) -> None:
    """While a lease's machine is down, open the standby that the lease named with `rent --backup`.

    The lease ends, billed to the begin of the outage, and its refund pays for the standby. Anyone may send it; while
    an earlier outage may still be taken off the bill, only the tenant.
    """
    number = parse_lease(lease)
    async with open_session(call, signs=True) as session:
        found = await live_lease(session, number)
        await _failover(call, session, found)


async def _failover(call: Invocation, session: PoolClient, found: Lease) -> None:
    money, shown = session.money, format_lease(found.id)
    if found.backup == ZERO_DIGEST:
        raise InvalidInput(
            f"Lease {shown} named no standby: move it with `leasehold move`, or close it with `leasehold close`, which "
            "pays up to the begin of the outage."
        )
    here = await session.pool.machine_of(found.machine)
    if not here.down:
        raise MachineNotDown(machine=here.id)
    outages = await outages_of(session, found)
    say_outages(call, outages)
    standby = await _standby(call, session, found)
    there = await session.pool.machine_of(standby.machine)
    terms, _ = await session.pool.terms_of(standby.machine, standby.revision)
    account = await session.bill(outages.after, await session.now(), down_since=here.down_since)
    price = terms.spot_price if found.spot else terms.price
    hourly = cost(price, found.cells, 3_600, up=True)
    call.out.pairs(
        f"From machine {here.id}, down since {utc(here.down_since)}, to machine {there.id}",
        (
            ("billed here", f"{money.show(account.used, places=6)}, up to the begin of the outage"),
            ("left for the standby", money.show(account.unused, places=6)),
            ("costs there", f"{money.show(hourly, places=6)} per hour, until {utc(found.end)} if that lasts"),
        ),
    )

    async def send() -> Done:
        await take_off(session, outages.faults, found.id)
        backup, receipt = await session.pool.failover(
            found.id, standby.machine, standby.revision, standby.placement, standby.workload
        )
        opened = await session.lease(backup)
        return Done(
            receipt,
            f"Lease {shown} is over, and lease {format_lease(backup)} is open on machine {standby.machine} for "
            f"{format_duration(opened.end - opened.start)}.",
            {"lease": format_lease(backup), "deposit": format_amount(opened.deposit, money.decimals)},
        )

    document: dict[str, Json] = {
        "ended": shown,
        "machine": standby.machine,
        "used": format_amount(account.used, money.decimals),
        "left": format_amount(account.unused, money.decimals),
        "token": money.symbol,
    }
    await carry_out(call, f"Open the standby of lease {shown}?", document, send)


async def _standby(call: Invocation, session: PoolClient, found: Lease) -> Standby:
    """What the lease's digest means. Raises InvalidInput."""
    index = await session.index()
    machines = [record.machine for record in await index.machines() if record.machine.id != found.machine]
    with call.out.working("Looking for the standby"):
        standby = standby_of(found.backup, machines, await workloads_of(session, found.id))
    if standby is None:
        raise InvalidInput(
            f"The standby of lease {format_lease(found.id)} is none of the pool's machines with a workload that the "
            "lease had: move it with `leasehold move` instead."
        )
    return standby


async def workloads_of(session: PoolClient, lease: int) -> Sequence[bytes]:
    """The digests of the workloads that the lease was opened with and given later."""
    topics = [None, f"0x{lease:064x}"]
    logs = await logs_since(
        session.rpc, session.deployment.block, address=session.pool.address, topics=topics
    )
    events = [decode_log(raw) for raw in logs]
    return [event.workload for event in events if isinstance(event, LeaseOpened | WorkloadSet)]
