"""Tutorials of a notebook, of a model that is served and of a lab, typed word for word; what they show is what happens.

There is no hub of images here: the templates are those that come along, as one's own, with `devnet.stand_ins` as image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet import stand_ins
from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.terminal import Terminal
from devnet.walkthrough import Walkthrough
from devnet.world import Party, World
from leasehold.chain import LeaseClosed, LeaseStarted

from .test_bad_input import address
from .test_reorg import another_chain

pytestmark = pytest.mark.slow

TUTORIALS = ROOT / "docs/tutorials"
TEMPLATES = ROOT / "offchain/leasehold/workload/templates"
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
