"""A price is said to be for what is sold: a GPU, or a unit of a CPU."""

from __future__ import annotations

import pytest

from leasehold.market import per_hour


@pytest.mark.parametrize(
    ("sells_gpus", "says"),
    [
        (True, "per GPU-hour"),
        (False, "an hour for a CPU unit"),
        (None, "an hour for a GPU (or CPU unit)"),
    ],
)
def test_what_a_price_is_for(sells_gpus: bool | None, says: str) -> None:
    assert per_hour(sells_gpus) == says
