"""Pauses between attempts at what fails for want of a part that will come back."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
_MOST_DOUBLINGS = 16
"""Past the longest pause. A tenant decides how often a command ends, and no float holds two to the thousandth."""


@dataclass
class Backoff:
    """How often something has failed in a row, and until when it waits. Seconds of a monotonic clock."""

    failures: int = 0
    until: float = 0.0

    def failed(self, now: float) -> None:
        """Wait, twice as long as the last time."""
        self.until = now + min(FIRST_PAUSE * 2 ** min(self.failures, _MOST_DOUBLINGS), LONGEST_PAUSE)
        self.failures += 1

    def reset(self) -> None:
        self.failures, self.until = 0, 0.0
