"""A tenant's volumes: how they stand, exported, removed."""

from __future__ import annotations

from dataclasses import asdict

import structlog
from fastapi import APIRouter, Request

from leasehold.chain import format_lease
from leasehold.market.wire import LeaseVolume, LeaseVolumes
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.api._calls import LeaseText, VolumeText, no_body
from leasehold_agent.api._shared import Api, api_of

_log = structlog.get_logger("leasehold_agent.api")

router = APIRouter()


async def _told(api: Api, handle: LeaseHandle) -> LeaseVolumes:
    facts = await api.context.runtime.volumes(handle.lease)
    volumes = [LeaseVolume.model_validate(asdict(volume)) for volume in facts]
    return LeaseVolumes(lease=format_lease(handle.lease), volumes=volumes)


@router.get("/v1/leases/{lease}/volumes", operation_id="lease_volumes")
async def volumes(request: Request, lease: LeaseText) -> LeaseVolumes:
    """The volumes that the lease's workload names, and how their exports stand."""
    api = api_of(request)
    no_body(request)
    return await _told(api, (await api.grant(request, lease, "lease.volumes"))[1])


@router.put("/v1/leases/{lease}/volumes/{name}/export", operation_id="lease_export")
async def export(request: Request, lease: LeaseText, name: VolumeText) -> LeaseVolumes:
    """Begin to put what a volume holds on IPFS, sealed under its key. It is asked for until it is done."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.export")
    await api.context.runtime.export(handle.lease, name)
    _log.info("lease.export", lease=format_lease(handle.lease), account=grant.request.account, volume=name)
    return await _told(api, handle)


@router.delete("/v1/leases/{lease}/volumes/{name}", operation_id="lease_discard")
async def discard(request: Request, lease: LeaseText, name: VolumeText) -> LeaseVolumes:
    """Remove a volume of the tenant's that no lease has attached."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.discard")
    await api.context.runtime.discard(handle.lease, name)
    _log.info("lease.discard", lease=format_lease(handle.lease), account=grant.request.account, volume=name)
    return await _told(api, handle)
