"""The Authorization header of the agent's API: a signed `Request` and its proof.

`Authorization: Leasehold <base64url of canonical JSON {"proof": hex, "request": {…}}>`, without padding.
The request's `paramsHash` ties the signature to one call: method, path, query and body.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Final

import orjson

from leasehold.chain.typed import Request
from leasehold.errors import TypedDataError

from ._errors import MalformedAuthorization

OPS: Final = (
    "workload.put",
    "lease.status",
    "lease.logs",
    "lease.exec",
    "lease.results",
    "lease.closing-order",
    "lease.ssh",
    "lease.metrics",
    "lease.code",
    "lease.stop",
    "lease.start",
    "lease.restart",
    "lease.volumes",
    "lease.export",
    "lease.discard",
    "lease.checkpoints",
    "lease.checkpoint",
    "lease.audit",
    "lease.revoke",
    "lease.image",
    "lease.commit",
)
"""Every operation that a request can name, and a session grant."""
FORMER_OPS: Final = OPS[: OPS.index("lease.audit")]
"""What an agent understands that does not say which operations it does: it refuses a session that grants more."""
LOG_OPS: Final = ("lease.logs",)
"""What a colleague may who is to see the log, and nothing else of a lease."""
READ_OPS: Final = ("lease.status", "lease.logs", "lease.metrics", "lease.results", "lease.volumes")
"""What a colleague may who is to see how a lease is, and change nothing."""
UPLOAD: Final = "workload.put"
MAX_REQUEST_LIFETIME: Final = 300
"""Longest time from a request's `issuedAt` to its `expiresAt`, in seconds."""
MAX_SKEW: Final = 30
"""How far ahead of the agent's clock a request's `issuedAt` may be, in seconds."""
MAX_SESSION_LIFETIME: Final = 90 * 86_400
"""A session that ends later than this from now is refused, in seconds."""
MAX_AUTHORIZATION: Final = 24 * 1024
"""Longest Authorization header, in bytes."""
MAX_UPLOAD: Final = 1024 * 1024
"""Largest sealed workload, in bytes."""
MAX_ORDER: Final = 40 * 1024
"""Largest closing order, in bytes: a proof has 16 KiB at most, and is written in hex."""
MAX_CODE: Final = 17 * 1024 * 1024
"""Largest list of a folder of code, packed, in bytes; a pack of its pieces has less."""
EXEC_PROTOCOL: Final = "leasehold.exec.1"
LOG_OFFSET: Final = "Leasehold-Log-Offset"
EMPTY_BODY: Final = hashlib.sha256(b"").digest()

_SCHEME: Final = "Leasehold "
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_HEX: Final = re.compile(r"0x(?:[0-9a-f]{2})+\Z")


def params_hash(method: str, path: str, query: str, body_digest: bytes) -> bytes:
    """What `Request.paramsHash` must be for this call. `path` and `query` as they are sent, escapes included.

    `query` has no question mark; `body_digest` is the SHA-256 of the body's bytes.
    """
    call = {"method": method, "path": path, "query": query, "body": body_digest.hex()}
    return hashlib.sha256(orjson.dumps(call, option=orjson.OPT_SORT_KEYS)).digest()


def encode_authorization(request: Request, proof: bytes) -> str:
    """The header's value."""
    document = orjson.dumps(
        {"request": request.to_json(), "proof": "0x" + proof.hex()}, option=orjson.OPT_SORT_KEYS
    )
    return _SCHEME + base64.urlsafe_b64encode(document).rstrip(b"=").decode("ascii")


def decode_authorization(header: str) -> tuple[Request, bytes]:
    """The request and its proof, neither checked. Raises `MalformedAuthorization`."""
    if len(header) > MAX_AUTHORIZATION:
        raise MalformedAuthorization(f"The Authorization header is longer than {MAX_AUTHORIZATION} bytes.")
    if not header.startswith(_SCHEME) or not _BASE64URL.match(encoded := header[len(_SCHEME) :]):
        raise MalformedAuthorization("The Authorization header must be `Leasehold` and one base64url text.")
    try:
        document = orjson.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (binascii.Error, ValueError):
        raise MalformedAuthorization("The Authorization header does not hold base64url of JSON.") from None
    if not isinstance(document, dict) or set(document) != {"request", "proof"}:
        raise MalformedAuthorization("The Authorization header must hold `request` and `proof`, no more.")
    proof = document["proof"]
    if not isinstance(proof, str) or not _HEX.match(proof):
        raise MalformedAuthorization("`proof` must be hexadecimal in lower case, from 0x on.")
    try:
        request = Request.from_json(document["request"])
    except TypedDataError as error:
        raise MalformedAuthorization(f"The request cannot be read: {error}") from None
    return request, bytes.fromhex(proof[2:])
