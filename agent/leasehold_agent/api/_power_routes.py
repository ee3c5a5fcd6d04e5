"""A lease's container, stopped and started at its tenant's word."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Request

from leasehold.chain import format_lease
from leasehold.market.wire import LeaseStatus
from leasehold_agent._runtime import Wish
from leasehold_agent.api._answers import status_of
from leasehold_agent.api._calls import LeaseText, no_body
from leasehold_agent.api._shared import api_of

_log = structlog.get_logger("leasehold_agent.api")

router = APIRouter()


async def power(request: Request, lease: str, wish: Wish) -> LeaseStatus:
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, f"lease.{wish}")
    await api.context.runtime.power(handle.lease, wish)
    _log.info(f"lease.{wish}", lease=format_lease(handle.lease), account=grant.request.account)
    return status_of(await api.context.runtime.lookup(handle.lease) or handle)


@router.put("/v1/leases/{lease}/stop", operation_id="lease_stop")
async def stop(request: Request, lease: LeaseText) -> LeaseStatus:
    """Stop the lease's container, with its grace, until it is started. The lease goes on, and so does its bill."""
    return await power(request, lease, "stop")


@router.put("/v1/leases/{lease}/start", operation_id="lease_start")
async def start(request: Request, lease: LeaseText) -> LeaseStatus:
    """Start a container that was stopped, or whose command has ended by itself."""
    return await power(request, lease, "start")


@router.put("/v1/leases/{lease}/restart", operation_id="lease_restart")
async def restart(request: Request, lease: LeaseText) -> LeaseStatus:
    """Stop the lease's container, with its grace, and start it again."""
    return await power(request, lease, "restart")
