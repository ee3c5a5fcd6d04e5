"""The guides for hosts: the package on a bare Debian, from its installation to its end, and a fleet from one desk."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import package
from devnet.bare_host import PATH, BareHost
from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.ssh_hosts import Hosts
from devnet.terminal import Terminal
from devnet.walkthrough import Walkthrough
from devnet.world import World
from shipping.environment import VERSION

from .test_reorg import another_chain

pytestmark = pytest.mark.slow

GUIDES = ROOT / "docs/guides"
UNIT = "leasehold-agent"
WRITTEN_BY_HAND = ("CONFIG", "DEPLOYMENT", "RPC", "PUBLIC_HOST", "STATE_DIR")


@pytest.fixture
def chain(world: World) -> Iterator[World]:
    """A pool without machines."""
    with another_chain(world) as made:
        yield made


@pytest.mark.skipif(VERSION != "3.11", reason="a package fits the Python that built it; bookworm has 3.11")
def test_a_host_from_its_package_to_its_end(chain: World, tmp_path: Path) -> None:
    owner = chain.party("an-owner", chain.provider_ipfs)
    address = owner.wallet("owner")
    chain.fund(address, tokens=1_000)
    host = chain.host("a-host", tick_seconds=0.5)
    left = [f"LEASEHOLD_AGENT_{name}" for name in WRITTEN_BY_HAND]
    environment = {key: value for key, value in host.environment.items() if key not in left} | {
        "PATH": PATH,
        "HOME": "/root",
        "OWNER": address,
        "LEASEHOLD_DEPLOYMENT": str(chain.deployment),
        "LEASEHOLD_RPC": chain.anvil.url,
    }
    typed = tmp_path / "typed"
    typed.mkdir()
    with BareHost(tmp_path, chain.folder, typed, Path("/run/netns"), environment=environment) as bare:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", "1800000000")
            shutil.copy(package.the_deb(tmp_path, offline=True), bare.root)
        served = 0

        def joined() -> None:
            described = str(bare.root / "machine.json")
            owner("provider", "join", described, "--price", "1", "--approve", "--yes")

        def serving() -> None:
            nonlocal served
            served += 1
            host.until(lambda: bare.journal(UNIT).count('"event": "serving"') >= served)
            bare.entrust(UNIT)

        moments = {"the owner has joined with machine.json": joined, "the agent serves": serving}
        terminal = Terminal(bare.environment, tmp_path, typed, bare.around)
        with Walkthrough({"host": terminal}, moments) as reader:
            reader.walk(GUIDES / "install.md")
        assert sorted(path.name for path in bare.root.glob("var/lib/leasehold/*.key")) == [
            *("age.key", "operator.key", "tls.key")
        ]


def test_a_fleet_from_one_desk(chain: World, nursery: Nursery, tmp_path: Path) -> None:
    """What ssh would reach are agents of this machine, each with the settings of its own host."""
    desk, hosts = Desk(tmp_path, nursery), Hosts(tmp_path)
    owner = chain.party("a-fleets-owner", chain.provider_ipfs)
    chain.fund(owner.wallet("owner"), tokens=1_000)
    for name in ("gpu01", "gpu02"):
        host = chain.host(name)
        settings = {**host.environment, "PATH": f"{desk.commands}:{PATH}"}
        said = " ".join(shlex.quote(f"{key}={value}") for key, value in settings.items())
        hosts.answer(name, f'exec env {said} sh -c "$1"')
    hosts.answer("ops@gpu03", "echo 'ssh: connect to host gpu03 port 22: No route to host' >&2; exit 255")
    (desk.commands / "ssh").symlink_to(hosts.program)
    with Walkthrough({"": desk.terminal("owner", {**owner.environment, **hosts.environment})}) as reader:
        reader.walk(GUIDES / "fleet.md")
