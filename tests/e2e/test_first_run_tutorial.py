"""The tutorial of a first run, typed word for word; what it shows is what happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.walkthrough import Walkthrough
from devnet.world import World
from leasehold.chain import LeaseClosed

from .test_reorg import another_chain

pytestmark = pytest.mark.slow


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    """The only machine of its pool, as in the world of `make demo-live alone=yes`."""
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as site:
        yield site


def test_a_first_run(alone: Site, nursery: Nursery, tmp_path: Path) -> None:
    desk = Desk(tmp_path, nursery)
    you, host = alone.world.party("you-in-five-minutes"), alone.world.host("no-host-of-yours-either")
    with Walkthrough({"": desk.of_newcomer(you, host, alone.tiny)}) as reader:
        reader.walk(ROOT / "docs/tutorials/first-run.md")
    assert len(alone.events(LeaseClosed)) == 2
    assert int((desk.folder / "results-digits/outputs/cores.txt").read_text()) > 0
