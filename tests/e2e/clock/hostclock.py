"""The clock of one process, which a test steps while it runs: `clock.c` beneath it. The machine's own stays as it is.

    with Nursery(environment()) as nursery:  # whose children have clocks of their own
        clock = HostClock(file)
        host = World(…, nursery=nursery).host("host")  # given clock.variables beside its own
        clock.step(-60)

The kernel's times are not stepped: those of files, and how long something takes.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from tests.shared_library import built

VARIABLE = "LEASEHOLD_CLOCK"


@functools.cache
def library() -> Path:
    return built(Path(__file__).with_name("clock.c"), "libleasehold-clock.so")


def environment() -> dict[str, str]:
    """What a process must begin with, so that it has such a clock."""
    return {"LD_PRELOAD": str(library())}


class HostClock:
    """By how much the clock is wrong stands in `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.step(0)

    @property
    def variables(self) -> dict[str, str]:
        """What tells a process which clock is its own."""
        return {VARIABLE: str(self._file)}

    def step(self, seconds: int) -> None:
        """It is ahead by so many seconds from now on, or behind."""
        made = self._file.with_name(f"{self._file.name}.new")
        made.write_text(f"{seconds}\n")
        os.replace(made, self._file)
