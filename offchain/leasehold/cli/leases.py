"""`leasehold leases` and `show`: what you rent, and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold import LeaseState, format_lease, parse_lease
from leasehold.cli._hints import said, why_declined
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._shared import ANSWERS, OF_GROUP, WALLET, shared
from leasehold.cli._shown import lease_json, utc
from leasehold.client import PoolClient, leases_of, view_lease
from leasehold.errors import LeaseholdError
from leasehold.market import (
    Bill,
    Money,
    format_amount,
    format_duration,
    format_share,
)
from leasehold.market.wire import LeaseStatus

if TYPE_CHECKING:
    from leasehold.chain import Lease, LeaseRecord, Machine


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(leases)
    app.command()(show)


@shared(ANSWERS | WALLET | OF_GROUP)
async def leases(
    call: Invocation,
    everything: Annotated[bool, typer.Option("--all", help="Those that are over, too.")] = False,
) -> None:
    """List your leases, with what they have cost so far."""
    async with open_session(call) as session:
        rented, money = await leases_of(session, everything=everything), session.money
        call.out.answer([lease_json(each.lease, each.bill, money) for each in rented])
        call.out.table(
            ("lease", ">machine", "state", ">share", ">left", ">used", ">unused", ">per hour"),
            [
                (
                    format_lease(lease.id),
                    str(lease.machine),
                    (lease.state.word if bill.left or not lease.state.live else "past its end")
                    + (" (notice)" if lease.noticed else "")
                    + (" (machine down)" if lease.state.live and down_since else ""),
                    format_share(lease.cells),
                    format_duration(bill.left),
                    format_amount(bill.used, money.decimals, places=6),
                    format_amount(bill.unused, money.decimals, places=6),
                    format_amount(lease.hourly, money.decimals, places=6),
                )
                for lease, bill, down_since in ((each.lease, each.bill, each.down_since) for each in rented)
            ],
            empty="You have no running lease: rent with `leasehold rent`, or see old ones with --all.",
        )


@shared(ANSWERS | WALLET | OF_GROUP)
async def show(call: Invocation, lease: LeaseId) -> None:
    """Show a lease: its state on chain, its bill, and what its machine's agent says."""
    async with open_session(call) as session:
        view, money = await view_lease(session, parse_lease(lease)), session.money
        found, record, account, machine = view.lease, view.record, view.bill, view.machine
        result = record.result_cid if record else None
        call.out.answer(
            {
                **lease_json(found, account, money),
                "reason": record.reason or None if record else None,
                "paid": format_amount(record.paid, money.decimals) if record else None,
                "fee": format_amount(record.fee, money.decimals) if record else None,
                "refunded": format_amount(record.refunded, money.decimals) if record else None,
                "result": result,
                "down_since": machine.down_since or None,
                "agent": view.status.model_dump(mode="json") if view.status else None,
            }
        )
        if call.out.as_json:
            return
        rows = [
            ("machine", str(found.machine)),
            ("share", format_share(found.cells)),
            ("state", _state(found, account)),
            ("started" if found.state is not LeaseState.OPENED else "opened", utc(found.start)),
            (
                "ends",
                f"{utc(found.end)} ({format_duration(account.left)} left)"
                if account.left
                else utc(found.end),
            ),
            ("price", f"{money.show(found.price)} per GPU-hour"),
            ("escrow", f"{money.show(found.deposit)}: {_where(account, money)}"),
            *_outage_rows(found, machine),
            *_record_rows(record, session),
            *_status_rows(view.status, view.silence),
        ]
        call.out.pairs(f"Lease {format_lease(found.id)}", rows)


def _state(lease: Lease, account: Bill) -> str:
    """The state, for people. A lease past its end is active until somebody closes it, and costs nothing more."""
    if lease.state.live and not account.left:
        return f"past its end: `leasehold close {format_lease(lease.id)}` settles it"
    return lease.state.word + (", under notice" if lease.noticed else "")


def _where(account: Bill, money: Money) -> str:
    """Where the escrow stands, for people."""
    taken = money.show(account.used, places=6)
    if account.outcome is LeaseState.CANCELLED:
        return "all of it comes back"
    if account.outcome is LeaseState.REJECTED:
        return f"closing it now would keep {taken}, the hold fee"
    return f"{taken} used"


def _outage_rows(lease: Lease, machine: Machine) -> list[tuple[str, str]]:
    if not lease.state.live or not machine.down:
        return []
    shown = format_lease(lease.id)
    do = f"`leasehold failover {shown}`" if lease.has_standby else f"`leasehold move {shown} MACHINE`"
    return [
        (
            "machine is down",
            f"since {utc(machine.down_since)}, and nothing is billed since: wait, {do}, or close",
        )
    ]


def _record_rows(record: LeaseRecord | None, session: PoolClient) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if record is None:
        return rows
    if record.reason:
        rows.append(("declined", why_declined(record.reason)))
    if not record.lease.state.live:
        money = session.money
        rows.append(
            ("settled", f"{money.show(record.paid + record.fee)} paid, {money.show(record.refunded)} back")
        )
    if (cid := record.result_cid) is not None:
        rows.append(("results", cid))
    return rows


def _status_rows(status: LeaseStatus | None, silence: LeaseholdError | None) -> list[tuple[str, str]]:
    if status is None:
        return [("agent", said(silence))] if silence else []
    words = status.phase + (
        f": {status.progress or status.reason}" if status.progress or status.reason else ""
    )
    ports = ", ".join(f"{each.container}/{each.protocol} at host port {each.host}" for each in status.ports)
    rows = [("agent", words), *([("ports", ports)] if ports else [])]
    if status.kept is not None:
        until = f"until {utc(status.kept.until)}, or {utc(status.kept.paid_until)} where others want its room"
        rows.append(("files are kept", until))
    return rows
