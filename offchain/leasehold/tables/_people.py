"""Who rents, who is let in, and who asked what of a lease."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.market import format_time
from leasehold.market.wire import LOG_OPS, READ_OPS, LeaseAudit
from leasehold.tables._table import Table

if TYPE_CHECKING:
    from leasehold.agreements import AccessFile
    from leasehold.market import TenantRecord

TENANT_COLUMNS: Final = ("account", ">leases", ">ended", ">rejected", ">failed", ">paid", ">days")
ACCESS_COLUMNS: Final = ("lease", "direction", "whose", "key", "may", "until")
AUDIT_COLUMNS: Final = ("from", "until", "what", ">times", "outcome", "by")


def tenants_table(records: Iterable[TenantRecord], symbol: str) -> Table:
    """What the chain remembers of tenants. symbol: of the pool's token."""
    rows = [
        (
            record.account,
            str(record.leases),
            str(record.ended),
            str(record.rejected),
            str(record.failed),
            f"{record.paid:f} {symbol}",
            str(record.days),
        )
        for record in records
    ]
    return Table(TENANT_COLUMNS, rows)


def access_table(directed: Iterable[tuple[str, AccessFile]]) -> Table:
    """Leases that are shared, each with its direction: `given` or `received`."""
    rows = [
        (
            shared_leases(access),
            direction,
            access.account,
            access.key,
            access_word(access),
            format_time(access.expires_at),
        )
        for direction, access in directed
    ]
    return Table(ACCESS_COLUMNS, rows)


def shared_leases(access: AccessFile) -> str:
    """The leases that it lets its holder see."""
    return ", ".join(format_lease(int(lease)) for lease in access.leases)


def access_word(access: AccessFile) -> str:
    """What it lets its holder do, in a word where there is one."""
    words = {LOG_OPS: "see its log", READ_OPS: "see how it is"}
    return words.get(access.operations, ", ".join(access.operations))


def audit_table(audit: LeaseAudit) -> Table:
    """Who asked what of a lease, by which key, and whether it was let in."""
    rows = [
        (
            format_time(act.first),
            format_time(act.last) if act.last != act.first else "",
            act.op.removeprefix("lease."),
            str(act.times),
            act.outcome,
            act.session or act.account,
        )
        for act in audit.acts
    ]
    return Table(AUDIT_COLUMNS, rows)


def beside_audit(audit: LeaseAudit) -> list[str]:
    """What the entries do not say, as sentences."""
    sentences = [
        f"Turned away {tries.times} times, last at {format_time(tries.last)}, with nothing to show for it: "
        f"{tries.reason}."
        for tries in audit.refused
    ]
    if audit.dropped:
        sentences.append(f"{audit.dropped} older entries made room.")
    if audit.lost:
        sentences.append(f"The host's disk did not take {audit.lost} entries since its agent began.")
    return sentences
