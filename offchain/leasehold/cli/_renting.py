"""What `leasehold rent` does: which machines, at what price, the workload handed over, the leases opened and started.

Several leases (a gang) share one sealed workload and open in one transaction, all or none.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leasehold.agreements import FileRefused
from leasehold.chain import ZERO_DIGEST, Lease, MachineStatus, backup_digest, format_lease
from leasehold.cli._doing import settle_allowance
from leasehold.cli._output import Json, Output
from leasehold.cli._shown import STATES, transaction, utc
from leasehold.client import PoolClient
from leasehold.errors import AgentError, ContractError, DatasetError, RevisionChanged
from leasehold.market import (
    Delivery,
    DocumentUnavailable,
    InvalidInput,
    Listing,
    MachineUnavailable,
    MarketError,
    Money,
    NoMachineMatches,
    Opened,
    Opening,
    Payment,
    Quote,
    SignedOffer,
    Wish,
    choose_gang,
    format_amount,
    format_duration,
    format_share,
    lacking,
    lists_image,
    parse_amount,
    parse_search,
    settleable,
    sort,
)
from leasehold.workload import Workload, seal

STATUS_EVERY = 2.0  # seconds between questions to the agent while the lease starts


@dataclass(frozen=True)
class Rental:
    """What was asked for, read and checked.

    workload: `None` runs again what the lease `again` ran. share: cells, duration: seconds; `None` where the offer or
    the earlier lease says it. gang: how many machines.
    """

    workload: Workload | None
    share: int | None
    duration: int | None
    max_price: str | None
    search: str
    machines: tuple[int, ...]
    gang: int
    spot: bool
    backup: int | None
    signed: SignedOffer | None
    again: int
    allow_unverified: bool
    reuse: int
    approve: bool
    wait: bool
    without_agent: bool
    dry_run: bool


@dataclass(frozen=True)
class Plan:
    """What will be opened, where, and what it takes together. digest: of a workload that is there already."""

    wish: Wish
    listings: tuple[Listing, ...]
    openings: tuple[Opening, ...]
    total: Payment
    backup: Listing | None
    digest: bytes | None


async def rent_machines(out: Output, session: PoolClient, rental: Rental) -> None:
    """From what was asked for to running leases."""
    renter, money = session.renter(), session.money
    plan = await _plan(out, session, rental)
    await renter.check_funds(plan.total)
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
        out.say(f"Together {money.show(plan.total.amount)}, all {len(plan.openings)} or none.")
    if rental.dry_run:
        out.answer({**_plan_json(plan, money), "dry_run": True})
        return
    settle_allowance(out, renter, plan.total, approve=rental.approve)
    out.confirm(f"Pay {money.show(plan.total.amount)} into escrow and rent?")
    delivery, openings = await _deliver(out, session, rental, plan)
    with out.working("Opening the lease"):
        await renter.approve(plan.total)
        sent_at = time.time()
        opened = await renter.open_all(openings, delivery.digest)
        mined_at = time.time()
    answer: dict[str, Json] = {
        **_plan_json(plan, money),
        "delivered_by": delivery.by,
        "sent_at": f"{sent_at:.3f}",
        "mined_at": f"{mined_at:.3f}",
        **transaction(opened[0].receipt),
    }
    for each in opened:
        out.say(f"Lease {format_lease(each.lease)} is open (block {each.receipt.block_number}).")
    if not rental.wait:
        out.answer(_answer(answer, plan, [(each.lease, {"state": "opened"}) for each in opened]))
        return
    started: list[tuple[int, dict[str, Json]]] = []
    out.if_interrupted = _goes_on(opened, money)
    for each, listing in zip(opened, plan.listings, strict=True):
        lease = await _wait(out, session, each, listing)
        started.append((each.lease, {"state": "active", "start": lease.start, "end": lease.end}))
    out.answer(_answer(answer, plan, started))
    for number, facts in started:
        shown = format_lease(number)
        out.say(f"Lease {shown} has started and is paid until {utc(int(str(facts['end'])))}.")
        if session.other is None:
            out.say(f"Try: leasehold logs -f {shown}; leasehold ssh {shown}; leasehold close {shown}")
        else:  # the tenant alone reads logs
            close = f"leasehold close {shown} --for-account {session.other}"
            out.say(f"Try: leasehold ssh {shown}; {close}")


# ------------------------------------------------------------------------------------------------------- planning


async def _plan(out: Output, session: PoolClient, rental: Rental) -> Plan:
    renter = session.renter()
    rental, digest = await _earlier(out, session, rental)
    rental = await _offered(session, rental)
    wish = _wish(rental, session.money)
    listings = await _choose(out, session, rental, wish)
    index = await session.index()
    openings = []
    for listing in listings:
        leases = [each.lease for each in await index.leases(machine=listing.id, live=True)]
        offer, settle = await renter.quote(listing, wish, leases)
        openings.append(Opening(offer, settle, rental.reuse or rental.again, signed=rental.signed))
    total = await renter.total([each.quote for each in openings])
    backup = None if rental.backup is None else await _standby(out, session, rental, wish, listings)
    return Plan(wish, listings, tuple(openings), total, backup, digest)


def _wish(rental: Rental, money: Money) -> Wish:
    if rental.duration is None:
        raise InvalidInput("How long? Say --for 2h.")
    return Wish(
        rental.share or 8,
        rental.duration,
        parse_amount(rental.max_price, money.decimals) if rental.max_price is not None else None,
        rental.allow_unverified,
        rental.spot,
        rental.signed.offer.price if rental.signed else None,
    )


async def _earlier(out: Output, session: PoolClient, rental: Rental) -> tuple[Rental, bytes | None]:
    """What `--again` takes over from the lease: machine, share, spot and, unless another is given, the workload."""
    if not rental.again:
        return rental, None
    record = await (await session.index()).lease(rental.again)
    found, shown = await session.lease(rental.again), format_lease(rental.again)
    if found.tenant != session.account or record is None:
        raise InvalidInput(f"Lease {shown} was {found.tenant}'s: only its tenant rents it again.")
    if found.state.live:
        raise InvalidInput(
            f"Lease {shown} is {STATES[found.state]}: `leasehold extend {shown} DURATION` keeps it longer."
        )
    if rental.machines not in ((), (found.machine,)):
        raise InvalidInput(f"Lease {shown} was on machine {found.machine}: leave --machine away, or --again.")
    if rental.workload is None and record.author != session.account:
        raise InvalidInput(
            f"What ran on lease {shown} was {record.author}'s: name a workload with --file or --image."
        )
    taken = replace(
        rental,
        machines=(found.machine,),
        share=rental.share or found.cells,
        spot=rental.spot or found.spot,
    )
    return taken, record.workload if rental.workload is None else None


async def _offered(session: PoolClient, rental: Rental) -> Rental:
    """What `--offer` says, checked against what is wished.

    Raises:
        FileRefused, InvalidInput: it cannot be used, or not so. RevisionChanged.
    """
    if rental.signed is None:
        return rental
    offer, money = rental.signed.offer, session.money
    if offer.expires_at < await session.now():
        raise FileRefused(f"The offer stood until {utc(offer.expires_at)}: ask for another.")
    if int(offer.tenant, 16) and offer.tenant != session.account:
        raise FileRefused(
            f"The offer is for {offer.tenant} alone: choose its wallet, or ask for one of your own."
        )
    if rental.machines not in ((), (offer.machine,)):
        raise InvalidInput(f"The offer is of machine {offer.machine}: leave --machine away.")
    machine = await session.pool.machine_of(offer.machine)
    if machine.revision != offer.revision:
        raise RevisionChanged(current=machine.revision)
    if await session.pool.offers_of(machine.provider, offer.nonce >> 8) >> (offer.nonce & 0xFF) & 1:
        raise FileRefused("The offer was used, or its provider has cancelled it: ask for another.")
    share, duration = rental.share or offer.cells, rental.duration or offer.duration
    if share > offer.cells or duration > offer.duration:
        raise InvalidInput(
            f"The offer is of {format_share(offer.cells)} GPU for {format_duration(offer.duration)} at most, at "
            f"{money.show(offer.price)} per GPU-hour: take that or less."
        )
    return replace(rental, machines=(offer.machine,), share=share, duration=duration, spot=offer.spot)


async def _choose(out: Output, session: PoolClient, rental: Rental, wish: Wish) -> tuple[Listing, ...]:
    index = await session.index()
    everything = await index.machines()
    records = [each for each in everything if each.machine.status is not MachineStatus.RETIRED]
    if rental.machines:
        by_id = {each.machine.id: each for each in everything}
        if unknown := [each for each in rental.machines if each not in by_id]:
            raise NoMachineMatches(
                f"There is no machine {unknown[0]} in this pool: see `leasehold machines`."
            )
        records = [by_id[each] for each in rental.machines]
    with out.working("Looking at the machines"):
        found = await session.machines().listings(records, parse_search(rental.search).matches)
        if not rental.machines:
            found = [each for each in found if each.contact is not None] or found
        now = await session.now()
        leases = [each.lease for each in await index.leases(live=True)]
        roomy = [replace(each, machine=settleable(each.machine, leases, wish, now)[0]) for each in found]
        version = await session.pool.params_version()
        able = capable(roomy, rental.workload, wish.share)
        has = [each for each in able if rental.workload is None or lists_image(each, rental.workload)]
        with contextlib.suppress(MarketError, ContractError):  # then one that may not have the image is taken
            return choose_gang(has, wish, version, now, rental.gang)
        chosen = choose_gang(able, wish, version, now, rental.gang)
    for each in chosen:
        out.warn(
            f"Machine {each.id} does not list that image: unless it was added since, it declines the lease, and all "
            "but the gas comes back."
        )
    return chosen


def capable(listings: Sequence[Listing], workload: Workload | None, share: int) -> list[Listing]:
    """Those that can give the workload what it asks for.

    Raises:
        MachineUnavailable: the machine cannot, or of several none can; says what is missing, of the cheapest.
    """
    if workload is None:
        return list(listings)
    missing = {each.id: lacking(each, workload, share) for each in listings}
    able = [each for each in listings if missing[each.id] is None]
    if able or not listings:
        return able
    cheapest = sort(listings)[0]
    many = f"None of the {len(listings)} machines that match can serve this. " if len(listings) > 1 else ""
    raise MachineUnavailable(
        f"{many}Machine {cheapest.id} cannot: {missing[cheapest.id]}. Ask for less, or choose another share or machine."
    )


async def _standby(
    out: Output, session: PoolClient, rental: Rental, wish: Wish, listings: Sequence[Listing]
) -> Listing:
    """The machine that takes the lease over when its own goes down. It has to sell such a lease now, too."""
    if rental.backup in [each.id for each in listings]:
        raise InvalidInput("A machine is no standby for itself: name another with --backup.")
    record = await (await session.index()).machine(rental.backup or 0)
    if record is None:
        raise NoMachineMatches(f"There is no machine {rental.backup} in this pool: see `leasehold machines`.")
    listing = replace((await session.machines().listings([record]))[0], machine=record.machine)
    capable([listing], rental.workload, wish.share)
    choose_gang(
        [listing], replace(wish, offered=None), await session.pool.params_version(), await session.now(), 1
    )
    return listing


# ------------------------------------------------------------------------------------------------------ handing over


async def _deliver(
    out: Output, session: PoolClient, rental: Rental, plan: Plan
) -> tuple[Delivery, tuple[Opening, ...]]:
    """The workload with every machine that may run it, and the openings that name the standby."""
    machines = [*plan.listings, *([plan.backup] if plan.backup else [])]
    sealed = session.home.sealed_workloads.get(plan.digest) if plan.digest else None
    if plan.digest is not None and sealed is None:
        out.warn(
            "That workload is not on this computer: the machine has to have it still, or find it on IPFS."
        )
        return Delivery(plan.digest, "ipfs"), plan.openings
    if sealed is None:
        assert rental.workload is not None
        sealed = seal(rental.workload.for_tenant(session.account), *map(_recipient, machines))
    with out.working("Handing over the workload"):
        delivery = await hand_over(
            out, session, machines, sealed, needed=() if rental.without_agent else plan.listings
        )
    backup = ZERO_DIGEST
    if plan.backup is not None:
        backup = backup_digest(plan.backup.id, plan.backup.machine.revision, 0, delivery.digest)
    return delivery, tuple(replace(each, backup=backup) for each in plan.openings)


async def hand_over(
    out: Output,
    session: PoolClient,
    machines: Sequence[Listing],
    sealed: bytes,
    *,
    needed: Sequence[Listing] = (),
) -> Delivery:
    """Give each machine the sealed workload, and keep a copy. What a group rents may open days later: IPFS, too.

    needed: machines whose agents have to answer, since they are to start at once what is paid for.

    Raises:
        AgentUnreachable: one of these does not. DocumentUnavailable: one machine can have it neither from us nor from
        IPFS.
    """
    session.home.sealed_workloads.keep(sealed)
    at_once = {each.id for each in needed} if session.group is None else set[int]()
    deliveries = [
        await session.renter().deliver(each, sealed, without_agent=each.id not in at_once)
        for each in machines
    ]
    pinned = [each for each in deliveries if each.by == "ipfs"]
    if session.group is not None and not pinned:
        try:
            await session.ipfs.put_block(sealed)
        except DatasetError:
            out.warn(
                "No IPFS node of yours has the workload, and the machine keeps it for an hour only: have the "
                "proposal executed in that time, or from this computer."
            )
    for each in pinned[:1]:
        out.warn(f"The workload waits on your IPFS node, since the agent did not take it: {each.why}")
    return pinned[0] if pinned else deliveries[0]


def _recipient(listing: Listing) -> str:
    if listing.contact is None:
        raise DocumentUnavailable(f"Machine {listing.id} cannot be given a workload: {listing.missing}")
    return listing.contact.age_recipient


async def _wait(out: Output, session: PoolClient, opened: Opened, listing: Listing) -> Lease:
    """Until it has started, saying what the agent is doing. The lease is safe if this is interrupted."""
    shown = format_lease(opened.lease)
    asked_at = 0.0
    with out.working(f"Waiting for machine {listing.id} to start lease {shown}") as update:

        async def report(lease: Lease) -> None:
            nonlocal asked_at
            if session.other is not None:
                return  # the agent tells the tenant alone
            if listing.contact is None or time.monotonic() - asked_at < STATUS_EVERY:
                return
            asked_at = time.monotonic()
            try:
                async with asyncio.timeout(STATUS_EVERY):
                    async with session.agent(listing.id, listing.machine.operator, listing.contact) as client:
                        status = await client.status(lease.id)
            except (AgentError, TimeoutError):
                return  # the chain says when it has started, whether the agent answers or not
            update(f"Lease {shown} is {status.phase}" + (f": {status.progress}" if status.progress else ""))

        return await session.renter().started(opened, report)


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


# ------------------------------------------------------------------------------------------------------------ shown


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


def _plan_json(plan: Plan, money: Money) -> dict[str, Json]:
    """The quote; of a gang the first one's, with what all take together."""
    found = _quote_json(plan.openings[0].quote, money)
    if len(plan.openings) > 1:
        found["machines"] = [each.id for each in plan.listings]
        found["together"] = format_amount(plan.total.amount, money.decimals)
    if plan.backup is not None:
        found["backup"] = plan.backup.id
    return found


def _answer(
    document: dict[str, Json], plan: Plan, leases: Sequence[tuple[int, dict[str, Json]]]
) -> dict[str, Json]:
    """The answer for one lease, or for a gang with one entry each."""
    each = [{"lease": format_lease(number), "number": str(number), **facts} for number, facts in leases]
    if len(plan.openings) == 1:
        return {**each[0], **document, **leases[0][1]}
    return {"leases": each, **document}


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
