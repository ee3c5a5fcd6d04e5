"""Who may call: the checks between an Authorization header and the work.

In this order, the cheap and local ones first, so that nobody but a lease's own tenant can make the agent
ask the chain: form, time, audience, operation, parameters, lease and tenant, signature, what a session
grants and whether it was withdrawn, and the nonce last, so that a refused request does not use one up.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from leasehold.chain.typed import Domain, Proof, ProofKind, Request, Session, verify_request
from leasehold.errors import (
    ChainError,
    ProofExpired,
    ProofMalformed,
    ProofOutOfScope,
    ProofWrongKey,
)
from leasehold.market.wire import (
    MAX_REQUEST_LIFETIME,
    MAX_SESSION_LIFETIME,
    MAX_SKEW,
    UPLOAD,
    AgentRefusal,
    ChainUnreachable,
    InvalidRequestProof,
    MalformedAuthorization,
    MissingAuthorization,
    NotYourLease,
    ParamsMismatch,
    RequestExpired,
    RequestReplayed,
    RequestTooEarly,
    RequestTooLong,
    SessionExpired,
    SessionScope,
    SessionWithdrawn,
    TooManyRequests,
    UnknownLease,
    WrongAudience,
    WrongOperation,
    decode_authorization,
    params_hash,
)
from leasehold.rates import RateLimit, network
from leasehold_agent._runtime import LeaseHandle, LeaseRuntime
from leasehold_agent.access import Buckets
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._withdrawn import WithdrawnSessions
from leasehold_agent.store import AuditLog

CHECKS_OF_ADDRESS: Final = RateLimit(120, 6)
"""Signatures of one address for one lease: what a tenant's tools ask at most, with room."""
CHECKS_AT_ONCE: Final = 64
"""Checks that wait for the chain's word; more are refused."""
ASKING_SECONDS: Final = 10.0
_OPERATION: Final = re.compile(r"(lease|workload)\.[a-z-]{1,32}")


@dataclass(frozen=True)
class SignedCall:
    """An HTTP call as it came in: path and query undecoded, and the SHA-256 of the body. `address` is who sent it."""

    method: str
    path: str
    query: str
    body_digest: bytes
    address: str = ""


@dataclass(frozen=True)
class Grant:
    """A request that passed every check. `handle` is the lease it is about, None for an upload.

    `ends_at` is when the session ends that it was made under, and `session` the address of its key; None where it was
    the account's own. `proof` is what the chain must say again while a stream is open; None where no chain was asked.
    """

    request: Request
    handle: LeaseHandle | None
    ends_at: int | None = None
    session: str | None = None
    proof: bytes | None = None


