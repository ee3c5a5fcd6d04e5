"""README's commands, typed word for word: a first rental by hand, and a first machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.walkthrough import Walkthrough
from devnet.world import World
from leasehold.chain import LeaseClosed, MachineRetired

from .test_reorg import another_chain


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    """The first machine of its pool, as in the world of `make demo-live alone=yes`."""
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as site:
        yield site


@pytest.mark.slow
def test_a_first_rental_and_a_first_machine(alone: Site, nursery: Nursery, tmp_path: Path) -> None:
    desk = Desk(tmp_path, nursery)
    you, host = alone.world.party("you-by-hand"), alone.world.host("yours-by-hand", tick_seconds=0.5)

    def rented() -> None:
        log = desk.folder / "build/agent.log"
        alone.until(lambda: log.is_file() and '"event": "serving"' in log.read_text())
        wish = (
            "--machine",
            "2",
            "--file",
            str(alone.workload()),
            "--for",
            "1h",
            "--allow-unverified",
            "--yes",
        )
        lease = str(alone.renter("rent", *wish)["lease"])
        alone.world.anvil.advance(600)
        alone.renter("close", lease, "--yes")

    moments = {"your agent serves and somebody has rented for a while": rented}
    with Walkthrough({"": desk.of_newcomer(you, host, alone.tiny)}, moments) as reader:
        assert reader.walk(ROOT / "README.md") > 20
    for folder in ("results", "cores"):
        assert int((desk.folder / "build" / folder / "outputs/cores.txt").read_text()) > 0
    assert len(alone.events(LeaseClosed)) == 3
    assert [retired.machine for retired in alone.events(MachineRetired)] == [2]
