"""Signing in by wallet (EIP-4361), and who is signed in: the routes of `/api/v1/session`.

A browser asks for a nonce, its wallet signs a message that names this site, this chain and the nonce, and what comes
back is a session in a cookie that no script reads and no other site sends. Every sign-in makes a new one: whatever id
the browser came with is over. What changes something is done for pages of the gateway's own origins alone, and for a
session only from the origin it was begun at.

A page elsewhere, whose origin the gateway's operator has named, gets its session as a bearer's: in the answer's body,
and sent in `Authorization`. For such a page no cookie is read, set or ended, and for any other no bearer is heard. Its
wallet compares the message's domain with the page, and the page has named this gateway in the message's `URI`: what it
had signed for another gateway, which asked for a nonce here, is refused.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Final

from eth_account.messages import encode_defunct
from eth_utils.crypto import keccak
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, StringConstraints
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.chain.typed import IsAuthorized, Proof, ProofKind, recover_signer
from leasehold.errors import ProofError
from leasehold.gateway._bodies import json_body, read_json
from leasehold.gateway._nonces import Nonces
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import BadRequest, Busy, ForeignOrigin, NotSignedIn, SignInRefused
from leasehold.gateway._sessions import COOKIE_ID, PAGE_ID, BrowserSession, SessionStore
from leasehold.gateway._sign_in_message import MAX_MESSAGE, SignInMessage, check_message

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_SIGNATURE: Final = 16_000
"""Bytes of a contract's signature; a key's has 65."""
_CONTRACTS_AT_ONCE: Final = {"all": 8, "caller": 2}
"""That are asked; a contract may take its time, and whoever likes deploys one that does."""
_CONTRACT_SECONDS: Final = 20.0
_MAX_BODY: Final = 2 * (MAX_SIGNATURE + MAX_MESSAGE) + 1024
_SECURE_COOKIE: Final = "__Host-leasehold"
_PLAIN_COOKIE: Final = "leasehold"
_BEARER: Final = re.compile(rf"Bearer ({PAGE_ID.pattern})")
_LOOPBACK: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?")


class SignedMessage(BaseModel):
    """A message of EIP-4361, and its signature in hexadecimal (EIP-191, or what ERC-1271 wants)."""

    model_config = ConfigDict(extra="forbid")

    message: Annotated[str, StringConstraints(max_length=MAX_MESSAGE)]
    signature: Annotated[
        str, StringConstraints(max_length=2 + 2 * MAX_SIGNATURE, pattern=r"^0x(?:[0-9a-fA-F]{2})+$")
    ]


class SignedIn(BaseModel):
    """Who is signed in, until when (unix seconds)."""

    account: str
    expires_at: int


class BegunSession(SignedIn):
    """token: for a page elsewhere, which sends it as `Authorization: Bearer …`; the gateway's own have a cookie."""

    token: str | None = None


class Nonce(BaseModel):
    """What the next message must name."""

    nonce: str
    chain_id: int


