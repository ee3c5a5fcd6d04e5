"""What the agent's API answers when it refuses: one class, raised in the agent and again in the client.

AgentError
├── AgentUnreachable            no endpoint of the agent answered
├── BadReceipt                  the agent's receipt is not signed by the machine's operator
└── AgentRefusal                an RFC 9457 problem document; `type` is the class's name
    ├── NotAuthorized           401: nothing shows who is asking
    │   ├── MissingAuthorization, MalformedAuthorization, InvalidRequestProof
    │   ├── RequestExpired, RequestTooEarly, RequestTooLong, RequestReplayed
    │   └── ParamsMismatch, SessionExpired
    ├── NotPermitted            403: known, and not allowed
    │   └── WrongAudience, WrongOperation, SessionScope, NotYourLease
    ├── UnknownLease, NoResults                   404
    ├── NotRunning                                409
    ├── BodyTooLarge                              413
    ├── DigestMismatch, BadCall                   422, 400
    ├── TooManyRequests                           429
    ├── ChainUnreachable, EngineUnavailable       503
    └── StoreFull                                 507
"""

from __future__ import annotations

from typing import ClassVar

from leasehold.errors import AgentError


class AgentUnreachable(AgentError):
    """No endpoint of the agent answered."""


class BadReceipt(AgentError):
    """What the agent gave for an upload is not a receipt of this machine's operator for these bytes."""


class AgentRefusal(AgentError):
    """The agent answered, and the answer is no. `retry_after` is seconds, where waiting helps."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = "The agent refused"

    def __init__(self, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after


class NotAuthorized(AgentRefusal):
    status = 401
    title = "The request does not show who is asking"


class MissingAuthorization(NotAuthorized):
    title = "No Authorization header"


class MalformedAuthorization(NotAuthorized):
    title = "Authorization header that cannot be read"


class InvalidRequestProof(NotAuthorized):
    title = "Signature of somebody else"


class RequestExpired(NotAuthorized):
    title = "Request past its time"


class RequestTooEarly(NotAuthorized):
    title = "Request from the future"


class RequestTooLong(NotAuthorized):
    title = "Request valid for too long"


class RequestReplayed(NotAuthorized):
    title = "Request used before"


class ParamsMismatch(NotAuthorized):
    title = "Signature for another call"


class SessionExpired(NotAuthorized):
    title = "Session past its time"


class NotPermitted(AgentRefusal):
    status = 403
    title = "Not allowed"


class WrongAudience(NotPermitted):
    title = "Request for another chain, pool, machine or lease"


class WrongOperation(NotPermitted):
    title = "Request for another operation"


class SessionScope(NotPermitted):
    title = "Outside what the session grants"


class NotYourLease(NotPermitted):
    title = "Lease of somebody else"


class UnknownLease(AgentRefusal):
    status = 404
    title = "No such lease on this machine"


class NoResults(AgentRefusal):
    status = 404
    title = "No results yet"


class NotRunning(AgentRefusal):
    status = 409
    title = "The lease has no running container"


class BodyTooLarge(AgentRefusal):
    status = 413
    title = "Too large"


class DigestMismatch(AgentRefusal):
    status = 422
    title = "The bytes have another digest"


class BadCall(AgentRefusal):
    status = 400
    title = "Call that cannot be understood"


class TooManyRequests(AgentRefusal):
    status = 429
    title = "Too many requests"


class ChainUnreachable(AgentRefusal):
    status = 503
    title = "The agent cannot ask the chain"


class EngineUnavailable(AgentRefusal):
    status = 503
    title = "The container engine does not answer"


class StoreFull(AgentRefusal):
    status = 507
    title = "No room for uploads"


def _leaves(kind: type[AgentRefusal]) -> dict[str, type[AgentRefusal]]:
    found = {kind.__name__: kind}
    for child in kind.__subclasses__():
        found |= _leaves(child)
    return found


REFUSALS: dict[str, type[AgentRefusal]] = _leaves(AgentRefusal)


def refusal(name: str, detail: str, *, retry_after: int | None = None) -> AgentRefusal:
    """The exception that a problem document's `type` names; `AgentRefusal` for an unknown one."""
    return REFUSALS.get(name, AgentRefusal)(detail, retry_after=retry_after)
