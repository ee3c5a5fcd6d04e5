"""A container that a hand on the host ends: its tenant has that signed, and a validator reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import docker
import pytest

from devnet.site import Site, make_site
from devnet.world import World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, tick_seconds=0.5) as made:
        yield made


def killed(site: Site, lease: str) -> None:
    (container,) = site.containers(lease)
    client = docker.DockerClient(base_url=site.engine.url)
    try:
        client.containers.get(container["Id"]).kill()
    finally:
        client.close()


def last(site: Site, lease: str) -> dict[str, Any]:
    return dict(site.renter("statement", lease)["statements"][-1])


def test_a_tenant_has_it_signed_that_his_container_was_killed(site: Site) -> None:
    lease = site.rent()
    assert (last(site, lease)["state"], last(site, lease)["kills"]) == ("running", 0)
    killed(site, lease)
    site.until(lambda: last(site, lease)["kills"] == 1 and last(site, lease)["state"] == "running")
    file = site.renter.home / "statements.json"
    site.renter("statement", lease, "--out", str(file))
    assert json.loads(file.read_text())["statements"]
    validator = site.world.party("validator")
    seen = validator("validator", "statements", str(file))
    assert all(one["by_operator"] for one in seen["statements"])
    assert seen["statements"][-1]["ended_by"] == "hand"
    assert {span["lease"] for span in seen["owned_up"]} <= {
        str(int(lease) << 16)
    }  # it may be up within a second
    assert seen["contradictions"] == []
    said = validator.run("validator", "statements", str(file)).stdout
    assert "a hand on" in " ".join(said.split())
