"""What Prometheus reads, by its own parser; and a port that costs so much, whatever is done to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from devnet.patience import patient
from leasehold.chain import LeaseState, format_lease
from leasehold_agent import _serve
from leasehold_agent.api import MetricsPort
from leasehold_agent.api._metrics_port import MOST_CONNECTIONS
from leasehold_agent.documents import metrics
from leasehold_agent.host import Ailment, Card, CardReading, LeaseUsage
from leasehold_agent.reconciling import UsageWatch

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

GET = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"
Samples = dict[tuple[str, tuple[str, ...]], float]


def samples(text: bytes) -> Samples:
    """By name and the values of the labels."""
    families = text_string_to_metric_families(text.decode())
    return {(s.name, tuple(s.labels.values())): s.value for family in families for s in family.samples}


async def test_what_it_says(rig: Rig) -> None:
    facts, card = rig.host.facts, Card('An "odd"\ncard', 80 << 30, "GPU-secret", pci="0000:10:00.0")
    facts.inventory = replace(facts.inventory, gpus=(card,))
    facts.readings = {
        card.uuid_hash: CardReading(
            busy=97, memory_used=5, memory_bytes=9, temperature=71, power_watts=612.5, clock_mhz=1_755, throttle=4,
            corrected=3, uncorrected=1,
        )
    }  # fmt: skip
    facts.ill = {card.uuid_hash: Ailment("ecc", "1 uncorrectable memory errors")}
    facts.xids.update([(card.uuid_hash, 13), (card.uuid_hash, 13)])
    await rig.until(lambda: rig.host.snapshot.machines)
    lease = 12 << 16 | 1
    usage = UsageWatch(
        rig.reconciler, {lease: LeaseUsage(1.5, 2, 3, 4, 5, 6, 7)}, {(lease, card.uuid_hash): 1 << 30}
    )
    text = metrics(rig.host, usage)
    said, name, shown = samples(text), card.uuid_hash, format_lease(lease)
    assert said["leasehold_card_info", (name, card.model, "0000:10:00.0")] == 1
    assert said["leasehold_card_ill", (name, "ecc")] == 1
    assert said["leasehold_card_xids_total", (name, "13")] == 2
    assert said["leasehold_card_busy_ratio", (name,)] == 0.97
    assert said["leasehold_card_clock_hertz", (name,)] == 1.755e9
    assert said["leasehold_card_uncorrected_errors_total", (name,)] == 1
    assert ("leasehold_card_memory_clock_hertz", (name,)) not in said, "what is not known is not nought"
    assert said["leasehold_lease_cpu_seconds_total", (shown,)] == 1.5
    assert said["leasehold_lease_network_sent_bytes_total", (shown,)] == 7
    assert said["leasehold_lease_card_memory_bytes", (name, shown)] == 1 << 30
    assert said["leasehold_machine_cells", (str(rig.machine), "all")] == 8
    assert said["leasehold_chain_current", ()] in (0, 1)
    for secret in (b"GPU-secret", rig.identity.operator.address.encode(), rig.settings.owner.encode()):
        assert secret.lower() not in text.lower()


class Asked:
    """A port, with what it cost."""

    def __init__(self, port: int, server: MetricsPort) -> None:
        self.port, self.server, self.made = port, server, 0
        self.now = 0.0

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, request: bytes) -> bytes:
        """What comes back until it is closed."""
        reader, writer = await self.connect()
        try:
            writer.write(request)
            async with asyncio.timeout(patient(30)):
                return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()


@pytest.fixture
async def port_of() -> AsyncIterator[Callable[..., Any]]:
    made: list[Asked] = []

    async def make(seconds: float = patient(30), body: bytes = b"leasehold_x 1\n") -> Asked:
        def text() -> bytes:
            asked.made += 1
            return body

        server = MetricsPort(text, seconds=seconds, clock=lambda: asked.now)
        asked = Asked(0, server)
        asked.port = await server.start("127.0.0.1", 0)
        made.append(asked)
        return asked

    yield make
    for asked in made:
        await asked.server.close()


async def test_a_scrape(port_of: Callable[..., Any]) -> None:
    asked: Asked = await port_of()
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{asked.port}/metrics?x=1")
        assert (answer.status_code, answer.text) == (200, "leasehold_x 1\n")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert (await client.get(f"http://127.0.0.1:{asked.port}/")).status_code == 404
        assert (await client.post(f"http://127.0.0.1:{asked.port}/metrics")).status_code == 405


async def test_it_is_made_once_a_second_however_often_it_is_asked_for(port_of: Callable[..., Any]) -> None:
    asked: Asked = await port_of()
    for _ in range(10):
        assert b"200 OK" in await asked.say(GET)
    assert asked.made == 1
    asked.now += 1
    await asked.say(GET)
    assert asked.made == 2


async def test_silent_connections_take_a_few_places_and_are_cut_off(port_of: Callable[..., Any]) -> None:
    asked: Asked = await port_of(seconds=1.0)
    silent = [await asked.connect() for _ in range(4 * MOST_CONNECTIONS)]
    assert len(asked.server._open) <= MOST_CONNECTIONS
    async with asyncio.timeout(patient(30)):
        for reader, writer in silent:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
    assert b"200 OK" in await asked.say(GET)


@pytest.mark.parametrize(
    "request_",
    [
        b"x" * 100_000,
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x00\xff\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 5_000,
    ],
    ids=["no end", "nothing", "no target", "no text", "many headers"],
)
async def test_odd_words(port_of: Callable[..., Any], request_: bytes) -> None:
    asked: Asked = await port_of()
    assert b"200 OK" not in await asked.say(request_)
    assert b"200 OK" in await asked.say(GET)


async def test_whoever_does_not_take_his_answer_is_cut_off(port_of: Callable[..., Any]) -> None:
    asked: Asked = await port_of(seconds=0.5, body=b"x" * (64 << 20))
    reader, writer = await asked.connect()
    writer.write(GET)
    async with asyncio.timeout(patient(30)):
        await reader.readexactly(1)
        await asyncio.gather(*asked.server._open)
    writer.close()
    assert not asked.server._open


async def test_a_port_that_is_taken_does_not_end_the_agent(rig: Rig, port_of: Callable[..., Any]) -> None:
    taken: Asked = await port_of()
    async with contextlib.AsyncExitStack() as stack:
        await _serve.show_metrics(stack, UsageWatch(rig.reconciler), taken.port)


@pytest.mark.slow
async def test_the_agent_shows_its_leases(rig: Rig) -> None:
    lease = await rig.open()
    await rig.reaches(lease, LeaseState.ACTIVE)
    free = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = free.sockets[0].getsockname()[1]
    free.close()
    await free.wait_closed()
    named = ("leasehold_lease_processes", (format_lease(lease),))
    async with contextlib.AsyncExitStack() as stack:
        usage = UsageWatch(rig.reconciler)
        await _serve.show_metrics(stack, usage, port)

        async def said() -> bool:
            await usage.look()
            async with httpx.AsyncClient() as client:
                return named in samples((await client.get(f"http://127.0.0.1:{port}/metrics")).content)

        await rig.until(said)
