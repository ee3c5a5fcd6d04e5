"""Bugs that are planted in an agent's process, one at a time: a run of chaos finds each, and names what it is.

That whatever a run is judged by sees each fault is shown in milliseconds beside (`test_chaos_ledger.py`); here a real
agent makes it, under real faults.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from devnet.world import World

from . import test_chaos
from .test_chaos import chaos, staged

FOLDER = Path(__file__).with_name("plants")
FAULTS, LEASES, SEED = 20, 5, 1
SECONDS = 120
"""After which what does not come right never will: a run without a bug waits longer, and is not slowed by waiting."""


@dataclass(frozen=True)
class Plant:
    """In `module` of the agent, `becomes` stands for what `was`. named: how a run says what came of it."""

    kind: str
    module: str
    was: str
    becomes: str
    named: str


PLANTS = (
    Plant(
        "lost",
        "reconciling._plan",
        "    return None if actual.resting else BringUp(lease)\n",
        "    return None if actual.resting or (container is None and actual.notes.workload) else BringUp(lease)\n",
        "have no container",
    ),
    Plant(
        "doubled",
        "reconciling._creation",
        "                await self.host.containers.engine.create(spec)\n",
        "                await self.host.containers.engine.create(spec)\n"
        "                twin = replace(spec, name=spec.name + '-twin', ports={})\n"
        "                await self.host.containers.engine.create(twin)\n",
        "have two containers",
    ),
    Plant(
        "billed too much",
        "reconciling._plan",
        "    worth = left >= WORTH_CLOSING",
        "    worth = left < WORTH_CLOSING",
        "its bill runs on",
    ),
    Plant(
        "a network left",
        "reconciling._containers",
        "        await self.engine.remove_network(self.names.network(lease))",
        "        pass",
        "'network leasehold.*are left",
    ),
    Plant(
        "a pin left",
        "reconciling._ending",
        "        await self.results.unpin(lease, folder.load().published_here | exported)\n",
        "",
        "'pin .*are left",
    ),
    Plant(
        "another's card",
        "cards._allocation",
        "        parts.append(Part(card, cells))\n",
        "        parts.append(Part(described.cards[gpu - 1], cells))\n",
        "it is on .*, and has bought",
    ),
    Plant(
        "data lost",
        "reconciling._plan",
        " if actual.notes.launched else BringUp(lease)\n",
        " if actual.ready else Replace(lease)\n",
        "has lost its data",
    ),
)
each = pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.kind)


@each
def test_there_is_a_place_for_it(plant: Plant) -> None:
    """What has changed there since is planted anew."""
    spec = find_spec(f"leasehold_agent.{plant.module}")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    assert source.count(plant.was) == 1
    compile(source.replace(plant.was, plant.becomes), spec.origin, "exec")


@pytest.mark.deep
@each
def test_it_is_found(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    text = {"module": f"leasehold_agent.{plant.module}", "was": plant.was, "becomes": plant.becomes}
    monkeypatch.setenv("LEASEHOLD_PLANT", json.dumps(text))
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    monkeypatch.setattr(test_chaos, "patient", lambda seconds: SECONDS)
    with (
        staged(world, tmp_path) as scene,
        pytest.raises((AssertionError, TimeoutError), match=re.compile(plant.named, re.DOTALL)),
    ):
        chaos(scene, FAULTS, LEASES, SEED)