class SigningIn:
    """Who may sign in, and who is. origins: the gateway's own, as browsers write them, without a path; where none is
    named, those of the loopback. elsewhere: of other pages that may (`check_sign_in_origins`).

    is_authorized: `AccountsContract.is_authorized` of the pool's chain, which asks contracts (ERC-1271).
    """

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        origins: Sequence[str],
        elsewhere: Collection[str] = (),
        chain_id: int,
        is_authorized: IsAuthorized,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.chain_id = chain_id
        self.nonces = Nonces(engine)
        self.now = now
        self._sessions = SessionStore(engine)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._elsewhere = frozenset(elsewhere)
        self._is_authorized = is_authorized
        self._contracts = Places(_CONTRACTS_AT_ONCE)

    # ---------------------------------------------------------------------------------------------- in and out

    async def sign_in(self, signed: SignedMessage, request: Request) -> tuple[str, BrowserSession]:
        """A new session's id, and the session. Raises SignInRefused, ForeignOrigin, BadRequest, Busy."""
        origin, now = self.page_of(request), self.now()
        elsewhere = not self._is_own(origin, request)
        message = SignInMessage.parse(signed.message)
        sites = self._sites(request) if elsewhere else {origin}
        check_message(message, origin, sites, self.chain_id, now)
        await self.nonces.check(message.nonce, now)
        former = self._came_with(request, elsewhere)
        caller = str(request.scope.get("visitor", ""))
        await self._check_signature(message, bytes.fromhex(signed.signature[2:]), caller)
        await self.nonces.spend(message.nonce, now)  # last: a stranger's bad signature uses up nobody's nonce
        return await self._sessions.begin(
            message.address, origin, now, elsewhere=elsewhere, instead_of=former
        )

    async def sign_out(self, request: Request) -> bool:
        """Ends the page's session, if it has one; whether that was the cookie's. Raises ForeignOrigin, BadRequest."""
        elsewhere = not self._is_own(self.page_of(request), request)
        if (token := self._came_with(request, elsewhere)) is not None:
            await self._sessions.end(token)
        return not elsewhere

    async def signed_in(self, request: Request) -> BrowserSession:
        """Who sends the request. Raises NotSignedIn; ForeignOrigin for a change that another site's page asks for, or
        whatever one asks for that has taken a session from elsewhere; BadRequest for two sessions at once.
        """
        if (token := self._bearer(request)) is not None:
            session = await self._sessions.find(token, self.now())
            if session is None or session.origin not in self._elsewhere:
                raise NotSignedIn("Nobody is signed in;", "sign in with a wallet.")
            if _origin_of(request) != session.origin:
                raise ForeignOrigin("The session was begun at another address;", "sign in here.")
            return session
        found = self._token(request)
        session = None if found is None else await self._sessions.find(found[1], self.now())
        if (
            found is None
            or session is None
            or session.origin.startswith("https://") != (found[0] == _SECURE_COOKIE)
        ):
            raise NotSignedIn("Nobody is signed in;", "sign in with a wallet.")
        said = request.headers.get("origin")
        if (request.method not in SAFE_METHODS or said is not None) and said != session.origin:
            raise ForeignOrigin("The session was begun at another address;", "sign in here.")
        return session

    def page_of(self, request: Request) -> str:
        """The origin of the page that sends the request. Raises ForeignOrigin unless it may sign in."""
        origin = _origin_of(request)
        if not self._is_own(origin, request) and origin not in self._elsewhere:
            raise ForeignOrigin(
                "The request comes from no page that may sign in here;", "open the gateway itself."
            )
        return origin

    def here(self, request: Request) -> str:
        """An origin of the gateway's own, which is never that of a page elsewhere. Raises ForeignOrigin."""
        return min(self._sites(request))

    def _is_own(self, origin: str, request: Request) -> bool:
        return origin in self._origins or (not self._origins and _at_loopback(origin, request))

    def _sites(self, request: Request) -> Collection[str]:
        """This gateway's own origins, as a message names it. Raises ForeignOrigin where it does not know them."""
        here = f"http://{request.headers.get('host', '')}"
        sites = self._origins or ({here} if _at_loopback(here, request) else ())
        if not sites:
            raise ForeignOrigin(
                "This gateway does not know its own address;", "its operator names it among its sites."
            )
        return sites

    def _came_with(self, request: Request, elsewhere: bool) -> str | None:
        """The id of the session that such a page sends. Raises BadRequest."""
        bearer, found = self._bearer(request), self._token(request)
        if elsewhere:
            return bearer
        return None if found is None else found[1]

    def _bearer(self, request: Request) -> str | None:
        """The id in `Authorization`; what a proxy may have put there is none. Raises BadRequest for two sessions."""
        said = request.headers.getlist("authorization")
        found = [match[1] for text in said if (match := _BEARER.fullmatch(text))]
        if found and (len(said) > 1 or self._token(request) is not None):
            raise BadRequest("The request comes with two sessions;", "send one.")
        return found[0] if found else None

    # ---------------------------------------------------------------------------------------------- the cookie

    def give(self, response: Response, token: str, session: BrowserSession) -> None:
        """Puts the session into the browser's cookie."""
        secure = session.origin.startswith("https://")
        name = _SECURE_COOKIE if secure else _PLAIN_COOKIE
        seconds = max(0, session.expires_at - int(self.now()))
        response.set_cookie(name, token, seconds, path="/", secure=secure, httponly=True, samesite="strict")

    def take(self, response: Response) -> None:
        """Has the browser forget it."""
        for name, secure in ((_SECURE_COOKIE, True), (_PLAIN_COOKIE, False)):
            response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")

    def _token(self, request: Request) -> tuple[str, str] | None:
        """The cookie's name and the id in it. The secured one first: another site of the domain cannot set it."""
        for name in (_SECURE_COOKIE, _PLAIN_COOKIE):
            token = request.cookies.get(name, "")
            if COOKIE_ID.fullmatch(token):
                return name, token
        return None

    # ---------------------------------------------------------------------------------------------- the signature

    async def _check_signature(self, message: SignInMessage, signature: bytes, caller: str) -> None:
        digest = _digest(message.text)
        if _signed_by_key(message.address, digest, signature):
            return
        with self._contracts.taken(caller=caller):
            await self._ask_contract(message.address, digest, signature)

    async def _ask_contract(self, address: str, digest: bytes, signature: bytes) -> None:
        proof = Proof(ProofKind.ERC1271, signature).encode()
        try:
            async with asyncio.timeout(_CONTRACT_SECONDS):
                approved = await self._is_authorized(address, digest, proof)
        except TimeoutError:
            raise Busy("The chain does not say in time whether the signature holds;") from None
        if not approved:
            raise SignInRefused(
                f"The signature is not {address}'s;", "sign with the account that the message names."
            )


