"""What a tenant asks about a lease: status, results, logs; and the public calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import orjson
import pytest

from devnet.patience import patient
from leasehold.market.wire import LOG_OFFSET, TooManyRequests
from leasehold_agent._errors import EngineDown
from leasehold_agent._runtime import LogView, PublishedPort
from leasehold_agent.access import Slots
from leasehold_agent.api import NonceStore, openapi
from leasehold_agent.store import EarlyEnd, LeaseSample

from .conftest import LEASE, World
from .test_auth import refused

STATUS = "/v1/leases/12"
LOGS = STATUS + "/logs"
REFERENCE = Path(__file__).parents[3] / "docs/reference/agent-api.json"


async def get(world: World, path: str, op: str, query: str = "") -> httpx.Response:
    headers = await world.tenant.sign("GET", path, op=op, query=query)
    return await world.http.get(path + (f"?{query}" if query else ""), headers=headers)


async def test_health(world: World) -> None:
    answer = (await world.http.get("/v1/health")).json()
    assert answer["status"] == "ok"
    assert answer["time"] == world.clock()


async def test_machine(world: World) -> None:
    answer = (await world.http.get("/v1/machine")).json()
    assert answer["machines"] == [7]
    assert answer["operator"] == world.operator.address
    contact = orjson.dumps(answer["contact"], option=orjson.OPT_SORT_KEYS)
    assert contact == world.context.contact()


async def test_status(world: World) -> None:
    world.leases.change(
        LEASE,
        phase="declined",
        reason="image-unknown",
        progress="pulling",
        ports=(PublishedPort(80, 30080),),
        exit_code=3,
        end=5,
        outputs=("/out",),
        result_cid="bafy",
        notice=EarlyEnd(5, "spot"),
        kept_until=9,
        paid_until=7,
        read_seconds=5,
        renews=(12 << 16) + 3,
        name="digits 3",
        volumes=("data",),
        host="198.51.100.7",
    )
    answer = (await get(world, STATUS, "lease.status")).json()
    assert answer == {
        "lease": "12",
        "lease_id": str(LEASE),
        "tenant": world.tenant.wallet.address,
        "machine": 7,
        "phase": "declined",
        "reason": "image-unknown",
        "progress": "pulling",
        "ports": [{"container": 80, "host": 30080, "protocol": "tcp"}],
        "container": {"state": "running", "exit_code": 3},
        "end": 5,
        "outputs": ["/out"],
        "result_cid": "bafy",
        "notice": {"ends_at": 5, "reason": "spot"},
        "kept": {"until": 9, "paid_until": 7, "read_seconds": 5},
        "renews": "12.3",
        "name": "digits 3",
        "volumes": ["data"],
        "host": "198.51.100.7",
        "exit_code": None,
        "closes_when_done": False,
        "checkpoint": None,
    }
    world.leases.change(LEASE, phase="finished", ended_with=3, closes_when_done=True)
    answer = (await get(world, STATUS, "lease.status")).json()
    assert (answer["phase"], answer["exit_code"], answer["closes_when_done"]) == ("finished", 3, True)


async def test_results(world: World) -> None:
    refused(await get(world, STATUS + "/results", "lease.results"), 404, "no-results")
    world.leases.change(LEASE, phase="ended", result_cid="bafy", outputs=("/out",))
    response = await get(world, STATUS + "/results", "lease.results")
    assert response.json() == {"cid": "bafy", "files": ["/out"]}


async def test_metrics(world: World) -> None:
    """Those of the time in which the lease was the caller's, and nobody else's."""
    mine, before = world.tenant.wallet.address, LeaseSample(1, cpu_seconds=9.0)
    world.leases.samples[LEASE] = [
        ("0xBefore", before),
        (mine, LeaseSample(60, 1.5, 2, 3, 4, 5, 6, 7, 8, 9.5, 10)),
    ]
    answer = (await get(world, STATUS + "/metrics", "lease.metrics")).json()
    reading = {"at": 60, "cpu_seconds": 1.5, "memory": 2, "processes": 3, "read": 4, "written": 5, "received": 6,
               "sent": 7, "card_memory": 8, "card_busy": 9.5, "card_temperature": 10}  # fmt: skip
    assert answer == {"lease": "12", "readings": [reading]}


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v2", 404), ("POST", "/v1/health", 405)])
async def test_no_such_place(world: World, method: str, path: str, status: int) -> None:
    refused(await world.http.request(method, path), status, "no-such-place")


async def test_the_whole_log(world: World) -> None:
    await world.leases.say(LEASE, b"one\ntwo\nthree")
    response = await get(world, LOGS, "lease.logs")
    assert (response.text, response.headers[LOG_OFFSET]) == ("one\ntwo\nthree", "0")


@pytest.mark.parametrize(("tail", "text"), [(0, ""), (1, "three"), (2, "two\nthree"), (9, "one\ntwo\nthree")])
@pytest.mark.parametrize("follow", ["false", "true"])
async def test_the_end_of_a_log(world: World, tail: int, text: str, follow: str) -> None:
    await world.leases.say(LEASE, b"one\ntwo\nthree", end=True)
    response = await get(world, LOGS, "lease.logs", f"tail={tail}&follow={follow}")
    assert response.text == text
    if follow == "true":
        assert response.headers[LOG_OFFSET] == str(len("one\ntwo\nthree") - len(text))


@pytest.mark.parametrize(("offset", "text"), [(1, "ne\ntwo\n"), (4, "two\n"), (8, ""), (900, "one\ntwo\n")])
async def test_a_log_from_an_offset(world: World, offset: int, text: str) -> None:
    await world.leases.say(LEASE, b"one\ntwo\n", end=True)
    response = await get(world, LOGS, "lease.logs", f"offset={offset}&follow=true")
    assert response.text == text


@pytest.mark.parametrize(
    "query", ["tail=-1", "tail=100001", "tail=x", "offset=-1", "tail=1&offset=1", "follow=maybe"]
)
async def test_queries_that_make_no_sense(world: World, query: str) -> None:
    refused(await get(world, LOGS, "lease.logs", query), 400, "bad-call")


async def test_no_log_without_a_container(world: World) -> None:
    world.leases.change(LEASE, container_id=None, phase="pulling")
    refused(await get(world, LOGS, "lease.logs"), 409, "not-running")


async def follow(world: World) -> tuple[httpx.Response, AsyncIterator[bytes]]:
    headers = await world.tenant.sign("GET", LOGS, op="lease.logs", query="follow=true")
    request = world.http.build_request("GET", LOGS + "?follow=true", headers=headers, timeout=None)
    response = await world.http.send(request, stream=True)
    assert response.status_code == 200
    return response, response.aiter_raw()


async def test_a_log_is_followed_until_the_container_ends(world: World) -> None:
    response, pieces = await follow(world)
    await world.leases.say(LEASE, b"one\n")
    assert await anext(pieces) == b"one\n"
    await world.leases.say(LEASE, b"two\n")
    assert await anext(pieces) == b"two\n"
    await world.leases.say(LEASE, b"", end=True)
    assert [piece async for piece in pieces] == []
    await response.aclose()


async def gone(world: World) -> None:
    """Waits until nobody follows the log."""
    async with asyncio.timeout(patient(10)):
        while world.leases.logs_of[LEASE].followers or world.server.api.admission.streams.used(LEASE):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_follower_who_leaves_is_noticed_in_quiet_times(world: World) -> None:
    response, _ = await follow(world)
    await response.aclose()
    await gone(world)


async def test_a_follower_is_cut_off_when_the_lease_changes_hands(world: World) -> None:
    world.server.api.recheck_seconds = 0.01
    response, pieces = await follow(world)
    world.leases.change(LEASE, tenant=world.stranger.wallet.address)
    async with asyncio.timeout(patient(10)):
        assert [piece async for piece in pieces] == []
    await response.aclose()
    await gone(world)


async def test_followers_are_counted(world: World) -> None:
    world.server.api.admission.streams = Slots(1)
    response, _ = await follow(world)
    refused(await get(world, LOGS, "lease.logs"), 429, "too-many-requests")
    await response.aclose()
    await gone(world)
    await world.leases.say(LEASE, b"", end=True)
    assert (await get(world, LOGS, "lease.logs")).status_code == 200


async def test_a_log_that_breaks_off_looks_broken(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(lease: int, tail: int | None, follow: bool, view: LogView) -> AsyncIterator[bytes]:
        yield b"one\n"
        raise EngineDown("The Docker engine does not answer.")

    monkeypatch.setattr(world.leases, "logs", broken)
    with pytest.raises(httpx.RemoteProtocolError):
        await get(world, LOGS, "lease.logs")


async def test_an_engine_that_is_down(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(lease: int) -> None:
        raise EngineDown("The Docker engine does not answer; try again.")

    monkeypatch.setattr(world.leases, "lookup", down)
    refused(await get(world, STATUS, "lease.status"), 503, "engine-unavailable")


async def test_slots() -> None:
    slots = Slots(1)
    with slots.take(1), slots.take(2):
        assert slots.used(1) == 1
        with pytest.raises(TooManyRequests), slots.take(1):
            pass
    assert slots.used(1) == 0


async def test_nonces_are_pruned_long_after_they_expired(tmp_path: Path) -> None:
    nonces = await NonceStore.open(tmp_path / "nonces.sqlite")
    assert (tmp_path / "nonces.sqlite").stat().st_mode & 0o777 == 0o600
    for number in range(255):
        assert await nonces.take("0xAb", number.to_bytes(32, "big"), 1000 + number, 1000)
    assert not await nonces.take("0xaB", bytes(32), 1000, 1000)
    assert await nonces.count() == 255
    for number in range(256):
        await nonces.take("0xAb", (1000 + number).to_bytes(32, "big"), 9000, 1700)
    assert await nonces.count() == 255 + 256 - 100
    await nonces.close()


def test_the_reference_is_up_to_date(world: World) -> None:
    from leasehold_agent.api import create_app

    assert openapi(create_app(world.server.api)) == REFERENCE.read_bytes(), "run scripts/agent_api.py"
