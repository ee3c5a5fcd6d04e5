"""Tutorials of a notebook, of a model that is served, of a spot job and of a lab, typed word for word; what they show
is what happens.

There is no hub of images here: the templates are those that come along, as one's own, with `devnet.stand_ins` as image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet import images, stand_ins
from devnet.desk import ROOT, Desk
from devnet.engine import Engine
from devnet.nursery import Nursery
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.terminal import Terminal
from devnet.walkthrough import Walkthrough
from devnet.world import Party, World
from leasehold.chain import LeaseClosed, LeaseStarted, LeaseTerminated, cost

from .test_bad_input import address
from .test_reorg import another_chain

pytestmark = pytest.mark.slow

TUTORIALS = ROOT / "docs/tutorials"
TEMPLATES = ROOT / "offchain/leasehold/workload/templates"
SPOT_PRICE, TENTH = 12 * 10**17, 10**17
BROWSER = '#!/bin/sh\ncurl --silent "$1/api" > "$HOME/seen.part" && mv "$HOME/seen.part" "$HOME/seen"\n'


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    """The only machine of its pool."""
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as site:
        yield site


@pytest.fixture
def desk(nursery: Nursery, tmp_path: Path) -> Desk:
    return Desk(tmp_path, nursery)


@pytest.fixture
def reader(alone: Site) -> Party:
    """Somebody with a wallet and tokens, whose templates' image is the stand-in."""
    party = alone.world.party(f"reader-of-{alone.renter.name}")
    alone.world.fund(party.wallet("reader"), tokens=100)
    name = stand_ins.build(alone.engine)
    with alone.engine.client() as client:
        stand_in = client.images.get(name).id
    (party.home / "templates").mkdir()
    for template in TEMPLATES.glob("*.toml"):
        text = re.sub(r'^image = ".*"$', f'image = "{stand_in}"', template.read_text(), count=1, flags=re.M)
        (party.home / "templates" / template.name).write_text(text)
    (party.home / "browser").write_text(BROWSER)
    (party.home / "browser").chmod(0o755)
    return party


def terminals(desk: Desk, party: Party) -> dict[str, Terminal]:
    """The reader's own, and the one that is left to the tunnel."""
    environment = {**party.environment, "BROWSER": str(party.home / "browser")}
    return {"": desk.terminal("reader", environment), "tunnel": desk.terminal("tunnel", environment)}


def test_a_notebook(alone: Site, desk: Desk, reader: Party) -> None:
    with Walkthrough(terminals(desk, reader)) as walk:
        walk.walk(TUTORIALS / "notebook.md")
        alone.until((reader.home / "seen").exists)
    assert "2.14.2" in (reader.home / "seen").read_text()  # what the browser got
    lines = len((ROOT / "scripts/digits/train.py").read_text().splitlines())
    assert (desk.folder / "build/lines.txt").read_text().strip() == str(lines)
    assert (desk.folder / "build/work/train.py").read_bytes() == (
        ROOT / "scripts/digits/train.py"
    ).read_bytes()
    assert len(alone.events(LeaseClosed)) == 2


def test_a_model_is_served(alone: Site, desk: Desk, reader: Party) -> None:
    def noted() -> None:
        (key,) = re.findall(r"^api-key\s+(\S+)\s*$", walk.heard[""], re.MULTILINE)
        shown = reader.run("show", "model").stdout
        (published,) = re.findall(r"8000/tcp at (\S+:\d+)", shown)
        walk.define(KEY=key, ADDRESS=published)

    def near() -> None:
        (local,) = re.findall(r"http://localhost:\d+", walk.heard["tunnel"])
        walk.terminals[""].run(f"export LOCAL={local}", timeout=patient(60))

    moments = {"key and address are noted": noted, "the local address is noted": near}
    with Walkthrough(terminals(desk, reader), moments) as walk:
        walk.walk(TUTORIALS / "serving.md")
    (closed,) = alone.events(LeaseClosed)
    assert closed.paid > 0


