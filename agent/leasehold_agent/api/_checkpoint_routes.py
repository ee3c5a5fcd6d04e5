"""A lease's checkpoints: which are whole, and one more now."""

from __future__ import annotations

from dataclasses import asdict

import structlog
from fastapi import APIRouter, Request

from leasehold.chain import format_lease
from leasehold.market.wire import CheckpointStanding, LeaseCheckpoints
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.api._calls import LeaseText, no_body
from leasehold_agent.api._shared import Api, api_of

_log = structlog.get_logger("leasehold_agent.api")

router = APIRouter()


async def _told(api: Api, handle: LeaseHandle) -> LeaseCheckpoints:
    facts = await api.context.runtime.checkpoints(handle.lease)
    kept = [CheckpointStanding.model_validate(asdict(made)) for made in facts.kept]
    return LeaseCheckpoints(
        lease=format_lease(handle.lease), kept=kept, running=facts.running, trouble=facts.trouble
    )


@router.get("/v1/leases/{lease}/checkpoints", operation_id="lease_checkpoints")
async def checkpoints(request: Request, lease: LeaseText) -> LeaseCheckpoints:
    """The lease's checkpoints that are whole, each a CID, and how the last attempt went."""
    api = api_of(request)
    no_body(request)
    return await _told(api, (await api.grant(request, lease, "lease.checkpoints"))[1])


@router.put("/v1/leases/{lease}/checkpoints", operation_id="lease_checkpoint")
async def checkpoint(request: Request, lease: LeaseText) -> LeaseCheckpoints:
    """Begin to take one now, unless one is being taken. They are asked for until it is done."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.checkpoint")
    await api.context.runtime.take_checkpoint(handle.lease)
    _log.info("lease.checkpoint", lease=format_lease(handle.lease), account=grant.request.account)
    return await _told(api, handle)
