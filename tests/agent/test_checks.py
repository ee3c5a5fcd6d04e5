"""Whether a host can serve: each part tried where it is well, wrong, or dead, which keeps nobody."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agent.nvml.standin import DRIVER_MISMATCH, StandIn

from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.patience import patient
from leasehold.chain import Deployment
from leasehold_agent._config import AgentSettings
from leasehold_agent.checks import Finding, MeasuringPeer, look, worst
from leasehold_agent.checks import _parts as parts
from leasehold_agent.checks._disk import measure_disk
from leasehold_agent.checks._look import _ports_of
from leasehold_agent.checks._outside import Effort, Outside
from leasehold_agent.checks._ports import Held, listening
from leasehold_agent.checks._resolvers import resolver_trouble
from leasehold_agent.documents import Measurements, Pace, keep_measured, last_measured
from leasehold_agent.engine import Engine as AgentsEngine
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import Inventory, bounded, take_inventory

FACTS = EngineFacts(True, ("runc",), Path("/none"), "{}", versions={"runc": "1.3.3", "Engine": "28.5.1"})
BARE = Inventory((), None, "", 4, 1, (), "")
MIB = 1 << 20


def states(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.name, finding.state) for finding in findings]


def text_of(findings: list[Finding]) -> str:
    return "\n".join(finding.text for finding in findings)


@contextlib.asynccontextmanager
async def mute() -> AsyncIterator[int]:
    """A port that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# ---------------------------------------------------------------------------------------------------- cards, engine


