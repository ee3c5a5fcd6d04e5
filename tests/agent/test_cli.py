"""The commands as a provider types them, and the agent as `run` puts it together."""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import json
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from eth_account import Account
from tests.agent.nvml.standin import StandIn
from typer.testing import CliRunner

from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.world import free_port
from leasehold.chain import Deployment, FaultKind, LeaseState
from leasehold.chain.typed import Domain, Operate
from leasehold.errors import SettingsError
from leasehold.market import DocumentInvalid, Hardware, MachineFile
from leasehold_agent import __main__
from leasehold_agent._config import AgentSettings
from leasehold_agent._serve import other_engine, serve
from leasehold_agent.cli import _app as cli
from leasehold_agent.cli import _check, _run
from leasehold_agent.documents import lacks, read_status, write_status
from leasehold_agent.documents._footing import DESCRIPTORS
from leasehold_agent.engine import EngineFacts

if TYPE_CHECKING:
    from tests.agent.conftest import Rig


OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
POOL = Deployment(
    chain_id=31337,
    genesis="0x" + 64 * "0",
    factory="0x" + 40 * "1",
    accounts="0x" + 40 * "2",
    controller="0x" + 40 * "3",
    token="0x" + 40 * "4",
    block=1,
    token_symbol="TUSD",
    token_decimals=18,
)


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a command with settings in its environment, in a thread: commands have a loop of their own."""

    async def call(settings: dict[str, object], *arguments: str) -> Any:
        for name, value in settings.items():
            text = value if isinstance(value, str) else json.dumps(value)
            monkeypatch.setenv(f"LEASEHOLD_AGENT_{name.upper()}", text)
        return await asyncio.to_thread(CliRunner().invoke, cli.app, list(arguments))

    return call


def settings_of(rig: Rig, tmp_path: Path) -> dict[str, object]:
    deployment = rig.chain.deployment.save(tmp_path)
    return {
        "state_dir": str(rig.settings.state_dir),
        "owner": rig.settings.owner,
        "deployment": str(deployment),
        "rpc": [rig.chain.anvil.url],
        "ws": rig.chain.anvil.ws_url,
        "docker": rig.settings.docker,
        "engine_netns": str(rig.settings.engine_netns),
        "ipfs": rig.settings.ipfs,
        "tick_seconds": 0.2,
        "public_host": "127.0.0.1",
        "listen": "127.0.0.1",
    }


@pytest.mark.slow
async def test_describe(
    invoke: Callable[..., Any], docker_engine: Engine, kubo: Kubo, tmp_path: Path, tiny: Any
) -> None:
    settings = {
        "state_dir": str(tmp_path / "state"),
        "docker": docker_engine.url,
        "ipfs": kubo.api,
        "public_host": "gpu.example.org",
        "dns": ["127.0.0.1"],
        "disk_reserve": 1 << 28,
        "country": "IS",
        "deployment": str(POOL.save(tmp_path)),
    }
    nobody = await invoke(settings, "describe")
    assert "--owner" in str(nobody.exception)
    done = await invoke(settings, "describe", "--owner", OWNER.lower())
    assert done.exit_code == 0, done.output
    file = tmp_path / "machine.json"
    file.write_text(done.stdout)
    made = json.loads(done.stdout)
    loaded = MachineFile.load(file)
    assert (loaded.suggested.smallest_share, loaded.consent.provider) == (1, OWNER)  # there is no card here
    operator, deadline = made["operator"], loaded.consent.deadline
    signed = Operate(POOL.chain_id, POOL.controller, OWNER, operator, deadline)
    consent = loaded.consent_for(OWNER, POOL.controller, int(time.time()))
    digest = signed.digest(Domain(POOL.chain_id, POOL.controller))
    assert Account._recover_hash(digest, signature=consent.proof[1:]) == operator
    for other, controller, now in (
        (POOL.token, POOL.controller, 0),
        (OWNER, POOL.token, 0),
        (OWNER, POOL.controller, deadline + 1),
    ):
        with pytest.raises(DocumentInvalid, match="describe itself again, for"):
            loaded.consent_for(other, controller, now)
    contact = made["contact"]
    behind_its_node = f"/p2p/{kubo.peer_id}/x/leasehold/agent/1/{operator.lower()}"
    assert contact["endpoints"] == ["https://gpu.example.org:8701", behind_its_node]
    assert "at gpu.example.org and through its IPFS node" in done.stderr
    assert contact["location"] == {"country": "IS"}
    assert {"id": tiny.id, "name": "leasehold/tiny:1"} in contact["images"]
    assert contact["peer_id"] == kubo.peer_id
    assert made["hardware"]["disk"]["quota"] is True
    assert contact["measured"]["disk"].keys() == {"read", "write"}
    assert {part["name"] for part in made["check"]} >= {"cards", "engine", "disk", "chain", "ipfs", "ports"}
    again = json.loads((await invoke(settings, "describe")).stdout)
    assert again["operator"] == made["operator"]


async def test_describe_a_host_with_cards(
    invoke: Callable[..., Any], docker_engine: Engine, nvml: StandIn, tmp_path: Path
) -> None:
    """What is well is described, and what is not is said: a card that does not answer is not just left out."""
    card, lost = nvml.add(pcie_max=4), nvml.add()
    lost.lose()
    settings = {
        "state_dir": str(tmp_path / "state"),
        "docker": docker_engine.url,
        "ipfs": "/ip4/127.0.0.1/tcp/1",
        "dns": ["127.0.0.1"],
        "deployment": str(POOL.save(tmp_path)),
        "owner": OWNER,
    }
    done = await invoke(settings, "describe")
    assert done.exit_code == 0, done.output
    assert card.uuid not in done.output
    (tmp_path / "machine.json").write_text(done.stdout)
    described = MachineFile.load(tmp_path / "machine.json")
    (gpu,) = json.loads(done.stdout)["hardware"]["gpus"]
    assert gpu["pcie"] == {"generation": 4, "lanes": 16}
    assert any("index 1: GPU is lost" in trouble for trouble in described.troubles)
    assert "GPU is lost" in done.stderr


@pytest.mark.slow
async def test_describe_what_no_machine_has(
    invoke: Callable[..., Any], rig_of: Callable[..., Any], tmp_path: Path
) -> None:
    """One unit of the host is in service. What it was described as is looked for on IPFS where it is lost."""
    rig: Rig = await rig_of()
    await rig.until(lambda: rig.machine in rig.host.snapshot.hardware)
    await rig.stop()  # it need not run, and would write its log into what is read here
    settings = settings_of(rig, tmp_path) | {"cpu_units": 4}

    async def part(*arguments: str) -> tuple[int, int, int]:
        done = await invoke(settings, "describe", *arguments)
        assert done.exit_code == 0, (done.output, done.exception)
        made = json.loads(done.stdout)
        hardware = Hardware.model_validate(made["hardware"])
        return made["suggested"]["gpus"], hardware.cpu_units, hardware.host_units

    assert await part() == (3, 3, 4)
    assert await part("--units", "2") == (2, 2, 4)
    assert await part("--machine", str(rig.machine)) == (1, 1, 4)
    for arguments, why in (
        (("--units", "4"), "3 of this host's 4 CPU units are left"),
        (("--cards", "GPU-1"), "no card"),
        (("--machine", "9"), "not one of this host's"),
    ):
        assert why in str((await invoke(settings, "describe", *arguments)).exception)
    (kept,) = (
        path
        for path in rig.settings.hardware_dir.iterdir()
        if path.stem == rig.host.snapshot.hardware[rig.machine].hex()
    )
    document = kept.read_bytes()
    kept.unlink()
    assert "put it back" in str((await invoke(settings, "describe")).exception)
    await rig.ipfs.put_block(document)
    assert await part() == (3, 3, 4)
    assert kept.read_bytes() == document


async def test_describe_without_an_ipfs_node(
    invoke: Callable[..., Any], docker_engine: Engine, tmp_path: Path
) -> None:
    settings = {
        "state_dir": str(tmp_path),
        "docker": docker_engine.url,
        "ipfs": "/ip4/127.0.0.1/tcp/1",
        "dns": ["127.0.0.1"],
        "deployment": str(POOL.save(tmp_path)),
        "owner": OWNER,
    }
    done = await invoke(settings, "describe")
    made = json.loads(done.stdout)
    assert made["contact"]["peer_id"] is None
    (tmp_path / "machine.json").write_text(done.stdout)
    troubles = MachineFile.load(tmp_path / "machine.json").troubles
    assert any("IPFS node" in trouble for trouble in troubles)
    assert any("`rpc`" in trouble for trouble in troubles)
    assert all(trouble in done.stderr for trouble in troubles)


async def test_check_of_an_engine_that_hangs(
    invoke: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers a ping and nothing more."""
    monkeypatch.setattr(_check, "_ENGINE_SECONDS", 1)
    asked: list[bytes] = []

    async def ping_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(line := await reader.readline())
        if b"/_ping" in line:
            writer.write(b"HTTP/1.0 200 OK\r\n\r\nOK")
            await writer.drain()
        elif line:
            await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(ping_only, tmp_path / "engine")
    settings = {
        "state_dir": str(tmp_path / "none"),
        "docker": f"unix://{tmp_path}/engine",
        "ipfs": "/ip4/127.0.0.1/tcp/1",
        "dns": ["127.0.0.1"],
        "listen": "127.0.0.1",
    }
    async with asyncio.timeout(patient(60)):
        done = await invoke(settings, "check")
    server.close()
    assert done.exit_code == 1
    assert "bad     engine" in done.stdout
    assert any(b"/version" in line for line in asked)


