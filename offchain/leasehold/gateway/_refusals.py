"""What the gateway itself refuses: one root, whose classes say their HTTP status.

GatewayRefusal
├── NotSignedIn                 401
├── SignInRefused               401: a message, or a signature, that signs nobody in
├── ForeignOrigin               403: an unsafe request from a page that is not the gateway's
├── NotHere                     404: nothing of that name here
├── AgentSilent                 502: the machine's agent cannot be reached, or answers what no agent does
├── TooMuch                     413: a body, or an answer, over its bound
├── Busy                        429: as much runs for that caller, or that machine, as may
├── BadRequest                  400
├── Conflicting                 409: it stands elsewhere than the caller thinks
└── NoRoom                      507: the account's quota, or the gateway's, is used up
"""

from __future__ import annotations

from typing import ClassVar

from leasehold.errors import LeaseholdError


class GatewayRefusal(LeaseholdError):
    """A request that is not carried out. `title` names the kind; `retry_after` is seconds, where waiting helps."""

    code = "gateway"
    status: ClassVar[int] = 400
    title: ClassVar[str] = "Refused"
    retry_after: int | None = None


class BadRequest(GatewayRefusal):
    """It cannot be read, or asks for what there is not."""

    code = "bad-request"
    title = "The request cannot be read"


class NotSignedIn(GatewayRefusal):
    """There is no session, or it is over."""

    code = "not-signed-in"
    status = 401
    title = "Nobody is signed in"


class SignInRefused(GatewayRefusal):
    """A message or a signature that signs nobody in."""

    code = "sign-in-refused"
    status = 401
    title = "Signing in was refused"


class ForeignOrigin(GatewayRefusal):
    """An unsafe request that no page of the gateway's sent."""

    code = "foreign-origin"
    status = 403
    title = "The request comes from another site"


class NotHere(GatewayRefusal):
    """Nothing of that name is here."""

    code = "not-here"
    status = 404
    title = "There is no such thing here"


class Conflicting(GatewayRefusal):
    """It stands elsewhere than the caller thinks."""

    code = "conflict"
    status = 409
    title = "It stands otherwise"


class TooMuch(GatewayRefusal):
    """Over a bound."""

    code = "too-much"
    status = 413
    title = "More than may be"


class Busy(GatewayRefusal):
    """As much runs as may, or it came too often."""

    code = "busy"
    status = 429
    title = "Too much at once"

    def __init__(self, problem: str, advice: str = "try again in a moment.", retry_after: int = 1) -> None:
        super().__init__(problem, advice)
        self.retry_after = retry_after


class AgentSilent(GatewayRefusal):
    """The machine's agent cannot be reached, or answers what no agent does."""

    code = "agent-unreachable"
    status = 502
    title = "The machine's agent does not answer"


class NotServed(GatewayRefusal):
    """A part that this gateway does not have, or not yet."""

    code = "not-served"
    status = 503
    title = "That is not served here"


class NoRoom(GatewayRefusal):
    """A quota is used up."""

    code = "no-room"
    status = 507
    title = "There is no room"
