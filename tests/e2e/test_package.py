"""The agent's Debian package on a bare Debian: it serves a lease, is upgraded under it, and removed.

There is no systemd: `systemctl` is a stand-in that starts what the unit's `ExecStart` says.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

import package
from devnet.bare_host import BareHost
from devnet.patience import patient
from devnet.relay import Relay
from devnet.site import Site
from devnet.world import Host, World, free_port
from shipping.container import build_image
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
CAPABILITIES = ["NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE"]
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
    """A host whose owner lends it in a world."""

    def __init__(self, world: World, name: str) -> None:
        self.state = world.folder / name / "state"
        self.state.mkdir(parents=True, mode=0o700)
        self.provider = world.party(f"{name}-owner", world.provider_ipfs)
        self.renter = world.party(f"{name}-renter")
        self.address = self.provider.wallet("owner")
        for address in (self.address, self.renter.wallet("renter")):
            world.fund(address, tokens=1_000)
        self.renter("wallet", "approve", "unlimited", "--yes")
        self.host = Host(name, self.state.parent, {})
        self.site = Site(world, self.provider, self.renter, self.host, 0, world.engine)

    def settings(self, **others: object) -> str:
        """What its owner writes into agent.toml."""
        world = self.site.world
        settings = {
            "state_dir": str(self.state),
            "deployment": str(world.deployment),
            "rpc": [world.anvil.url],
            "docker": world.engine.url,
            "ipfs": world.provider_ipfs.api,
            "public_host": "127.0.0.1",
            "ports_host": world.engine.address,
            "api_port": free_port(),
            "ssh_port": free_port(),
            "confirmations": 0,
            "tick_seconds": 0.5,
            "disk_reserve": 1 << 28,
            "memory_reserve": 1 << 28,
        } | others
        return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())

    def join(self, described: str) -> None:
        """Stake the host from where the wallet is."""
        file = self.state.parent / "machine.json"
        file.write_text(described)
        joined = self.provider("provider", "join", str(file), "--price", "1", "--approve", "--yes")
        self.site.machine = joined["machine"]

    def serving(self, log: Callable[[], str], times: int = 1) -> None:
        """Waits until the agent has begun to serve so often."""
        self.site.until(lambda: log().count('"event": "serving"') >= times, patient(120))

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
def lent(world: World, tmp_path: Path) -> Iterator[Lent]:
    made = Lent(world, f"lent-{tmp_path.name}")
    yield made
    with world.engine.client() as client:
        for container in made.site.containers():
            client.containers.get(container["Id"]).remove(force=True)


@pytest.fixture
def bare(world: World, tmp_path: Path, packages: tuple[Path, Path], lent: Lent) -> Iterator[BareHost]:
    with BareHost(tmp_path, world.folder, Path("/run/netns"), packages[0].parent) as made:
        yield made


def test_a_lease_lives_through_upgrade_and_removal(
    lent: Lent, bare: BareHost, packages: tuple[Path, Path]
) -> None:
    first, second = packages

    def log() -> str:
        return bare.journal(UNIT)

    said = bare("dpkg", "--install", str(first))
    assert "write /etc/leasehold/agent.toml, then" in said
    assert (bare.root / "etc/leasehold/agent.toml").stat().st_mode & 0o777 == 0o600
    assert bare.run("systemctl", "is-active", UNIT).returncode == 3, "it has no settings yet"
    with (bare.root / "etc/leasehold/agent.toml").open("a") as file:
        file.write(lent.settings(engine_netns=str(lent.site.world.engine.netns), listen="127.0.0.1"))
    lent.join(bare.answer("leasehold-agent", "describe", "--owner", lent.address))
    bare.start(UNIT)
    lent.serving(log)
    shown = json.loads(bare.answer("leasehold-agent", "settings", "--json"))
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
    lent.serving(log, 2)
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
    lent.serving(log, 3)
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


def test_the_image_serves_a_lease_beside_the_engine_that_runs_it(
    world: World, lent: Lent, packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """In the engine's own network, as on a host; replaced by another container under the lease."""
    engine, place = world.engine, tmp_path / "etc"
    place.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", MADE_AT)
        image = build_image(packages[0], "1.0", tmp_path)
    node, kubo = int(world.anvil.url.rsplit(":", 1)[1]), int(world.provider_ipfs.api.rsplit("/", 1)[1])
    with (
        Relay(node, engine.gateway) as chain,
        Relay(kubo, engine.gateway) as ipfs,
        engine.client() as client,
        contextlib.ExitStack() as undo,
    ):
        (loaded,) = client.images.load(image.read_bytes())
        undo.callback(client.images.remove, loaded.id, force=True)
        (place / "agent.toml").write_text(
            lent.settings(
                rpc=[chain.url],
                ipfs=f"/ip4/{ipfs.host}/tcp/{ipfs.port}",
                docker="unix:///var/run/docker.sock",
                public_host=engine.address,
            )
        )
        folders = {str(place): "/etc/leasehold", str(world.deployment.parent): str(world.deployment.parent)}
        folders |= {
            engine.url.removeprefix("unix://"): "/var/run/docker.sock",
            str(lent.state): str(lent.state),
        }
        volumes = [f"{here}:{there}" for here, there in folders.items()]
        host = {"network_mode": "host", "pid_mode": "host", "cap_add": CAPABILITIES, "volumes": volumes}

        said = client.containers.run(loaded, ["describe", "--owner", lent.address], remove=True, **host)
        lent.join(said.decode())
        agent = client.containers.run(loaded, detach=True, **host)
        undo.callback(_end, agent)
        lent.serving(lambda: agent.logs().decode())
        lease = lent.site.rent(command=TICKS)
        before, ticks = lent.process_of(lease), lent.ticks(lease)
        agent.remove(force=True)
        second = client.containers.run(loaded, detach=True, **host)
        undo.callback(_end, second)
        lent.serving(lambda: second.logs().decode())
        assert lent.process_of(lease) == before
        lent.site.until(lambda: lent.ticks(lease) > ticks)


def _end(container: Container) -> None:
    with contextlib.suppress(docker.errors.NotFound):
        container.remove(force=True)
