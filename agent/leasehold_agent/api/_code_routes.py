"""A folder of code, in pieces that this host lacks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import APIRouter, Request

from leasehold.market.wire import MAX_CODE, CodeTaken, CodeWanted
from leasehold.workload import MAX_PACKED
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.api._calls import DigestText, LeaseText, binary_body, check_length, lease_of
from leasehold_agent.api._gate import visitor_of
from leasehold_agent.api._received import ReceivedBody, received
from leasehold_agent.api._shared import Api, api_of

router = APIRouter()


@router.put(
    "/v1/leases/{lease}/code/{digest}",
    operation_id="offer_code",
    openapi_extra=binary_body(MAX_CODE),
)
async def offer_code(request: Request, lease: LeaseText, digest: DigestText) -> CodeWanted:
    """Which pieces of the folder that the lease's workload names this host lacks. The body is its list, zstd."""
    api = api_of(request)
    async with (
        _code_body(request, api, lease, bytes.fromhex(digest), MAX_CODE) as (handle, body),
        api.unpacking,
    ):
        folded = await asyncio.to_thread(body.read)
        lacking = await api.context.runtime.offer_code(handle.lease, handle.tenant, folded)
    return CodeWanted.of(lacking)


@router.put(
    "/v1/leases/{lease}/code-packs/{digest}",
    operation_id="put_code",
    openapi_extra=binary_body(MAX_PACKED),
)
async def put_code(request: Request, lease: LeaseText, digest: DigestText) -> CodeTaken:
    """Keep some of these pieces, for this tenant. The body is each piece behind its length in 4 bytes, zstd."""
    api = api_of(request)
    async with (
        _code_body(request, api, lease, bytes.fromhex(digest), MAX_PACKED) as (handle, body),
        api.unpacking,
    ):
        pack = await asyncio.to_thread(body.read)
        taken, left = await api.context.runtime.take_code(handle.lease, handle.tenant, pack, body.keep_as)
    return CodeTaken(taken=taken, left=left)


@asynccontextmanager
async def _code_body(
    request: Request, api: Api, lease: str, digest: bytes, most: int
) -> AsyncIterator[tuple[LeaseHandle, ReceivedBody]]:
    """Whose code comes, and the body: only so many of one lease at once."""
    check_length(request, most)
    grant = await api.check(request, digest, op="lease.code", lease=lease_of(lease))
    assert grant.handle is not None
    number = grant.handle.lease
    if (visitor := visitor_of(request.scope)) is not None:
        visitor.know(number)
    with api.codes.take(number), api.admission.streams.take(number):
        carried = partial(api.admission.line.carry, number)
        async with received(request, most, digest, api.context.state_dir, carried) as body:
            yield grant.handle, body
