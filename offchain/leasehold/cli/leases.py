"""`leasehold leases` and `show`: what you rent, and how it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from leasehold import LeaseState, format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, WALLET, Invocation, shared
from leasehold.cli._hints import said, why_declined
from leasehold.cli._options import LeaseId, option
from leasehold.client import LeaseBill, LeaseView, exit_codes, leases_of, view_lease
from leasehold.market import Money, format_amount, format_duration, format_share, format_time, lease_json


@shared(ANSWERS | WALLET | OF_GROUP)
async def leases(
    call: Invocation, everything: Annotated[bool, option("--all", "Those that are over, too.")] = False
) -> None:
    """List your leases, with what they have cost so far."""
    async with open_session(call) as client:
        rented, money = await leases_of(client, everything=everything), client.money
        ended = await exit_codes(client, rented)
        call.out.listing(
            [
                lease_json(known.lease, known.bill, money)
                | {"name": known.name, "exit_code": ended.get(known.lease.id)}
                for known in rented
            ],
            ("lease", ">machine", "state", ">share", ">left", ">used", ">unused", ">per hour"),
            [_row(known, money, ended.get(known.lease.id)) for known in rented],
            empty="You have no running lease: rent with `leasehold rent`, or see old ones with --all.",
        )


def _row(known: LeaseBill, money: Money, exit_code: int | None) -> tuple[str, ...]:
    lease, bill = known.lease, known.bill
    state = lease.state.word if bill.left or not lease.state.live else "past its end"
    state += f" (finished with {exit_code})" if exit_code is not None else ""
    state += " (notice)" if lease.noticed else ""
    state += " (machine down)" if lease.state.live and known.down_since else ""
    amounts = (
        format_amount(units, money.decimals, places=6) for units in (bill.used, bill.unused, lease.hourly)
    )
    left = format_duration(bill.left)
    called = f"{format_lease(lease.id)} {known.name or ''}".rstrip()
    return called, str(lease.machine), state, format_share(lease.cells), left, *amounts


@shared(ANSWERS | WALLET | OF_GROUP)
async def show(call: Invocation, lease: LeaseId) -> None:
    """Show a lease: its state on chain, its bill, and what its machine's agent says."""
    async with open_session(call) as client:
        view, money = await view_lease(client, lease), client.money
        call.out.sheet(view.to_json(money), f"Lease {format_lease(lease)}", list(_rows(view, money)))


def _rows(view: LeaseView, money: Money) -> Iterator[tuple[str, str]]:
    lease, bill, shown = view.lease, view.bill, format_lease(view.lease.id)
    state, end = lease.state.word + (", under notice" if lease.noticed else ""), format_time(lease.end)
    if lease.state.live and not bill.left:  # active until somebody closes it, and costs nothing more
        state = f"past its end: `leasehold close {shown}` settles it"
    if view.name:
        yield "name", view.name
    yield "machine", str(lease.machine)
    yield "share", format_share(lease.cells)
    yield "state", state
    yield "started" if lease.state is not LeaseState.OPENED else "opened", format_time(lease.start)
    yield "ends", f"{end} ({format_duration(bill.left)} left)" if bill.left else end
    yield "price", f"{money.show(lease.price)} per GPU-hour"
    taken = {
        LeaseState.CANCELLED: "all of it comes back",
        LeaseState.REJECTED: f"closing it now would keep {money.show(bill.used)}, the hold fee",
    }.get(bill.outcome, f"{money.show(bill.used)} used")
    yield "escrow", f"{money.show(lease.deposit)}: {taken}"
    if lease.state.live and view.machine.down:
        do = f"`leasehold failover {shown}`" if lease.has_standby else f"`leasehold move {shown} MACHINE`"
        since = format_time(view.machine.down_since)
        yield "machine is down", f"since {since}, and nothing is billed since: wait, {do}, or close"
    yield from _past_rows(view, money)
    yield from _agents_rows(view)


def _past_rows(view: LeaseView, money: Money) -> Iterator[tuple[str, str]]:
    """What the index knows."""
    record = view.record
    if record is not None and record.reason:
        yield "declined", why_declined(record.reason)
    if record is not None and not record.lease.state.live:
        paid, back = money.show(record.paid + record.fee), money.show(record.refunded)
        yield "settled", f"{paid} paid, {back} back"
    if record is not None and record.result_cid is not None:
        yield "results", record.result_cid


def _agents_rows(view: LeaseView) -> Iterator[tuple[str, str]]:
    """What the machine's agent says."""
    if (status := view.status) is None:
        if view.silence:
            yield "agent", said(view.silence)
        return
    more = status.progress or status.reason
    yield "agent", f"{status.phase}: {more}" if more else status.phase
    if status.exit_code is not None:
        yield "exit code", str(status.exit_code)
    if status.closes_when_done and view.lease.state.live:
        yield "when it is done", "its agent closes the lease"
    if status.ports:
        at = f"{status.host}:" if status.host else "host port "
        ports = (f"{port.container}/{port.protocol} at {at}{port.host}" for port in status.ports)
        yield "ports", ", ".join(ports)
    if status.kept is not None:
        until, paid = format_time(status.kept.until), format_time(status.kept.paid_until)
        yield "files are kept", f"until {until}, or {paid} where others want its room"
        left = format_duration(status.kept.read_seconds)
        yield "to be read", f"log; files, for {left} more" if status.kept.read_seconds else "log"
    if status.renews is not None:
        yield "renews", f"{status.renews}, with its data"
