"""What can go wrong between a person's wish and the chain.

    LeaseholdError
    ├── InvalidInput                    something typed cannot be understood; nothing was sent
    │   ├── InvalidAmount
    │   ├── InvalidDuration
    │   ├── InvalidSize
    │   ├── QueryError                  carries the column
    │   ├── PriceNotPositive
    │   ├── NoSuchSpan
    │   ├── TrialTooLong
    │   └── LeavesTooEarly
    └── MarketError                     the market does not allow it as things stand; nothing was sent
        ├── NoMachineMatches
        │   ├── NoneMatches
        │   ├── TooFewMatch
        │   └── NoneTakesIt             carries what the cheapest says
        ├── MachineUnavailable          one subclass for each reason, in `_machine_errors.py`
        ├── DocumentUnavailable
        ├── DocumentInvalid
        │   ├── MachineFileInvalid
        │   ├── MachineFileUnreadable
        │   └── ConsentUnfit
        ├── StatementInvalid
        ├── NotEnoughFunds              one subclass for each thing that costs, in `_money_errors.py`
        ├── AllowanceMissing
        │   └── AllowanceTooLow
        ├── AlreadyJoined
        │   └── OperatorTaken
        │       ├── CardsTaken
        │       ├── UnitsTaken
        │       └── NeighbourUnknown
        ├── RulesChange
        └── StartFailed                 a lease was opened and did not start; says what came back
            ├── NotStartedInTime
            ├── RejectedUnstarted
            ├── DeclinedUnstarted
            └── CancelledUnstarted

Amounts are token units; `in_money` tells them in the pool's token.
"""

from __future__ import annotations

from typing import ClassVar

from leasehold.errors import LeaseholdError, error_type
from leasehold.market._explain import declined

# --------------------------------------------------------------------------------------------- what was typed


class InvalidInput(LeaseholdError):
    """Something typed cannot be understood; nothing was sent."""

    code = "invalid-input"
    exit_code: ClassVar[int] = 2


class InvalidAmount(InvalidInput):
    """Not an amount of tokens."""

    code = "invalid-amount"


class InvalidDuration(InvalidInput):
    """Not a duration."""

    code = "invalid-duration"


class InvalidSize(InvalidInput):
    """Not a size in bytes."""

    code = "invalid-size"


@error_type("query", problem="Column {column} of the search: {reason}")
class QueryError(InvalidInput):
    """A search that cannot be read. `column` counts from 1, at the character that is wrong."""

    column: int
    reason: str


@error_type(
    "price-not-positive",
    problem="A machine needs a price above zero",
    advice="name one in whole tokens per GPU-hour.",
)
class PriceNotPositive(InvalidInput):
    """Terms without a price."""


@error_type(
    "no-such-span",
    problem="Leases last from a shortest to a longest duration, at most {most:duration}",
    advice="{shortest:duration} to {longest:duration} is no such span.",
)
class NoSuchSpan(InvalidInput):
    """Terms whose durations are out of order or of bounds. Seconds."""

    shortest: int
    longest: int
    most: int


@error_type(
    "trial-too-long", problem="A trial lasts at most {most:duration}", advice="set it to that or less."
)
class TrialTooLong(InvalidInput):
    """Terms with a trial that no pool allows. Seconds."""

    most: int


@error_type(
    "leaves-too-early",
    problem="The machine would leave before its shortest lease ends",
    advice="let it stay until a later day.",
)
class LeavesTooEarly(InvalidInput):
    """Terms under which no lease fits."""


# --------------------------------------------------------------------------------------------- the market


class MarketError(LeaseholdError):
    """The market does not allow it as things stand; nothing was sent."""

    code = "market"
    exit_code: ClassVar[int] = 9


class NoMachineMatches(MarketError):
    """No machine in the pool fits what was asked."""

    code = "no-machine-matches"


@error_type("none-matches", problem="No machine matches", advice="widen the search.")
class NoneMatches(NoMachineMatches):
    """A search without results."""


@error_type(
    "too-few-match",
    problem="Only {fit} of the {count} machines that it takes match and have room",
    advice="widen the search, or take a smaller gang.",
)
class TooFewMatch(NoMachineMatches):
    """Too few machines for a gang."""

    fit: int
    count: int


@error_type(
    "none-takes-it",
    problem="None of the {count} machines that match takes this lease.",
    advice="The cheapest: {cheapest}",
)
class NoneTakesIt(NoMachineMatches):
    """Machines match, and each would refuse; `cheapest` is why the cheapest would."""

    count: int
    cheapest: LeaseholdError


class MachineUnavailable(MarketError):
    """The machine takes no such lease now."""

    code = "machine-unavailable"


class DocumentUnavailable(MarketError):
    """A document that the chain names by its digest could not be fetched in time."""

    code = "document-unavailable"


