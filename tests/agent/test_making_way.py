"""A tenant's grace after his lease is over does not keep the next one from the card."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leasehold.chain import LeaseState
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling import Host, LeaseBook, Names
from leasehold_agent.reconciling._making_way import LEAST_GRACE, end_who_is_over, has_cells_of
from leasehold_agent.store import Notes

OVER, NEXT = 1 << 16, 2 << 16


def lease(placement: int, machine: int = 1, number: int = NEXT) -> Desired:
    return Desired(number, machine, "0xt", LeaseState.OPENED, placement, b"w" * 32, 0, 3_600, 60, "0xt")


@pytest.mark.parametrize(
    ("before", "now", "machine", "has"),
    [
        (0x010F, 0x0101, 1, True),
        (0x01FF, 0x03FF, 1, True),
        (0x010F, 0x01F0, 1, False),
        (0x01FF, 0x02FF, 1, False),
        (0x010F, 0x0101, 2, False),
        (0, 0x0101, 1, False),
    ],
)
def test_whose_cells_they_are_now(before: int, now: int, machine: int, has: bool) -> None:
    assert has_cells_of(Notes(machine=1, placement=before), lease(now, machine)) is has


class Engine:
    def __init__(self) -> None:
        self.killed: list[str] = []

    async def kill(self, name: str) -> None:
        self.killed.append(name)


class Bench:
    """A host on which a lease is over and another one waits for its card."""

    def __init__(self, folder: Path) -> None:
        self.engine, self.leases, self.time = Engine(), LeaseBook(folder, ""), 100.0
        self.names = Names(31_337, "0xab", "0xcd")
        containers = SimpleNamespace(engine=self.engine, names=self.names)
        self.host = cast(
            Host, SimpleNamespace(leases=self.leases, containers=containers, clock=lambda: self.time)
        )
        self.leases.folder(OVER).save(Notes(machine=1, placement=0x01FF))

    async def asked(self, placement: int = 0x01FF, number: int = NEXT) -> list[str]:
        self.engine.killed.clear()
        await end_who_is_over(self.host, lease(placement, number=number))
        return self.engine.killed


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    return Bench(tmp_path)


async def test_once_it_has_had_its_time(bench: Bench) -> None:
    record = bench.leases.record(OVER)
    record.stopping = bench.time
    bench.time += LEAST_GRACE - 1
    assert await bench.asked() == []
    bench.time += 1
    assert await bench.asked() == [bench.names.container(OVER)]
    assert await bench.asked(0x02FF) == []


async def test_one_that_is_not_over_keeps_what_it_has(bench: Bench) -> None:
    """As one that its tenant stops for a while, or restarts: nobody else can have its cells."""
    bench.leases.record(OVER)
    bench.time += 1_000
    assert await bench.asked() == []


async def test_nobody_ends_himself(bench: Bench) -> None:
    bench.leases.record(OVER).stopping = 0.0
    assert await bench.asked(number=OVER) == []
