"""Closing orders: who may leave one, what it may look like, and what is told of it."""

from __future__ import annotations

import hashlib

import httpx
import orjson
import pytest

from devnet.serving import CONTROLLER
from leasehold.chain import ClosingOrder, closing_key
from leasehold.chain.typed import SessionKey
from leasehold.market.wire import MAX_ORDER, ClosingOrderDocument

from .conftest import DOMAIN, LEASE, OTHER, Tenant, World
from .test_auth import refused

OP, WORKLOAD = "lease.closing-order", bytes(range(32))
ROW = closing_key(CONTROLLER, LEASE) << 64


def order(proof: bytes = b"\1" + bytes(65)) -> ClosingOrder:
    return ClosingOrder("0x" + "11" * 20, CONTROLLER, LEASE, ROW, 2_000_000_000, proof)


def body_of(**changes: object) -> bytes:
    document = ClosingOrderDocument.of(order(), WORKLOAD).model_dump()
    return orjson.dumps(document | changes)


async def put(
    world: World, body: bytes, tenant: Tenant | None = None, *, signed: bytes | None = None, **fields: object
) -> httpx.Response:
    path = "/v1/leases/12/closing-orders/" + hashlib.sha256(signed or body).hexdigest()
    who = tenant or world.tenant
    headers = await who.sign("PUT", path, body=signed or body, **{"op": OP, **fields})  # type: ignore[arg-type]
    return await world.http.put(path, headers=headers, content=body)


async def test_a_tenant_leaves_one_and_is_told_that_it_is_there(world: World) -> None:
    answer = (await put(world, body_of())).json()
    assert answer["closes_when_done"]
    kept, workload = world.leases.orders[LEASE]
    assert (kept.account, kept.controller, kept.lease) == (world.tenant.wallet.address, CONTROLLER, LEASE)
    assert (kept.nonce, kept.deadline, kept.proof) == (ROW, 2_000_000_000, b"\1" + bytes(65))
    assert workload == WORKLOAD


async def test_the_account_the_pool_and_the_lease_are_the_requests_own(world: World) -> None:
    """Whatever else a body names: an order of another lease is no order."""
    smuggled = body_of(
        account=world.stranger.wallet.address, lease=str(OTHER), calls=[{"target": CONTROLLER}]
    )
    assert (await put(world, smuggled)).status_code == 200
    assert world.leases.orders[LEASE][0].account == world.tenant.wallet.address
    assert list(world.leases.orders) == [LEASE]


async def test_nobody_else_does(world: World) -> None:
    refused(await put(world, body_of(), world.stranger), 403, "not-your-lease")
    refused(await put(world, body_of(), op="lease.status"), 403, "wrong-operation")
    refused(await put(world, body_of(), lease=OTHER), 403, "wrong-audience")
    session = await SessionKey.grant(
        world.tenant.wallet.address,
        DOMAIN,
        world.tenant.wallet,
        private_key=b"\7" * 32,
        ops=("lease.status", "lease.exec"),
        expires_at=world.clock() + 60,
    )
    world.tenant.signer = session
    refused(await put(world, body_of()), 403, "session-scope")
    assert not world.leases.orders


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"nonce": "1"}',
        body_of(nonce=1),
        body_of(nonce="-1"),
        body_of(nonce="01"),
        body_of(nonce="1" * 79),
        body_of(deadline=-1),
        body_of(deadline=2**53),
        body_of(deadline="soon"),
        body_of(proof="0x"),
        body_of(proof="0xABCD"),
        body_of(proof="0xabc"),
        body_of(workload="ab" * 31),
        body_of(workload="AB" * 32),
        b"[" * 5_000,
        b"\xff\xfe",
    ],
)
async def test_what_is_no_order(world: World, body: bytes) -> None:
    refused(await put(world, body), 400, "bad-call")
    assert not world.leases.orders


async def test_no_more_than_an_order_is_read(world: World) -> None:
    refused(await put(world, b" " * (MAX_ORDER + 1)), 413, "body-too-large")
    longest = ClosingOrderDocument.of(order(b"\3" + bytes(16_383)), WORKLOAD).model_dump_json().encode()
    assert len(longest) < MAX_ORDER
    assert (await put(world, longest)).status_code == 200


async def test_other_bytes_than_the_path_names(world: World) -> None:
    refused(await put(world, body_of(deadline=5), signed=body_of()), 422, "digest-mismatch")
    assert not world.leases.orders


async def test_a_host_that_takes_none_says_so(world: World) -> None:
    world.leases.takes_orders = False
    refused(await put(world, body_of()), 422, "order-refused")
