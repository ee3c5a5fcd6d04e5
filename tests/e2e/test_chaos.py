"""Random faults over leases that run: none is lost, doubled, billed too much or left behind, and the log says why not.

A run is drawn from its seed, which is printed: `LEASEHOLD_CHAOS_SEED=… make test-deep` draws the same once more. A
working day's run has one of its own.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from devnet.patience import patient
from devnet.relay import Relay
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World

from .chaos_faults import FAULTS, PARTS, SERVES, small_disk
from .chaos_hardware import CARDS, SETTINGS, hardware
from .chaos_leases import Crowd
from .chaos_scene import Scene
from .chaos_schedule import Spell, schedule
from .chaos_sight import DEEPEST
from .test_reorg import another_chain


def test_a_seed_draws_one_run() -> None:
    for seed in range(50):
        spells = schedule(seed, 20, PARTS)
        assert spells == schedule(seed, 20, PARTS)
        struck = [[PARTS[blow.fault] for blow in spell.blows] for spell in spells]
        assert all(len(set(parts)) == len(parts) <= 3 for parts in struck)
        counts = Counter(blow.fault for spell in spells for blow in spell.blows)
        assert counts.keys() == FAULTS.keys()
        assert counts.total() == 20
    assert schedule(1, 20, PARTS) != schedule(2, 20, PARTS)


@pytest.fixture(scope="module")
def scene(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with staged(world, tmp_path_factory.mktemp("chaos")) as made:
        yield made


@contextlib.contextmanager
def staged(world: World, folder: Path) -> Iterator[Scene]:
    """A machine of four cards, of which it sells time, spot too, on a chain of its own."""
    with contextlib.ExitStack() as stack:
        chain = stack.enter_context(another_chain(world))
        cards, clock = stack.enter_context(hardware(chain, folder / "hardware"))
        port = urlsplit(chain.anvil.url).port
        assert port is not None
        rpc, ws = (stack.enter_context(Relay(port)) for _ in range(2))
        disk = stack.enter_context(small_disk(folder / "disk"))
        site = stack.enter_context(
            make_site(
                chain,
                "--spot-price",
                "0.60",
                rpc=[rpc.url],
                ws=ws.ws_url,
                state_dir=str(disk / "state"),
                tick_seconds=0.5,
                confirmations=DEEPEST,
                retention_min=0,
                retention_max=0,
                disk_reserve=1 << 20,
                **SETTINGS,
            )
        )
        (site.host.folder / "state").symlink_to(disk / "state")
        yield Scene(site, rpc, ws, disk, cards, clock)


@pytest.mark.parametrize(
    ("faults", "leases", "seed"),
    [
        pytest.param(20, 5, 1, id="20 faults"),
        pytest.param(200, 20, secrets.randbelow(1 << 32), marks=pytest.mark.deep, id="200 faults"),
    ],
)
def test_chaos(scene: Scene, faults: int, leases: int, seed: int) -> None:
    seed = int(os.environ.get("LEASEHOLD_CHAOS_SEED", seed))
    print(f"LEASEHOLD_CHAOS_SEED={seed}")
    chaos(scene, faults, leases, seed)


def chaos(scene: Scene, faults: int, leases: int, seed: int) -> None:
    """A run, and what it is held to. Raises AssertionError, or TimeoutError for what does not come right."""
    site = scene.site
    crowd = Crowd(
        site,
        [Tenant(site) for _ in range(4)],
        leases,
        unsure=lambda: time.monotonic() < scene.back,
        cards=tuple(scene.cards.card(index).uuid for index in range(CARDS)),
    )
    scene.running = crowd.running
    worth, earned = sum(tenant.wealth() for tenant in crowd.tenants), site.owner.ledger()
    site.world.anvil.mine(2 * DEEPEST)  # what was made ready stays so
    before = crowd.sight.remains()
    crowd.fill()
    becomes_whole(crowd)
    for spell in schedule(seed, faults, PARTS):
        endure(scene, crowd, spell)
    for says in filter(None, (fault.says for fault in FAULTS.values())):
        assert any(says(step.line) for step in site.host.steps)
    crowd.leave()
    until(crowd, crowd.published)
    assert crowd.check_results() > 0
    assert site.owner.ledger() - earned == crowd.check_bills()
    assert worth - sum(tenant.wealth() for tenant in crowd.tenants) == crowd.spent()
    site.world.anvil.advance(2 * 3_600)
    site.world.anvil.mine(2 * DEEPEST)
    until(crowd, lambda: crowd.gone(before))


def endure(scene: Scene, crowd: Crowd, spell: Spell) -> None:
    """The faults of a spell, one within the other, and what people do meanwhile; then all is as it should be."""
    print(spell)
    since = scene.lines
    with contextlib.ExitStack() as faults:
        scene.struck.clear()
        for blow in spell.blows:
            faults.enter_context(FAULTS[blow.fault].strike(scene, blow.size))
            scene.struck.add(PARTS[blow.fault])
        for deed in spell.deeds:
            crowd.act(deed)
    scene.later.close()
    becomes_whole(crowd)
    explains(scene.site, spell, since)


def becomes_whole(crowd: Crowd) -> None:
    until(crowd, lambda: (crowd.site.host.folder / "state" / "reserve").exists() and crowd.whole())


def until(crowd: Crowd, holds: Callable[[], bool]) -> None:
    """Meanwhile a block comes each second, as on any chain, whether somebody sends anything or not."""
    anvil, mined = crowd.site.world.anvil, time.monotonic()

    def look() -> bool:
        nonlocal mined
        so = holds()
        if not so and time.monotonic() > mined + 1:
            anvil.mine()
            mined = time.monotonic()
        return so

    try:
        crowd.site.until(look, patient(60))
    except TimeoutError as error:
        raise TimeoutError(f"{crowd.trouble}\n{error}") from None


def explains(site: Site, spell: Spell, since: int) -> None:
    """The log has a line for each part that came back, unless the agent that missed it was no more, or waited for an
    answer all the while and missed nothing.
    """
    struck = {PARTS[blow.fault] for blow in spell.blows}
    missed = "agent" not in struck and all(blow.fault != "RPC silent" for blow in spell.blows)
    for blow in spell.blows:
        says = FAULTS[blow.fault].says if FAULTS[blow.fault].surely else None
        if says is not None and (says is SERVES or missed):
            site.host.wait_for(says, since=since)
