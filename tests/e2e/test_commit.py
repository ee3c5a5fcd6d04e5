"""What somebody has changed in a container by hand goes on elsewhere: as an image that nobody else can use or read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devnet import images
from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import parse_lease

pytestmark = pytest.mark.slow
SETTINGS: dict[str, Any] = {"tick_seconds": 0.5, "retention_min": 60, "retention_max": 60}


@pytest.fixture(scope="module")
def here(world: World) -> Iterator[Site]:
    with make_site(world, **SETTINGS) as made:
        yield made


@pytest.fixture(scope="module")
def elsewhere(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A machine with an engine and an IPFS node of its own, and a renter of its own."""
    with Kubo(tmp_path_factory.mktemp("kubo") / "ipfs") as ipfs, Engine() as engine:
        ipfs.connect(world.provider_ipfs)
        ipfs.connect(world.renter_ipfs)
        images.load(engine.url, images.tiny())
        with make_site(world, engine=engine, ipfs=ipfs.api, **SETTINGS) as made:
            yield made


def inside(site: Site, renter: Site, lease: str, script: str) -> str:
    """What a script says in the container, as a shell of whose lease it is."""
    site.until(lambda: any(found["State"]["Running"] for found in site.containers(lease)))
    done = renter.renter.run("exec", lease, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rented(renter: Site, on: Site, image: str) -> str:
    flags = (
        "--machine",
        str(on.machine),
        "--for",
        "1h",
        "--share",
        "1/4",
        "--egress",
        "none",
        "--allow-unverified",
        "--yes",
    )
    return str(renter.renter("rent", "--image", image, *flags, "--", "sleep", "3600")["lease"])


def images_of(site: Site) -> set[str]:
    with site.engine.client() as client:
        return {str(image.id) for image in client.images.list(all=True)}


def test_it_goes_on_elsewhere_and_is_nobody_elses(here: Site, elsewhere: Site) -> None:
    lease = here.rent(env={"TOKEN": "of the lease"}, secrets={"key": "never in it"}, grace=0)
    changes = (
        "echo by hand > /opt-changed; mkdir -p /srv/x; ln -s /etc/passwd /srv/x/out; rm /bin/sync 2>/dev/null"
    )
    inside(here, here, lease, changes + "; true")
    before = images_of(here)
    made = here.renter("commit", lease)
    assert images_of(here) == before  # the engine has no copy of it
    assert inside(here, here, lease, "cat /opt-changed") == "by hand\n"  # it goes on
    assert any(act["op"] == "lease.commit" for act in here.renter("audit", lease)["acts"])
    here.renter("close", lease, "--yes")

    # On another engine: what was changed, and nothing of the lease.
    again = rented(here, elsewhere, made["image"])
    said = inside(
        elsewhere, here, again, "cat /opt-changed; readlink /srv/x/out; echo $TOKEN; ls /run/secrets"
    )
    assert said.splitlines()[:2] == ["by hand", "/etc/passwd"]
    assert "of the lease" not in said
    assert "key" not in said

    # Another tenant, beside it on the host that has it now: by its name he gets nothing, nor by its id.
    stranger = elsewhere
    flags = (
        "--machine",
        str(elsewhere.machine),
        "--for",
        "1h",
        "--share",
        "1/4",
        "--allow-unverified",
        "--yes",
    )
    (container,) = elsewhere.containers(again)
    for image in (made["image"], container["Image"]):
        done = stranger.renter.run("rent", "--image", image, *flags, "--", "cat", "/opt-changed")
        assert done.returncode != 0
        assert "declined" in done.stdout + done.stderr, done.stderr
    refused = stranger.renter.run("commit", again)
    assert refused.returncode != 0
    assert "choose its wallet" in refused.stderr
    here.renter("close", again, "--yes")


def pins(site: Site) -> set[str]:
    return set(site.world.provider_ipfs.call("pin/ls", type="recursive")["Keys"])


def killed_at(site: Site, lease: str, step: str) -> None:
    """An image is begun, the agent dies at that step, and the next run of it takes over."""
    seen = len(site.host.steps)
    with site.renter.popen("commit", lease, "--no-keep") as process:
        try:
            site.until(lambda: any(line.get("step") == step for line in site.host.steps[seen:]), patient(90))
            site.host.kill()
        finally:
            process.kill()
    site.host.start()
    site.host.serving()


def test_killed_in_the_middle_it_leaves_nothing(here: Site) -> None:
    """The agent dies while it reads, while it adds, and before its node is told to keep what was added."""
    lease = here.rent(grace=0)
    inside(here, here, lease, "head -c 30000000 /dev/urandom > /large")
    known, folder = images_of(here), here.host.folder / "state" / "commits"
    (notes,) = (here.host.folder / "state" / "leases").glob(f"*/{parse_lease(lease)}")
    half = set[str]()
    for step in ("commit-read", "commit-add", "commit-pin"):
        killed_at(here, lease, step)
        assert list(folder.glob("*")) == []
        here.until(lambda: [c["State"]["Status"] for c in here.containers(lease)] == ["running"])
        assert images_of(here) == known
        half.add(str(json.loads((notes / "commit.json").read_text())["adding"]))
    half -= {""}
    assert len(half) == 1
    made = here.renter("commit", lease, "--no-keep")
    assert made["cid"] in pins(here)
    here.renter("close", lease, "--yes")
    here.world.anvil.request("evm_increaseTime", 120)
    here.world.anvil.request("anvil_mine", "0x2")
    here.until(lambda: made["cid"] not in pins(here))
    assert not half & pins(here)


def test_more_than_its_disk_is_said_and_harms_nobody(here: Site) -> None:
    """A file of a terabyte that is all hole takes a block of the lease's disk, and would take all of the host's."""
    lease = here.rent(grace=0)
    inside(here, here, lease, "dd if=/dev/zero of=/hole bs=1 count=1 seek=1099511627775 2>/dev/null")
    done = here.renter.run("commit", lease, "--no-keep")
    assert done.returncode != 0
    assert "files with holes count at their full length" in done.stderr, done.stderr
    assert inside(here, here, lease, "echo it goes on") == "it goes on\n"
    assert Path(here.host.folder / "state" / "commits").exists()
    here.renter("close", lease, "--yes")
