"""Who did what on a lease, and which sessions are good for nothing any more: its tenant's to ask and to say."""

from __future__ import annotations

import sqlite3
from typing import Annotated

import structlog
from fastapi import APIRouter, Path, Request

from leasehold.chain import format_lease
from leasehold.market.wire import LeaseAudit, SessionsWithdrawn, StoreFull
from leasehold_agent.api._calls import LeaseText, no_body
from leasehold_agent.api._shared import api_of

_log = structlog.get_logger("leasehold_agent.api")

SessionText = Annotated[
    str,
    Path(alias="session", pattern=r"^0x[0-9a-f]{40}$", description="the address of its key, in lower case"),
]

router = APIRouter()


@router.get("/v1/leases/{lease}/audit", operation_id="lease_audit")
async def audit(request: Request, lease: LeaseText) -> LeaseAudit:
    """Who did what on the lease while it was its tenant's, and how many were turned away."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.audit")
    assert api.audit is not None
    try:
        return await api.audit.of(handle.lease, grant.request.account, api.context.now())
    except sqlite3.Error:
        raise StoreFull("This host's disk does not give the log out now; ask for it again.") from None


@router.delete("/v1/leases/{lease}/sessions/{session}", operation_id="lease_revoke")
async def revoke(request: Request, lease: LeaseText, session: SessionText) -> SessionsWithdrawn:
    """Listen no more to a session of the tenant's on this lease, from now on and for good."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.revoke")
    withdrawn, account = api.authorizer.withdrawn, grant.request.account
    assert withdrawn is not None
    now, asker = api.context.now(), grant.session or ""
    await withdrawn.withdraw(handle.lease, account, session, now, asker=asker)
    _log.info("lease.revoke", lease=format_lease(handle.lease), account=account, session=session)
    return SessionsWithdrawn(lease=format_lease(handle.lease), sessions=withdrawn.of(handle.lease, account))
