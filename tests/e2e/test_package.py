"""The agent's Debian package on a bare Debian: it serves a lease, is upgraded under it, and removed.

There is no systemd: `systemctl` is a stand-in that starts what the unit's `ExecStart` says.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import package
from devnet.bare_host import BareHost
from devnet.patience import patient
from devnet.site import Site
from devnet.world import Host, World, free_port
from shipping.environment import VERSION

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        VERSION != "3.11", reason="a package fits the Python that built it; bookworm has 3.11"
    ),
]

UNIT = "leasehold-agent"
MADE_AT = "1800000000"
CACHED = f"opt/leasehold/lib/python{VERSION}/site-packages/leasehold_agent/__pycache__"
TICKS = ["sh", "-c", "n=0; while true; do n=$((n+1)); echo tick $n; sleep 1; done"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The package, and the same as of another version."""
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", MADE_AT)
        first = package.the_deb(folder, "1.0", offline=True)
    contents, second = folder / "contents", folder / "second.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", str(first), str(contents)], check=True)
    control = contents / "DEBIAN/control"
    control.write_text(control.read_text().replace("Version: 1.0\n", "Version: 1.1\n"))
    subprocess.run(["dpkg-deb", "-Znone", "--build", str(contents), str(second)], check=True)
    return first, second


class Lent:
    """A bare host whose owner lends it in a world."""

    def __init__(self, world: World, bare: BareHost, name: str) -> None:
        self.bare, self.state = bare, world.folder / name / "state"
        self.provider = world.party(f"{name}-owner", world.provider_ipfs)
        self.renter = world.party(f"{name}-renter")
        self.address = self.provider.wallet("owner")
        for address in (self.address, self.renter.wallet("renter")):
            world.fund(address, tokens=1_000)
        self.renter("wallet", "approve", "unlimited", "--yes")
        self.host = Host(name, self.state.parent, {})
        self.site = Site(world, self.provider, self.renter, self.host, 0, world.engine)

    def write_settings(self) -> None:
        """As its owner does, into the file that the package has put there."""
        world = self.site.world
        settings = {
            "state_dir": str(self.state),
            "deployment": str(world.deployment),
            "rpc": [world.anvil.url],
            "docker": world.engine.url,
            "engine_netns": str(world.engine.netns),
            "ipfs": world.provider_ipfs.api,
            "public_host": "127.0.0.1",
            "ports_host": world.engine.address,
            "listen": "127.0.0.1",
            "api_port": free_port(),
            "ssh_port": free_port(),
            "confirmations": 0,
            "tick_seconds": 0.5,
            "disk_reserve": 1 << 28,
            "memory_reserve": 1 << 28,
        }
        with (self.bare.root / "etc/leasehold/agent.toml").open("a") as file:
            file.writelines(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())

    def join(self) -> None:
        """Describe the host there, and stake it from where the wallet is."""
        described = self.state.parent / "machine.json"
        said = self.bare.run("leasehold-agent", "describe", "--owner", self.address)
        assert said.returncode == 0, said.stderr
        described.write_text(said.stdout)
        joined = self.provider("provider", "join", str(described), "--price", "1", "--approve", "--yes")
        self.site.machine = joined["machine"]

    def serving(self, times: int) -> None:
        """Waits until the agent has begun to serve so often."""
        self.site.until(lambda: self.bare.journal(UNIT).count('"event": "serving"') >= times, patient(120))

    def process_of(self, lease: str) -> tuple[str, int, str]:
        """The lease's container, its first process, and since when it runs."""
        (container,) = self.site.containers(lease)
        state = container["State"]
        assert state["Running"]
        return container["Id"], state["Pid"], state["StartedAt"]

    def ticks(self, lease: str) -> int:
        """How far the lease's command has come, by the logs that its tenant is given."""
        said = self.renter.run("logs", lease).stdout
        return int(said.split()[-1]) if said.split() else 0


