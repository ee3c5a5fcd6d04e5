"""What `leasehold rent` says: the quote, what becomes of it, and what Ctrl-C leaves."""

from __future__ import annotations

from collections.abc import Sequence

from leasehold import format_lease
from leasehold.cli._invocation import Invocation
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import HandedOver, LeasesOpened, PoolClient, Rented, RentPlan, Step
from leasehold.market import Money, Opened, Quote, format_amount, format_duration, format_share


def show_plan(call: Invocation, plan: RentPlan) -> None:
    """The quotes, for people."""
    out, money = call.out, plan.client.money
    for opening, listing in zip(plan.openings, plan.listings, strict=True):
        unit = "CPU unit" if listing.sells_gpus is False else "GPU"
        title = f"Machine {listing.id}: {listing.model or 'unknown model'}"
        out.pairs(title, _rows(opening.quote, money, unit))
    if plan.backup is not None:
        price = plan.wish.price_on(plan.backup.machine)
        out.say(
            f"Standby: machine {plan.backup.id}, at {money.show(price)} per GPU-hour out of what is refunded."
        )
    if len(plan.openings) > 1:
        out.say(f"Together {money.show(plan.payment.amount)}, all {len(plan.openings)} or none.")


def say_step(call: Invocation, plan: RentPlan, step: Step) -> None:
    """What has happened, as it happens."""
    if isinstance(step, HandedOver):
        if step.unpinned:
            call.out.warn(
                "No IPFS node of yours has the workload, and the machine keeps it for an hour only: have the "
                "proposal executed in that time, or from this computer."
            )
        if step.delivery.by == "ipfs":
            call.out.warn(
                f"The workload waits on your IPFS node, since the agent did not take it: {step.delivery.why}"
            )
    elif isinstance(step, LeasesOpened):
        for opened in step.opened:
            call.out.say(f"Lease {format_lease(opened.lease)} is open (block {opened.receipt.block_number}).")
        if plan.request.wait:
            call.out.if_interrupted = _goes_on(step.opened, plan.client.money)


def rented_json(plan: RentPlan, rented: Rented) -> dict[str, Json]:
    """The answer for one lease, or for a gang with one entry each."""
    opening = rented.opening
    document: dict[str, Json] = {
        **plan_json(plan, plan.client.money),
        "delivered_by": opening.delivery.by,
        "sent_at": f"{opening.sent_at:.3f}",
        "mined_at": f"{opening.mined_at:.3f}",
    }
    facts: list[dict[str, Json]] = [{"state": "opened"} for _ in rented.numbers]
    if rented.leases:
        facts = [{"state": "active", "start": lease.start, "end": lease.end} for lease in rented.leases]
    leases: list[dict[str, Json]] = [
        {"lease": format_lease(number), "number": str(number), **known}
        for number, known in zip(rented.numbers, facts, strict=True)
    ]
    if len(leases) == 1:
        return {**leases[0], **document, **facts[0]}
    return {"leases": leases, **document}


def rented_said(client: PoolClient, rented: Rented) -> str | None:
    """What is said once they have started, and what to do with them."""
    lines = []
    for lease in rented.leases:
        shown = format_lease(lease.id)
        lines.append(f"Lease {shown} has started and is paid until {utc(lease.end)}.")
        if client.other is None:
            lines.append(f"Try: leasehold logs -f {shown}; leasehold ssh {shown}; leasehold close {shown}")
        else:  # the tenant alone reads logs
            close = f"leasehold close {shown} --for-account {client.other}"
            lines.append(f"Try: leasehold ssh {shown}; {close}")
    return "\n".join(lines) or None


def _goes_on(opened: Sequence[Opened], money: Money) -> str:
    """What Ctrl-C leaves while the leases are waited for: they are open, and cost money once they start."""
    first, shown = opened[0].quote, ", ".join(format_lease(each.lease) for each in opened)
    hourly = money.show(sum(each.quote.hourly for each in opened), places=6)
    held = money.show(sum(each.quote.hold_fee_per_hour for each in opened), places=6)
    they = f"leases {shown} are open and go on" if len(opened) > 1 else f"lease {shown} is open and goes on"
    return (
        f"Interrupted: {they}, for {hourly} per hour once started. See it with `leasehold show "
        f"{format_lease(opened[0].lease)}`; end it with `leasehold close`, which before the start costs {held} per "
        f"hour held, and nothing once {format_duration(first.start_window)} have passed without one."
    )


def _rows(offer: Quote, money: Money, unit: str) -> tuple[tuple[str, str], ...]:
    paid = f"{money.show(offer.from_ledger)} from the ledger, {money.show(offer.pulled)} from the wallet"
    spot = ", spot: the provider may end it with notice" if offer.spot else ""
    return (
        ("share", f"{format_share(offer.share)} {unit}, for {format_duration(offer.duration)}{spot}"),
        (
            "price",
            f"{money.show(offer.price)} per GPU-hour: {money.show(offer.hourly, places=6)} per hour for this",
        ),
        ("escrow", f"{money.show(offer.deposit)}: {paid}"),
        ("what comes back", ""),
        *((f"  {when}", what) for when, what in offer.refunds(money)),
    )


def plan_json(plan: RentPlan, money: Money) -> dict[str, Json]:
    """The quote; of a gang the first one's, with what all take together."""
    document = _quote_json(plan.openings[0].quote, money)
    if len(plan.openings) > 1:
        document["machines"] = [each.id for each in plan.listings]
        document["together"] = format_amount(plan.payment.amount, money.decimals)
    if plan.backup is not None:
        document["backup"] = plan.backup.id
    return document


def _quote_json(offer: Quote, money: Money) -> dict[str, Json]:
    return {
        "machine": offer.machine,
        "revision": offer.revision,
        "cells": offer.share,
        "duration": offer.duration,
        "token": money.symbol,
        "spot": offer.spot,
        "price": format_amount(offer.price, money.decimals),
        "hourly": format_amount(offer.hourly, money.decimals),
        "deposit": format_amount(offer.deposit, money.decimals),
        "from_ledger": format_amount(offer.from_ledger, money.decimals),
        "from_wallet": format_amount(offer.pulled, money.decimals),
        "approve": format_amount(offer.approve, money.decimals),
        "trial": offer.trial,
        "start_window": offer.start_window,
        "hold_fee_at_most": format_amount(offer.hold_fee_at_most, money.decimals),
    }