def test_cards_that_are_well(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add()
    (finding,) = parts.look_at_cards(take_inventory(tmp_path))
    assert finding == Finding("cards", "ok", "1 GPUs answer, driver 615.71.05.")
    assert states(parts.look_at_cards(BARE)) == [("cards", "ok")]


def test_a_card_that_is_lost_is_bad(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add()
    nvml.add().lose()
    found = parts.look_at_cards(take_inventory(tmp_path))
    assert states(found) == [("cards", "bad")]
    assert "index 1" in found[0].text


def test_a_driver_of_another_version_is_bad(nvml: StandIn, tmp_path: Path) -> None:
    nvml.set(init=DRIVER_MISMATCH)
    (finding,) = parts.look_at_cards(take_inventory(tmp_path))
    assert (finding.state, "reboot" in finding.text) == ("bad", True)


def test_a_card_with_few_lanes_is_a_warning(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add(pcie_width=4)
    (finding,) = parts.look_at_cards(take_inventory(tmp_path))
    assert (finding.state, "4 of its 16 PCIe lanes" in finding.text) == ("warning", True)


def test_cards_that_nobody_here_knows_are_a_warning() -> None:
    host = Inventory((), None, "", 4, 1, (), "", refused=("Cards of Intel are not sold.",))
    assert states(parts.look_at_cards(host)) == [("cards", "warning")]


@pytest.fixture
def well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that lacks nothing of what tests do not look at."""
    monkeypatch.setattr(parts, "lacks", lambda facts: [])


def test_an_engine_that_is_well(well: None) -> None:
    assert states(parts.look_at_engine(FACTS, BARE)) == [("engine", "ok"), ("quota", "ok")]


def test_an_engine_without_quota(well: None) -> None:
    facts = EngineFacts(False, ("runc",), Path("/none"), "{}", versions=FACTS.versions)
    assert states(parts.look_at_engine(facts, BARE)) == [("engine", "ok"), ("quota", "warning")]


def test_an_engine_that_ends_its_containers() -> None:
    facts = EngineFacts(True, ("runc",), Path("/none"), "{}", live_restore=False, versions=FACTS.versions)
    assert "live-restore" in text_of(parts.look_at_engine(facts, BARE))


def test_cards_without_a_toolkit_reach_no_lease(
    well: None, nvml: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml.add()
    monkeypatch.setenv("PATH", str(tmp_path))
    found = parts.look_at_engine(FACTS, take_inventory(tmp_path))
    assert "bad" in [finding.state for finding in found]
    assert "Container Toolkit" in text_of(found)


# ----------------------------------------------------------------------------------------------------- chain, clock


@pytest.mark.parametrize(
    ("now", "state", "word"),
    [
        (1_000.0, "ok", "agrees"),
        (986.0, "ok", "agrees"),
        (984.0, "bad", "16 s behind"),
        (1_120.9, "ok", "agrees"),
        (1_121.0, "warning", "121 s old"),
    ],
)
def test_the_clock_by_the_newest_block(now: float, state: str, word: str) -> None:
    finding = parts.judge_clock(now, head=1_000)
    assert (finding.state, word in finding.text) == (state, True)


@pytest.mark.parametrize("lie", [0, 10**12])
def test_a_node_that_lies_puts_no_clock_in_the_wrong(lie: int) -> None:
    assert states(parts.judge_nodes([lie, 1_000], 1_003.0)) == [("chain", "ok"), ("clock", "ok")]
    assert states(parts.judge_nodes([1_000, 1_001], 900.0))[-1] == ("clock", "bad")


async def test_without_a_node_nothing_is_served(tmp_path: Path) -> None:
    assert states(await parts.look_at_chain(AgentSettings(state_dir=tmp_path), time.time)) == [
        ("chain", "bad")
    ]


async def test_a_deployment_that_is_not_there(tmp_path: Path) -> None:
    settings = AgentSettings(
        state_dir=tmp_path, deployment=tmp_path / "none.json", rpc=("http://127.0.0.1:1",)
    )
    assert states(await parts.look_at_chain(settings, time.time)) == [("chain", "bad")]


async def test_one_node_of_two_is_dead(chain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the connection and says nothing."""
    monkeypatch.setattr(parts, "_NODE_SECONDS", 0.5)
    header = await chain.rpc.header("latest")
    deployment = chain.deployment.save(tmp_path)
    async with mute() as port:
        urls = (f"http://127.0.0.1:{port}", chain.anvil.url)
        settings = AgentSettings(state_dir=tmp_path, deployment=deployment, rpc=urls)
        async with asyncio.timeout(patient(30)):
            found = await parts.look_at_chain(settings, lambda: header.timestamp)
            alone = settings.model_copy(update={"rpc": urls[:1]})
            none = await parts.look_at_chain(alone, lambda: header.timestamp)
    assert states(found) == [("chain", "warning"), ("clock", "ok")]
    assert states(none) == [("chain", "bad"), ("chain", "warning")]


async def test_a_node_of_another_chain(chain: Any, tmp_path: Path) -> None:
    other = replace(chain.deployment, genesis="0x" + 64 * "1")
    settings = AgentSettings(state_dir=tmp_path, deployment=other.save(tmp_path), rpc=(chain.anvil.url,))
    assert states(await parts.look_at_chain(settings, time.time))[0] == ("chain", "bad")


async def test_one_node_is_believed_and_that_is_said(chain: Any, tmp_path: Path) -> None:
    header = await chain.rpc.header("latest")
    settings = AgentSettings(
        state_dir=tmp_path, deployment=chain.deployment.save(tmp_path), rpc=(chain.anvil.url,)
    )
    found = await parts.look_at_chain(settings, lambda: header.timestamp - 60)
    assert states(found) == [("chain", "warning"), ("clock", "bad")]


# ------------------------------------------------------------------------------------------------------- IPFS, names


async def test_the_ipfs_node(kubo: Kubo, tmp_path: Path) -> None:
    assert (await parts.look_at_ipfs(AgentSettings(state_dir=tmp_path, ipfs=kubo.api))).state == "ok"


async def test_an_ipfs_node_that_is_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_IPFS_SECONDS", 0.3)
    async with mute() as port:
        for api in (f"/ip4/127.0.0.1/tcp/{port}", "/ip4/127.0.0.1/tcp/1"):
            async with asyncio.timeout(patient(30)):
                assert (await parts.look_at_ipfs(AgentSettings(state_dir=tmp_path, ipfs=api))).state == "bad"


@contextlib.asynccontextmanager
async def resolver(*codes: int | None, forged: bytes = b"") -> AsyncIterator[int]:
    """Answers the questions with these codes; None: not at all. forged: what is sent before that."""
    left = list(codes)

    class Answering(asyncio.DatagramProtocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, address: Any) -> None:
            assert b"\x06docker\x02io\x00" in data
            if forged:
                self.transport.sendto(forged, address)
            if (code := left.pop(0)) is not None:
                self.transport.sendto(data[:2] + bytes((0x81, code)) + data[4:], address)

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Answering, local_addr=("127.0.0.1", 0))
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


def asking(tmp_path: Path, **settings: Any) -> AgentSettings:
    return AgentSettings(state_dir=tmp_path, dns=("127.0.0.1",), **settings)


@pytest.mark.parametrize(
    ("code", "state", "word"),
    [
        (0, "ok", "answer"),
        (3, "warning", "knows no such name"),
        (5, "warning", "refuses"),
        (2, "warning", "has failed"),
    ],
)
async def test_what_leases_find_names_by(tmp_path: Path, code: int, state: str, word: str) -> None:
    async with resolver(code) as port:
        finding = await parts.look_at_resolvers(asking(tmp_path), port)
    assert (finding.state, word in finding.text) == (state, True)


async def test_a_resolver_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_RESOLVER_SECONDS", 0.1)
    async with resolver(None) as port:
        finding = await parts.look_at_resolvers(asking(tmp_path), port)
    assert (finding.state, "does not answer" in finding.text) == ("warning", True)


@pytest.mark.parametrize("forged", [b"", b"x", b"\0\0\x81\x05" + bytes(8), bytes(600)], ids=len)
async def test_what_is_no_answer_is_passed_over(tmp_path: Path, forged: bytes) -> None:
    async with resolver(0, forged=forged) as port:
        assert (await parts.look_at_resolvers(asking(tmp_path), port)).state == "ok"


@pytest.mark.parametrize(
    ("registries", "name"),
    [
        (("docker.io", "ghcr.io"), "docker.io"),
        (("127.0.0.1:5000", "registry.lan:5000/x", "quay.io"), "registry.lan"),
        (("10.0.0.7", "localhost"), "example.org"),
        ((), "example.org"),
    ],
)
def test_which_name_is_asked_for(registries: tuple[str, ...], name: str) -> None:
    assert parts._known_name(registries) == name


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a..example"])
async def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    assert await resolver_trouble("127.0.0.1", name, seconds=1, port=9) == (
        f"cannot be asked for {name}, which is no name"
    )


async def test_nobody_is_asked_where_no_lease_reaches_anything(tmp_path: Path) -> None:
    async with resolver() as port:  # which would fail at a question
        assert (await parts.look_at_resolvers(asking(tmp_path, egress="none"), port)).state == "ok"


# -------------------------------------------------------------------------------------------------------------- disk


def test_a_disk_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    pace = measure_disk(tmp_path, seconds=10, most=16 * MIB)
    assert pace is not None
    assert min(pace.read, pace.write) > 0
    assert list(tmp_path.iterdir()) == []


def test_no_more_is_written_than_is_said(tmp_path: Path) -> None:
    """By a clock that goes a second with each look at it."""
    ticks = iter(range(100))
    pace = measure_disk(tmp_path, seconds=1_000, most=16 * MIB, clock=lambda: next(ticks))
    assert pace == Pace(read=16 * MIB // 5, write=16 * MIB // 5)
    assert measure_disk(tmp_path, seconds=10, most=MIB) is None


def test_a_slow_disk_is_cut_off(tmp_path: Path) -> None:
    times = iter([0, 0, 2, 2, 10, 10, 12, 12])
    assert measure_disk(tmp_path, seconds=1, most=64 * MIB, clock=lambda: next(times)) == Pace(
        2 * MIB, 2 * MIB
    )


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    settings = AgentSettings(state_dir=tmp_path, disk_reserve=1 << 60)
    found, pace = parts.look_at_disk(tmp_path, settings)
    assert (states(found), pace) == ([("disk", "bad")], None)


def test_a_disk_that_cannot_be_written(tmp_path: Path) -> None:
    """The engine's is elsewhere, and the state folder is none."""
    found, pace = parts.look_at_disk(Path("/none"), AgentSettings(state_dir=Path("/proc/self/fdinfo")))
    assert (states(found), pace) == ([("disk", "bad")], None)


def test_a_disk_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(parts, "measure_disk", lambda *folder, **how: never.wait())
    monkeypatch.setattr(parts, "_DISK_PATIENCE", 0.1)
    found, pace = parts.look_at_disk(tmp_path, AgentSettings(state_dir=tmp_path))
    never.set()
    assert (states(found), pace) == ([("disk", "bad")], None)
    assert "does not answer" in found[0].text


@pytest.mark.parametrize(
    ("pace", "state"),
    [(Pace(10**9, 10**9), "ok"), (Pace(10**9, 10**6), "warning"), (None, "warning")],
)
def test_how_fast_it_should_be(
    pace: Pace | None, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "measure_disk", lambda *folder, **how: pace)
    found, _ = parts.look_at_disk(tmp_path, AgentSettings(state_dir=tmp_path, disk_reserve=0))
    assert found[0].state == state


# ------------------------------------------------------------------------------------------------------------- ports

FREE, TAKEN = Held((1, 2), (), ()), Held((1, 2), (2,), ())
REACHED = Outside(10**9, 10**8, "198.51.100.7", {1: True, 2: True})
SHUT = Outside(10**9, 10**8, "198.51.100.7", {1: True, 2: False})


@pytest.mark.parametrize(
    ("held", "outside", "serving", "state", "word"),
    [
        (FREE, None, False, "warning", "could not be tried"),
        (FREE, REACHED, False, "ok", "198.51.100.7"),
        (FREE, SHUT, False, "bad", "cannot reach port 2"),
        (FREE, Outside(troubles=("it is silent",)), False, "warning", "it is silent"),
        (TAKEN, REACHED, True, "ok", "reaches"),
        (TAKEN, REACHED, False, "bad", "Another program has 2"),
        (Held((), (), ("80: Permission denied",)), None, False, "bad", "Permission denied"),
    ],
)
def test_what_can_be_reached(
    held: Held, outside: Outside | None, serving: bool, state: str, word: str
) -> None:
    found = parts.judge_ports(held, outside, serving=serving, peer="peer.example")
    assert (worst(found), word in text_of(found)) == (state, True)


def test_how_fast_a_host_is_is_said() -> None:
    assert parts.judge_network(REACHED, "p") == Finding(
        "network", "ok", "1000 Mbit/s down and 100 Mbit/s up, against p."
    )
    assert parts.judge_network(None, "").state == "warning"
    assert "nothing came" in parts.judge_network(Outside(troubles=("nothing came",)), "p").text


@pytest.mark.parametrize(
    ("serving", "settings", "ports"),
    [
        (False, {}, [8701, 8702, 20_000, 20_999]),
        (True, {}, [8701, 8702]),  # a lease may begin meanwhile
        (False, {"engine_netns": Path("/run/netns/x")}, [8701, 8702]),
        (False, {"ports_host": "198.51.100.9"}, [8701, 8702]),
    ],
)
def test_which_ports_are_tried(serving: bool, settings: dict[str, Any], ports: list[int]) -> None:
    assert _ports_of(AgentSettings(**settings), serving=serving) == ports


async def test_where_a_host_cannot_listen() -> None:
    async with listening("203.0.113.1", [18_704]) as held:
        assert (held.ports, held.refused) == ((), ("18704: Cannot assign requested address",))


async def test_a_port_that_somebody_has() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        async with listening("127.0.0.1", [port, port]) as held:
            assert held == Held((port,), (port,), ())
    async with listening("127.0.0.1", [port]) as held:
        assert held == Held((port,), (), ())
    async with listening("127.0.0.1", [port]) as held:  # and it was given back
        assert held.taken == ()


# --------------------------------------------------------------------------------------------------------- all of it


@pytest.mark.slow
async def test_everything_is_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node, IPFS node, resolver and peer take what they are sent and never answer: it ends, and says so of each."""
    for name in ("_NODE_SECONDS", "_IPFS_SECONDS", "_RESOLVER_SECONDS"):
        monkeypatch.setattr(parts, name, 0.3)
    async with mute() as port:
        settings = AgentSettings(
            state_dir=tmp_path,
            deployment=_deployment(tmp_path),
            rpc=(f"http://127.0.0.1:{port}",),
            ipfs=f"/ip4/127.0.0.1/tcp/{port}",
            dns=("127.0.0.1",),
            speed_peer=f"http://127.0.0.1:{port}/",
            listen="127.0.0.1",
            disk_reserve=0,
            egress="internet",
        )
        async with asyncio.timeout(patient(60)):
            looked = await look(settings, BARE, None, effort=Effort(0.3, 1 << 20))
    found = {finding.name: finding.state for finding in looked.findings if finding.name != "disks"}
    assert found == {
        "egress": "ok",
        "cards": "ok",
        "engine": "bad",
        "disk": "ok",
        "chain": "warning",
        "ipfs": "bad",
        "dns": "warning",
        "ports": "warning",
        "network": "warning",
    }
    assert worst(looked.findings) == "bad"
    assert looked.measured.down is None


def _deployment(folder: Path) -> Path:
    return Deployment(
        chain_id=31337,
        genesis="0x" + 64 * "0",
        factory="0x" + 40 * "1",
        accounts="0x" + 40 * "2",
        controller="0x" + 40 * "3",
        token="0x" + 40 * "4",
        block=1,
        token_symbol="TUSD",
        token_decimals=18,
    ).save(folder)


@pytest.mark.slow
async def test_a_host_that_is_well(docker_engine: Engine, kubo: Kubo, chain: Any, tmp_path: Path) -> None:
    """Against a peer of its own, which tries no ports of its own host."""
    peer = MeasuringPeer()
    url = f"http://127.0.0.1:{await peer.start('127.0.0.1', 0)}"
    engine = AgentsEngine(docker_engine.url)
    settings = AgentSettings(
        state_dir=tmp_path,
        deployment=chain.deployment.save(tmp_path),
        rpc=(chain.anvil.url,),
        docker=docker_engine.url,
        ipfs=kubo.api,
        egress="none",
        listen="127.0.0.1",
        speed_peer=url,
        disk_reserve=1 << 28,
    )
    chain.anvil.mine()  # the chain's last block may be as old as the tests before
    try:
        looked = await look(settings, BARE, await engine.facts(), effort=Effort(0.5, 8 << 20))
    finally:
        await engine.aclose()
        await peer.close()
    assert worst(looked.findings) != "bad", text_of(list(looked.findings))
    found = {finding.name: finding.state for finding in looked.findings if finding.state == "ok"}
    assert {"cards", "disk", "clock", "ipfs", "dns", "network"} <= found.keys()
    measured = looked.measured
    assert measured.disk is not None
    assert measured.down
    assert measured.up
    assert measured.peer == "127.0.0.1"


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\xff"])
def test_what_cannot_be_read_of_a_measurement_is_none(tmp_path: Path, text: str) -> None:
    assert last_measured(tmp_path) == {}
    (tmp_path / "measured.json").write_text(text, encoding="latin-1")
    assert last_measured(tmp_path) == {}


def test_a_measurement_is_kept(tmp_path: Path) -> None:
    keep_measured(tmp_path, Measurements(7, Pace(2, 1), 3, 4, "p"))
    kept = {"at": 7, "disk": {"read": 2, "write": 1}, "down": 3, "up": 4}
    assert last_measured(tmp_path) == {"measured": kept}
    keep_measured(tmp_path, Measurements(7))
    assert last_measured(tmp_path) == {"measured": {"at": 7}}


def test_what_a_driver_says_is_one_line() -> None:
    said = Finding("cards", "bad", "lost\n\x1b[2J" + "x" * 5_000).document()["text"]
    assert said.isprintable()
    assert len(said) == 1_000
    json.dumps(said)


def test_a_call_that_does_not_come_back() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError, match=r"0\.05 s"):
        bounded(never.wait, 0.05)
    never.set()
    assert bounded(lambda: 3, patient(30)) == 3
    fails: Callable[[], int] = lambda: shutil.disk_usage("/none").free  # noqa: E731
    with pytest.raises(FileNotFoundError):
        bounded(fails, patient(30))