@error_type("document-invalid", problem="{what}{wrong}", advice="ask its provider to correct it.")
class DocumentInvalid(MarketError):
    """A document has the right digest and the wrong form. wrong: what, as the rest of the sentence."""

    what: str
    wrong: str


@error_type("statement-invalid", problem="That is no statement of an operator: {why}", advice="leave it out.")
class StatementInvalid(MarketError):
    """A statement that cannot be read, or that nobody has signed for this pool. why: as the rest of the sentence."""

    why: str


@error_type("machine-file-invalid", problem="{what}{wrong}", advice="have the host describe itself anew.")
class MachineFileInvalid(DocumentInvalid):
    """machine.json, or a document in it, has the wrong form."""


@error_type("machine-file-unreadable", problem="{what}: {wrong};", advice="have the host describe itself.")
class MachineFileUnreadable(DocumentInvalid):
    """machine.json is not there, or cannot be read."""


@error_type(
    "consent-unfit",
    problem="{what}{wrong}",
    advice="have the host describe itself again, for {provider}.",
)
class ConsentUnfit(DocumentInvalid):
    """What the host's key signed is for another provider or pool, or too old."""

    provider: str


class NotEnoughFunds(MarketError):
    """Ledger and wallet together do not cover what the call needs."""

    code = "not-enough-funds"


class AllowanceMissing(MarketError):
    """The wallet holds enough and the pool may not take it."""

    code = "allowance-missing"


@error_type(
    "allowance-too-low",
    problem="The pool may not take {needed:money} from the wallet yet",
    advice="let it take that first.",
)
class AllowanceTooLow(AllowanceMissing):
    """The token lets the pool take less than what is needed."""

    needed: int


class AlreadyJoined(MarketError):
    """The operator's key already serves a machine of this pool."""

    code = "already-joined"


@error_type(
    "operator-taken",
    problem="The operator {operator} already serves machine {machine}",
    advice="change its terms, or describe the machine with a new key.",
)
class OperatorTaken(AlreadyJoined):
    """Joining, with the key of a machine that is there and has what is described."""

    operator: str
    machine: int


@error_type(
    "cards-taken",
    problem="The operator {operator} already serves machine {machine}, which has {cards} of the cards described here",
    advice="change its terms, or describe the cards that no machine has.",
)
class CardsTaken(OperatorTaken):
    """A second machine on one host, with a card of the first."""

    cards: int


@error_type(
    "units-taken",
    problem=(
        "The operator {operator} already serves machine {machine}: of the host's {units} CPU units {left} are left"
    ),
    advice="change its terms, or describe a machine of what is left.",
)
class UnitsTaken(OperatorTaken):
    """A second machine on one host without cards, with more than the first has left."""

    units: int
    left: int


@error_type(
    "neighbour-unknown",
    problem=(
        "The operator {operator} already serves machine {machine}, and what that one has cannot be told from its "
        "hardware document"
    ),
    advice="see that your IPFS node runs, or describe that machine anew and publish its documents.",
)
class NeighbourUnknown(OperatorTaken):
    """A second machine on one host, where nobody knows which cards the first has."""


@error_type(
    "rules-change",
    problem=(
        "In {seconds:duration} version {version} of the pool's rules comes into force, and what is sent now might "
        "accept it"
    ),
    advice="read it, and try again then.",
)
class RulesChange(MarketError):
    """Other rules come into force so soon that what is sent now could accept them unread."""

    seconds: int
    version: int


# --------------------------------------------------------------------------------------------- starting


class StartFailed(MarketError):
    """A lease was opened and did not start; the message says why and what was refunded."""

    code = "start-failed"
    exit_code: ClassVar[int] = 10


@error_type(
    "not-started-in-time",
    problem="Lease {lease:lease} was not started in time",
    advice="take {deposit:money} back by closing it, which refunds all of it.",
)
class NotStartedInTime(StartFailed):
    """The start window passed."""

    lease: int
    deposit: int


@error_type(
    "rejected-unstarted",
    problem="Lease {lease:lease} was rejected before it started",
    advice="look at the lease.",
)
class RejectedUnstarted(StartFailed):
    """Its tenant gave it back meanwhile."""

    lease: int


@error_type(
    "declined-unstarted",
    problem="Machine {machine} declined lease {lease:lease} and {refunded:money} were refunded",
    advice="{why}",
)
class DeclinedUnstarted(StartFailed):
    """Its machine cannot run it. reason: the code on the chain."""

    machine: int
    lease: int
    refunded: int
    reason: str

    @property
    def why(self) -> str:
        return declined(self.reason)


@error_type(
    "cancelled-unstarted",
    problem="Lease {lease:lease} was cancelled unstarted and {refunded:money} were refunded",
    advice="rent again, best elsewhere.",
)
class CancelledUnstarted(StartFailed):
    """Somebody closed it after its start window had passed."""

    lease: int
    refunded: int