@pytest.mark.slow
async def test_check(
    invoke: Callable[..., Any], docker_engine: Engine, kubo: Kubo, chain: Any, tmp_path: Path
) -> None:
    """It makes no keys; with something bad it ends with 1."""
    settings = {
        "state_dir": str(tmp_path / "state"),
        "docker": docker_engine.url,
        "ipfs": kubo.api,
        "dns": ["127.0.0.1"],
        "listen": "127.0.0.1",
        "disk_reserve": 1 << 28,
        "deployment": str(chain.deployment.save(tmp_path)),
        "rpc": [chain.anvil.url],
        **{f"{name}_port": free_port() for name in ("api", "ssh", "libp2p_api", "libp2p_ssh")},
    }
    done = await invoke(settings, "check")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"ok", "warning"}
    assert "ok      ipfs: The node answers." in lines
    assert not (tmp_path / "state").exists()
    (tmp_path / "state").mkdir()
    done = await invoke({**settings, "docker": f"unix://{tmp_path}/none"}, "check", "--json")
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert [part["name"] for part in said["check"] if part["state"] == "bad"] == ["engine"]
    kept = json.loads((tmp_path / "state/measured.json").read_text())
    assert kept == said["measured"]
    assert kept["disk"].keys() == {"read", "write"}


