"""Sealed workloads and datasets for IPFS, from browsers that have no node: routes of `/api/v1/sealed` and `/uploads`.

What comes is sealed by the browser already, and named by its CID, which the browser works out itself before and checks
after: a gateway that pins something else is found out. Uploads speak tus 1.0 (its core and termination), but that a
new one is described in JSON, and that `PATCH` answers with how it stands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.requests import ClientDisconnect

from leasehold.chain import cid_of_digest
from leasehold.datasets import FilePart, Ipfs
from leasehold.gateway._bodies import BODY_SECONDS, json_body, pieces, read_body, read_json
from leasehold.gateway._keeping import AccountPins
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import BadRequest, Conflicting
from leasehold.gateway._relaying import CallerOf
from leasehold.gateway._signing_in import TheSigningIn
from leasehold.gateway._uploads import MOST_BYTES, Store, Upload, Uploads
from leasehold.market.wire import MAX_UPLOAD

MOST_AT_ONCE: Final = {"all": 64, "account": 4, "caller": 16}
"""caller: by network, since an account costs a signature."""
OFFSET_TYPE: Final = "application/offset+octet-stream"
_TUS: Final = {"Tus-Resumable": "1.0.0", "Cache-Control": "no-store"}


class KuboStore:
    """The gateway's own Kubo node as `Store`."""

    def __init__(self, ipfs: Ipfs) -> None:
        self._ipfs = ipfs

    async def block(self, data: bytes) -> str:
        return await self._ipfs.put_block(data)

    async def add(self, pieces: Iterator[bytes]) -> str:
        return await self._ipfs.add_stream([FilePart("dataset", pieces)])

    async def pin(self, cid: str) -> None:
        await self._ipfs.pin(cid)

    async def unpin(self, cid: str) -> None:
        await self._ipfs.unpin(cid)


@dataclass
class Uploading:
    """What the routes need. caller_of: by what a caller is counted."""

    store: Store
    keeping: AccountPins
    uploads: Uploads
    places: Places
    caller_of: CallerOf


class NewUpload(BaseModel):
    """What is to come. size: bytes."""

    model_config = ConfigDict(extra="forbid")

    size: Annotated[int, Field(ge=1, le=MOST_BYTES)]
    name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


class UploadStanding(BaseModel):
    """How an upload stands. offset: bytes that are here; cid: once it is on IPFS; expires_at: unix seconds."""

    id: str
    name: str
    size: int
    offset: int
    cid: str | None
    expires_at: int

    @classmethod
    def of(cls, upload: Upload) -> UploadStanding:
        return cls(**{name: getattr(upload, name) for name in cls.model_fields})


class PinnedCid(BaseModel):
    """Where it is on IPFS."""

    cid: str


router = APIRouter(prefix="/api/v1", tags=["uploads"])
TheUploading = Annotated[Uploading, Depends(PartOf(Uploading))]
_BYTES: Final = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}
_PATCH: Final = {
    "requestBody": {"required": True, "content": {OFFSET_TYPE: {}}},
    "parameters": [
        {
            "name": "Upload-Offset",
            "in": "header",
            "required": True,
            "schema": {"type": "integer", "minimum": 0},
        }
    ],
}


@router.put("/sealed", openapi_extra=_BYTES)
@router.put("/sealed/{cid}", openapi_extra=_BYTES, name="sealed_as")
async def sealed(
    uploading: TheUploading, signing_in: TheSigningIn, request: Request, cid: str | None = None
) -> PinnedCid:
    """Pins a sealed workload as one raw block, whose CID is the digest that the chain names."""
    account = (await signing_in.signed_in(request)).account
    with uploading.places.taken(account=account, caller=uploading.caller_of(request)):
        data = await read_body(request, MAX_UPLOAD)
        if not data:
            raise BadRequest("The body is empty;", "send the sealed workload.")
        pinned = _check_named(data, cid)
        await uploading.keeping.keep(
            account,
            pinned,
            len(data),
            lambda: uploading.store.block(data),
            network=uploading.caller_of(request),
        )
    return PinnedCid(cid=pinned)


def _check_named(data: bytes, expected: str | None) -> str:
    """Its CID. Raises Conflicting, before anything is pinned: to unpin it would take it from whoever else keeps it."""
    cid = cid_of_digest(sha256(data).digest())
    if expected is not None and cid != expected:
        raise Conflicting(f"That is {cid}, and not what the path names;", "send what it names.")
    return cid


@router.post("/uploads", status_code=201, openapi_extra=json_body(NewUpload))
async def begin(
    uploading: TheUploading, signing_in: TheSigningIn, request: Request, response: Response
) -> UploadStanding:
    """Begins an upload, whose bytes `PATCH` brings."""
    account = (await signing_in.signed_in(request)).account
    wanted = await read_json(request, NewUpload, 4096)
    upload = await uploading.uploads.begin(
        account, wanted.name, wanted.size, network=uploading.caller_of(request)
    )
    response.headers.update({**_TUS, "Location": f"/api/v1/uploads/{upload.id}"})
    return UploadStanding.of(upload)


@router.get("/uploads/{upload}")
async def standing(
    uploading: TheUploading, signing_in: TheSigningIn, request: Request, response: Response, upload: str
) -> UploadStanding:
    """How an upload of one's own stands; whole, its CID."""
    account = (await signing_in.signed_in(request)).account
    found = await uploading.uploads.settled(account, upload)
    response.headers.update(_headers(found))
    return UploadStanding.of(found)


@router.head("/uploads/{upload}", response_class=Response)
async def offset(
    uploading: TheUploading, signing_in: TheSigningIn, request: Request, upload: str
) -> Response:
    """The same, as headers."""
    account = (await signing_in.signed_in(request)).account
    return Response(headers=_headers(await uploading.uploads.find(account, upload)))


@router.patch("/uploads/{upload}", openapi_extra=_PATCH)
async def append(
    uploading: TheUploading, signing_in: TheSigningIn, request: Request, response: Response, upload: str
) -> UploadStanding:
    """Brings bytes from `Upload-Offset` on. What came of a body that broke off is kept."""
    account = (await signing_in.signed_in(request)).account
    said = request.headers.get("upload-offset", "")
    if not (said.isascii() and said.isdigit() and len(said) < 16):
        raise BadRequest("From where on must be said;", "send `Upload-Offset`.")
    if request.headers.get("content-type", "") != OFFSET_TYPE:
        raise BadRequest(f"The body must be {OFFSET_TYPE};", "say so in its content type.")
    with uploading.places.taken(account=account, caller=uploading.caller_of(request)):
        found = await uploading.uploads.append(account, upload, int(said), _coming(request))
    response.headers.update(_headers(found))
    return UploadStanding.of(found)


@router.delete("/uploads/{upload}", status_code=204)
async def drop(uploading: TheUploading, signing_in: TheSigningIn, request: Request, upload: str) -> None:
    """Removes an upload that is under way."""
    account = (await signing_in.signed_in(request)).account
    await uploading.uploads.drop(account, upload)


async def _coming(request: Request, seconds: float = BODY_SECONDS) -> AsyncIterator[bytes]:
    """The body as it comes; one that breaks off has brought what it brought."""
    with suppress(ClientDisconnect):
        async with aclosing(pieces(request, seconds, "go on from where the upload stands.")) as chunks:
            async for chunk in chunks:
                yield chunk


def _headers(upload: Upload) -> dict[str, str]:
    return {**_TUS, "Upload-Offset": str(upload.offset), "Upload-Length": str(upload.size)}
