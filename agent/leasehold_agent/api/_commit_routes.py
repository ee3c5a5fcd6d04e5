"""A lease's container as an image: how that stands, and another one now."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import structlog
from fastapi import APIRouter, Path, Request

from leasehold.chain import format_lease
from leasehold.datasets import check_recipient
from leasehold.errors import AgeKeyInvalid
from leasehold.market.wire import BadCall, LeaseImage
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.api._calls import LeaseText, no_body
from leasehold_agent.api._shared import Api, api_of

_log = structlog.get_logger("leasehold_agent.api")
RecipientText = Annotated[
    str, Path(alias="recipient", pattern=r"^age1[02-9ac-hj-np-z]{58}$", description="an age recipient")
]

router = APIRouter()


async def _told(api: Api, handle: LeaseHandle) -> LeaseImage:
    facts = asdict(await api.context.runtime.committed(handle.lease))
    return LeaseImage(lease=format_lease(handle.lease), **facts | {"cid": facts["cid"] or None})


@router.get("/v1/leases/{lease}/image", operation_id="lease_image")
async def image(request: Request, lease: LeaseText) -> LeaseImage:
    """The image that was made of the lease's container, and how the last attempt went."""
    api = api_of(request)
    no_body(request)
    return await _told(api, (await api.grant(request, lease, "lease.image"))[1])


@router.put("/v1/leases/{lease}/image/{recipient}", operation_id="lease_commit")
async def commit(request: Request, lease: LeaseText, recipient: RecipientText) -> LeaseImage:
    """Begin to make an image of the lease's container, sealed to an age recipient, unless that is being made. It is
    asked for until it is done.
    """
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.commit")
    try:
        check_recipient(recipient)
    except AgeKeyInvalid:
        raise BadCall("The path names no age recipient.") from None
    await api.context.runtime.commit(handle.lease, recipient)
    _log.info("lease.commit", lease=format_lease(handle.lease), account=grant.request.account)
    return await _told(api, handle)
