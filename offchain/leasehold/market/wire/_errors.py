"""What the agent's API answers when it refuses: one class, raised in the agent and again in the client.

    AgentError
    ├── AgentUnreachable                no endpoint of the agent answered
    │   └── NothingOpened               it had to, before a lease is opened
    ├── BadReceipt                      the agent's receipt is not signed by the machine's operator
    └── AgentRefusal                    an RFC 9457 problem document; `type` is the class's code
        ├── NotAuthorized               401: nothing shows who is asking
        │   ├── MissingAuthorization
        │   ├── MalformedAuthorization
        │   ├── InvalidRequestProof
        │   ├── RequestExpired
        │   ├── RequestTooEarly
        │   ├── RequestTooLong
        │   ├── RequestReplayed
        │   ├── ParamsMismatch
        │   ├── SessionExpired
        │   └── SessionWithdrawn
        ├── NotPermitted                403: known, and not allowed
        │   ├── WrongAudience
        │   ├── WrongOperation
        │   ├── SessionScope
        │   └── NotYourLease
        ├── UnknownLease                404
        ├── NoResults                   404
        ├── NotRunning                  409
        ├── BodyTooLarge                413
        ├── DigestMismatch              422
        ├── OrderRefused                422
        ├── VolumeBusy                  409
        ├── CodeRefused                 422
        ├── BadCall                     400
        ├── TooManyRequests             429
        ├── ChainUnreachable            503
        ├── EngineUnavailable           503
        └── StoreFull                   507

The codes are what travels: a client of another version knows a refusal by them, so none is ever changed or used again.
"""

from __future__ import annotations

from typing import ClassVar

from leasehold.errors import AgentError, error_type


class AgentUnreachable(AgentError):
    """No endpoint of the agent answered."""

    code = "agent-unreachable"


@error_type(
    "nothing-opened",
    problem="Machine {machine} may not start anything now, so nothing was opened: {why}",
    advice="Choose another machine, or do without its agent, to open the lease all the same.",
)
class NothingOpened(AgentUnreachable):
    """The agent cannot be reached where it had to be, before a lease is opened. why: a sentence."""

    machine: int
    why: str


class BadReceipt(AgentError):
    """What the agent gave for an upload is not a receipt of this machine's operator for these bytes."""

    code = "bad-receipt"


class AgentRefusal(AgentError):
    """The agent answered, and the answer is no. `retry_after` is seconds, where waiting helps."""

    code = "refused"
    status: ClassVar[int] = 400
    title: ClassVar[str] = "The agent refused"

    def __init__(self, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after


class NotAuthorized(AgentRefusal):
    code = "unauthenticated"
    status = 401
    title = "The request does not show who is asking"


class MissingAuthorization(NotAuthorized):
    code = "missing-authorization"
    title = "No Authorization header"


class MalformedAuthorization(NotAuthorized):
    code = "malformed-authorization"
    title = "Authorization header that cannot be read"


class InvalidRequestProof(NotAuthorized):
    code = "invalid-request-proof"
    title = "Signature of somebody else"


class RequestExpired(NotAuthorized):
    code = "request-expired"
    title = "Request past its time"


class RequestTooEarly(NotAuthorized):
    code = "request-too-early"
    title = "Request from the future"


class RequestTooLong(NotAuthorized):
    code = "request-too-long"
    title = "Request valid for too long"


class RequestReplayed(NotAuthorized):
    code = "request-replayed"
    title = "Request used before"


class ParamsMismatch(NotAuthorized):
    code = "params-mismatch"
    title = "Signature for another call"


class SessionExpired(NotAuthorized):
    code = "session-expired"
    title = "Session past its time"


class SessionWithdrawn(NotAuthorized):
    code = "session-withdrawn"
    title = "Session that its account has withdrawn"


class NotPermitted(AgentRefusal):
    code = "not-permitted"
    status = 403
    title = "Not allowed"


class WrongAudience(NotPermitted):
    code = "wrong-audience"
    title = "Request for another chain, pool, machine or lease"


class WrongOperation(NotPermitted):
    code = "wrong-operation"
    title = "Request for another operation"


class SessionScope(NotPermitted):
    code = "session-scope"
    title = "Outside what the session grants"


class NotYourLease(NotPermitted):
    code = "not-your-lease"
    title = "Lease of somebody else"


class UnknownLease(AgentRefusal):
    code = "no-such-lease"
    status = 404
    title = "No such lease on this machine"


class NoResults(AgentRefusal):
    code = "no-results"
    status = 404
    title = "No results yet"


class NotRunning(AgentRefusal):
    code = "not-running"
    status = 409
    title = "The lease has no running container"


class BodyTooLarge(AgentRefusal):
    code = "body-too-large"
    status = 413
    title = "Too large"


class DigestMismatch(AgentRefusal):
    code = "digest-mismatch"
    status = 422
    title = "The bytes have another digest"


class OrderRefused(AgentRefusal):
    code = "order-refused"
    status = 422
    title = "Closing order that is not taken"


class CodeRefused(AgentRefusal):
    code = "code-refused"
    status = 422
    title = "Code that the lease does not name, or that cannot travel"


class VolumeBusy(AgentRefusal):
    code = "volume-busy"
    status = 409
    title = "The volume cannot be had now"


class BadCall(AgentRefusal):
    code = "bad-call"
    status = 400
    title = "Call that cannot be understood"


class TooManyRequests(AgentRefusal):
    code = "too-many-requests"
    status = 429
    title = "Too many requests"


class ChainUnreachable(AgentRefusal):
    code = "chain-unreachable"
    status = 503
    title = "The agent cannot ask the chain"


class EngineUnavailable(AgentRefusal):
    code = "engine-unavailable"
    status = 503
    title = "The container engine does not answer"


class StoreFull(AgentRefusal):
    code = "store-full"
    status = 507
    title = "No room for uploads"


def _coded(kind: type[AgentRefusal]) -> dict[str, type[AgentRefusal]]:
    known = {kind.code: kind}
    for child in kind.__subclasses__():
        known |= _coded(child)
    return known


REFUSALS: dict[str, type[AgentRefusal]] = _coded(AgentRefusal)


def refusal(code: str, detail: str, *, retry_after: int | None = None) -> AgentRefusal:
    """The exception that a problem document's `type` names; `AgentRefusal` for an unknown one."""
    return REFUSALS.get(code, AgentRefusal)(detail, retry_after=retry_after)
