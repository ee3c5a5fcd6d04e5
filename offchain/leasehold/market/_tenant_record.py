"""What the chain remembers of a tenant: a pure function of the index's records; and how providers search it.

A new account costs nothing, and so has no bad record; a good one is had by renting from a friend, which costs the
pool's fee. So a rule of what a tenant must have paid keeps out more than one of what he must not have done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from leasehold.chain import LeaseRecord, LeaseState
from leasehold.market._errors import InvalidInput
from leasehold.market._money import Money
from leasehold.market._units import Json, to_tokens
from leasehold.market.query import FieldKind, Query, Schema, SearchField, parse

OWN_FAULT: Final = frozenset(
    (
        "workload-missing",
        "workload-invalid",
        "image-unknown",
        "dataset-missing",
        "code-missing",
        "not-ready",
        "start-failed",
        "unsupported",
    )
)
"""Reasons for which an agent declines that lie with what it was given to run."""
_DAY: Final = 86_400


@dataclass(frozen=True)
class TenantRecord:
    """How an account has done as a tenant, on machines that are not its own.

    leases: how many began. ended: of these, how many are over. rejected: which it sent back before the start or in the
    trial. failed: declined, since what they should run could not. paid: whole tokens that these have brought providers
    and the pool so far. days: since the first was opened, whole ones.
    """

    account: str
    leases: int
    ended: int
    rejected: int
    failed: int
    paid: Decimal
    days: int

    def to_json(self) -> dict[str, Json]:
        """For a program; amounts as text."""
        return {
            "account": self.account,
            "leases": self.leases,
            "ended": self.ended,
            "rejected": self.rejected,
            "failed": self.failed,
            "paid": str(self.paid),
            "days": self.days,
        }


def tenant_record(
    account: str, records: Iterable[LeaseRecord], own: Collection[int], now: int, money: Money
) -> TenantRecord:
    """An account's, from the leases that it is the tenant of. own: ids of its machines. now: unix seconds."""
    others = [record for record in records if record.lease.machine not in own]
    states = [record.lease.state for record in others]
    first = min((record.opened_at for record in others), default=now)
    return TenantRecord(
        account=account,
        leases=sum(state in (LeaseState.ACTIVE, LeaseState.ENDED) for state in states),
        ended=states.count(LeaseState.ENDED),
        rejected=states.count(LeaseState.REJECTED),
        failed=sum(
            record.lease.state is LeaseState.CANCELLED and record.reason in OWN_FAULT for record in others
        ),
        paid=to_tokens(sum(record.paid + record.fee for record in others), money.decimals),
        days=max(0, now - first) // _DAY,
    )


TENANTS: Schema[TenantRecord] = Schema.of(
    (
        SearchField("account", FieldKind.TEXT, lambda t: t.account, "the tenant's address"),
        SearchField("leases", FieldKind.NUMBER, lambda t: t.leases, "how many of its leases began"),
        SearchField("ended", FieldKind.NUMBER, lambda t: t.ended, "how many of these are over"),
        SearchField(
            "rejected",
            FieldKind.NUMBER,
            lambda t: t.rejected,
            "how many it sent back before the start or in the trial",
        ),
        SearchField(
            "failed",
            FieldKind.NUMBER,
            lambda t: t.failed,
            "how many were declined, since what they should run could not",
        ),
        SearchField(
            "paid",
            FieldKind.NUMBER,
            lambda t: t.paid,
            "whole tokens that they have brought providers and pool",
        ),
        SearchField("days", FieldKind.NUMBER, lambda t: t.days, "days since the first was opened"),
    ),
    text=("account",),
)


def parse_tenants(text: str) -> Query[TenantRecord]:
    """A search over tenants, such as ``ended>=3 rejected<5 paid>=10``. Raises QueryError."""
    return parse(text, TENANTS)


def sort_tenants(records: Iterable[TenantRecord], by: str = "-paid") -> Sequence[TenantRecord]:
    """In order of a field, ``-`` before it for the largest first; ties by account. Raises InvalidInput: no such."""
    name = by.removeprefix("-")
    if name not in TENANTS.fields:
        known = ", ".join(sorted(TENANTS.fields))
        raise InvalidInput(f"Tenants cannot be sorted by '{name}'", f"use one of {known}.")
    by_account = sorted(records, key=lambda record: record.account.lower())
    return sorted(by_account, key=lambda record: getattr(record, name), reverse=by.startswith("-"))
