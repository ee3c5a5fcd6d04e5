"""What a route takes of a call: its lease, what of it was signed, and no more of its body than it may have."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import Path, Request
from starlette.requests import ClientDisconnect, HTTPConnection

from leasehold.chain import InvalidLeaseId, format_lease, parse_lease
from leasehold.market.wire import MAX_UPLOAD, BadCall, BodyTooLarge
from leasehold_agent.api._auth import SignedCall
from leasehold_agent.api._gate import address_of

UPLOAD_SECONDS: Final = 30.0

LeaseText = Annotated[
    str,
    Path(alias="lease", pattern=r"^[0-9]{1,76}(\.[0-9]{1,5})?$", description="as it is shown: 12 or 12.1"),
]
DigestText = Annotated[
    str, Path(alias="digest", pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the body, in hex")
]
VolumeText = Annotated[
    str, Path(alias="name", pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$", description="what its tenant calls it")
]
KeyText = Annotated[
    str, Path(alias="key", pattern=r"^[0-9a-f]{64}$", description="an Ed25519 public key: 32 bytes in hex")
]


def binary_body(most: int) -> dict[str, object]:
    """How OpenAPI says that a route takes `most` bytes of anything."""
    binary = {"type": "string", "format": "binary", "maxLength": most}
    return {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": binary}}}}


def lease_of(text: str) -> int:
    """The lease that a path names. Raises BadCall for any other way to write it."""
    try:
        lease = parse_lease(text)
    except InvalidLeaseId as error:
        raise BadCall(str(error)) from None
    if format_lease(lease) != text:
        raise BadCall(f"Write the lease as {format_lease(lease)}.")
    return lease


def signed_call(connection: HTTPConnection, body_digest: bytes) -> SignedCall:
    """What of the call its caller must have signed."""
    scope = connection.scope
    return SignedCall(
        method=scope.get("method", "GET"),  # a WebSocket's handshake is a GET
        path=bytes(scope["raw_path"]).decode("ascii", "replace"),
        query=bytes(scope["query_string"]).decode("ascii", "replace"),
        body_digest=body_digest,
        address=address_of(connection),
    )


def check_length(request: Request, most: int) -> None:
    """Refused before a byte is read. Raises BodyTooLarge."""
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> BodyTooLarge:
    if most == MAX_UPLOAD:
        return BodyTooLarge("A sealed workload may have 1 MiB; put large inputs into a dataset.")
    return BodyTooLarge(f"The body may have {most} bytes.")


async def body_of(request: Request, most: int) -> bytes:
    """The body, given up on as soon as it is too long or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise BadCall("The body did not arrive in time; send it again.") from None
    except ClientDisconnect:
        raise BadCall("The body broke off.") from None
    return bytes(body)


def no_body(request: Request) -> None:
    """No signature covers the body of a call that has none, so that there must be none."""
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        raise BadCall("This call takes no body.")