class Authorizer:
    """Checks requests for one agent. `machines` is asked each time: it changes while the agent runs. `withdrawn`: the
    sessions that are good for nothing any more. `audit`: who is told of tries that fail.
    """

    def __init__(
        self,
        *,
        runtime: LeaseRuntime,
        domain: Domain,
        machines: Callable[[], Sequence[int]],
        is_authorized: Callable[[str, bytes, bytes], Awaitable[bool]],
        nonces: NonceStore,
        now: Callable[[], int],
        withdrawn: WithdrawnSessions | None = None,
        audit: AuditLog | None = None,
        rate: RateLimit = CHECKS_OF_ADDRESS,
    ) -> None:
        self._checks = Buckets(rate, time.monotonic)
        self._asking = 0
        self._runtime = runtime
        self._domain = domain
        self._machines = machines
        self._is_authorized = is_authorized
        self._nonces = nonces
        self._now = now
        self.withdrawn = withdrawn
        self.audit = audit

    async def check(self, headers: Sequence[str], call: SignedCall, *, op: str, lease: int) -> Grant:
        """What the caller may do. `headers` are all Authorization headers. Raises an `AgentRefusal`."""
        request, proof = self._read(headers)
        self._check_time(request)
        self._check_audience(request, lease)
        if request.op != op:
            raise WrongOperation(f"The request is for `{request.op[:64]}`; this call needs `{op}`.")
        if request.params_hash != params_hash(call.method, call.path, call.query, call.body_digest):
            raise ParamsMismatch(
                "The signature is for another call: sign method, path, query and body as they are sent."
            )
        handle = await self._lease_here(request) if op != UPLOAD else None
        try:
            return await self._admitted(request, proof, handle, call.address)
        except AgentRefusal as error:
            if handle is not None and self.audit is not None:
                await self.audit.refuse(handle.lease, handle.tenant, error.code, self._now())
            raise

    async def _admitted(
        self, request: Request, proof: bytes, handle: LeaseHandle | None, address: str
    ) -> Grant:
        if handle is not None and handle.tenant.lower() != request.account.lower():
            raise NotYourLease("The lease belongs to another account.")
        # What is dear comes last, and from one address only so often for each lease: neighbours may share one.
        self._checks.take(f"{network(address)} {request.lease}")
        session, asked = await self._check_proof(request, proof)
        if not await self._nonces.take(request.account, request.nonce, request.expires_at, self._now()):
            raise RequestReplayed("This request was served before: sign a new one, with a new nonce.")
        ends_at, key = (session.expires_at, session.key) if session is not None else (None, None)
        return Grant(request, handle, ends_at, key, proof if asked else None)

    def _read(self, headers: Sequence[str]) -> tuple[Request, bytes]:
        if not headers:
            raise MissingAuthorization("Send `Authorization: Leasehold …` with a signed request.")
        if len(headers) > 1:
            raise MalformedAuthorization("Send one Authorization header, not several.")
        return decode_authorization(headers[0])

    def _check_time(self, request: Request) -> None:
        now = self._now()
        if request.expires_at - request.issued_at > MAX_REQUEST_LIFETIME:
            raise RequestTooLong(
                f"A request may be valid for {MAX_REQUEST_LIFETIME} s; sign one that ends sooner."
            )
        if request.issued_at > now + MAX_SKEW:
            raise RequestTooEarly(
                f"The request was issued {request.issued_at - now} s from now; set your clock."
            )
        if request.expires_at <= now:
            raise RequestExpired("The request has expired; sign a new one, and see that your clock is right.")

    def _check_audience(self, request: Request, lease: int) -> None:
        if (request.chain, request.controller) != (self._domain.chain_id, self._domain.verifying_contract):
            raise WrongAudience("The request is for another chain or pool than this agent serves.")
        if request.machine not in self._machines():
            raise WrongAudience(
                f"The request is for machine {request.machine}, which is not one of this agent's."
            )
        if request.lease != lease:
            raise WrongAudience("The request is for another lease than the call.")

    async def _lease_here(self, request: Request) -> LeaseHandle:
        handle = await self._runtime.lookup(request.lease)
        if handle is None:
            raise UnknownLease(
                "There is no such lease here: a new one shows up a block after it was opened, and one that is over "
                "goes with what was kept of it."
            )
        if handle.machine != request.machine:
            raise WrongAudience(f"The lease is on machine {handle.machine}, not {request.machine}.")
        return handle

    async def _check_proof(self, request: Request, proof: bytes) -> tuple[Session | None, bool]:
        """The session, if it is one, and whether the chain was asked."""
        asked = False

        async def is_authorized(account: str, digest: bytes, shown: bytes) -> bool:
            nonlocal asked
            asked = True
            return await self._ask(account, digest, shown)

        try:
            await verify_request(
                request, proof, domain=self._domain, now=self._now(), is_authorized=is_authorized
            )
        except ProofMalformed as error:
            raise MalformedAuthorization(str(error)) from None
        except ProofWrongKey as error:
            raise InvalidRequestProof(str(error)) from None
        except ProofExpired as error:
            # The request's own times have been checked already.
            raise SessionExpired(str(error)) from None
        except ProofOutOfScope as error:
            raise SessionScope(str(error)) from None
        except (ChainError, TimeoutError):  # which names the owner's nodes: no stranger's business
            raise ChainUnreachable(
                "The chain must say whether this account approved, and does not answer; try again.",
                retry_after=10,
            ) from None
        decoded = Proof.decode(proof)
        if decoded.kind is not ProofKind.SESSION:
            return None, asked
        session = Session.from_json(orjson.loads(decoded.payload)["session"])
        self._check_session(request, session)
        return session, asked

    async def _ask(self, account: str, digest: bytes, proof: bytes) -> bool:
        """The chain's word, of which only so many may be waited for."""
        if self._asking >= CHECKS_AT_ONCE:
            raise TooManyRequests("Too many requests wait for the chain's word; try again.", retry_after=5)
        self._asking += 1
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                return await self._is_authorized(account, digest, proof)
        finally:
            self._asking -= 1

    def _check_session(self, request: Request, session: Session) -> None:
        """A verified session may still ask for too much, or be withdrawn.

        What this agent does not do another may, of a later version: so it is no reason to refuse.
        """
        if beyond := [op for op in session.ops if not _OPERATION.fullmatch(op)]:
            raise SessionScope(f"A session grants requests to an agent; `{beyond[0][:64]}` is none of them.")
        if session.expires_at > self._now() + MAX_SESSION_LIFETIME:
            raise SessionScope("A session may last 90 days; sign a shorter one.")
        if self._is_withdrawn(request, session.key):
            raise SessionWithdrawn("The account has withdrawn this session: ask it for another.")

    def _is_withdrawn(self, request: Request, session: str | None) -> bool:
        return (
            session is not None
            and self.withdrawn is not None
            and self.withdrawn.has(request.lease, request.account, session)
        )

    async def still(self, grant: Grant) -> bool:
        """Whether a stream that was opened under `grant` may go on.

        Its account still holds the lease, and its session has neither ended nor been withdrawn.
        """
        if grant.ends_at is not None and grant.ends_at <= self._now():
            return False
        if self._is_withdrawn(grant.request, grant.session):
            return False
        handle = await self._runtime.lookup(grant.request.lease)
        return handle is not None and handle.tenant.lower() == grant.request.account.lower()

    async def still_approved(self, grant: Grant) -> bool:
        """Whether the contract or group that approved `grant` still does, as far as the chain can be asked."""
        if grant.proof is None:
            return True
        try:
            # At the moment it was made: that the request itself is past its minutes ends no stream.
            await verify_request(
                grant.request,
                grant.proof,
                domain=self._domain,
                now=grant.request.issued_at,
                is_authorized=self._ask,
            )
        except (ProofWrongKey, ProofExpired, ProofOutOfScope):
            return False
        except (ChainError, TimeoutError, TooManyRequests):
            return True
        return True


class Tenure:
    """Whether a grant's caller still may, asked as often as one likes; once he may not, he never may again.

    The chain is asked every `approval_seconds` at most, for a contract's or a group's approval.
    """

    def __init__(self, authorizer: Authorizer, grant: Grant, approval_seconds: float) -> None:
        self._authorizer = authorizer
        self._grant = grant
        self._every = approval_seconds
        self._asked = time.monotonic()
        self._ended = False

    async def holds(self) -> bool:
        if not self._ended and not await self._authorizer.still(self._grant):
            self._ended = True
        if not self._ended and time.monotonic() - self._asked >= self._every:
            self._asked = time.monotonic()
            self._ended = not await self._authorizer.still_approved(self._grant)
        return not self._ended