def _origin_of(request: Request) -> str:
    """What the page is; nothing where the request does not say it, or says it twice."""
    said = request.headers.getlist("origin")
    return said[0] if len(said) == 1 else ""


def _at_loopback(origin: str, request: Request) -> bool:
    """Whether it is a page of this very computer's, opened there: a name that somebody's DNS leads here is not."""
    host = request.headers.get("host", "")
    return _LOOPBACK.fullmatch(host) is not None and origin == f"http://{host}"


def _digest(text: str) -> bytes:
    """What a wallet signs of a text (EIP-191)."""
    said = encode_defunct(text=text)
    return keccak(b"\x19" + said.version + said.header + said.body)


def _signed_by_key(address: str, digest: bytes, signature: bytes) -> bool:
    if len(signature) == 65 and signature[64] < 2:  # as some wallets still write v
        signature = signature[:64] + bytes((signature[64] + 27,))
    try:
        return recover_signer(digest, signature) == address
    except ProofError:
        return False


router = APIRouter(prefix="/api/v1/session", tags=["session"])
TheSigningIn = Annotated[SigningIn, Depends(PartOf(SigningIn))]


@router.get("/nonce")
async def nonce(signing_in: TheSigningIn, response: Response) -> Nonce:
    """What the next message must name."""
    response.headers["Cache-Control"] = "no-store"
    return Nonce(nonce=await signing_in.nonces.issue(signing_in.now()), chain_id=signing_in.chain_id)


@router.post("", openapi_extra=json_body(SignedMessage), response_model_exclude_none=True)
async def sign_in(signing_in: TheSigningIn, request: Request, response: Response) -> BegunSession:
    """Begins a session for the account that signed: in a cookie, or for a page elsewhere in the answer."""
    signing_in.page_of(request)
    signed = await read_json(request, SignedMessage, _MAX_BODY)
    token, session = await signing_in.sign_in(signed, request)
    response.headers["Cache-Control"] = "no-store"
    of_page = PAGE_ID.fullmatch(token) is not None
    if not of_page:
        signing_in.give(response, token, session)
    said = token if of_page else None
    return BegunSession(account=session.account, expires_at=session.expires_at, token=said)


@router.get("")
async def signed_in(signing_in: TheSigningIn, request: Request, response: Response) -> SignedIn:
    """Who is signed in. A page elsewhere that may not sign in is told so."""
    if "origin" in request.headers:
        signing_in.page_of(request)
    response.headers["Cache-Control"] = "no-store"
    session = await signing_in.signed_in(request)
    return SignedIn(account=session.account, expires_at=session.expires_at)


@router.delete("", status_code=204)
async def sign_out(signing_in: TheSigningIn, request: Request, response: Response) -> None:
    """Ends the session."""
    if await signing_in.sign_out(request):
        signing_in.take(response)
