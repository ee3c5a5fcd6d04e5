"""Sealed workloads: what is taken, what is refused before it is read, and the operator's receipt for it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from devnet.patience import patient
from devnet.serving import CHAIN, CONTROLLER, MACHINE
from leasehold.chain.typed import Receipt, recover_signer
from leasehold.market.wire import MAX_UPLOAD, TooManyRequests
from leasehold.rates import RateLimit
from leasehold_agent._errors import UploadsFull
from leasehold_agent.access import Buckets
from leasehold_agent.api import UploadLimits, UploadRates

from .conftest import DOMAIN, LEASE, Tenant, World, key
from .test_auth import refused


def place(body: bytes) -> str:
    return "/v1/workloads/" + hashlib.sha256(body).hexdigest()


async def put(world: World, body: bytes, tenant: Tenant | None = None, **fields: object) -> httpx.Response:
    headers = await (tenant or world.stranger).sign(
        "PUT",
        place(body),
        body=body,
        **{"op": "workload.put", "lease": 0, **fields},  # type: ignore[arg-type]
    )
    return await world.http.put(place(body), headers=headers, content=body)


@pytest.mark.parametrize("size", [0, 1, MAX_UPLOAD])
async def test_any_account_may_upload(world: World, size: int) -> None:
    body = b"s" * size
    response = await put(world, body)
    assert response.status_code == 201
    assert world.leases.workloads.kept == {hashlib.sha256(body).digest(): body}
    answer = response.json()
    receipt = Receipt.from_json(answer["receipt"])
    assert receipt == Receipt(CHAIN, CONTROLLER, MACHINE, hashlib.sha256(body).digest(), world.clock() + 3600)
    signer = recover_signer(receipt.digest(DOMAIN), bytes.fromhex(answer["signature"][2:]))
    assert signer == world.operator.address


async def test_a_contract_may_upload_if_it_approves(world: World) -> None:
    world.stranger.wallet, body = world.stranger.wallet, b"x"
    assert (await put(world, body)).status_code == 201
    assert world.chain.asked == 0


async def test_too_large_by_its_own_word(world: World) -> None:
    refused(await put(world, b"s" * (MAX_UPLOAD + 1)), 413, "body-too-large")
    assert not world.leases.workloads.kept


async def test_too_large_while_it_comes(world: World) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 * MAX_UPLOAD:
            sent += 65536
            yield b"s" * 65536

    digest = hashlib.sha256(b"claimed").hexdigest()
    path = f"/v1/workloads/{digest}"
    headers = await world.stranger.sign("PUT", path, body=b"claimed", op="workload.put", lease=0)
    with contextlib.suppress(httpx.WriteError, httpx.ReadError):  # it may hang up while we are still sending
        refused(await world.http.put(path, headers=headers, content=endless()), 413, "body-too-large")
    assert sent < 64 * MAX_UPLOAD
    assert not world.leases.workloads.kept


async def test_other_bytes_than_the_path_says(world: World) -> None:
    path = place(b"claimed")
    headers = await world.stranger.sign("PUT", path, body=b"claimed", op="workload.put", lease=0)
    refused(await world.http.put(path, headers=headers, content=b"other"), 422, "digest-mismatch")
    assert not world.leases.workloads.kept


@pytest.mark.parametrize("name", ["x", "AB" * 32, "0" * 63, "0" * 65, "../" * 10])
async def test_a_path_that_is_no_digest(world: World, name: str) -> None:
    path = f"/v1/workloads/{name}"
    headers = await world.stranger.sign("PUT", path, op="workload.put", lease=0)
    assert (await world.http.put(path, headers=headers)).status_code in (400, 404)


async def test_nothing_is_read_for_who_has_no_right(world: World) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
    writer.write(f"PUT {place(b'x')} HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n".encode())
    async with asyncio.timeout(patient(10)):
        assert b"401" in await reader.readline()
    writer.close()


async def test_a_wrong_lease_or_operation(world: World) -> None:
    refused(await put(world, b"x", world.tenant, lease=LEASE), 403, "wrong-audience")
    refused(await put(world, b"x", op="lease.status"), 403, "wrong-operation")


async def test_a_full_store(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(digest: bytes, sealed: bytes, source: str = "") -> None:
        raise UploadsFull("Uploads that no lease has claimed fill their share of the disk; try again later.")

    monkeypatch.setattr(world.leases.workloads, "put", full)
    refused(await put(world, b"x"), 507, "store-full")


async def test_a_failure_is_answered_and_says_nothing_of_the_inside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(digest: bytes, sealed: bytes) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(world.leases.workloads, "put", broken)
    response = await put(world, b"x")
    refused(response, 500, "internal")
    assert "secret" not in response.text


async def limited(world: World, **rates: RateLimit) -> None:
    world.server.api.limits = UploadLimits(replace(UploadRates(), **rates), world.clock)


async def test_limit_by_account(world: World) -> None:
    await limited(world, account=RateLimit(2, 60))
    assert [(await put(world, bytes((n,)))).status_code for n in range(2)] == [201, 201]
    response = await put(world, b"third")
    refused(response, 429, "too-many-requests")
    assert response.headers["retry-after"] == "30"
    assert (await put(world, b"other", world.tenant)).status_code == 201
    world.clock.at += 30
    assert (await put(world, b"fourth")).status_code == 201


async def test_limit_by_address_counts_what_is_refused(world: World) -> None:
    await limited(world, address=RateLimit(2, 60))
    for _ in range(2):
        refused(await world.http.put(place(b"x")), 401, "missing-authorization")
    refused(await put(world, b"x"), 429, "too-many-requests")


@pytest.mark.parametrize("kind", ["address_bytes", "all_bytes"])
async def test_limit_by_bytes(world: World, kind: str) -> None:
    await limited(world, **{kind: RateLimit(1500, 60)})
    assert (await put(world, b"a" * 1000)).status_code == 201
    refused(await put(world, b"b" * 1000, Tenant(key(9), world.clock)), 429, "too-many-requests")


def test_buckets_forget_who_came_first() -> None:
    now = 0.0
    buckets = Buckets(RateLimit(1, 10), lambda: now, most=2)
    for name in "abc":
        buckets.take(name)
    buckets.take("a")  # forgotten, so that it is full again
    with pytest.raises(TooManyRequests):
        buckets.take("c")


def test_ipv6_counts_by_network() -> None:
    limits = UploadLimits(replace(UploadRates(), address=RateLimit(1, 60)), lambda: 0.0)
    limits.call("2001:db8::1")
    with pytest.raises(TooManyRequests):
        limits.call("2001:db8::ffff")
    limits.call("2001:db8:0:1::1")
    limits.call("unknown")
