"""What the chain remembers of a tenant, and how tenants are found by it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from leasehold.chain import LeaseRecord, LeaseState
from leasehold.market import (
    InvalidInput,
    Money,
    QueryError,
    TenantRecord,
    parse_tenants,
    sort_tenants,
    tenant_record,
)

from .test_track import DAY, NOW, lease

MONEY = Money("TOK", 6)
TENANT = "0x00000000000000000000000000000000000000AA"


def of(*records: LeaseRecord, own: frozenset[int] = frozenset()) -> TenantRecord:
    return tenant_record(TENANT, records, own, NOW, MONEY)


def test_what_counts() -> None:
    record = of(
        replace(lease(1, LeaseState.ENDED), paid=1_500_000, fee=500_000, opened_at=NOW - 3 * DAY - 5),
        replace(lease(2, LeaseState.ACTIVE), paid=1_000_000),
        lease(3, LeaseState.OPENED),
        lease(4, LeaseState.REJECTED),
        lease(5, LeaseState.CANCELLED, reason="start-failed"),
        lease(6, LeaseState.CANCELLED, reason="no-disk"),  # the machine's fault
        lease(7, LeaseState.CANCELLED),  # nobody started it
    )
    assert record == TenantRecord(TENANT, 2, 1, 1, 1, Decimal(3), 99)


def test_who_never_rented_has_none() -> None:
    assert of() == TenantRecord(TENANT, 0, 0, 0, 0, Decimal(0), 0)


def test_what_one_rents_from_oneself_does_not_count() -> None:
    paid = replace(lease(1, LeaseState.ENDED), paid=10**9)
    assert of(paid).paid == 1000
    assert of(paid, own=frozenset({1})) == of()


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        ("", True),
        ("ended>=1", True),
        ("ended>=2", False),
        ("ended>=1 rejected<1", False),
        ("paid>=1.5", True),
        ("-rejected>3", True),
        ("account:00aa", True),
    ],
)
def test_a_rule(rule: str, met: bool) -> None:
    record = TenantRecord(TENANT, 2, 1, 1, 0, Decimal("1.5"), 4)
    assert parse_tenants(rule).matches(record) is met


def test_a_rule_that_cannot_be_read() -> None:
    with pytest.raises(QueryError, match="did you mean 'ended'"):
        parse_tenants("endd>=1")


def test_in_order() -> None:
    first, second = (
        TenantRecord("0xa", 1, 1, 0, 0, Decimal(1), 1),
        TenantRecord("0xb", 2, 1, 0, 0, Decimal(3), 1),
    )
    assert [each.account for each in sort_tenants([first, second])] == ["0xb", "0xa"]
    assert [each.account for each in sort_tenants([second, first], "ended")] == ["0xa", "0xb"]
    with pytest.raises(InvalidInput, match="use one of account, days"):
        sort_tenants([first], "charm")
