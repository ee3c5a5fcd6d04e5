"""Content addresses: a digest on chain and the CID under which IPFS has the same bytes.

A document's digest on chain is the SHA-256 of its bytes, and the document is one raw block, so that its CID
is CIDv1(raw, sha2-256, digest): either one can be had from the other without asking anybody.
"""

import base64
import binascii
from typing import ClassVar

import base58

from leasehold.errors import LeaseholdError, error_type

__all__ = ["InvalidCid", "cid_from_bytes", "cid_of_digest", "cid_to_bytes", "digest_of_cid"]

_RAW_SHA256 = bytes((0x01, 0x55, 0x12, 0x20))  # version 1, raw, sha2-256, 32 bytes
_MAX_TEXT = 128  # the longest CID that is in use (sha2-512, base32) has 115 characters


@error_type("invalid-cid", problem="`{start}` {reason}", advice="it should look like bafy… or bafkrei….")
class InvalidCid(LeaseholdError, ValueError):
    """A text or some bytes that are no CID, or not one of the form asked for."""

    exit_code: ClassVar[int] = 2
    text: str
    reason: str = "is not a CID"

    @property
    def start(self) -> str:
        return self.text[:80]


def cid_of_digest(digest: bytes) -> str:
    """The CID (base32) of the raw block whose SHA-256 is `digest`.

    Raises InvalidCid unless `digest` has 32 bytes.
    """
    if len(digest) != 32:
        raise InvalidCid(digest.hex(), f"has {len(digest)} bytes, not the 32 of a SHA-256")
    return cid_from_bytes(_RAW_SHA256 + digest)


def digest_of_cid(cid: str) -> bytes:
    """The SHA-256 of the document that `cid` names.

    Raises InvalidCid for what is no CIDv1(raw, sha2-256).
    """
    binary = cid_to_bytes(cid)
    if not binary.startswith(_RAW_SHA256):
        raise InvalidCid(cid, "does not name a single raw block by its SHA-256")
    return binary[4:]


def cid_to_bytes(cid: str) -> bytes:
    """The binary form of a CIDv1 in base32, or of a CIDv0 (which is its bare multihash).

    Raises InvalidCid.
    """
    try:
        if len(cid) > _MAX_TEXT:
            raise InvalidCid(cid)
        if cid.startswith("Qm") and len(cid) == 46:
            binary = base58.b58decode(cid)
            shaped = binary[:2] == b"\x12\x20" and len(binary) == 34
        else:
            body = cid[1:].upper()
            binary = base64.b32decode(body + "=" * (-len(body) % 8))
            shaped = cid == "b" + body.lower() and binary[:1] == b"\x01" and len(binary) > 4
    except (ValueError, binascii.Error) as error:
        raise InvalidCid(cid) from error
    if not shaped or cid_from_bytes(binary) != cid:
        raise InvalidCid(cid)
    return binary


def cid_from_bytes(binary: bytes) -> str:
    """The text form of a binary CID: base32 of version 1, base58 of version 0.

    Raises InvalidCid.
    """
    if len(binary) == 34 and binary[:2] == b"\x12\x20":
        return base58.b58encode(binary).decode("ascii")
    if len(binary) < 5 or binary[0] != 1:
        raise InvalidCid(binary.hex())
    return "b" + base64.b32encode(binary).decode("ascii").rstrip("=").lower()
