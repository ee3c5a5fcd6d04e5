"""Leases: those that run, those that are over, and one whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from leasehold.chain import LeaseState, format_lease
from leasehold.errors import LeaseholdError
from leasehold.market import (
    Money,
    declined,
    format_amount,
    format_duration,
    format_share,
    format_time,
    per_hour,
)
from leasehold.tables._table import Pairs, Table

if TYPE_CHECKING:
    from leasehold.client import LeaseBill, LeaseView

LEASE_COLUMNS: Final = (
    "lease", ">machine", "model", "image", "state", ">share", "started", ">left", ">used", ">unused", ">per hour",
)  # fmt: skip
PAST_LEASE_COLUMNS: Final = (
    "lease", ">machine", "model", "image", ">share", "opened", "became", ">paid", ">back",
)  # fmt: skip


def leases_table(
    bills: Iterable[LeaseBill], money: Money, exit_codes: Mapping[int, int] | None = None
) -> Table:
    """Leases with what they have cost so far. exit_codes: of those whose command has ended, by their numbers."""
    ended = exit_codes or {}
    return Table(LEASE_COLUMNS, [_row(bill, money, ended.get(bill.lease.id)) for bill in bills])


def past_leases_table(bills: Iterable[LeaseBill], money: Money) -> Table:
    """Leases that are over: how they ended and what they cost. What the index has no record of is left out."""
    return Table(PAST_LEASE_COLUMNS, [row for bill in bills for row in _past(bill, money)])


def lease_name(number: int, name: str | None) -> str:
    """`12 train`, or `12` where it is called nothing."""
    return f"{format_lease(number)} {name or ''}".rstrip()


def lease_rows(
    view: LeaseView,
    money: Money,
    *,
    said: Callable[[LeaseholdError], str] = str,
    why: Callable[[str], str] = declined,
) -> Pairs:
    """One lease: how it stands on the chain, its bill, what its machine's agent says. said: how this face tells why an
    agent is silent; why: what an agent meant when it declined.
    """
    return (*_standing(view, money), *_recorded(view, money, why), *_agents(view, said))


def _row(bill: LeaseBill, money: Money, exit_code: int | None) -> tuple[str, ...]:
    lease = bill.lease
    state = lease.state.word if bill.bill.left or not lease.state.live else "past its end"
    state += f" (finished with {exit_code})" if exit_code is not None else ""
    state += " (notice)" if lease.noticed else ""
    state += " (machine down)" if lease.state.live and bill.down_since else ""
    return (
        *_what(bill),
        state,
        format_share(lease.cells),
        format_time(lease.start) if lease.state is not LeaseState.OPENED else "",
        format_duration(bill.bill.left),
        *(_amount(units, money) for units in (bill.bill.used, bill.bill.unused, lease.hourly)),
    )


def _past(bill: LeaseBill, money: Money) -> Iterator[tuple[str, ...]]:
    record = bill.record
    if record is not None:
        yield (
            *_what(bill),
            format_share(bill.lease.cells),
            format_time(record.opened_at),
            f"declined ({record.reason})" if record.reason else bill.lease.state.word,
            _amount(record.paid + record.fee, money),
            _amount(record.refunded, money),
        )


def _what(bill: LeaseBill) -> tuple[str, str, str, str]:
    name = lease_name(bill.lease.id, bill.name)
    return name, str(bill.lease.machine), bill.model or "?", _image(bill.image)


def _image(image: str | None) -> str:
    """An image as it is told from others at a glance: its name, or the begin of its digest."""
    if image is None:
        return ""
    name, _, digest = image.partition("@")
    return image[:19] if name.startswith("sha256:") else name.rsplit("/", 1)[-1] if digest else image[-24:]


def _amount(units: int, money: Money) -> str:
    return format_amount(units, money.decimals, places=6)


def _standing(view: LeaseView, money: Money) -> Iterator[tuple[str, str]]:
    """What the chain says."""
    lease, bill, end = view.lease, view.bill, format_time(view.lease.end)
    if view.name:
        yield "name", view.name
    yield "machine", str(lease.machine)
    yield "share", format_share(lease.cells)
    if view.past_its_end:
        yield "state", "past its end"
    else:
        yield "state", lease.state.word + (", under notice" if lease.noticed else "")
    yield "started" if lease.state is not LeaseState.OPENED else "opened", format_time(lease.start)
    yield "ends", f"{end} ({format_duration(bill.left)} left)" if bill.left else end
    yield "price", f"{money.show(lease.price)} {per_hour(view.sells_gpus)}"
    taken = {
        LeaseState.CANCELLED: "all of it comes back",
        LeaseState.REJECTED: f"closing it now would keep {money.show(bill.used)}, the hold fee",
    }.get(bill.outcome, f"{money.show(bill.used)} used")
    yield "escrow", f"{money.show(lease.deposit)}: {taken}"
    if lease.state.live and view.machine.down:
        since = format_time(view.machine.down_since)
        yield "machine is down", f"since {since}, and nothing is billed since"


def _recorded(view: LeaseView, money: Money, why: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """What the index knows."""
    record = view.record
    if record is not None and record.reason:
        yield "declined", why(record.reason)
    if record is not None and not record.lease.state.live:
        paid, back = money.show(record.paid + record.fee), money.show(record.refunded)
        yield "settled", f"{paid} paid, {back} back"
    if record is not None and record.result_cid is not None:
        yield "results", record.result_cid


def _agents(view: LeaseView, said: Callable[[LeaseholdError], str]) -> Iterator[tuple[str, str]]:
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
