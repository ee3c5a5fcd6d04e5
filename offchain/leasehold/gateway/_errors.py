"""What the gateway refuses, and with which status; and which status a refusal of the library has.

`status` is HTTP's. A sentence of the library's is said as it is: it is written for whoever reads it.
"""

from __future__ import annotations

from typing import ClassVar, Final

from sqlalchemy.exc import SQLAlchemyError

from leasehold.chain import IndexConflict, IndexUnavailable, InvalidCid, InvalidLeaseId
from leasehold.errors import (
    ChainError,
    ContractError,
    DatasetError,
    LeaseholdError,
    RpcUnavailable,
    WrongChain,
    error_type,
)
from leasehold.market import DocumentUnavailable, InvalidInput, MarketError, NoMachineMatches


class GatewayRefusal(LeaseholdError):
    """What the gateway itself refuses. retry_after: seconds after which it may be tried again."""

    code = "gateway"
    status: ClassVar[int] = 400
    retry_after: int | None = None


@error_type("malformed-call", problem="{where}: {what}", advice="see /openapi.json.")
class MalformedCall(GatewayRefusal):
    """Something of the call is of a form that it cannot have."""

    where: str
    what: str


@error_type(
    "nothing-there",
    problem="There is nothing at this path, or not for this method",
    advice="see /openapi.json.",
)
class NothingThere(GatewayRefusal):
    """A path or method that the gateway does not have."""

    status = 404


@error_type("no-such-thing", problem="There is no {kind} {name}", advice="look for it in the list.")
class NoSuchThing(GatewayRefusal):
    """The index knows nothing of that name."""

    status = 404
    kind: str
    name: str


@error_type(
    "document-not-named",
    problem="No machine and no service of this pool names the document {cid}",
    advice="fetch it by way of an IPFS node.",
)
class DocumentNotNamed(GatewayRefusal):
    """The gateway gives out what the pool's people have published there, and nothing else."""

    status = 404
    cid: str


@error_type(
    "too-many-calls", problem="Too many calls came from your address", advice="try again in {wait} s."
)
class TooManyCalls(GatewayRefusal):
    """A limit of calls was met. wait: seconds."""

    status = 429
    wait: int

    @property
    def retry_after(self) -> int:  # type: ignore[override]  # of the data
        return self.wait


@error_type("call-too-large", problem="The call is larger than {most} bytes", advice="send less.")
class CallTooLarge(GatewayRefusal):
    """A body, or a part of an address, that is longer than anything means."""

    status = 413
    most: int


@error_type(
    "gateway-full", problem="The gateway has as many connections as it takes", advice="try again later."
)
class GatewayFull(GatewayRefusal):
    """As much runs altogether as may; what one address may have at most is refused with 429."""

    status = 503
    retry_after = 5


@error_type(
    "not-ready",
    problem="The gateway has not read the chain yet",
    advice="try again in a moment: see /readyz.",
)
class NotReady(GatewayRefusal):
    """Between the start and the first head."""

    status = 503
    retry_after = 2


@error_type("nodes-unreachable", problem="The chain's nodes give no answer", advice="try again in a moment.")
class NodesUnreachable(GatewayRefusal):
    """The gateway's own nodes are away; which they are is the operator's."""

    status = 503
    retry_after = 2


@error_type(
    "index-unreachable", problem="The gateway's database gives no answer", advice="try again in a moment."
)
class IndexUnreachable(GatewayRefusal):
    """The index cannot be asked now; nothing of it is lost."""

    status = 503
    retry_after = 2


@error_type("gateway-failed", problem="The gateway failed", advice="try again, and tell whoever runs it.")
class GatewayFailed(GatewayRefusal):
    """A mistake of the gateway's own; what, stands in its log."""

    status = 500


_STATUSES: Final[tuple[tuple[type[LeaseholdError], int], ...]] = (
    (InvalidInput, 400),
    (InvalidCid, 400),
    (InvalidLeaseId, 400),
    (NoMachineMatches, 404),
    (DocumentUnavailable, 504),
    (DatasetError, 502),
    (ContractError, 409),
    (ChainError, 503),
    (MarketError, 409),
)
"""The first that an error is one of says its status."""


def status_of(error: LeaseholdError) -> int:
    """HTTP's status for an error of the library."""
    own = getattr(error, "status", None)
    if isinstance(own, int):
        return own
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)


def said_of(error: Exception) -> str:
    """What strangers are told of an error."""
    return str(for_strangers(error))


def for_strangers(error: Exception) -> Exception:
    """The error as strangers hear of it: neither where the gateway's database and nodes are, nor what they were asked
    or said.
    """
    if of_the_database(error):
        return IndexUnreachable()
    return NodesUnreachable() if isinstance(error, RpcUnavailable | WrongChain) else error


def for_owner(error: Exception) -> str:
    """What the gateway's own log says of it: which nodes do not answer, by host alone, and why. A database's words may
    hold its password.
    """
    return type(error).__name__ if of_the_database(error) else str(error)


def of_the_database(error: Exception) -> bool:
    """Whether the gateway's database is away, or being made anew; its own words are for the log alone."""
    return isinstance(error, SQLAlchemyError | IndexUnavailable | IndexConflict)
