"""What the parts of a gateway beside the index refuse. `title` names the kind.

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
├── QuotaUsed                   403: the caller has as much here as he may
├── NotServed                   503: the gateway does not do that, or not yet
└── KeepsNoMore                 507: the gateway has as much as it keeps, whoever asks
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from leasehold.errors import ChainError, ContractError
from leasehold.gateway._errors import GatewayRefusal
from leasehold.market import Money


class BadRequest(GatewayRefusal):
    """It cannot be read, or asks for what there is not."""

    code = "bad-request"
    title: ClassVar[str] = "The request cannot be read"


class NotSignedIn(GatewayRefusal):
    """There is no session, or it is over."""

    code = "not-signed-in"
    status: ClassVar[int] = 401
    title: ClassVar[str] = "Nobody is signed in"


class SignInRefused(GatewayRefusal):
    """A message or a signature that signs nobody in."""

    code = "sign-in-refused"
    status: ClassVar[int] = 401
    title: ClassVar[str] = "Signing in was refused"


class ForeignOrigin(GatewayRefusal):
    """An unsafe request that no page of the gateway's sent."""

    code = "foreign-origin"
    status: ClassVar[int] = 403
    title: ClassVar[str] = "The request comes from another site"


class NotHere(GatewayRefusal):
    """Nothing of that name is here."""

    code = "not-here"
    status: ClassVar[int] = 404
    title: ClassVar[str] = "There is no such thing here"


class Conflicting(GatewayRefusal):
    """It stands elsewhere than the caller thinks."""

    code = "conflict"
    status: ClassVar[int] = 409
    title: ClassVar[str] = "It stands otherwise"


class TooMuch(GatewayRefusal):
    """Over a bound."""

    code = "too-much"
    status: ClassVar[int] = 413
    title: ClassVar[str] = "More than may be"


class Busy(GatewayRefusal):
    """As much runs as may, or it came too often."""

    code = "busy"
    status: ClassVar[int] = 429
    title: ClassVar[str] = "Too much at once"

    def __init__(self, problem: str, advice: str = "try again in a moment.", retry_after: int = 1) -> None:
        super().__init__(problem, advice)
        self.retry_after = retry_after


class AgentSilent(GatewayRefusal):
    """The machine's agent cannot be reached, or answers what no agent does."""

    code = "agent-silent"
    status: ClassVar[int] = 502
    title: ClassVar[str] = "The machine's agent does not answer"


class NotServed(GatewayRefusal):
    """A part that this gateway does not have, or not yet."""

    code = "not-served"
    status: ClassVar[int] = 503
    title: ClassVar[str] = "That is not served here"


class QuotaUsed(GatewayRefusal):
    """What this caller may have here is used up: nothing is wrong with the gateway."""

    code = "quota-used"
    status: ClassVar[int] = 403
    title: ClassVar[str] = "The quota is used up"


class KeepsNoMore(GatewayRefusal):
    """The gateway itself has no room left, for anybody."""

    code = "no-room"
    status: ClassVar[int] = 507
    title: ClassVar[str] = "There is no room"


@contextmanager
def told_in(money: Money, hint: str) -> Iterator[None]:
    """What strangers are told of what fails inside: amounts in the pool's token, and nothing of the nodes. hint: what
    to do where the chain does not answer.
    """
    try:
        yield
    except (ContractError, GatewayRefusal) as error:
        raise error.in_money(money) from error.__cause__
    except ChainError as error:
        raise NotServed("The chain does not answer, or not in time;", hint) from error
