"""How long devnet and the tests wait for what surely comes.

A wait ends with what it waits for, so being generous costs nothing but where something is broken. What is long enough
on a quiet machine is written down, and waited for `FACTOR` times as long: a machine that does three things besides must
not fail a test.
"""

from __future__ import annotations

FACTOR = 8


def patient(seconds: int) -> int:
    """The limit of a wait that takes at most so many seconds on a quiet machine."""
    return FACTOR * seconds
