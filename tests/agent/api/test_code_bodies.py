"""Code that is handed over: who may, how much of it, and that what comes is what was signed."""

from __future__ import annotations

import hashlib

import httpx
import pytest

from leasehold.market.wire import CodeWanted

from .conftest import LEASE, Tenant, World
from .test_auth import refused


async def put(
    world: World, what: str, body: bytes, tenant: Tenant | None = None, *, signed: bytes | None = None
) -> httpx.Response:
    path = f"/v1/leases/12/{what}/" + hashlib.sha256(signed or body).hexdigest()
    headers = await (tenant or world.tenant).sign("PUT", path, body=signed or body, op="lease.code")
    return await world.http.put(path, headers=headers, content=body)


async def test_a_tenant_is_told_what_is_lacking(world: World) -> None:
    wanted = CodeWanted.model_validate((await put(world, "code", b"a list")).json())
    assert (wanted.left, wanted.bits(3)) == (2, [False, True, True])
    assert (await put(world, "code-packs", b"a pack")).json() == {"taken": 1, "left": 1}
    who = world.tenant.wallet.address
    assert world.leases.codes == {LEASE: [(who, b"a list"), (who, b"a pack")]}


@pytest.mark.parametrize("what", ["code", "code-packs"])
async def test_nobody_else_hands_anything_over(world: World, what: str) -> None:
    refused(await put(world, what, b"x", world.stranger), 403, "not-your-lease")
    assert world.leases.codes == {}


@pytest.mark.parametrize(("what", "most"), [("code", "MAX_CODE"), ("code-packs", "MAX_PACKED")])
async def test_what_is_too_large_is_not_read(
    world: World, what: str, most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"leasehold_agent.api._code_routes.{most}", 100)
    refused(await put(world, what, bytes(101)), 413, "body-too-large")
    assert world.leases.codes == {}


async def test_another_body_than_was_signed(world: World) -> None:
    refused(await put(world, "code", b"theirs", signed=b"mine"), 422, "digest-mismatch")
    assert world.leases.codes == {}


async def test_only_so_many_at_once(world: World) -> None:
    for _ in range(4):
        world.server.api.codes.acquire(LEASE)
    refused(await put(world, "code", b"one more"), 429, "too-many-requests")
    world.server.api.codes.release(LEASE)
    assert (await put(world, "code", b"one more")).status_code == 200


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_bits_come_back(count: int) -> None:
    lacking = [number % 3 == 0 for number in range(count)]
    assert CodeWanted.of(lacking).bits(count) == lacking


def test_bits_that_a_stranger_wrote_are_as_many_as_were_asked_for() -> None:
    assert CodeWanted(left=1, missing="ff").bits(3) == [True] * 3
    assert CodeWanted(left=1, missing="").bits(2) == [False, False]
