"""Code that is handed over: who may, how much of it, and that what comes is what was signed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import httpx
import pytest

from leasehold.market.wire import CodeWanted
from leasehold_agent.api import _received
from leasehold_agent.api._received import ReceivedBody

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


# ----------------------------------------------------------------------------------------- a body that gets a name


def body_of(folder: Path, content: bytes) -> ReceivedBody:
    file = _received._nameless(folder)
    file.write(content)
    file.seek(0)
    return ReceivedBody(file)


def test_a_body_is_kept_under_a_name_once_it_has_one(tmp_path: Path) -> None:
    body = body_of(tmp_path, b"a pack")
    assert body.keep_as(tmp_path / "kept")
    assert body.read() == b"a pack"
    body.close()
    kept = tmp_path / "kept"
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (b"a pack", 0o600)


def test_a_body_without_a_name_is_gone(tmp_path: Path) -> None:
    body = body_of(tmp_path, b"a pack")
    body.close()
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_named_in_place_of_a_body_that_is_gone(tmp_path: Path) -> None:
    """Its sender has gone, a thread still keeps it, and the number of its descriptor is another tenant's body's."""
    body = body_of(tmp_path, b"mine")
    number = body.file.fileno()
    body.close()
    other = body_of(tmp_path, b"theirs")
    assert other.file.fileno() == number
    assert not body.keep_as(tmp_path / "kept")
    other.close()
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_or_elsewhere_is_not_given(tmp_path: Path) -> None:
    body = body_of(tmp_path, b"mine")
    (tmp_path / "taken").write_bytes(b"theirs")
    assert not body.keep_as(tmp_path / "taken")
    assert not body.keep_as(Path("/proc/self/kept"))
    body.close()
    assert (tmp_path / "taken").read_bytes() == b"theirs"


def test_where_no_file_is_without_a_name_none_is_given_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)  # as a file system that has none refuses it
    body = body_of(tmp_path, b"mine")
    assert not body.keep_as(tmp_path / "kept")
    assert body.read() == b"mine"
    body.close()