@pytest.fixture
def lent(world: World, tmp_path: Path, packages: tuple[Path, Path]) -> Iterator[Lent]:
    name = f"lent-{tmp_path.name}"
    (world.folder / name / "state").mkdir(parents=True, mode=0o700)
    with BareHost(tmp_path, world.folder, Path("/run/netns"), packages[0].parent) as bare:
        made = Lent(world, bare, name)
        try:
            yield made
        finally:
            with world.engine.client() as client:
                for container in made.site.containers():
                    client.containers.get(container["Id"]).remove(force=True)


def test_a_lease_lives_through_upgrade_and_removal(lent: Lent, packages: tuple[Path, Path]) -> None:
    bare, (first, second) = lent.bare, packages

    said = bare("dpkg", "--install", str(first))
    assert "write /etc/leasehold/agent.toml, then" in said
    assert (bare.root / "etc/leasehold/agent.toml").stat().st_mode & 0o777 == 0o600
    assert bare.run("systemctl", "is-active", UNIT).returncode == 3, "it has no settings yet"
    lent.write_settings()
    lent.join()
    bare.start(UNIT)
    lent.serving(1)
    shown = json.loads(bare.run("leasehold-agent", "settings", "--json").stdout)
    assert shown["rpc"]["from"] == "/etc/leasehold/agent.toml"

    lease = lent.site.rent(command=TICKS)
    before, ticks = lent.process_of(lease), lent.ticks(lease)
    settings = (bare.root / "etc/leasehold/agent.toml").read_text()
    keys = {path.name: path.read_bytes() for path in lent.state.glob("*.key")}
    assert "operator.key" in keys
    agent = bare.entrust(UNIT)

    compiled = next((bare.root / CACHED).iterdir())
    compiled.write_bytes(b"of the version before")
    bare("dpkg", "--install", str(second))
    assert bare.entrust(UNIT) != agent
    lent.serving(2)
    assert "1.1" in bare("dpkg-query", "--show", UNIT)
    assert not compiled.exists() or compiled.read_bytes() != b"of the version before"
    assert lent.process_of(lease) == before, "the container's process is the one it was"
    lent.site.until(lambda: lent.ticks(lease) > ticks)
    assert (bare.root / "etc/leasehold/agent.toml").read_text() == settings

    said = bare("dpkg", "--remove", UNIT)
    assert "the containers of leases that run stay as they are" in said
    assert bare.run("systemctl", "is-active", UNIT).returncode == 3
    assert not (bare.root / "opt/leasehold").exists()
    assert lent.process_of(lease) == before
    assert {path.name: path.read_bytes() for path in lent.state.glob("*.key")} == keys
    assert (bare.root / "etc/leasehold/agent.toml").read_text() == settings

    bare("dpkg", "--install", str(first))
    bare.start(UNIT)
    lent.serving(3)
    assert lent.process_of(lease) == before
    lent.renter("close", lease, "--yes")
    lent.site.until(lambda: not any(each["State"]["Running"] for each in lent.site.containers(lease)))


def test_a_purge_takes_the_settings_and_no_keys(tmp_path: Path, packages: tuple[Path, Path]) -> None:
    with BareHost(tmp_path, packages[0].parent) as bare:
        bare("dpkg", "--install", str(packages[0]))
        bare("leasehold-agent", "settings")
        key = bare.root / "var/lib/leasehold/operator.key"
        key.parent.mkdir()
        key.write_text("0x01")
        said = bare("dpkg", "--purge", UNIT)
        assert "/var/lib/leasehold is kept" in said
        assert key.read_text() == "0x01"
        left = [
            path for place in ("etc", "opt", "usr/share") for path in (bare.root / place).glob("leasehold*")
        ]
        assert left == []


def test_two_builds_are_one_and_tell_nothing_of_their_builder(
    tmp_path: Path, packages: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", MADE_AT)
    again = package.the_deb(tmp_path, "1.0", offline=True)
    assert again.read_bytes() == packages[0].read_bytes()
    homes = (str(Path.home()).encode() + b"/", str(package.ROOT).encode())
    contents = (path for path in (packages[0].parent / "contents").rglob("*") if path.is_file())
    told = [
        path for path in contents if path.suffix != ".so" and any(home in path.read_bytes() for home in homes)
    ]
    assert told == []
