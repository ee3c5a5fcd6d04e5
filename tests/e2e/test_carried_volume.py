"""A lease with a volume moves between the agents of two hosts, each with an engine and an IPFS node of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.offchain.datasets.odd_trees import LARGE, look, odd_tree

from devnet import images
from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.site import Site, make_site
from devnet.world import World
from leasehold_agent.host import MountSpace, SealedDisk

pytestmark = pytest.mark.slow
VOLUME = ("--volume", "data:/data:96MiB")
SETTINGS: dict[str, Any] = {"tick_seconds": 0.5, "retention_min": 60, "retention_max": 60}


@pytest.fixture
def sites(world: World, tmp_path: Path) -> Iterator[tuple[Site, Site, Kubo]]:
    """Two machines, and the second one's IPFS node."""
    with make_site(world, **SETTINGS) as first, Kubo(tmp_path / "ipfs") as ipfs, Engine() as engine:
        ipfs.connect(world.provider_ipfs)
        ipfs.connect(world.renter_ipfs)
        images.load(engine.url, images.tiny())
        with make_site(world, engine=engine, ipfs=ipfs.api, **SETTINGS) as second:
            try:
                yield first, second, ipfs
            finally:  # what a test that fails leaves open holds a loop device
                for site in (first, second):
                    close_volumes(site)


def close_volumes(site: Site) -> None:
    """Its agent ends, its containers too, and what they had open is closed."""
    site.host.kill()
    with site.engine.client() as client:
        for container in site.containers():
            client.containers.get(container["Id"]).remove(force=True)
    for note in volumes_of(site):
        SealedDisk(note.parent, MountSpace()).close()


def running(site: Site, lease: str) -> dict[str, Any] | None:
    return next((found for found in site.containers(lease) if found["State"]["Running"]), None)


def volume(site: Site, lease: str) -> Path:
    """The folder on the host that the lease's container has as its volume."""
    container = site.until(lambda: running(site, lease))
    (place,) = [mount["Source"] for mount in container["Mounts"] if mount["Destination"] == "/data"]
    return Path(place)


def volumes_of(site: Site) -> list[Path]:
    return list((site.host.folder / "state" / "volumes").glob("*/*/volume.json"))


def received(ipfs: Kubo) -> int:
    """Bytes that the node has had of others."""
    return int(ipfs.call("bitswap/stat")["DataReceived"])


def named(site: Site, name: str) -> list[Path]:
    """What lies anywhere in the agent's folder by that name."""
    return [path for path in (site.host.folder / "state").rglob("*") if path.name == name]


def move(renter: Site, lease: str, to: Site) -> str:
    file = str(renter.workload(grace=0))
    words = ("--file", file, *VOLUME, "--allow-unverified", "--yes")
    return str(renter.renter("move", lease, str(to.machine), *words)["lease"])


def purged(site: Site) -> None:
    """Two minutes later nothing of its volumes is there."""
    site.world.anvil.request("evm_increaseTime", 120)
    site.world.anvil.request("anvil_mine", "0x2")
    site.until(lambda: not volumes_of(site))


def test_there_and_back(sites: tuple[Site, Site, Kubo]) -> None:
    first, second, ipfs = sites
    second.until(lambda: second.serves)
    lease = first.rent(*VOLUME, grace=0)
    odd_tree(volume(first, lease) / "tree", 1_000)
    told = look(volume(first, lease))
    assert len(volumes_of(first)) == 1

    # All of it is there, as it was, and came once.
    before = received(ipfs)
    there = move(first, lease, second)
    assert look(volume(second, there)) == told
    came = received(ipfs) - before
    assert LARGE < came < 3 * LARGE, "holes are not sent, nor anything twice"

    # It goes from where it was, once the time is over for which that is kept.
    assert len(volumes_of(first)) == 1
    purged(first)
    assert not named(first, "nothing")
    (volume(second, there) / "tree" / "nothing").write_bytes(b"changed there")
    changed = look(volume(second, there))
    assert changed != told

    # Back again it has what has not changed: what comes is little.
    before = received(first.world.provider_ipfs)
    back = move(first, there, first)
    assert look(volume(first, back)) == changed
    assert received(first.world.provider_ipfs) - before < LARGE // 4
    purged(second)
