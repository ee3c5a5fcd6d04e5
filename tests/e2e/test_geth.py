"""The whole path of the command line on geth, with a block every two seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet import images
from devnet.geth import Geth, binary
from devnet.site import Site, make_site
from devnet.world import World

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(binary() is None, reason="`scripts/setup geth` has not been run"),
]


@pytest.fixture(scope="module")
def geth_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with World(tmp_path_factory.mktemp("geth") / "world", chain=Geth()) as world:
        images.load(world.engine.url, images.tiny())
        with make_site(world) as site:  # wallets, approvals, `provider join`, the agent
            yield site


def test_from_rent_to_withdraw(geth_site: Site, tmp_path: Path) -> None:
    site = geth_site
    lease = site.rent()
    assert site.renter("show", lease)["state"] == "active"
    done = site.renter.run("exec", lease, "--", "sh", "-c", "echo from inside; exit 7")
    assert (done.stdout, done.returncode) == ("from inside\n", 7)
    assert site.renter.run("logs", lease).returncode == 0
    closed = site.renter.run("close", lease, "--yes")
    assert closed.returncode == 0, closed.stderr
    site.until(lambda: not [each for each in site.containers(lease) if each["State"] == "running"])
    answer = site.renter("wallet", "withdraw", "all", "--yes")
    assert answer["ledger"] == "0"
    assert float(answer["arrived"]) > 0
