"""Prices over time, how the market stands, and who earns what."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from leasehold.chain import (
    FaultKind,
    LeaseClosed,
    OutageOpened,
    PriceChange,
    Rated,
    SeatJoined,
    VerificationRequested,
)
from leasehold.gateway._prices import STEP, Point, price_series

from .conftest import NOW, OTHER, PROVIDER, TENANT, TERMS, UNIT, World, hardware

RTX = hardware("NVIDIA GeForce RTX 4090", 25_757_220_864)


def test_a_price_counts_from_when_it_is_asked_until_it_is_not() -> None:
    a, b, unknown = b"a" * 32, b"b" * 32, b"u" * 32
    changes = [
        PriceChange(10, 1, 100, a),
        PriceChange(20, 2, 300, a),
        PriceChange(STEP + 1, 3, 50, b),
        PriceChange(STEP + 2, 4, 70, unknown),
        PriceChange(STEP + 3, 1, 200, a),
        PriceChange(2 * STEP + 1, 2, 0, a),
        PriceChange(2 * STEP + 2, 3, 60, a),
    ]
    series = price_series(changes, {a: "x", b: "y"}.get, 0, 3 * STEP - 1)
    assert series["x"] == [
        Point(STEP, 100, 100, 300, 2),
        Point(2 * STEP, 200, 200, 300, 2),
        Point(3 * STEP - 1, 60, 60, 200, 2),
    ]
    assert series["y"] == [Point(2 * STEP, 50, 50, 50, 1)]


async def test_prices_by_class(world: World) -> None:
    await world.machine(1)
    await world.machine(2, replace(TERMS, price=4 * UNIT))
    await world.machine(3, replace(TERMS, price=UNIT // 2), described=RTX)
    await world.fetched()
    answer = await world.get("/api/v1/prices", days=1)
    last = {item["class"]: item["series"][-1] for item in answer["items"]}
    assert last["h100-80g"]["least"] == str(2 * UNIT)
    assert last["h100-80g"]["most"] == str(4 * UNIT)
    assert last["h100-80g"]["machines"] == 2
    assert last["rtx-4090-24g"]["median"] == str(UNIT // 2)
    only = await world.get("/api/v1/prices", **{"class": "h100-80g"})
    assert [item["class"] for item in only["items"]] == ["h100-80g"]


async def test_statistics_count_what_there_is(world: World) -> None:
    await world.machine(1)
    await world.machine(2, provider=OTHER)
    await world.fetched()
    await world.open(1)
    figures = (await world.get("/api/v1/statistics"))["statistics"]
    assert (figures["machines"], figures["providers"], figures["gpus"], figures["free_gpus"]) == (2, 2, 4, 3)
    assert (figures["cells"], figures["leased_cells"]) == (32, 8)
    assert (figures["leases"], figures["live_leases"]) == (1, 1)
    assert figures["classes"] == [{"class": "h100-80g", "machines": 2, "gpus": 4, "free_cells": 24}]


@pytest.fixture
async def earned(world: World) -> World:
    """A provider whose lease is over, and was rated."""
    await world.machine(1)
    lease = await world.open(1)
    await world.tell(
        (
            LeaseClosed,
            {
                "lease": lease,
                "machine": 1,
                "end": NOW + 9,
                "paid": UNIT,
                "fee": UNIT // 10,
                "refunded": UNIT // 2,
            },
        )
    )
    await world.tell(
        (
            Rated,
            {
                "lease": lease,
                "provider": PROVIDER,
                "tenant": TENANT,
                "stars": 4,
                "comment": bytes(32),
                "fee": UNIT,
            },
        )
    )
    return world


async def test_a_providers_machines_earnings_and_score(earned: World) -> None:
    earned.chain.of[PROVIDER] = 640
    await earned.gateway.market.score()
    provider = (await earned.get(f"/api/v1/providers/{PROVIDER}"))["provider"]
    assert provider["machines"] == [1]
    assert provider["stake"] == str(100 * UNIT)
    assert provider["score"] == 640
    assert provider["balance"] == str(UNIT)
    assert [day["amount"] for day in provider["earnings"]] == [str(UNIT)]
    assert (provider["cells"], provider["leased_cells"], provider["claimable"]) == (16, 0, "0")
    assert (await earned.get("/api/v1/machines", q="score>=640 stars>3.5"))["total"] == 1
    whole = (await earned.get("/api/v1/machines/1"))["machine"]
    assert [rating["stars"] for rating in whole["rated"]] == [4]
    assert (whole["stars"], whole["score"]) == ("4.00", 640)


async def test_a_score_stays_when_its_machine_changes(earned: World) -> None:
    earned.chain.of[PROVIDER] = 640
    await earned.gateway.market.score()
    await earned.open(1)
    assert (await earned.get("/api/v1/machines"))["items"][0]["score"] == 640


async def test_earnings_as_a_table(earned: World) -> None:
    answer = await earned.client.get(f"/api/v1/providers/{PROVIDER}/earnings.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert row["time"].startswith("2027-01-15T08:")
    assert (row["kind"], row["amount"], row["token"], row["lease"], row["machine"]) == (
        "earn",
        "1",
        "TUSD",
        "1",
        "1",
    )


async def test_who_has_no_machine_is_no_provider(world: World) -> None:
    assert (await world.client.get(f"/api/v1/providers/{OTHER}")).status_code == 404


async def test_seats_and_rounds(world: World) -> None:
    await world.machine(1)
    for seat in (1, 2, 3):
        await world.tell((SeatJoined, {"seat": seat, "validator": OTHER, "stake": UNIT, "level": UNIT}))
    seats = await world.get("/api/v1/validators", limit=2)
    assert [seat["seat"] for seat in seats["items"]] == [1, 2]
    rest = await world.get("/api/v1/validators", limit=2, after=seats["next"])
    assert [seat["seat"] for seat in rest["items"]] == [3]
    assert (rest["next"], rest["total"]) == (None, 3)
    await world.tell(
        (VerificationRequested, {"round": 1, "machine": 1, "revision": 1, "requester": OTHER, "fee": UNIT,
         "block_": 5}),
    )  # fmt: skip
    (listed,) = (await world.get("/api/v1/rounds", machine=1))["items"]
    one = (await world.get("/api/v1/rounds/1"))["round"]
    assert one == {**listed, "votes": []}
    assert one["state"] == "requested"


async def test_faults_come_newest_first_by_pages(world: World) -> None:
    await world.machine(1)
    await world.machine(2)
    for fault, machine in ((1, 1), (2, 2), (3, 1)):
        opened = {"fault": fault, "machine": machine, "kind": FaultKind.ATTESTED, "from_": 5, "rules": 1}
        await world.tell((OutageOpened, {**opened, "reporter": bytes(32)}))
    first = await world.get("/api/v1/faults", limit=2)
    assert [fault["fault"] for fault in first["items"]] == [3, 2]
    rest = await world.get("/api/v1/faults", limit=2, after=first["next"])
    assert [fault["fault"] for fault in rest["items"]] == [1]
    assert (rest["next"], rest["total"]) == (None, 3)
    assert [fault["fault"] for fault in (await world.get("/api/v1/faults", machine=2))["items"]] == [2]


async def test_templates_come_whole(world: World) -> None:
    items = (await world.get("/api/v1/templates"))["items"]
    assert {"name", "summary", "image", "own", "text", "workload"} <= items[0].keys()
    assert len(items) > 3
