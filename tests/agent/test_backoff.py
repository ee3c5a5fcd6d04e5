"""Pauses between attempts: they grow to a bound, and stay there however often something fails."""

from __future__ import annotations

from leasehold_agent._backoff import LONGEST_PAUSE, Backoff


def test_what_fails_for_days_is_tried_again_at_the_same_pace() -> None:
    """Twice as long each time is more than a float holds after a thousand ends of a tenant's command."""
    backoff = Backoff()
    for _ in range(3_000):
        backoff.failed(100.0)
    assert backoff.until == 100.0 + LONGEST_PAUSE
    assert backoff.failures == 3_000
