"""`leasehold move` and `failover`: on another machine, by one's own wish or because the machine is down."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold import format_lease, parse_lease
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AllowUnverified, Approve, LeaseId, MachineId, MaxPrice, WithoutAgent
from leasehold.cli._outages import say_outages
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli._workload import CommandLine, WorkloadFlags, build_workload
from leasehold.cli.tenancy import warn_of_results
from leasehold.client import Failover, Move
from leasehold.market import format_amount, format_duration, format_share, parse_duration, parse_share


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(move)
    app.command()(failover)


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
    request = Move(
        parse_lease(lease),
        machine,
        build_workload(call, flags, command),
        parse_share(share) if share else None,
        parse_duration(duration) if duration else None,
        max_price,
        allow_unverified,
        without_agent,
    )
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        quote, listing = plan.quote, plan.listing
        say_outages(call, plan.outages)
        call.out.pairs(
            f"From machine {plan.lease.machine} to machine {listing.id}: {listing.model or 'unknown model'}",
            (
                ("share", f"{format_share(quote.share)}, for {format_duration(quote.duration)}"),
                (
                    "price",
                    f"{money.show(quote.price)} per GPU-hour: {money.show(quote.hourly, places=6)} per hour for this",
                ),
                ("escrow", money.show(quote.deposit)),
                (
                    "paid from",
                    f"{money.show(quote.from_ledger)} of the ledger and of what lease {shown} gives back, "
                    f"at most {money.show(quote.pulled)} of the wallet",
                ),
            ),
        )
        warn_of_results(call, plan.lease, plan.unfetched)
        document: dict[str, Json] = {
            "closed": shown,
            "machine": listing.id,
            "cells": quote.share,
            "duration": quote.duration,
            "price": format_amount(quote.price, money.decimals),
            "deposit": format_amount(quote.deposit, money.decimals),
            "from_wallet_at_most": format_amount(quote.pulled, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Close lease {shown} and rent this instead?",
            document=document,
            answer=lambda moved: {
                **document,
                "lease": format_lease(moved.lease),
                "delivered_by": moved.delivery.by,
            },
            said=lambda moved: (
                f"Lease {shown} is closed, and lease {format_lease(moved.lease)} is open on machine {listing.id}."
            ),
            approve=approve,
        )


@shared(SENDS | PROPOSES)
async def failover(call: Invocation, lease: LeaseId) -> None:
    """While a lease's machine is down, open the standby that the lease named with `rent --backup`.

    The lease ends, billed to the begin of the outage, and its refund pays for the standby. Anyone may send it; while
    an earlier outage may still be taken off the bill, only the tenant.
    """
    request = Failover(parse_lease(lease))
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        used, unused = plan.bill.used, plan.bill.unused
        say_outages(call, plan.outages)
        call.out.pairs(
            f"From machine {plan.here.id}, down since {utc(plan.here.down_since)}, to machine {plan.standby.machine}",
            (
                ("billed here", f"{money.show(used, places=6)}, up to the begin of the outage"),
                ("left for the standby", money.show(unused, places=6)),
                (
                    "costs there",
                    f"{money.show(plan.hourly, places=6)} per hour, until {utc(plan.lease.end)} if that lasts",
                ),
            ),
        )
        document: dict[str, Json] = {
            "ended": shown,
            "machine": plan.standby.machine,
            "used": format_amount(used, money.decimals),
            "left": format_amount(unused, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Open the standby of lease {shown}?",
            document=document,
            answer=lambda done: {
                **document,
                "lease": format_lease(done.lease.id),
                "deposit": format_amount(done.lease.deposit, money.decimals),
            },
            said=lambda done: (
                f"Lease {shown} is over, and lease {format_lease(done.lease.id)} is open on machine "
                f"{plan.standby.machine} for {format_duration(done.lease.end - done.lease.start)}."
            ),
        )
