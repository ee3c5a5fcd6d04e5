"""`leasehold rent`: from a wish to a running lease."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import Lease, MachineStatus, format_lease, parse_lease
from leasehold.cli._index import indexed
from leasehold.cli._invocation import Invocation
from leasehold.cli._keyring import dataset_keys
from leasehold.cli._options import Approve, DryRun, JsonFlag, PasswordFile, Wallet, Yes
from leasehold.cli._output import Json, Output
from leasehold.cli._session import Session
from leasehold.cli._shown import transaction, utc
from leasehold.cli._workload import (
    Batch,
    Cpu,
    Datasets,
    Disk,
    Egress,
    Env,
    Gvisor,
    Image,
    Memory,
    Outputs,
    Ports,
    Public,
    SshKey,
    WorkloadFile,
    WorkloadFlags,
    build_workload,
)
from leasehold.errors import AgentError
from leasehold.market import (
    DocumentUnavailable,
    Listing,
    Money,
    NoMachineMatches,
    Opened,
    Quote,
    Wish,
    choose,
    format_amount,
    format_duration,
    format_share,
    parse_amount,
    parse_duration,
    parse_search,
    parse_share,
    settleable,
)
from leasehold.workload import Workload, seal

STATUS_EVERY = 2.0  # seconds between questions to the agent while the lease starts


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(rent)


@dataclass(frozen=True)
class Rental:
    """What was asked for, read and checked."""

    workload: Workload
    share: int
    duration: int
    max_price: str | None
    search: str
    machine: int | None
    allow_unverified: bool
    reuse: int
    approve: bool
    wait: bool
    dry_run: bool


def rent(
    ctx: typer.Context,
    duration: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long: 90m, 2h, 1d.")],
    command: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...", help="After `--`.")] = None,
    search: Annotated[
        str,
        typer.Option(
            "--search", "-s", metavar="SEARCH", help="Which machines, as `leasehold machines` does."
        ),
    ] = "",
    machine: Annotated[
        int | None,
        typer.Option("--machine", "-m", metavar="MACHINE", min=1, help="This machine and no other."),
    ] = None,
    share: Annotated[
        str, typer.Option("--share", metavar="SHARE", help="1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones.")
    ] = "1",
    max_price: Annotated[
        str | None, typer.Option("--max-price", metavar="AMOUNT", help="Most whole tokens per GPU-hour.")
    ] = None,
    allow_unverified: Annotated[
        bool, typer.Option("--allow-unverified", help="Machines that nobody has measured, too.")
    ] = False,
    file: WorkloadFile = None,
    image: Image = None,
    env: Env = None,
    cpu: Cpu = None,
    memory: Memory = None,
    disk: Disk = None,
    ports: Ports = None,
    datasets: Datasets = None,
    outputs: Outputs = None,
    public: Public = False,
    ssh_keys: SshKey = None,
    batch: Batch = False,
    egress: Egress = None,
    gvisor: Gvisor = False,
    reuse: Annotated[
        str | None,
        typer.Option("--reuse", metavar="LEASE", help="An ended lease of yours, whose slot is cheaper."),
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until it has started.")] = False,
    approve: Approve = False,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Rent a machine, or part of one, and run a workload on it.

    Billing begins when the workload is ready, and goes by the second. The provider of a machine can read what
    runs on it.
    """
    call = Invocation.of(ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file)

    async def go() -> None:
        flags = WorkloadFlags(
            file, command or (), image, env or (), cpu, memory, disk, ports or (), datasets or (), outputs or (),
            public, ssh_keys or (), batch, egress, gvisor,
        )  # fmt: skip
        workload = build_workload(
            flags,
            recipient=call.age_keys.recipient(call.chosen().name),
            dataset_keys=dataset_keys(call.settings.home),
            ssh_folder=Path.home() / ".ssh",
        )
        rental = Rental(
            workload, parse_share(share), parse_duration(duration), max_price, search, machine, allow_unverified,
            parse_lease(reuse) if reuse else 0, approve, not no_wait, dry_run,
        )  # fmt: skip
        parse_search(search)
        async with call.session(signs=not dry_run) as session:
            await _rent(call.out, session, rental)

    call.run(go())


