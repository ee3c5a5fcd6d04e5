"""`leasehold leases` and `show`: what you rent, and how it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from leasehold import LeaseState, format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, WALLET, Invocation, shared
from leasehold.cli._hints import said, why_declined
from leasehold.cli._options import AnyLease, option
from leasehold.client import LeaseBill, LeaseView, choose_lease, exit_codes, leases_of, view_lease
from leasehold.market import (
    Json,
    Money,
    format_amount,
    format_duration,
    format_share,
    format_time,
    lease_json,
    per_hour,
)

_COLUMNS = (
    "lease", ">machine", "model", "image", "state", ">share", "started", ">left", ">used", ">unused", ">per hour",
)  # fmt: skip


@shared(ANSWERS | WALLET | OF_GROUP)
async def leases(
    call: Invocation,
    everything: Annotated[bool, option("--all", "Those that are over, too.")] = False,
    history: Annotated[bool, option("--history", "Those that are over, and what became of them.")] = False,
) -> None:
    """List your leases, with what they have cost so far."""
    async with open_session(call) as client:
        rented, money = await leases_of(client, everything=everything or history), client.money
        if history:
            _show_history(call, [known for known in rented if not known.lease.state.live], money)
            return
        ended = await exit_codes(client, rented)
        call.out.listing(
            [_told(known, money) | {"exit_code": ended.get(known.lease.id)} for known in rented],
            _COLUMNS,
            [_row(known, money, ended.get(known.lease.id)) for known in rented],
            empty="You have no running lease: rent with `leasehold rent`, or see old ones with --all.",
        )


def _told(known: LeaseBill, money: Money) -> dict[str, Json]:
    started = known.lease.start if known.lease.state is not LeaseState.OPENED else None
    return {
        **lease_json(known.lease, known.bill, money),
        "name": known.name,
        "labels": dict(known.labels),
        "model": known.model,
        "image": known.image,
        "started_at": started,
    }


def _show_history(call: Invocation, over: Sequence[LeaseBill], money: Money) -> None:
    """What is over: what it was, how it ended, what it cost."""
    records = [(known, known.record) for known in over if known.record is not None]
    call.out.listing(
        [
            _told(known, money)
            | {
                "reason": record.reason or None,
                "paid": money.exact(record.paid + record.fee),
                "refunded": money.exact(record.refunded),
                "result": record.result_cid,
            }
            for known, record in records
        ],
        ("lease", ">machine", "model", "image", ">share", "opened", "became", ">paid", ">back"),
        [
            (
                _called(known),
                str(known.lease.machine),
                known.model or "?",
                _image(known.image),
                format_share(known.lease.cells),
                format_time(record.opened_at),
                f"declined ({record.reason})" if record.reason else known.lease.state.word,
                format_amount(record.paid + record.fee, money.decimals, places=6),
                format_amount(record.refunded, money.decimals, places=6),
            )
            for known, record in records
        ],
        empty="No lease of yours is over yet.",
    )


def _called(known: LeaseBill) -> str:
    return f"{format_lease(known.lease.id)} {known.name or ''}".rstrip()


def _image(image: str | None) -> str:
    """An image as it is told from others at a glance: its name, or the begin of its digest."""
    if image is None:
        return ""
    name, _, digest = image.partition("@")
    return image[:19] if name.startswith("sha256:") else name.rsplit("/", 1)[-1] if digest else image[-24:]


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
    started = format_time(lease.start) if lease.state is not LeaseState.OPENED else ""
    what = (_called(known), str(lease.machine), known.model or "?", _image(known.image), state)
    return *what, format_share(lease.cells), started, left, *amounts


@shared(ANSWERS | WALLET | OF_GROUP)
async def show(call: Invocation, lease: AnyLease) -> None:
    """Show a lease: its state on chain, its bill, and what its machine's agent says."""
    async with open_session(call) as client:
        view, money = await view_lease(client, await choose_lease(client, lease)), client.money
        call.out.sheet(view.to_json(money), f"Lease {format_lease(view.lease.id)}", list(_rows(view, money)))


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
    yield "price", f"{money.show(lease.price)} {per_hour(view.sells_gpus)}"
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
    if status.volumes:
        kept = "kept as long as its files" if status.kept is not None else "attached"
        yield "volumes", f"{', '.join(status.volumes)}: {kept}"
    if status.kept is not None:
        until, paid = format_time(status.kept.until), format_time(status.kept.paid_until)
        yield "files are kept", f"until {until}, or {paid} where others want its room"
        left = format_duration(status.kept.read_seconds)
        yield "to be read", f"log; files, for {left} more" if status.kept.read_seconds else "log"
    if status.renews is not None:
        yield "renews", f"{status.renews}, with its data"
