"""The hardware of a run of chaos: four cards that stand in, of which tenants buy time, and a clock of the host."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tests.agent.nvml import standin
from tests.agent.nvml.standin import Card, StandIn

from devnet.engine import Engine
from devnet.nursery import Nursery
from devnet.patience import patient
from devnet.world import World
from leasehold_agent.host import hash_of

from .chaos_scene import Line, Scene
from .clock import hostclock
from .clock.hostclock import HostClock

CARDS, _CELLS = 4, 8
SETTINGS = {"isolation": "time-slice", "card_rest": 10}


@contextlib.contextmanager
def hardware(world: World, folder: Path) -> Iterator[tuple[StandIn, HostClock]]:
    """What the agents of this world see of their host from now on."""
    folder.mkdir()
    cards, clock = StandIn(folder / "nvml"), HostClock(folder / "clock")
    for _ in range(CARDS):
        cards.add()
    seen = standin.environment(cards.file)
    with Nursery(hostclock.environment() | seen) as world.nursery, asked_for_cards(world.engine, folder):
        world.variables = seen | clock.variables
        yield cards, clock


@contextlib.contextmanager
def asked_for_cards(engine: Engine, folder: Path) -> Iterator[None]:
    """The engine can be asked for cards: it has the hook by which NVIDIA's toolkit would hand them on."""
    hook, path = folder / "nvidia-container-runtime-hook", os.environ["PATH"]
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{path}"
    try:
        engine.stop()
        engine.start()
        yield
    finally:
        os.environ["PATH"] = path
        engine.stop()
        engine.start()


def ill(card: Card) -> str:
    """How the log names a card that is ill."""
    return hash_of(card.uuid)[:12]


def card_is_ill(line: Line) -> bool:
    return line.get("event") == "cards" and bool(line.get("ill"))


@contextlib.contextmanager
def card_lost(scene: Scene, size: int) -> Iterator[None]:
    """It falls off the bus, or its driver hangs, and it is back later."""
    card, since = scene.cards.card(size % CARDS), scene.lines
    hangs = size == 8
    card.hang() if hangs else card.lose()
    scene.back = float("inf")
    try:
        scene.says(lambda line: card_is_ill(line) and ill(card) in line["ill"], since)
        if scene.listens and not scene.struck:
            scene.site.until(lambda: _withheld(scene, card) and _told(scene, card), patient(60))
        yield
    finally:
        card.hang(False) if hangs else card.fail(None)
        scene.back = time.monotonic() + patient(20)


def _withheld(scene: Scene, card: Card) -> bool:
    """Whether its cells are out of sale on the chain."""
    site, cells = scene.site, ((1 << _CELLS) - 1) << (_CELLS * card.index)
    return site.owner.pool(lambda pool: pool.machine_of(site.machine)).withheld & cells == cells


def _told(scene: Scene, card: Card) -> bool:
    """Whether each lease that runs on it has heard of it."""
    on_it = [told.lease for told in scene.running() if card.index in gpus_of(told.segments[-1][1])]
    return all(_has_heard(scene, lease) for lease in on_it)


def _has_heard(scene: Scene, lease: int) -> bool:
    notes = scene.site.host.folder / "state" / "leases"
    return any(notes.glob(f"*/{lease}/told/health.json"))


def gpus_of(placement: int) -> list[int]:
    """The cards of a machine that a lease is on."""
    return [gpu for gpu in range(CARDS) if placement >> _CELLS >> gpu & 1]


@contextlib.contextmanager
def clock_wrong(scene: Scene, size: int) -> Iterator[None]:
    """The host's clock is set ahead, or back, and right again later."""
    scene.clock.step((20 + 5 * size) * (1 if size % 2 else -1))
    try:
        yield
    finally:
        scene.clock.step(0)