async def _rent(out: Output, session: Session, rental: Rental) -> None:
    renter, money = session.renter(), session.money
    wish = Wish(
        rental.share,
        rental.duration,
        parse_amount(rental.max_price, money.decimals) if rental.max_price is not None else None,
        rental.allow_unverified,
    )
    listing = await _choose(out, session, rental, wish)
    index = await indexed(session, out)
    leases = [each.lease for each in await index.leases(machine=listing.id, live=True)]
    offer, settle = await renter.quote(listing, wish, leases)
    await renter.check_funds(offer)
    unit = "CPU unit" if listing.sells_gpus is False else "GPU"
    out.pairs(f"Machine {listing.id}: {listing.model or 'unknown model'}", _rows(offer, money, unit))
    if rental.dry_run:
        out.answer({**_quote_json(offer, money), "dry_run": True})
        return
    approve = rental.approve
    if offer.approve and not approve:
        approve = out.ask(f"Let the pool take {money.show(offer.pulled)} from the wallet?")
    if not approve:
        renter.check_allowance(offer)
    out.confirm(f"Pay {money.show(offer.deposit)} into escrow and rent?")
    if listing.contact is None:
        raise DocumentUnavailable(f"Machine {listing.id} cannot be given a workload: {listing.missing}")
    with out.working("Handing over the workload"):
        sealed = seal(rental.workload.for_tenant(renter.account), listing.contact.age_recipient)
        delivery = await renter.deliver(listing, sealed)
    if delivery.why:
        out.warn(f"The workload waits on your IPFS node, since the agent did not take it: {delivery.why}")
    with out.working("Opening the lease"):
        await renter.approve(offer)
        sent_at = time.time()
        opened = await renter.open(offer, delivery.digest, settle=settle, reuse=rental.reuse)
        mined_at = time.time()
    shown = format_lease(opened.lease)
    answer: dict[str, Json] = {
        "lease": shown,
        "number": str(opened.lease),
        **_quote_json(offer, money),
        "delivered_by": delivery.by,
        "sent_at": f"{sent_at:.3f}",
        "mined_at": f"{mined_at:.3f}",
        **transaction(opened.receipt),
    }
    out.say(f"Lease {shown} is open (block {opened.receipt.block_number}).")
    if not rental.wait:
        out.answer({**answer, "state": "opened"})
        return
    lease = await _wait(out, session, opened, listing)
    out.answer({**answer, "state": "active", "start": lease.start, "end": lease.end})
    out.say(f"Lease {shown} has started and is paid until {utc(lease.end)}.")
    out.say(f"Try: leasehold logs -f {shown}; leasehold ssh {shown}; leasehold close {shown}")


async def _choose(out: Output, session: Session, rental: Rental, wish: Wish) -> Listing:
    index = await indexed(session, out)
    records = [each for each in await index.machines() if each.machine.status is not MachineStatus.RETIRED]
    if rental.machine is not None:
        records = [each for each in await index.machines() if each.machine.id == rental.machine]
        if not records:
            raise NoMachineMatches(
                f"There is no machine {rental.machine} in this pool: see `leasehold machines`."
            )
    with out.working("Looking at the machines"):
        listings = await session.machines().listings(records)
        query = parse_search(rental.search)
        found = [each for each in listings if query.matches(each)]
        if rental.machine is None:
            found = [each for each in found if each.contact is not None] or found
        now = await session.now()
        leases = [each.lease for each in await index.leases(live=True)]
        roomy = [replace(each, machine=settleable(each.machine, leases, wish, now)[0]) for each in found]
        return choose(roomy, wish, await session.pool.params_version(), now)


async def _wait(out: Output, session: Session, opened: Opened, listing: Listing) -> Lease:
    """Until it has started, saying what the agent is doing. The lease is safe if this is interrupted."""
    shown = format_lease(opened.lease)
    asked_at = 0.0
    with out.working(f"Waiting for machine {listing.id} to start lease {shown}") as update:

        async def report(lease: Lease) -> None:
            nonlocal asked_at
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


def _rows(offer: Quote, money: Money, unit: str) -> tuple[tuple[str, str], ...]:
    paid = f"{money.show(offer.from_ledger)} from the ledger, {money.show(offer.pulled)} from the wallet"
    return (
        ("share", f"{format_share(offer.share)} {unit}, for {format_duration(offer.duration)}"),
        (
            "price",
            f"{money.show(offer.price)} per GPU-hour: {money.show(offer.hourly, places=6)} per hour for this",
        ),
        ("escrow", f"{money.show(offer.deposit)}: {paid}"),
        ("what comes back", ""),
        *((f"  {when}", what) for when, what in offer.refunds(money)),
    )


def _quote_json(offer: Quote, money: Money) -> dict[str, Json]:
    return {
        "machine": offer.machine,
        "revision": offer.revision,
        "cells": offer.share,
        "duration": offer.duration,
        "token": money.symbol,
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
