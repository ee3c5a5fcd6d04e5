"""How a signature is shown to others, and checked.

A proof is bytes whose first byte is its kind:

    0x01  65 bytes r, s, v of the account's own key, s in the lower half
    0x02  what the account's ERC-1271 `isValidSignature` wants
    0x03  a group's signatures
    0x04  a session: canonical JSON {session, session_proof, signature}; it proves requests, never money

Kinds 2 and 3 are for the chain to judge, so checking takes an `is_authorized` function,
`AccountsContract.is_authorized`. Kind 1 is checked here, without the chain. (An account that has code as well
as a key, EIP-7702, keeps its key.)
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

import orjson

from leasehold.chain._eip712 import Domain, Struct, TypedData
from leasehold.chain._typed import Request, Session
from leasehold.errors import (
    ProofExpired,
    ProofMalformed,
    ProofOutOfScope,
    ProofWrongKey,
    TypedDataError,
)

__all__ = [
    "MAX_REQUEST_SECONDS",
    "IsAuthorized",
    "Proof",
    "ProofKind",
    "SessionKey",
    "TypedDataSigner",
    "recover_signer",
    "sign",
    "sign_request",
    "verify_proof",
    "verify_request",
]

MAX_REQUEST_SECONDS: Final = 300
_CLOCK_SKEW_SECONDS: Final = 60
_MAX_PROOF_BYTES: Final = 16_384
_HALF_ORDER: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0

IsAuthorized = Callable[[str, bytes, bytes], Awaitable[bool]]
"""`(account, digest, proof) -> bool`, as `Accounts.isAuthorized` answers."""


class TypedDataSigner(Protocol):
    """The part of a wallet that signing needs."""

    @property
    def address(self) -> str: ...

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """65 bytes r, s, v over `message`."""
        ...


class ProofKind(IntEnum):
    KEY = 1
    ERC1271 = 2
    GROUP = 3
    SESSION = 4


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof taken apart: its kind and what follows the first byte."""

    kind: ProofKind
    payload: bytes

    def encode(self) -> bytes:
        return bytes((self.kind,)) + self.payload

    @classmethod
    def decode(cls, proof: bytes) -> "Proof":
        """Raises ProofMalformed for what is empty, too long or of no known kind."""
        if not 1 < len(proof) <= _MAX_PROOF_BYTES:
            raise ProofMalformed(f"it has {len(proof)} bytes")
        if proof[0] not in list(ProofKind):
            raise ProofMalformed(f"its kind {proof[0]} is not known")
        return cls(ProofKind(proof[0]), proof[1:])


# ---------------------------------------------------------------------------------------------------- signing


async def sign(message: Struct, domain: Domain, signer: TypedDataSigner) -> bytes:
    """A proof of kind 1: `signer`'s own signature of `message`."""
    signature = await signer.sign_typed_data(message.typed_data(domain))
    return Proof(ProofKind.KEY, signature).encode()


async def sign_request(request: Request, domain: Domain, signer: "TypedDataSigner | SessionKey") -> bytes:
    """The proof for a request, by the account's wallet or by a session's throw-away key."""
    if isinstance(signer, SessionKey):
        return signer.prove(request, domain)
    return await sign(request, domain, signer)


@dataclass(frozen=True)
class SessionKey:
    """A throw-away key and the account's proof that it may sign requests.

    `private_key` has 32 bytes; it never shows in the text form.
    """

    session: Session
    session_proof: bytes
    private_key: bytes

    def __repr__(self) -> str:
        return f"SessionKey({self.session!r})"

    @classmethod
    async def grant(
        cls,
        account: str,
        domain: Domain,
        wallet: TypedDataSigner,
        *,
        private_key: bytes,
        ops: Sequence[str],
        expires_at: int,
        leases: Sequence[int] = (),
    ) -> "SessionKey":
        """Has `wallet`, the key of `account`, sign a session for `private_key` once."""
        from eth_account import Account

        key = Account.from_key(private_key)
        session = Session(
            account=account,
            chain=domain.chain_id,
            controller=domain.verifying_contract,
            leases=tuple(leases),
            ops=tuple(ops),
            key=key.address,
            expires_at=expires_at,
        )
        return cls(session, await sign(session, domain, wallet), private_key)

    def prove(self, request: Request, domain: Domain) -> bytes:
        """A proof of kind 4 for `request`."""
        from eth_account import Account

        signed = Account.unsafe_sign_hash(request.digest(domain), self.private_key)
        payload = {
            "session": self.session.to_json(),
            "session_proof": "0x" + self.session_proof.hex(),
            "signature": "0x" + bytes(signed.signature).hex(),
        }
        return Proof(ProofKind.SESSION, orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)).encode()


# --------------------------------------------------------------------------------------------------- checking


