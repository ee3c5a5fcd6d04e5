"""Every operation of the API, as its own description lists them, is refused to whoever has no right to it.

The list is read from the OpenAPI document and, for what that cannot describe (WebSockets), from the routes. An
operation that is added without a word here is tried like the others; one that is public has to be named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httpx
import pytest
from starlette.routing import WebSocketRoute

from devnet.serving import CHAIN, CONTROLLER
from leasehold.chain.typed import Session, SessionKey, sign
from leasehold.market.wire import OPS, UPLOAD
from leasehold_agent._runtime import ServeContext
from leasehold_agent.api import Api, Authorizer, create_app
from leasehold_agent.api._app import ROUTERS

from .conftest import DOMAIN, LEASE, OTHER, World, key

PUBLIC = frozenset({"health", "machine", "heartbeat"})
RIGHTS = {
    "put_workload": UPLOAD,
    "put_closing_order": "lease.closing-order",
    "lease_statement": "lease.status",
    "offer_code": "lease.code",
    "put_code": "lease.code",
    "exec_output": "lease.exec",
}
"""What a request for an operation is signed for, where its name does not say so."""
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
VALUES = {
    "lease": "12",
    "key": "11" * 32,
    "session": "0x" + "11" * 20,
    "name": "models",
    "recipient": "age1kte5z2qdnhwz6m6a9y0qzp9kckwr47k52jphd2x75j2he8tmtvyqj6clzc",
    "digest": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
}
"""What stands in a path: a lease of the tenant's, the digest of a body of no bytes."""


@dataclass(frozen=True)
class Operation:
    """op: what a request for it is signed for. lease: the one that it is of, 0 for none."""

    method: str
    path: str
    op: str
    headers: Mapping[str, str]

    @property
    def lease(self) -> int:
        return 0 if self.op == UPLOAD else LEASE

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def filled(path: str, **values: str) -> str:
    return re.sub(r"{(\w+)}", lambda place: {**VALUES, **values}[place[1]], path)


def operations() -> list[Operation]:
    # Nothing is served: what there is depends on the routes alone.
    app, found = create_app(Api(cast(ServeContext, None), cast(Authorizer, None))), []
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            name = operation["operationId"]
            if name not in PUBLIC:
                op = RIGHTS.get(name, name.replace("_", ".", 1))
                found.append(Operation(method.upper(), filled(path), op, {}))
    sockets = [route for router in ROUTERS for route in router.routes if isinstance(route, WebSocketRoute)]
    assert sockets, "what upgrades is looked for where it no longer stands"
    for route in sockets:
        op = "lease." + route.path.rpartition("/")[2]
        found.append(Operation("GET", filled(route.path), op, UPGRADE))
    return found


OPERATIONS = operations()


OF_LEASES = [operation for operation in OPERATIONS if operation.lease]
every = pytest.mark.parametrize("operation", OPERATIONS, ids=[each.name for each in OPERATIONS])
of_a_lease = pytest.mark.parametrize("operation", OF_LEASES, ids=[each.name for each in OF_LEASES])


async def answered(
    world: World, operation: Operation, authorization: Mapping[str, str], path: str | None = None
) -> httpx.Response:
    headers = {**operation.headers, **authorization}
    return await world.http.request(operation.method, path or operation.path, headers=headers)


async def name_of(world: World, operation: Operation, authorization: Mapping[str, str]) -> tuple[int, str]:
    response = await answered(world, operation, authorization)
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["type"]


async def signed(world: World, operation: Operation, **fields: object) -> dict[str, str]:
    return await world.tenant.sign(
        operation.method, operation.path, **{"op": operation.op, "lease": operation.lease, **fields}
    )


def test_they_are_all_here_and_each_has_its_right() -> None:
    assert {operation.op for operation in OPERATIONS} == set(OPS)


@every
async def test_without_a_right(world: World, operation: Operation) -> None:
    assert await name_of(world, operation, {}) == (401, "missing-authorization")


@every
async def test_expired(world: World, operation: Operation) -> None:
    header = await signed(world, operation)
    world.clock.at += 61
    assert await name_of(world, operation, header) == (401, "request-expired")


@every
async def test_replayed(world: World, operation: Operation) -> None:
    header = await signed(world, operation)
    first = await answered(world, operation, header)
    assert first.status_code not in (401, 403), "the tenant's own request is let in"
    assert await name_of(world, operation, header) == (401, "request-replayed")


@every
async def test_replayed_at_another_operation(world: World, operation: Operation) -> None:
    for other in OPERATIONS:
        if other.op != operation.op:
            header = await signed(world, other)
            assert (await name_of(world, operation, header))[0] in (401, 403), other.name


@every
async def test_signed_for_another_operation(world: World, operation: Operation) -> None:
    for op in sorted({other.op for other in OPERATIONS} - {operation.op}):
        header = await signed(world, operation, op=op)
        assert await name_of(world, operation, header) == (403, "wrong-operation"), op


@of_a_lease
async def test_for_another_lease(world: World, operation: Operation) -> None:
    elsewhere = filled(operation.path.replace("/12", "/13"))
    theirs = await world.tenant.sign(operation.method, elsewhere, op=operation.op, lease=OTHER)
    response = await answered(world, operation, theirs, elsewhere)
    assert (response.status_code, response.json()["type"]) == (403, "not-your-lease")
    mine = await answered(world, operation, await signed(world, operation), elsewhere)
    assert mine.status_code in (401, 403), "the right to one lease is none to another"


@of_a_lease
async def test_of_nobodys_lease(world: World, operation: Operation) -> None:
    nowhere = operation.path.replace("/12", "/99")
    header = await world.tenant.sign(operation.method, nowhere, op=operation.op, lease=99 << 16)
    response = await answered(world, operation, header, nowhere)
    assert (response.status_code, response.json()["type"]) == (404, "no-such-lease")


@every
async def test_another_signs_in_the_tenants_name(world: World, operation: Operation) -> None:
    header = await world.stranger.sign(
        operation.method,
        operation.path,
        op=operation.op,
        lease=operation.lease,
        account=world.tenant.wallet.address,
    )
    assert await name_of(world, operation, header) == (401, "invalid-request-proof")


@every
async def test_a_session_that_grants_everything_else(world: World, operation: Operation) -> None:
    others = tuple(sorted(set(OPS) - {operation.op}))
    session = Session(
        world.tenant.wallet.address, CHAIN, CONTROLLER, (), others, key(66).address, world.clock() + 60
    )
    world.tenant.signer = SessionKey(
        session, await sign(session, DOMAIN, world.tenant.wallet), (66).to_bytes(32, "big")
    )
    assert await name_of(world, operation, await signed(world, operation)) == (403, "session-scope")
