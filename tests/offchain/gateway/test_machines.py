"""Machines over HTTP: searched, paged, one whole, and what each costs."""

from __future__ import annotations

import inspect
from dataclasses import replace

import fastapi
import pytest

from leasehold.chain import LeaseClosed, cid_of_digest
from leasehold.gateway._parts import PartOf

from .conftest import CONTROLLER, NOW, OTHER, PROVIDER, TENANT, TERMS, UNIT, World, contact, hardware


async def test_a_machine_is_found_with_all_that_its_documents_say(world: World) -> None:
    await world.machine(1)
    await world.fetched()
    answer = await world.get("/api/v1/machines", q="gpu:H100 mem>=80 price<2.5 country:de image:pytorch")
    (machine,) = answer["items"]
    assert answer["total"] == 1
    assert answer["next"] is None
    assert machine["id"] == 1
    assert machine["provider"] == PROVIDER
    assert machine["price"] == str(2 * UNIT)
    assert machine["spot_price"] == str(UNIT)
    assert machine["class"] == "h100-80g"
    assert machine["gpu"] == "NVIDIA H100 80GB HBM3"
    assert machine["state"] == "free"
    assert machine["free_cells"] == 16
    assert machine["cells"] == 16
    assert machine["last_seen"] == NOW - 60
    assert machine["images_cached"] == ["pytorch/pytorch"]
    assert machine["hardware"]["cpu"]["cores"] == 48
    block = answer["block"]
    assert block["number"] == world.head
    assert block["time"] == NOW + world.head


async def test_a_machine_whose_documents_are_not_there_is_listed_and_joined_by_them_when_they_come(
    world: World,
) -> None:
    await world.machine(1)
    (machine,) = (await world.get("/api/v1/machines"))["items"]
    assert machine["gpu"] is None
    assert machine["missing"]
    assert (await world.get("/api/v1/machines", q="gpu:H100"))["total"] == 0
    await world.fetched()
    assert (await world.get("/api/v1/machines", q="gpu:H100"))["total"] == 1


async def test_pages_follow_each_other_without_a_gap(world: World) -> None:
    for number in range(1, 8):
        await world.machine(number, replace(TERMS, price=(number % 3 + 1) * UNIT))
    seen: list[int] = []
    after: dict[str, str] = {}
    while True:
        page = await world.get("/api/v1/machines", sort="-price", limit=2, **after)
        assert page["total"] == 7
        seen += [machine["id"] for machine in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == [2, 5, 1, 4, 7, 3, 6]


async def test_a_lease_is_seen_on_its_machine(world: World) -> None:
    await world.machine(1)
    lease = await world.open(1)
    (machine,) = (await world.get("/api/v1/machines"))["items"]
    assert machine["free_cells"] == 8
    assert machine["started"] == "100.0"
    await world.tell(
        (
            LeaseClosed,
            {"lease": lease, "machine": 1, "end": NOW + 60, "paid": UNIT, "fee": 0, "refunded": UNIT},
        )
    )
    (machine,) = (await world.get("/api/v1/machines"))["items"]
    assert machine["free_cells"] == 16


async def test_a_machine_whole(world: World) -> None:
    await world.machine(1)
    await world.open(1)
    whole = (await world.get("/api/v1/machines/1"))["machine"]
    assert whole["leases"]["started"] == 1
    (past,) = whole["terms_history"]
    assert past["price"] == str(2 * UNIT)
    assert past["time"] == NOW + past["block"]
    assert whole["contact_cid"] == cid_of_digest(world.blocks.keep(contact()))
    assert whole["hardware_cid"] == cid_of_digest(world.blocks.keep(hardware()))


async def test_a_quote_is_what_opening_will_take(world: World) -> None:
    await world.machine(1)
    quoted = (await world.get("/api/v1/machines/1/quote", cells=8, seconds=7_200))["quote"]
    assert quoted["escrow"] == str(4 * UNIT)
    assert quoted["hourly"] == str(2 * UNIT)
    assert quoted["problem"] is None
    assert quoted["refunds"][0]["back"] == "all of it"
    short = (await world.get("/api/v1/machines/1/quote", cells=8, seconds=1))["quote"]
    assert short["problem"]["code"]


async def test_leases_by_tenant_provider_and_state(world: World) -> None:
    await world.machine(1)
    await world.machine(2, provider=OTHER)
    first, second = await world.open(1), await world.open(2, tenant=OTHER)
    everything = await world.get("/api/v1/leases")
    assert [lease["number"] for lease in everything["items"]] == [str(second), str(first)]
    for wish, expected in (
        ({"tenant": TENANT}, [str(first)]),
        ({"provider": OTHER}, [str(second)]),
        ({"provider": OTHER, "machine": 1}, []),
        ({"state": "active"}, [str(second), str(first)]),
        ({"state": "over"}, []),
    ):
        answer = await world.get("/api/v1/leases", **wish)
        assert [lease["number"] for lease in answer["items"]] == expected
        assert answer["total"] == len(expected)
    page = await world.get("/api/v1/leases", limit=1)
    assert page["next"] == "2"
    assert page["total"] == 2
    assert [lease["id"] for lease in (await world.get("/api/v1/leases", after=page["next"]))["items"]] == [
        "1"
    ]


async def test_a_lease_and_its_events(world: World) -> None:
    await world.machine(1)
    await world.open(1)
    lease = (await world.get("/api/v1/leases/1"))["lease"]
    assert lease["state"] == "active"
    assert lease["tenant"] == TENANT
    assert lease["deposit"] == str(2 * UNIT)
    events = (await world.get("/api/v1/leases/1/events"))["items"]
    assert [event["event"] for event in events] == ["LeaseOpened", "LeaseStarted"]
    assert [event["time"] for event in events] == [NOW + world.head - 1, NOW + world.head]


async def test_the_pool_says_its_rules_contracts_and_domain(world: World) -> None:
    (pool,) = (await world.get("/api/v1/pools"))["items"]
    assert pool["token"]["decimals"] == 6
    assert pool["chain_id"] == 31337
    assert pool["domain"]["verifyingContract"] == CONTROLLER
    assert (await world.get(f"/api/v1/pools/{CONTROLLER}"))["pool"] == pool


async def test_health_and_readiness(world: World) -> None:
    assert (await world.get("/healthz"))["status"] == "ok"
    assert (await world.get("/readyz"))["block"] == world.head
    metrics = await world.client.get("/metrics")
    assert f"leasehold_gateway_block {world.head}" in metrics.text


async def test_no_search_is_sent_through_a_thread(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for one, and then for the interpreter, behind everybody else who does."""

    async def refused(work: object, *_: object, **__: object) -> None:
        raise AssertionError(f"{work} is no coroutine")

    for module in (fastapi.routing, fastapi.dependencies.utils):
        monkeypatch.setattr(module, "run_in_threadpool", refused)
    assert (await world.client.get("/api/v1/machines")).status_code == 200
    assert inspect.iscoroutinefunction(PartOf(object).__call__)
