"""What the routes share: the agent as they see it, and who may call them."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from fastapi import Request
from starlette.requests import HTTPConnection

from leasehold.chain.typed import Domain
from leasehold.market.wire import EMPTY_BODY, DigestMismatch
from leasehold_agent._runtime import LeaseHandle, ServeContext
from leasehold_agent.access import Admission, Slots
from leasehold_agent.api._audited import ACT
from leasehold_agent.api._auth import Authorizer, Grant, Tenure
from leasehold_agent.api._calls import body_of, check_length, lease_of, signed_call
from leasehold_agent.api._gate import address_of, side_of, visitor_of
from leasehold_agent.api._limits import UploadLimits, UploadRates
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._withdrawn import WithdrawnSessions
from leasehold_agent.ssh import Certificates
from leasehold_agent.store import AuditLog, NotedAct

RECHECK_SECONDS: Final = 3.0
APPROVAL_SECONDS: Final = 60.0
"""How often the chain is asked anew about the contract or group under whose approval a stream is open."""
CODE_OF_LEASE: Final = 4
"""Bodies of code that one lease's tenant may be sending."""
CODE_AT_ONCE: Final = 2
"""Of all that have come whole, how many are taken apart at a time: each costs some MiB of memory."""


@dataclass
class Api:
    """What the routes share. `limits` and `admission` may be set by a test."""

    context: ServeContext
    authorizer: Authorizer
    admission: Admission = field(default_factory=Admission)
    limits: UploadLimits = field(default_factory=lambda: UploadLimits(UploadRates(), time.monotonic))
    recheck_seconds: float = RECHECK_SECONDS
    approval_seconds: float = APPROVAL_SECONDS

    def __post_init__(self) -> None:
        self.codes = Slots(CODE_OF_LEASE)
        self.unpacking = asyncio.Semaphore(CODE_AT_ONCE)
        self.door = self.admission.street_door()
        self.back_door = self.admission.back_door()

    @cached_property
    def certificates(self) -> Certificates:
        """What lets keys into leases by SSH."""
        return Certificates(self.context.now)

    @property
    def domain(self) -> Domain:
        return Domain(self.context.chain_id, self.context.controller)

    async def check(self, connection: HTTPConnection, digest: bytes, *, op: str, lease: int) -> Grant:
        """The caller's right to a call with a body of that digest. What he asks of a lease is in its log from here on:
        `Audited` notes what came of it.
        """
        headers = connection.headers.getlist("authorization")
        grant = await self.authorizer.check(headers, signed_call(connection, digest), op=op, lease=lease)
        if self.audit is not None and grant.handle is not None:
            act = NotedAct(lease, grant.request.account, grant.session or "", op, self.context.now())
            await self.audit.begin(act)
            connection.scope.setdefault("state", {})[ACT] = act
        return grant

    @property
    def audit(self) -> AuditLog | None:
        """The log of who did what, where one is kept."""
        return self.authorizer.audit

    async def grant(self, connection: HTTPConnection, lease: str, op: str) -> tuple[Grant, LeaseHandle]:
        """The caller's right to a lease's call without a body."""
        grant = await self.check(connection, EMPTY_BODY, op=op, lease=lease_of(lease))
        assert grant.handle is not None  # for every operation but the upload
        if (visitor := visitor_of(connection.scope)) is not None:
            visitor.know(grant.handle.lease)
        return grant, grant.handle

    async def until_revoked(self, grant: Grant) -> None:
        """Returns once the caller may no longer: the lease changed hands, the session ended, the approval is gone."""
        tenure = self.tenure(grant)
        while await tenure.holds():  # noqa: ASYNC110  # a clock and a chain announce nothing
            await asyncio.sleep(self.recheck_seconds)

    def tenure(self, grant: Grant) -> Tenure:
        return Tenure(self.authorizer, grant, self.approval_seconds)


def create_authorizer(
    context: ServeContext,
    nonces: NonceStore,
    withdrawn: WithdrawnSessions | None = None,
    audit: AuditLog | None = None,
) -> Authorizer:
    return Authorizer(
        runtime=context.runtime,
        domain=Domain(context.chain_id, context.controller),
        machines=context.machines,
        is_authorized=context.is_authorized,
        nonces=nonces,
        now=context.now,
        withdrawn=withdrawn,
        audit=audit,
    )


def api_of(connection: HTTPConnection) -> Api:
    """What the application that serves this call was made with."""
    api: Api = connection.app.state.api
    return api


async def named_body(
    request: Request, api: Api, digest: bytes, op: str, lease: int, most: int
) -> tuple[Grant, bytes]:
    """The caller's right to a call with a body, and the body, whose digest the path names: so the caller is known
    before a byte of it is read.
    """
    address = address_of(request)
    api.limits.call(address)
    check_length(request, most)
    grant = await api.check(request, digest, op=op, lease=lease)
    api.limits.account(grant.request.account)
    body = await body_of(request, most)
    api.limits.bytes(address, len(body), side_of(request))
    if hashlib.sha256(body).digest() != digest:
        raise DigestMismatch("The bytes have another SHA-256 than the path says; send them again.")
    return grant, body