def test_an_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("LEASEHOLD_AGENT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["leasehold-agent", "drain"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code not in (0, None)
    said = capsys.readouterr().err
    assert "deployment" in said
    assert "Traceback" not in said


async def test_status_before_the_first_run(invoke: Callable[..., Any], tmp_path: Path) -> None:
    done = await invoke({"state_dir": str(tmp_path)}, "status")
    assert done.exit_code == 1


def test_the_agent_loads_no_trio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold_agent.cli.main", lambda: None)
    monkeypatch.setitem(sys.modules, "trio", sys)  # whoever has it by then keeps it
    __main__.main()
    assert sys.modules["trio"] is sys
    monkeypatch.delitem(sys.modules, "trio")
    __main__.main()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("trio")


def test_many_threads_have_few_arenas(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    for library in (SimpleNamespace(mallopt=lambda *what: asked.append(what)), SimpleNamespace()):
        monkeypatch.setattr(ctypes, "CDLL", lambda _, library=library: library)
        _run._few_arenas()
    assert asked == [(-8, 2)]


async def test_run_needs_to_know_the_pool(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="deployment"):
        await serve(AgentSettings.model_validate({"state_dir": tmp_path}))


@pytest.mark.slow
async def test_run_serves_and_the_other_commands_see_it(
    rig: Rig, invoke: Callable[..., Any], tmp_path: Path, unused_tcp_port_factory: Callable[[], int]
) -> None:
    """The agent as `run` makes it; meanwhile status, drain and pause in another thread, as beside it on a
    host.
    """
    lease = await rig.open(rig.workload(grace=0, ports=[{"container": 80}]), duration=30 * 86_400 - 60)
    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.stop()
    values = settings_of(rig, tmp_path)
    ports = ("api_port", "ssh_port", "libp2p_api_port", "libp2p_ssh_port")
    values |= {name: unused_tcp_port_factory() for name in ports}
    serving = asyncio.create_task(serve(AgentSettings.model_validate(values)))
    try:
        await _answers(rig, int(str(values["api_port"])))
        await rig.until(lambda: _phases(rig) == ["running"])
        shown = await invoke(values, "status")
        assert "running" in shown.output
        seen = (await invoke(values, "status", "--json")).output
        assert (
            json.loads(seen.splitlines()[-1])["gas"]["warning"] is None
        )  # the agent logs into the same stream

        dry = " ".join((await invoke(values, "drain", "--dry-run")).output.split())
        assert "takes no new leases. That is how it would be; 1 leases go on" in dry, dry
        assert "Nothing was sent" in (await invoke(values, "drain", "--undo", "--dry-run")).output
        for flags, says in (((), "would be down from now on, with"), (("--undo",), "is not down")):
            dry = (await invoke(values, "report", "--dry-run", *flags)).output
            assert (says in dry, "Nothing was sent" in dry) == (True, True), dry
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0
        assert not (await rig.chain.pool().machine_of(rig.machine)).down
        drained = await invoke(values, "drain")
        assert "no new leases" in drained.output, drained.output
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0xFF
        assert "again" in (await invoke(values, "drain", "--undo")).output
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0

        dry = await invoke(values, "pause", "--dry-run")
        assert "Nothing was sent" in dry.output
        assert "leasehold provider terminate 1" in dry.output, "what it would cost comes first"
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0
        paused = await invoke(values, "pause")
        assert "leasehold provider terminate 1" in paused.output, paused.output
        costs = json.loads((await invoke(values, "pause", "--json")).output.splitlines()[-1])
        assert costs["leases"][0]["penalty"] > 0
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0xFF
        dry = await invoke(values, "pause", "--undo", "--dry-run")
        assert "takes new leases again" in dry.output
        assert "Nothing was sent" in dry.output
        shown = (await invoke(values, "pause", "--undo", "--dry-run", "--json")).output.splitlines()[-1]
        assert json.loads(shown) == {
            "machines": [rig.machine],
            "still": {str(rig.machine): []},
            "sent": False,
        }
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0xFF

        await rig.chain.pool(2).close(lease)
        assert (await invoke(values, "drain", "--wait")).exit_code == 0
        await rig.until(lambda: _phases(rig) == ["ended"])
        assert "No lease runs" in (await invoke(values, "pause")).output
        shown = await invoke(values | {"hours": ["Mon 00:00-00:01"]}, "status")
        assert "you paused it" in " ".join(shown.output.split())
        assert "`all` are" in " ".join(shown.output.split())
        left = (await invoke(values | {"hours": []}, "pause", "--undo")).output
        assert "you drained it" in " ".join(left.split()), left
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0xFF
        assert "again" in (await invoke(values, "drain", "--undo")).output
        assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await rig.start()


@pytest.mark.slow
async def test_an_outage_is_reported_before_the_host_goes_down(
    rig: Rig, invoke: Callable[..., Any], tmp_path: Path
) -> None:
    """The agent that runs leaves it alone, however well it is; the next one, or the operator, ends it."""
    values = settings_of(rig, tmp_path)

    async def reported() -> bool:
        return rig.machine in rig.host.snapshot.outages

    async def is_down() -> bool:
        return (await rig.chain.pool().machine_of(rig.machine)).down

    await rig.until(lambda: rig.host.snapshot.machines)
    await rig.reconciler.tick()
    unasked = await invoke(values, "report")
    assert unasked.exit_code == 1
    assert not await is_down()

    rig.chain.anvil.advance(1)  # past the moment at which this process began
    done = await invoke(values, "report", "--yes")
    assert f"Machine {rig.machine} is down from now on" in done.output, done.output
    assert "down already" in (await invoke(values, "report", "--yes")).output
    await rig.until(reported)
    await write_status(rig.host, rig.runtime, None)
    assert f"Machine {rig.machine} is down since" in (await invoke(values, "status")).output
    for _ in range(3):
        await rig.reconciler.tick()
        await rig.reconciler.settle()
    assert await is_down()

    rig.chain.anvil.advance(60)
    await rig.restart()

    async def is_back() -> bool:
        return not await is_down()

    await rig.until(is_back)
    rig.chain.anvil.advance(1)
    assert "down from now on" in (await invoke(values, "report", "--yes")).output
    assert "is back" in (await invoke(values, "report", "--undo")).output
    assert not await is_down()
    faults = await rig.chain.pool().faults()
    found = [await faults.fault_of(number) for number in (1, 2)]
    assert [fault.kind for fault in found] == [FaultKind.SELF_REPORTED] * 2
    assert [fault.amount for fault in found] == [2 * 10**18, 0]  # both within the seven minutes


def _phases(rig: Rig) -> list[str]:
    status = read_status(rig.settings.state_dir) or {"leases": []}
    return [lease["phase"] for lease in status["leases"]]


async def _answers(rig: Rig, port: int) -> None:
    context = ssl.create_default_context(cadata=rig.identity.certificate_pem)
    async with httpx.AsyncClient(verify=context, trust_env=False) as client:

        async def healthy() -> bool:
            try:
                return (await client.get(f"https://127.0.0.1:{port}/v1/health")).status_code == 200
            except httpx.ConnectError:
                return False

        await rig.until(healthy)


def test_what_a_host_lacks_is_said_with_what_to_do(tmp_path: Path) -> None:
    well = EngineFacts(True, ("runc",), tmp_path, "{}", live_restore=True)
    assert lacks(well, most_files=lambda: 65_536, sysctls=tmp_path) == []
    (engine, files) = lacks(replace(well, live_restore=False), most_files=lambda: 1_024, sysctls=tmp_path)
    (calls,) = lacks(replace(well, seccomp=None), most_files=lambda: 65_536, sysctls=tmp_path)
    assert "golang-github-containers-common" in calls
    assert '"live-restore": true' in engine
    assert "1024 files" in files
    assert "LimitNOFILE=65536" in files


def test_what_one_lease_could_take_from_all_is_named(tmp_path: Path) -> None:
    """With the kernel's defaults one container has all 128 watchers, and every other's `inotify_init` fails."""
    well = EngineFacts(True, ("runc",), tmp_path, "{}", live_restore=True)
    shipped = (Path(__file__).parents[2] / "agent" / "leasehold-sysctl.conf").read_text()
    for line in shipped.splitlines():
        if "=" in line:
            name, _, value = line.partition(" = ")
            path = tmp_path / name.replace(".", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")
    assert lacks(well, most_files=lambda: 65_536, sysctls=tmp_path) == []
    (tmp_path / "fs/inotify/max_user_instances").write_text("128\n")
    (said,) = lacks(well, most_files=lambda: 65_536, sysctls=tmp_path)
    assert "(fs.inotify.max_user_instances)" in said
    assert "leasehold-sysctl.conf" in said


def test_the_unit_gives_what_the_agent_stands_on() -> None:
    unit = (Path(__file__).parents[2] / "agent" / "leasehold-agent.service").read_text()
    given = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))
    assert int(given["LimitNOFILE"]) >= DESCRIPTORS
    assert int(given["OOMScoreAdjust"]) <= -900


def test_a_copy_of_a_host_with_another_engine_is_told(tmp_path: Path) -> None:
    here = EngineFacts(True, ("runc",), tmp_path, id="AAAA")
    assert other_engine(tmp_path, here) is None
    assert other_engine(tmp_path, here) is None
    said = other_engine(tmp_path, replace(here, id="BBBB"))
    assert said is not None
    assert "copy of a host" in said
    assert other_engine(tmp_path, here) is None


def test_help_is_asked_in_either_way() -> None:
    """As of `leasehold`, of every verb."""
    for words in (["-h"], ["pause", "-h"]):
        asked = CliRunner().invoke(cli.app, words)
        assert asked.exit_code == 0, asked.output
        assert asked.output == CliRunner().invoke(cli.app, [*words[:-1], "--help"]).output


def test_the_agent_says_its_version() -> None:
    asked = CliRunner().invoke(cli.app, ["--version"])
    assert (asked.exit_code, asked.output.startswith("leasehold-agent ")) == (0, True)