@pytest.fixture
def two(world: World) -> Iterator[tuple[Site, Site]]:
    """The two machines of a pool that sell spot leases, the cheaper first, each with an engine of its own."""
    with (
        another_chain(world) as chain,
        Engine() as engine,
        make_site(chain, "--spot-price", "1.2", tick_seconds=0.5) as first,
    ):
        images.load(engine.url, images.tiny())
        with make_site(chain, "--spot-price", "1.3", engine=engine, tick_seconds=0.5) as second:
            yield first, second


def test_spot_with_checkpoints(two: tuple[Site, Site], desk: Desk) -> None:
    """What is done twice is no more than one interval: the guard's log of checkpoints says where it was."""
    first, second = two
    party = first.world.party(f"spot-of-{first.renter.name}")
    first.world.fund(party.wallet("spot"), tokens=100)
    kept = set[str]()

    def noted() -> set[str]:
        kept.update(path.read_text() for path in party.home.glob("checkpoints/*/65536"))
        return kept

    def elsewhere() -> None:
        (noticed,) = first.events(LeaseTerminated, "1")
        first.world.anvil.advance(noticed.end - first.world.anvil.timestamp + 61)
        second.until(lambda: second.events(LeaseStarted, "2"), patient(120))
        second.until(lambda: "begins at" in second.logs("2"))

    moments = {
        "two checkpoints are kept": lambda: first.until(lambda: len(noted()) >= 2, patient(120)),
        "the provider has given notice": lambda: first.provider("provider", "terminate", "1", "--yes"),
        "the run goes on elsewhere": elsewhere,
        "the guard has done all of it": lambda: second.until(
            lambda: not list(party.home.glob("jobs/*/steps.json")), patient(400)
        ),
    }
    terminals = {name: desk.terminal(name or "reader", party.environment) for name in ("", "guard")}
    with Walkthrough(terminals, moments) as walk:
        walk.define(IMAGE=first.tiny)
        walk.walk(TUTORIALS / "spot.md")
        begun = int(re.findall(r"begins at step (\d+)", second.logs("2"))[0])
    assert begun > 0
    (noticed,) = first.events(LeaseTerminated, "1")
    started, closed = first.events(LeaseStarted), first.events(LeaseClosed)
    times = [event.log.timestamp for event in started]
    assert closed[0].paid + closed[0].fee == cost(SPOT_PRICE, 8, noticed.end - (times[0] or 0))
    ended = closed[1].log.timestamp or 0
    assert closed[1].paid + closed[1].fee == cost(SPOT_PRICE + TENTH, 8, ended - (times[1] or 0))
    assert noticed.penalty == 0


def test_a_lab_with_two_signatures(alone: Site, desk: Desk) -> None:
    people = {name: alone.world.party(f"{name}-in-the-lab") for name in ("ada", "bob", "cyd")}
    host = alone.world.host("no-host-of-the-labs")
    newcomers = {name: desk.of_newcomer(party, host, alone.tiny) for name, party in people.items()}

    def known() -> None:
        walk.define(**{name.upper(): address(at_home(name)) for name in people})

    def at_home(name: str) -> Party:
        home = desk.folder / "build" / name
        return Party(name, home, {**people[name].environment, "LEASEHOLD_HOME": str(home)})

    def compared() -> None:
        groups = {at_home(name)("group", "list")[0]["address"] for name in people}
        (group,) = groups
        walk.define(LAB=str(group))

    moments = {
        "all three know the addresses": known,
        "all three have compared the group's address": compared,
        "the lease has started": lambda: alone.until(lambda: alone.events(LeaseStarted)),
    }
    with Walkthrough(newcomers, moments) as walk:
        walk.walk(TUTORIALS / "lab.md")
    (closed,) = alone.events(LeaseClosed)
    assert closed.paid > 0
    assert int((desk.folder / "build/results/outputs/cores.txt").read_text()) > 0