def recover_signer(digest: bytes, signature: bytes) -> str:
    """The address whose key made 65 bytes r, s, v over `digest`.

    Raises ProofMalformed for another length, for s in the upper half (a second signature that anyone can make
    from the first), for v other than 27 and 28, and for what no key can have made.
    """
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    if len(signature) != 65:
        raise ProofMalformed(f"the signature has {len(signature)} bytes, not 65")
    r, s, v = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64]), signature[64]
    if s > _HALF_ORDER:
        raise ProofMalformed("the signature's s is in the upper half")
    if v not in (27, 28):
        raise ProofMalformed(f"the signature's v is {v}, not 27 or 28")
    try:
        key = Signature(vrs=(v - 27, r, s)).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError) as error:
        raise ProofMalformed("no key can have made the signature") from error
    return key.to_checksum_address()


async def verify_proof(account: str, digest: bytes, proof: bytes, is_authorized: IsAuthorized) -> None:
    """Returns when `proof` shows that `account` approved `digest`.

    Raises ProofMalformed, or ProofWrongKey when it is somebody else's. A session is refused here, since it
    proves requests alone: use `verify_request`.
    """
    decoded = Proof.decode(proof)
    if decoded.kind is ProofKind.SESSION:
        raise ProofMalformed("a session proves requests alone")
    if decoded.kind is ProofKind.KEY:
        signer = recover_signer(digest, decoded.payload)
        if signer.lower() != account.lower():
            raise ProofWrongKey(f"{signer} signed it, not {account}")
    elif not await is_authorized(account, digest, proof):
        raise ProofWrongKey(f"{account} does not accept it")


async def verify_request(
    request: Request, proof: bytes, *, domain: Domain, now: int, is_authorized: IsAuthorized
) -> None:
    """Returns when `proof` shows that `request.account` makes `request`, in `domain`, at `now`.

    Whether the nonce is new, and whether the account may do this to the lease, is for the caller to know.
    Raises ProofMalformed, ProofWrongKey, ProofExpired, or ProofOutOfScope.
    """
    _check_place(request, domain, "request")
    _check_time(request, now)
    decoded = Proof.decode(proof)
    if decoded.kind is not ProofKind.SESSION:
        await verify_proof(request.account, request.digest(domain), proof, is_authorized)
        return
    session, session_proof, signature = _open_session(decoded.payload)
    _check_session(session, request, domain, now)
    signer = recover_signer(request.digest(domain), signature)
    if signer != session.key:
        raise ProofWrongKey(f"{signer} signed the request, not the session's key {session.key}")
    await verify_proof(session.account, session.digest(domain), session_proof, is_authorized)


def _check_place(message: Request | Session, domain: Domain, what: str) -> None:
    if (message.chain, message.controller) != (domain.chain_id, domain.verifying_contract):
        raise ProofOutOfScope(f"the {what} is for pool {message.controller} on chain {message.chain}")


def _check_time(request: Request, now: int) -> None:
    if request.expires_at - request.issued_at > MAX_REQUEST_SECONDS:
        raise ProofExpired(f"a request may live {MAX_REQUEST_SECONDS} s at most")
    if request.issued_at > now + _CLOCK_SKEW_SECONDS:
        raise ProofExpired(
            f"the request was issued {request.issued_at - now} s in the future: set your clock"
        )
    if request.expires_at <= now:
        raise ProofExpired(f"the request expired {now - request.expires_at} s ago")


def _check_session(session: Session, request: Request, domain: Domain, now: int) -> None:
    _check_place(session, domain, "session")
    if session.account != request.account:
        raise ProofOutOfScope(f"the session is {session.account}'s, not {request.account}'s")
    if session.leases and request.lease and request.lease not in session.leases:
        raise ProofOutOfScope("the session does not cover this lease")
    if request.op not in session.ops:
        raise ProofOutOfScope(f"the session does not cover `{request.op}`")
    if session.expires_at <= now:
        raise ProofExpired(f"the session expired {now - session.expires_at} s ago")


def _open_session(payload: bytes) -> tuple[Session, bytes, bytes]:
    try:
        document = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise ProofMalformed("the session is no JSON") from error
    if not isinstance(document, dict) or set(document) != {"session", "session_proof", "signature"}:
        raise ProofMalformed("the session's parts are not session, session_proof and signature")
    try:
        session = Session.from_json(document["session"])
    except TypedDataError as error:
        raise ProofMalformed(f"the session's field {error.field} {error.reason}") from error
    return session, _unhex(document["session_proof"]), _unhex(document["signature"])


def _unhex(text: object) -> bytes:
    if not isinstance(text, str) or not re.fullmatch(r"0x(?:[0-9a-fA-F]{2})*", text):
        raise ProofMalformed("a part of the session is not hexadecimal")
    return bytes.fromhex(text[2:])
