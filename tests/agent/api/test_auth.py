"""The thief's view: each way of calling without a right, refused by name."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace

import httpx
import orjson
import pytest

from devnet.serving import CHAIN, CONTROLLER, MACHINE
from leasehold.chain.typed import Domain, Proof, ProofKind, Session, SessionKey, sign
from leasehold.errors import RpcUnavailable
from leasehold.market.wire import MAX_AUTHORIZATION, OPS, decode_authorization
from leasehold_agent.api import ApiServer

from .conftest import DOMAIN, LEASE, OTHER, Tenant, World, key

STATUS = "/v1/leases/12"
ELSEWHERE = "0x00000000000000000000000000000000000000AA"


def refused(response: httpx.Response, status: int, name: str) -> None:
    problem = response.json()
    assert (response.status_code, problem["type"]) == (status, name)
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"].endswith((".", ")"))


async def test_the_tenant_is_served(world: World) -> None:
    response = await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS))
    assert response.status_code == 200
    assert response.json()["lease"] == "12"
    assert response.json()["lease_id"] == str(LEASE)
    assert world.chain.asked == 0


CALLS = [
    ("GET", STATUS),
    ("GET", STATUS + "/logs"),
    ("GET", STATUS + "/results"),
    ("PUT", "/v1/workloads/" + hashlib.sha256(b"").hexdigest()),
]


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_without_a_header(world: World, method: str, path: str) -> None:
    response = await world.http.request(method, path)
    refused(response, 401, "missing-authorization")
    assert response.headers["www-authenticate"] == "Leasehold"


@pytest.mark.parametrize("path", ["/v1/health", "/v1/machine"])
async def test_what_is_public(world: World, path: str) -> None:
    assert (await world.http.get(path)).status_code == 200


def encoded(document: object) -> str:
    return "Leasehold " + base64.urlsafe_b64encode(orjson.dumps(document)).rstrip(b"=").decode()


MALFORMED = {
    "another scheme": "Bearer abc",
    "nothing after the scheme": "Leasehold",
    "padding": "Leasehold YWJj=",
    "not base64url": "Leasehold a+b/",
    "a length that no base64 has": "Leasehold abcde",
    "not JSON": "Leasehold " + base64.urlsafe_b64encode(b"not json").decode().rstrip("="),
    "a list": encoded([1]),
    "no proof": encoded({"request": {}}),
    "more than is known": encoded({"request": {}, "proof": "0x01", "more": 1}),
    "a proof that is a number": encoded({"request": {}, "proof": 1}),
    "a proof in upper case": encoded({"request": {}, "proof": "0xAB"}),
    "an empty request": encoded({"request": {}, "proof": "0x01"}),
    "too long": "Leasehold " + "a" * MAX_AUTHORIZATION,
}


@pytest.mark.parametrize("header", MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_headers(world: World, header: str) -> None:
    refused(await world.http.get(STATUS, headers={"Authorization": header}), 401, "malformed-authorization")


async def test_two_headers(world: World) -> None:
    value = (await world.tenant.sign("GET", STATUS))["Authorization"]
    response = await world.http.get(STATUS, headers=[("Authorization", value), ("Authorization", value)])
    refused(response, 401, "malformed-authorization")


async def test_a_wrong_key(world: World) -> None:
    headers = await world.stranger.sign("GET", STATUS, account=world.tenant.wallet.address)
    refused(await world.http.get(STATUS, headers=headers), 401, "invalid-request-proof")


@pytest.mark.parametrize("proof", ["0x01", "0x0100", "0x05" + "00" * 65, "0x01" + "ff" * 65])
async def test_proofs_that_are_none(world: World, proof: str) -> None:
    document = orjson.loads(_decoded((await world.tenant.sign("GET", STATUS))["Authorization"]))
    document["proof"] = proof
    response = await world.http.get(STATUS, headers={"Authorization": encoded(document)})
    refused(response, 401, "malformed-authorization")


def _decoded(header: str) -> bytes:
    text = header.removeprefix("Leasehold ")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


TIMES: dict[str, tuple[Callable[[int], tuple[int, int]], int, str]] = {
    "expired": (lambda now: (now - 60, now), 401, "request-expired"),
    "from the future": (lambda now: (now + 31, now + 60), 401, "request-too-early"),
    "for too long": (lambda now: (now, now + 301), 401, "request-too-long"),
    "for ever": (lambda now: (0, 2**64 - 1), 401, "request-too-long"),
    "ends before it begins": (lambda now: (now + 20, now - 20), 401, "request-expired"),
    "within the skew": (lambda now: (now + 30, now + 330), 200, ""),
    "the last second": (lambda now: (now - 299, now + 1), 200, ""),
}


@pytest.mark.parametrize(("times", "status", "name"), TIMES.values(), ids=TIMES.keys())
async def test_times(world: World, times: Callable[[int], tuple[int, int]], status: int, name: str) -> None:
    issued, expires = times(world.clock())
    headers = await world.tenant.sign("GET", STATUS, issued_at=issued, expires_at=expires)
    response = await world.http.get(STATUS, headers=headers)
    if status == 200:
        assert response.status_code == 200
    else:
        refused(response, status, name)


async def test_a_replay(world: World) -> None:
    headers = await world.tenant.sign("GET", STATUS)
    assert (await world.http.get(STATUS, headers=headers)).status_code == 200
    refused(await world.http.get(STATUS, headers=headers), 401, "request-replayed")


async def test_a_nonce_serves_once_whatever_it_is_used_for(world: World) -> None:
    nonce = b"n" * 32
    assert (
        await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS, nonce=nonce))
    ).is_success
    path = STATUS + "/logs"
    headers = await world.tenant.sign("GET", path, op="lease.logs", nonce=nonce)
    refused(await world.http.get(path, headers=headers), 401, "request-replayed")


async def test_two_accounts_may_choose_the_same_nonce(world: World) -> None:
    nonce = b"n" * 32
    assert (
        await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS, nonce=nonce))
    ).is_success
    path = "/v1/leases/13"
    headers = await world.stranger.sign("GET", path, lease=OTHER, nonce=nonce)
    assert (await world.http.get(path, headers=headers)).is_success


async def test_a_replay_after_a_restart(world: World) -> None:
    headers = await world.tenant.sign("GET", STATUS)
    assert (await world.http.get(STATUS, headers=headers)).status_code == 200
    await world.server.close()
    world.server = await ApiServer.open(world.context)
    port = await world.server.start("127.0.0.1", 0)
    async with httpx.AsyncClient(
        base_url=f"https://127.0.0.1:{port}", verify=world.tls, trust_env=False
    ) as http:
        refused(await http.get(STATUS, headers=headers), 401, "request-replayed")


async def test_a_refused_request_does_not_use_up_its_nonce(world: World) -> None:
    headers = await world.tenant.sign("GET", STATUS)
    refused(await world.http.get(STATUS + "/results", headers=headers), 403, "wrong-operation")
    assert (await world.http.get(STATUS, headers=headers)).status_code == 200


async def test_a_signature_for_another_method(world: World) -> None:
    headers = await world.tenant.sign("PUT", STATUS)
    refused(await world.http.get(STATUS, headers=headers), 401, "params-mismatch")


async def test_a_signature_for_another_path(world: World) -> None:
    headers = await world.tenant.sign("GET", "/v1/leases/12.0")
    refused(await world.http.get(STATUS, headers=headers), 401, "params-mismatch")


async def test_a_signature_for_another_query(world: World) -> None:
    path = STATUS + "/logs"
    headers = await world.tenant.sign("GET", path, query="tail=1", op="lease.logs")
    refused(await world.http.get(path + "?tail=100000", headers=headers), 401, "params-mismatch")


async def test_a_signature_for_another_body(world: World) -> None:
    path = "/v1/workloads/" + hashlib.sha256(b"mine").hexdigest()
    headers = await world.tenant.sign("PUT", path, body=b"other", op="workload.put", lease=0)
    refused(await world.http.put(path, headers=headers, content=b"mine"), 401, "params-mismatch")


async def test_a_body_where_none_is_signed(world: World) -> None:
    headers = await world.tenant.sign("GET", STATUS)
    refused(await world.http.request("GET", STATUS, headers=headers, content=b"x"), 400, "bad-call")


AUDIENCES: dict[str, dict[str, object]] = {
    "another lease": {"lease": OTHER},
    "another generation": {"lease": LEASE + 1},
    "no lease": {"lease": 0},
    "another machine": {"machine": MACHINE + 1},
    "another chain": {"chain": CHAIN + 1},
    "another pool": {"controller": ELSEWHERE},
}


@pytest.mark.parametrize("fields", AUDIENCES.values(), ids=AUDIENCES.keys())
async def test_another_audience(world: World, fields: dict[str, object]) -> None:
    headers = await world.tenant.sign("GET", STATUS, **fields)  # type: ignore[arg-type]
    refused(await world.http.get(STATUS, headers=headers), 403, "wrong-audience")


@pytest.mark.parametrize("domain", [Domain(CHAIN + 1, CONTROLLER), Domain(CHAIN, ELSEWHERE)])
async def test_a_signature_in_another_domain(world: World, domain: Domain) -> None:
    world.tenant.domain = domain
    headers = await world.tenant.sign("GET", STATUS)
    refused(await world.http.get(STATUS, headers=headers), 401, "invalid-request-proof")


async def test_a_machine_of_this_agent_that_has_another_lease(world: World) -> None:
    world.leases.change(LEASE, machine=MACHINE + 1)
    refused(
        await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS)), 403, "wrong-audience"
    )


async def test_an_operation_that_is_another_route_s(world: World) -> None:
    for op in {*OPS, "close"} - {"lease.status"}:
        headers = await world.tenant.sign("GET", STATUS, op=op)
        refused(await world.http.get(STATUS, headers=headers), 403, "wrong-operation")


async def test_somebody_else_s_lease(world: World) -> None:
    refused(
        await world.http.get(STATUS, headers=await world.stranger.sign("GET", STATUS)), 403, "not-your-lease"
    )


async def test_a_lease_that_was_transferred(world: World) -> None:
    world.leases.change(LEASE, tenant=world.stranger.wallet.address)
    refused(
        await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS)), 403, "not-your-lease"
    )
    assert (await world.http.get(STATUS, headers=await world.stranger.sign("GET", STATUS))).is_success


async def test_no_such_lease(world: World) -> None:
    path = "/v1/leases/99"
    headers = await world.tenant.sign("GET", path, lease=99 << 16)
    refused(await world.http.get(path, headers=headers), 404, "no-such-lease")


@pytest.mark.parametrize("text", ["0", "12.0", "012", "12.1.1", "-1", "12%20", "x" * 200])
async def test_a_lease_written_in_another_way(world: World, text: str) -> None:
    path = f"/v1/leases/{text}"
    headers = await world.tenant.sign("GET", path)
    refused(await world.http.get(path, headers=headers), 400, "bad-call")


# Sessions


async def granted(
    world: World,
    *,
    ops: tuple[str, ...] = OPS,
    leases: tuple[int, ...] = (),
    ends: int = 3600,
    wallet: Tenant | None = None,
) -> SessionKey:
    return await SessionKey.grant(
        world.tenant.wallet.address,
        DOMAIN,
        (wallet or world.tenant).wallet,
        private_key=b"\x42" * 32,
        ops=ops,
        leases=leases,
        expires_at=world.clock() + ends,
    )


async def asked(world: World, session: SessionKey) -> httpx.Response:
    world.tenant.signer = session
    return await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS))


@pytest.mark.parametrize("covered", [(), (LEASE,), (OTHER, LEASE)])
async def test_a_session(world: World, covered: tuple[int, ...]) -> None:
    assert (await asked(world, await granted(world, leases=covered))).status_code == 200


async def test_a_session_for_another_lease(world: World) -> None:
    refused(await asked(world, await granted(world, leases=(OTHER,))), 403, "session-scope")


async def test_a_session_for_another_operation(world: World) -> None:
    refused(await asked(world, await granted(world, ops=("lease.logs",))), 403, "session-scope")


async def test_a_session_that_asks_for_more_than_requests(world: World) -> None:
    session = await granted(world, ops=("lease.status", "withdraw"))
    response = await asked(world, session)
    refused(response, 403, "session-scope")
    assert "withdraw" in response.json()["detail"]


async def test_a_session_that_grants_what_another_agent_does(world: World) -> None:
    session = await granted(world, ops=(*OPS, "lease.not-yet"))
    assert (await asked(world, session)).status_code == 200


async def test_a_session_past_its_end(world: World) -> None:
    session = await granted(world, ends=10)
    world.clock.at += 10
    refused(await asked(world, session), 401, "session-expired")


async def test_a_session_without_an_end(world: World) -> None:
    refused(await asked(world, await granted(world, ends=91 * 86_400)), 403, "session-scope")


async def test_a_session_signed_by_somebody_else(world: World) -> None:
    refused(await asked(world, await granted(world, wallet=world.stranger)), 401, "invalid-request-proof")


async def test_a_session_used_by_another_key(world: World) -> None:
    session = replace(await granted(world), private_key=b"\x43" * 32)
    refused(await asked(world, session), 401, "invalid-request-proof")


async def test_a_session_of_another_account(world: World) -> None:
    session = await SessionKey.grant(
        world.stranger.wallet.address,
        DOMAIN,
        world.stranger.wallet,
        private_key=b"\x42" * 32,
        ops=OPS,
        expires_at=world.clock() + 60,
    )
    refused(await asked(world, session), 403, "session-scope")


async def test_a_session_of_another_pool(world: World) -> None:
    elsewhere = Domain(CHAIN, ELSEWHERE)
    session = Session(
        world.tenant.wallet.address, CHAIN, ELSEWHERE, (), OPS, key(66).address, world.clock() + 60
    )
    made = SessionKey(session, await sign(session, elsewhere, world.tenant.wallet), (66).to_bytes(32, "big"))
    refused(await asked(world, made), 403, "session-scope")


# Accounts that are contracts


async def contract_call(
    world: World, path: str = STATUS, op: str = "lease.status", query: str = ""
) -> dict[str, str]:
    """A request of an account whose signature only the chain can judge."""
    header = (await world.tenant.sign("GET", path, op=op, query=query))["Authorization"]
    document = orjson.loads(_decoded(header))
    document["proof"] = "0x" + Proof(ProofKind.ERC1271, b"whatever it wants").encode().hex()
    return {"Authorization": encoded(document)}


async def test_an_account_that_is_a_contract(world: World) -> None:
    headers = await contract_call(world)
    request, _ = decode_authorization(headers["Authorization"])
    world.chain.approved.add((world.tenant.wallet.address, request.digest(DOMAIN)))
    assert (await world.http.get(STATUS, headers=headers)).status_code == 200


async def test_a_contract_that_does_not_approve(world: World) -> None:
    refused(await world.http.get(STATUS, headers=await contract_call(world)), 401, "invalid-request-proof")
    assert world.chain.asked == 1


async def test_the_chain_is_asked_for_the_tenant_alone(world: World) -> None:
    world.leases.change(LEASE, tenant=ELSEWHERE)
    refused(await world.http.get(STATUS, headers=await contract_call(world)), 403, "not-your-lease")
    assert world.chain.asked == 0


async def test_a_chain_that_is_down(world: World) -> None:
    world.chain.error = RpcUnavailable(("http://127.0.0.1:1: refused",))
    response = await world.http.get(STATUS, headers=await contract_call(world))
    refused(response, 503, "chain-unreachable")
    assert response.headers["retry-after"] == "10"
    assert "127.0.0.1" not in response.text, "whoever claims to be a tenant hears where its nodes are"
    # Keys are checked here, so that plain accounts go on working.
    assert (await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS))).is_success
