"""What is put aside for a lease, as who guards for others reckons with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import LeasePurse
from leasehold.client import PurseStanding
from leasehold.guarding import LeaseFund

from .sights import HOUR, NOW, lease

TENANT = "0xA"
PURSE = LeasePurse(
    tenant=TENANT, controller="0xC", lease=1 << 16, key="0xB", payee="0xD", fee=3, seconds=HOUR, most=100, count=2,
    deadline=NOW + 100 * HOUR,
)  # fmt: skip


def test_what_is_left_is_what_the_purse_holds_less_its_next_fee() -> None:
    fund = LeaseFund.of_purse(PURSE, PurseStanding(1, False, 50), lease())
    assert fund is not None
    assert (fund.left, fund.rule.by) == (47, HOUR)
    empty = LeaseFund.of_purse(PURSE, PurseStanding(0, False, 2), lease())
    assert empty is not None
    assert empty.left == 0


@pytest.mark.parametrize(
    ("standing", "tenant"),
    [
        (PurseStanding(2, False, 50), TENANT),  # every extension was made
        (PurseStanding(0, True, 50), TENANT),  # what was left has gone back
        (PurseStanding(0, False, 50), "0xE"),  # the lease is somebody else's
    ],
)
def test_a_purse_that_extends_no_more_is_none(standing: PurseStanding, tenant: str) -> None:
    """Whose lease it is is told of its end."""
    assert LeaseFund.of_purse(PURSE, standing, replace(lease(), tenant=tenant)) is None
