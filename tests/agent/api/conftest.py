"""A running API over TLS on loopback, leases made of local processes, and a tenant who signs what a test asks for."""

from __future__ import annotations

import hashlib
import itertools
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from devnet.local_leases import LocalLeases
from devnet.serving import CHAIN, CONTROLLER, MACHINE, Chain, Clock, serve_context
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain, Request, SessionKey, sign_request
from leasehold.market.wire import encode_authorization, params_hash
from leasehold_agent._runtime import LeaseHandle, ServeContext
from leasehold_agent.api import ApiServer

LEASE = 12 << 16
OTHER = 13 << 16
DOMAIN = Domain(CHAIN, CONTROLLER)
_nonces = itertools.count(1)


@dataclass
class Tenant:
    """Signs requests. Every part can be set wrong: `sign(..., op="lease.exec")` replaces a field before signing."""

    wallet: LocalSigner
    clock: Clock
    signer: LocalSigner | SessionKey | None = None
    domain: Domain = DOMAIN

    async def sign(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        lease: int = LEASE,
        op: str = "lease.status",
        **fields: object,
    ) -> dict[str, str]:
        request = Request(
            account=self.wallet.address,
            chain=CHAIN,
            controller=CONTROLLER,
            machine=MACHINE,
            lease=lease,
            op=op,
            params_hash=params_hash(method, path, query, hashlib.sha256(body).digest()),
            issued_at=self.clock(),
            expires_at=self.clock() + 60,
            nonce=next(_nonces).to_bytes(32, "big"),
        )
        request = replace(request, **fields)  # type: ignore[arg-type]  # a test's own fields
        proof = await sign_request(request, self.domain, self.signer or self.wallet)
        return {"Authorization": encode_authorization(request, proof)}


@dataclass
class World:
    """Everything a test of the API holds on to."""

    leases: LocalLeases
    context: ServeContext
    clock: Clock
    chain: Chain
    tenant: Tenant
    stranger: Tenant
    operator: LocalSigner
    http: httpx.AsyncClient
    tls: ssl.SSLContext
    server: ApiServer
    port: int = 0

    @property
    def base(self) -> str:
        return f"https://127.0.0.1:{self.port}"


def key(number: int) -> LocalSigner:
    return LocalSigner(number.to_bytes(32, "big"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain() -> Chain:
    return Chain(set())


@pytest.fixture
async def leases(tmp_path: Path) -> AsyncIterator[LocalLeases]:
    root = tmp_path / "leases"
    root.mkdir()
    made = LocalLeases(root)
    yield made
    await made.close()


@pytest.fixture
def context(tmp_path: Path, leases: LocalLeases, clock: Clock, chain: Chain) -> ServeContext:
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    return serve_context(folder, leases, key(3), clock, chain)


@pytest.fixture
def tls(context: ServeContext) -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=context.tls_certificate.read_text())
    made.check_hostname = False
    return made


@pytest.fixture
async def world(
    context: ServeContext, leases: LocalLeases, clock: Clock, chain: Chain, tls: ssl.SSLContext
) -> AsyncIterator[World]:
    tenant, stranger = Tenant(key(1), clock), Tenant(key(2), clock)
    handle = LeaseHandle(
        LEASE, tenant.wallet.address, MACHINE, "running", container_id="c", container_state="running"
    )
    leases.add(handle)
    leases.add(replace(handle, lease=OTHER, tenant=stranger.wallet.address))
    server = await ApiServer.open(context)
    port = await server.start("127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=f"https://127.0.0.1:{port}", verify=tls, trust_env=False) as http:
        made = World(leases, context, clock, chain, tenant, stranger, key(3), http, tls, server, port)
        yield made
    await made.server.close()
