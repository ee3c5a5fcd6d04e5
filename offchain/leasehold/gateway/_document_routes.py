"""Documents by CID, and templates of workloads.

The gateway fetches what a machine or a service of the pool names, and nothing else: it is nobody's way to the rest of
IPFS. What it gives is hashed, here and by whoever gets it.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from leasehold.chain import digest_of_cid
from leasehold.gateway._errors import DocumentNotNamed
from leasehold.gateway._gateway import Gateway, TheGateway
from leasehold.gateway._reading import written
from leasehold.workload import all_templates

router = APIRouter(prefix="/api/v1", tags=["documents"])

_FOREVER = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Disposition": "attachment",
}


@router.get(
    "/documents/{cid}",
    summary="A document that a machine or a service names, byte for byte",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def document(request: Request, gateway: TheGateway, cid: str) -> Response:
    digest = digest_of_cid(cid[:128])
    if not await _named(gateway, digest):
        raise DocumentNotNamed(cid[:128])
    raw = gateway.documents.here(digest)
    if raw is None:
        raw = await _fetched(gateway, digest, request.scope["visitor"])
    return Response(raw, 200, _FOREVER, "application/octet-stream")


@router.get("/templates", summary="Workloads to start from")
async def templates(gateway: TheGateway) -> Response:
    items = [
        {**template.to_json(), "text": template.text, "workload": template.content}
        for template in all_templates(gateway.settings.home / "templates")
    ]
    return written({"items": items, "total": len(items), "next": None})


async def _named(gateway: Gateway, digest: bytes) -> bool:
    if gateway.market.board.names(digest):
        return True
    return any(service.endpoint == digest for service in await gateway.index.services())


async def _fetched(gateway: Gateway, digest: bytes, visitor: str) -> bytes:
    """From IPFS: a few at a time, of one address fewer. Raises DocumentUnavailable, Busy, GatewayFull."""
    with gateway.fetching.taken(caller=visitor):
        return await gateway.documents.get(digest)
