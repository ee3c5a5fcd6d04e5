"""`leasehold extend`, `resize`, `reject`, `close`, `set-workload`, `rate`: what a tenant can do with a lease."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

import typer

from leasehold.chain import (
    ZERO_DIGEST,
    Lease,
    LeaseRecord,
    LeaseState,
    Machine,
    Receipt,
    cid_from_bytes,
    cid_of_digest,
    format_lease,
    parse_lease,
)
from leasehold.cli._doing import Done, carry_out, settle_allowance
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, LeaseId
from leasehold.cli._outages import outages_first
from leasehold.cli._output import Json
from leasehold.cli._shared import FOR_ACCOUNT, PROPOSES, SENDS, SIGNS, shared
from leasehold.cli._shown import STATES, transaction, utc
from leasehold.cli._workload import (
    Batch,
    CommandLine,
    Env,
    Image,
    Outputs,
    Ports,
    SshKey,
    WorkloadFile,
    WorkloadFlags,
    build_workload,
)
from leasehold.cli.leases import ask_agent
from leasehold.client import PoolClient, take_off
from leasehold.errors import StartWindowPassed, TrialOver
from leasehold.market import (
    Bill,
    Delivery,
    InvalidInput,
    Listing,
    Money,
    Payment,
    check_resizing,
    format_amount,
    format_duration,
    format_share,
    hold_fee,
    parse_duration,
    parse_share,
    resizing,
    trial_end,
)
from leasehold.workload import seal


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (extend, resize, reject, close):
        app.command()(command)
    app.command("set-workload")(set_workload)
    app.command()(rate)


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def extend(
    call: Invocation,
    lease: LeaseId,
    duration: Annotated[str, typer.Argument(metavar="DURATION", help="How much longer: 30m, 2h.")],
    approve: Approve = False,
) -> None:
    """Pay for more time on a lease."""
    number, seconds = parse_lease(lease), parse_duration(duration)
    async with open_session(call, signs=True) as session:
        found = live(await session.lease(number))
        money, renter = session.money, session.renter()
        more = await renter.extension(found, seconds)
        call.out.say(
            f"{format_duration(seconds)} more on lease {format_lease(number)} cost "
            f"{money.show(more.amount)}: "
            f"it would end {utc(found.end + seconds)}."
        )
        if call.dry_run:
            cost = format_amount(more.amount, money.decimals)
            call.out.answer({"cost": cost, "end": found.end + seconds, "dry_run": True})
            return
        if found.tenant != session.account:
            call.out.warn(
                f"Lease {format_lease(number)} is {found.tenant}'s, who may take a larger share before this arrives "
                "and close the lease for himself: keep no more in the ledger, nor approved, than you mean to give."
            )
        settle_allowance(call.out, renter, more, approve=approve)
        call.out.confirm(f"Pay {money.show(more.amount)} more into escrow?")
        with call.out.working("Waiting for the transaction"):
            await renter.approve(more)
            receipt = await session.pool.extend(number, seconds)
        after = await session.lease(number)
        call.out.answer(
            {
                "lease": format_lease(number),
                "cost": format_amount(after.deposit - found.deposit, money.decimals),
                "end": after.end,
                **transaction(receipt),
            }
        )
        call.out.say(f"Lease {format_lease(number)} is paid until {utc(after.end)}.")


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def resize(
    call: Invocation,
    lease: LeaseId,
    share: Annotated[
        str, typer.Argument(metavar="SHARE", help="1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones.")
    ],
    approve: Approve = False,
) -> None:
    """Take another share of the same machine from now on, at the same price and until the same end.

    The provider is paid for the time until now at once. A larger share takes more into escrow, a smaller one
    gives some back.
    """
    number, cells = parse_lease(lease), parse_share(share)
    async with open_session(call, signs=True) as session:
        found = live(await session.lease(number))
        if cells == found.cells:
            raise InvalidInput(f"Lease {format_lease(number)} has that share already: name another.")
        money, renter = session.money, session.renter()
        machine = await session.pool.machine_of(found.machine)
        terms, _ = await session.pool.terms_of(found.machine, found.revision)
        funds = await renter.funds()
        outages = await outages_first(call, session, found)
        change = resizing(outages.after, machine, terms.trial, cells, await session.now(), funds)
        check_resizing(change, funds, money)
        call.out.pairs(
            f"Lease {format_lease(number)}: {format_share(found.cells)} becomes {format_share(cells)}",
            (
                ("paid to the provider now", money.show(change.pays, places=6)),
                ("into escrow", money.show(change.charged, places=6)),
                ("back to your ledger", money.show(change.refunded, places=6)),
                ("costs from now on", f"{money.show(change.hourly, places=6)} per hour"),
                ("cost until now", f"{money.show(change.hourly_before, places=6)} per hour"),
                ("ends", utc(found.end)),
            ),
        )
        allowed = Payment(change.charged, change.pulled, change.approve)
        if not call.dry_run:
            settle_allowance(call.out, renter, allowed, approve=approve)

        async def send() -> Done:
            await take_off(session, outages.faults, number)
            await renter.approve(allowed)
            receipt = await session.pool.resize(number, cells)
            after = await session.lease(number)
            return Done(
                receipt,
                f"Lease {format_lease(number)} has {format_share(after.cells)} now: its container follows, "
                "which is made anew where its GPUs are others.",
                {"cells": after.cells, "deposit": format_amount(after.deposit, money.decimals)},
            )

        document: dict[str, Json] = {
            "lease": format_lease(number),
            "pays": format_amount(change.pays, money.decimals),
            "charged": format_amount(change.charged, money.decimals),
            "refunded": format_amount(change.refunded, money.decimals),
            "hourly": format_amount(change.hourly, money.decimals),
            "hourly_before": format_amount(change.hourly_before, money.decimals),
            "token": money.symbol,
        }
        await carry_out(call, "Change the share?", document, send)


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def reject(call: Invocation, lease: LeaseId) -> None:
    """Give a lease back inside its trial: everything comes back but the hold fee."""
    number = parse_lease(lease)
    async with open_session(call, signs=True) as session:
        found = live(await session.lease(number))
        money, now = session.money, await session.now()
        await rejectable(session, found, now)
        machine = await session.pool.machine_of(found.machine)
        fee = hold_fee(found, await session.params(found.params), now, down_since=machine.down_since)
        call.out.say(f"Rejecting costs {money.show(fee, places=6)} so far; the rest comes back.")
        if call.dry_run:
            answer: dict[str, Json] = {
                "lease": format_lease(number),
                "cost": format_amount(fee, money.decimals),
            }
            call.out.answer(
                {**answer, "back": format_amount(found.deposit - fee, money.decimals), "dry_run": True}
            )
            return
        call.out.confirm(f"Reject lease {format_lease(number)}?")
        with call.out.working("Waiting for the transaction"):
            receipt = await session.pool.reject(number)
        await settled(call, session, number, receipt)


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def close(call: Invocation, lease: LeaseId) -> None:
    """End a lease now: pay for the seconds used, get the rest back."""
    number = parse_lease(lease)
    async with open_session(call, signs=True) as session:
        found = live(await session.lease(number))
        index = await session.index()
        machine, money, now = await session.pool.machine_of(found.machine), session.money, await session.now()
        outages = await outages_first(call, session, found)
        account = await session.bill(outages.after, now, down_since=machine.down_since)
        call.out.say(closing(found, account, money))
        await mention_trial(call, session, outages.after, account, machine, now)
        await warn_of_results(call, session, found, await index.lease(number))
        if call.dry_run:
            used, unused = (format_amount(each, money.decimals) for each in (account.used, account.unused))
            ends = {"becomes": STATES[account.outcome], "token": money.symbol}
            call.out.answer(
                {"lease": format_lease(number), "used": used, "unused": unused, **ends, "dry_run": True}
            )
            return
        call.out.confirm(f"Close lease {format_lease(number)}?")
        with call.out.working("Waiting for the transaction"):
            await take_off(session, outages.faults, number)
            receipt = await session.pool.close(number)
        await settled(call, session, number, receipt)


@shared(SIGNS | PROPOSES | FOR_ACCOUNT)
async def set_workload(
    call: Invocation,
    lease: LeaseId,
    command: CommandLine = None,
    file: WorkloadFile = None,
    image: Image = None,
    env: Env = None,
    ports: Ports = None,
    outputs: Outputs = None,
    ssh_keys: SshKey = None,
    batch: Batch = False,
) -> None:
    """Run something else on a lease that you have. Its time and price stay."""
    number = parse_lease(lease)
    flags = WorkloadFlags(file, image, env, ports=ports, outputs=outputs, ssh_keys=ssh_keys, batch=batch)
    workload = build_workload(call, flags, command)
    async with open_session(call, signs=True) as session:
        live(await session.lease(number))
        await session.index()
        record, contact = await session.reach(number)
        listing = Listing(record.machine, session.money, contact=contact)
        call.out.confirm(f"Stop what runs on lease {format_lease(number)} and run this instead?")
        with call.out.working("Handing over the workload"):
            sealed = seal(workload.for_tenant(session.account), contact.age_recipient)
            delivery: Delivery = await session.renter().deliver(listing, sealed)
            receipt = await session.pool.set_workload(number, delivery.digest)
        call.out.answer({"lease": format_lease(number), "delivered_by": delivery.by, **transaction(receipt)})
        call.out.say(f"Lease {format_lease(number)} has a new workload.")


@shared(SENDS | PROPOSES)
async def rate(
    call: Invocation,
    lease: LeaseId,
    stars: Annotated[int, typer.Argument(metavar="STARS", min=1, max=5, help="1 to 5.")],
    comment: Annotated[
        str,
        typer.Option("--comment", metavar="TEXT", help="Pinned on your IPFS node; the chain has its digest."),
    ] = "",
) -> None:
    """Rate a lease of yours that has ended and was paid, once. It weighs as much as the fee that it paid."""
    number = parse_lease(lease)
    async with open_session(call, signs=True) as session:
        found = await session.lease(number)
        if found.state is not LeaseState.ENDED:
            shown = format_lease(number)
            raise InvalidInput(
                f"Lease {shown} is {STATES[found.state]}: only a lease that has ended can be rated."
            )
        said = comment.encode()
        digest = sha256(said).digest() if said else ZERO_DIGEST
        provider = (await session.pool.machine_of(found.machine)).provider
        call.out.say(f"{stars} of 5 stars for {provider}, for everybody to see and for good.")

        async def send() -> Done:
            if said:
                await session.ipfs.put_block(said)
            receipt = await (await session.pool.reputation()).rate(number, stars, digest)
            return Done(receipt, f"Lease {format_lease(number)} is rated.")

        document: dict[str, Json] = {
            "lease": format_lease(number),
            "stars": stars,
            "provider": provider,
            "comment": cid_of_digest(digest) if said else None,
        }
        await carry_out(call, "Publish this rating?", document, send)


def live(lease: Lease) -> Lease:
    """The lease, which has to hold cells. Raises InvalidInput."""
    if not lease.state.live:
        shown = format_lease(lease.id)
        raise InvalidInput(f"Lease {shown} is {STATES[lease.state]} already: see `leasehold show {shown}`.")
    return lease


def closing(lease: Lease, account: Bill, money: Money) -> str:
    """What closing the lease takes and gives back, for people."""
    shown, back = format_lease(lease.id), money.show(account.unused, places=6)
    taken = money.show(account.used, places=6)
    if account.outcome is LeaseState.CANCELLED:
        return f"Lease {shown} was not started in time: all of its {back} come back."
    if account.outcome is LeaseState.REJECTED:
        return (
            f"Lease {shown} has not started: closing it keeps a hold fee, {taken} so far; {back} come back."
        )
    return f"Lease {shown} has used {taken} so far; {back} come back."


async def mention_trial(
    call: Invocation, session: PoolClient, lease: Lease, account: Bill, machine: Machine, now: int
) -> None:
    """Says so where giving the lease back inside its trial costs less than closing it."""
    if lease.state is not LeaseState.ACTIVE:
        return
    terms, _ = await session.pool.terms_of(lease.machine, lease.revision)
    until, rules = trial_end(lease, terms.trial), await session.params(lease.params)
    fee = hold_fee(lease, rules, now, down_since=machine.down_since)
    if now < until and fee < account.used:
        call.out.warn(
            f"It is in its trial until {utc(until)}: `leasehold reject {format_lease(lease.id)}` ends it for "
            f"{session.money.show(fee, places=6)} instead."
        )


async def rejectable(session: PoolClient, lease: Lease, now: int) -> None:
    """Refuse what the pool would: a trial that is over, a start window that has passed.

    Raises:
        TrialOver, StartWindowPassed.
    """
    if lease.state is LeaseState.OPENED:
        deadline = lease.start + (await session.params(lease.params)).start_window
        if now > deadline:
            raise StartWindowPassed(lease=lease.id, deadline=deadline)
        return
    terms, _ = await session.pool.terms_of(lease.machine, lease.revision)
    until = trial_end(lease, terms.trial)
    if now >= until:
        raise TrialOver(lease=lease.id, deadline=until)


async def warn_of_results(
    call: Invocation, session: PoolClient, lease: Lease, record: LeaseRecord | None
) -> None:
    """Says so if results of a lease that is about to end are not fetched yet."""
    shown = format_lease(lease.id)
    if record is not None and record.result:
        if session.home.fetched_results(session.deployment).last(lease.id) != cid_from_bytes(record.result):
            call.out.warn(
                f"Its results were not fetched here yet: `leasehold results {shown} DIR` does that."
            )
        return
    status, _ = await ask_agent(call, session, lease)
    if status is not None and status.outputs:
        call.out.warn(
            "Nobody has its results yet: they are packed once it is closed, and the machine keeps its files for as "
            "long as the lease was billed, longer where it has the room. Fetch them with "
            f"`leasehold results {shown} DIR`."
        )


async def settled(call: Invocation, session: PoolClient, number: int, receipt: Receipt) -> None:
    """Answers with how a lease ended: what it paid and what came back."""
    index = await session.index(again=True)
    record = await index.lease(number)
    money = session.money
    answer: dict[str, Json] = {"lease": format_lease(number), **transaction(receipt)}
    if record is not None:
        for name, units in (("paid", record.paid), ("fee", record.fee), ("refunded", record.refunded)):
            answer[name] = format_amount(units, money.decimals)
        answer["taken"] = format_amount(record.paid + record.fee, money.decimals)
        answer["state"] = STATES[record.lease.state]
        answer["token"] = money.symbol
        call.out.say(
            f"Lease {format_lease(number)} is {STATES[record.lease.state]}: "
            f"{money.show(record.paid + record.fee)} "
            f"were paid and {money.show(record.refunded)} came back to your ledger."
        )
    call.out.answer(answer)
