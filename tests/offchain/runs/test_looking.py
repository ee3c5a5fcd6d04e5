"""Whether a lease has work, by what its machine's agent has read of it."""

from __future__ import annotations

import pytest

from leasehold.market.wire import LeaseReading
from leasehold.runs._looking import worked_lately

SPAN, NOW = 600, 10_000


def readings(cores: float, *, since: int = 1_200, busy: float | None = None) -> list[LeaseReading]:
    """One a minute."""
    return [
        LeaseReading(at=at, cpu_seconds=cores * (at - NOW + since), card_busy=busy)
        for at in range(NOW - since, NOW + 1, 60)
    ]


def test_little_of_a_core_is_idle() -> None:
    assert not worked_lately(readings(0.01), NOW, SPAN)
    assert worked_lately(readings(0.5), NOW, SPAN)


@pytest.mark.parametrize(("busy", "works"), [(None, False), (1.0, False), (40.0, True)])
def test_a_card_that_computes_is_work(busy: float | None, works: bool) -> None:
    assert worked_lately(readings(0.0, busy=busy), NOW, SPAN) == works


def test_what_nobody_knows_is_not_idleness() -> None:
    assert worked_lately([], NOW, SPAN)
    assert worked_lately(readings(0.0, since=300), NOW, SPAN)  # not long enough there
    assert worked_lately(readings(0.0)[:-12], NOW, SPAN)  # nothing was read lately
    blind = [LeaseReading(at=reading.at) for reading in readings(0.0)]
    assert worked_lately(blind, NOW, SPAN)
    begun_anew = [*readings(0.01)[:-3], *readings(0.0)[-3:]]
    assert worked_lately(begun_anew, NOW, SPAN)
