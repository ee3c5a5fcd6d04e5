"""The audit log of a lease as its tenant reads it, and sessions that he withdraws."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from devnet.patience import patient
from leasehold.chain.typed import SessionKey
from leasehold.market.wire import (
    LOG_OPS,
    MAX_SESSION_LIFETIME,
    READ_OPS,
    LeaseAudit,
    StoreFull,
    TooManyRequests,
)
from leasehold_agent.api import ApiServer
from leasehold_agent.api import _withdrawn as withdrawn_module
from leasehold_agent.api._withdrawn import WithdrawnSessions

from .conftest import DOMAIN, LEASE, World, key
from .test_auth import refused

STATUS = "/v1/leases/12"
AUDIT = STATUS + "/audit"
COLLEAGUE = key(66)


def withdrawal(session: str = COLLEAGUE.address) -> str:
    return f"{STATUS}/sessions/{session.lower()}"


async def shared(world: World, ops: tuple[str, ...], ends: int = 7_200) -> SessionKey:
    """What a colleague has of the tenant."""
    return await SessionKey.grant(
        world.tenant.wallet.address,
        DOMAIN,
        world.tenant.wallet,
        private_key=(66).to_bytes(32, "big"),
        ops=ops,
        leases=(LEASE,),
        expires_at=world.clock() + ends,
    )


async def ask(
    world: World, path: str, op: str, *, method: str = "GET", session: SessionKey | None = None
) -> httpx.Response:
    world.tenant.signer = session
    headers = await world.tenant.sign(method, path, op=op)
    return await world.http.request(method, path, headers=headers)


async def audit(world: World) -> LeaseAudit:
    answer = await ask(world, AUDIT, "lease.audit")
    assert answer.status_code == 200, answer.text
    return LeaseAudit.model_validate_json(answer.content)


async def acts(world: World) -> list[tuple[str | None, str, str]]:
    return [(act.session, act.op, act.outcome) for act in (await audit(world)).acts]


async def test_who_did_what(world: World) -> None:
    session = await shared(world, READ_OPS)
    await ask(world, STATUS, "lease.status")
    await ask(world, STATUS + "/results", "lease.results", session=session)
    await ask(world, STATUS + "/stop", "lease.stop", method="PUT")
    await ask(world, STATUS + "/stop", "lease.stop", method="PUT", session=session)
    assert sorted(await acts(world), key=str) == [
        (COLLEAGUE.address, "lease.results", "no-results"),
        (None, "lease.audit", "begun"),
        (None, "lease.status", "done"),
        (None, "lease.stop", "done"),
    ]
    assert [(tries.reason, tries.times) for tries in (await audit(world)).refused] == [("session-scope", 1)]


async def test_a_log_that_is_followed_is_in_it_while_it_lasts(world: World) -> None:
    path = STATUS + "/logs"
    world.tenant.signer = await shared(world, LOG_OPS)
    headers = await world.tenant.sign("GET", path, op="lease.logs", query="follow=true")
    async with world.http.stream("GET", path + "?follow=true", headers=headers):
        assert (COLLEAGUE.address, "lease.logs", "done") in await acts(world)


async def test_strangers_are_counted_and_push_nothing_out(world: World) -> None:
    await ask(world, STATUS, "lease.status")
    for _ in range(10):
        await world.http.get(STATUS, headers=await world.stranger.sign("GET", STATUS))
        forged = await world.stranger.sign("GET", STATUS, account=world.tenant.wallet.address)
        await world.http.get(STATUS, headers=forged)
    seen = await audit(world)
    assert {act.op: act.times for act in seen.acts} == {"lease.status": 1, "lease.audit": 1}
    assert {tries.reason: tries.times for tries in seen.refused} == {
        "not-your-lease": 10,
        "invalid-request-proof": 10,
    }


async def test_it_is_the_tenant_s_of_that_time(world: World) -> None:
    await ask(world, STATUS, "lease.status")
    world.leases.change(LEASE, tenant=world.stranger.wallet.address)
    headers = await world.stranger.sign("GET", AUDIT, op="lease.audit")
    answer = LeaseAudit.model_validate_json((await world.http.get(AUDIT, headers=headers)).content)
    assert [act.op for act in answer.acts] == ["lease.audit"]


async def test_a_colleague_does_not_read_it(world: World) -> None:
    refused(
        await ask(world, AUDIT, "lease.audit", session=await shared(world, READ_OPS)), 403, "session-scope"
    )


async def test_it_survives_a_restart(world: World) -> None:
    await ask(world, STATUS, "lease.status")
    await world.server.close()
    world.server = await ApiServer.open(world.context)
    port = await world.server.start("127.0.0.1", 0)
    world.http.base_url = httpx.URL(f"https://127.0.0.1:{port}")
    assert (None, "lease.status", "done") in await acts(world)


# Sessions that are withdrawn


async def test_a_session_is_withdrawn_before_its_end(world: World) -> None:
    session = await shared(world, READ_OPS)
    assert (await ask(world, STATUS, "lease.status", session=session)).status_code == 200
    answer = await ask(world, withdrawal(), "lease.revoke", method="DELETE")
    assert answer.json() == {"lease": "12", "sessions": [COLLEAGUE.address.lower()]}
    refused(await ask(world, STATUS, "lease.status", session=session), 401, "session-withdrawn")
    assert (await ask(world, STATUS, "lease.status")).status_code == 200, "the account itself goes on"


async def test_it_stays_withdrawn_after_a_restart(world: World) -> None:
    session = await shared(world, READ_OPS)
    await ask(world, withdrawal(), "lease.revoke", method="DELETE")
    await world.server.close()
    world.server = await ApiServer.open(world.context)
    port = await world.server.start("127.0.0.1", 0)
    world.http.base_url = httpx.URL(f"https://127.0.0.1:{port}")
    refused(await ask(world, STATUS, "lease.status", session=session), 401, "session-withdrawn")


async def test_a_stream_under_it_ends(world: World) -> None:
    world.server.api.recheck_seconds = 0.01
    path = STATUS + "/logs"
    world.tenant.signer = await shared(world, LOG_OPS)
    headers = await world.tenant.sign("GET", path, op="lease.logs", query="follow=true")
    async with (
        asyncio.timeout(patient(20)),
        world.http.stream("GET", path + "?follow=true", headers=headers) as log,
    ):
        await ask(world, withdrawal(), "lease.revoke", method="DELETE")
        assert await log.aread() == b""


async def test_nobody_withdraws_with_a_session_that_does_not_grant_it(world: World) -> None:
    session = await shared(world, READ_OPS)
    refused(
        await ask(world, withdrawal(), "lease.revoke", method="DELETE", session=session), 403, "session-scope"
    )
    path = withdrawal()
    headers = await world.stranger.sign("DELETE", path, op="lease.revoke")
    refused(await world.http.request("DELETE", path, headers=headers), 403, "not-your-lease")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "withdrawn.sqlite"


async def test_it_is_remembered_for_as_long_as_a_session_may_last(path: Path) -> None:
    sessions = await WithdrawnSessions.open(path, 1_000)
    await sessions.withdraw(LEASE, "0xAA", "0xBB", 1_000)
    await sessions.close()
    kept = await WithdrawnSessions.open(path, 1_000 + MAX_SESSION_LIFETIME)
    assert kept.has(LEASE, "0xaa", "0xbb")
    assert not kept.has(LEASE + 1, "0xaa", "0xbb")
    await kept.close()
    later = await WithdrawnSessions.open(path, 1_000 + 2 * MAX_SESSION_LIFETIME)
    assert not later.has(LEASE, "0xaa", "0xbb")
    await later.close()


async def test_so_many_are_remembered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withdrawn_module, "MOST", 2)
    sessions = await WithdrawnSessions.open(path, 1_000)
    for name in ("0x1", "0x2", "0x2"):
        await sessions.withdraw(LEASE, "0xaa", name, 1_000)
    with pytest.raises(TooManyRequests, match="2 sessions"):
        await sessions.withdraw(LEASE, "0xaa", "0x3", 1_000)
    await sessions.withdraw(LEASE, "0xbb", "0x3", 1_000)  # another account has its own
    await sessions.close()


async def test_a_thief_of_a_session_leaves_room_for_its_own_withdrawal(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He withdraws sessions that nobody has, so that his is not: also after a restart."""
    monkeypatch.setattr(withdrawn_module, "MOST", 2)
    sessions = await WithdrawnSessions.open(path, 1_000)
    for name in ("0x1", "0x2"):
        await sessions.withdraw(LEASE, "0xaa", name, 1_000, asker="0xEE")
    await sessions.close()
    sessions = await WithdrawnSessions.open(path, 1_000)
    with pytest.raises(TooManyRequests):
        await sessions.withdraw(LEASE, "0xaa", "0x3", 1_000, asker="0xee")
    await sessions.withdraw(LEASE, "0xaa", "0xee", 1_000)
    assert sessions.has(LEASE, "0xaa", "0xee")
    monkeypatch.setattr(withdrawn_module, "MOST_IN_ALL", 3)
    with pytest.raises(TooManyRequests):
        await sessions.withdraw(LEASE, "0xaa", "0x4", 1_000)
    await sessions.close()


async def test_who_withdraws_under_a_session_fills_its_own_part(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(withdrawn_module, "MOST", 1)
    stolen = await shared(world, ("lease.revoke",))
    path = withdrawal("0x" + "5" * 40)
    assert (await ask(world, path, "lease.revoke", method="DELETE", session=stolen)).status_code == 200
    answer = await ask(world, withdrawal("0x" + "6" * 40), "lease.revoke", method="DELETE", session=stolen)
    refused(answer, 429, "too-many-requests")
    assert (await ask(world, withdrawal(), "lease.revoke", method="DELETE")).status_code == 200
    refused(await ask(world, path, "lease.revoke", method="DELETE", session=stolen), 401, "session-withdrawn")


async def test_a_disk_that_takes_nothing_is_said(path: Path) -> None:
    sessions = await WithdrawnSessions.open(path, 1_000)
    await sessions._database.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreFull, match="until this agent starts anew"):
        await sessions.withdraw(LEASE, "0xaa", "0x1", 1_000)
    assert sessions.has(LEASE, "0xaa", "0x1"), "it is withdrawn all the same, for now"
    await sessions.close()
