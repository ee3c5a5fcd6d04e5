"""What can go wrong between a person's wish and the chain.

* LeaseholdError
    * InvalidInput: something typed cannot be understood; nothing was sent
        * InvalidAmount, InvalidDuration, InvalidSize
        * QueryError: carries the column
    * MarketError: the market does not allow it as things stand; nothing was sent
        * NoMachineMatches, MachineUnavailable, DocumentUnavailable, DocumentInvalid
        * PriceAboveMaximum, NotEnoughFunds, AllowanceMissing, AlreadyJoined, RulesChange
    * StartFailed: a lease was opened and did not start; says what came back
"""

from __future__ import annotations

from typing import ClassVar

from leasehold.errors import LeaseholdError


class InvalidInput(LeaseholdError):
    """Something typed cannot be understood; nothing was sent."""

    exit_code: ClassVar[int] = 2


class InvalidAmount(InvalidInput):
    """Not an amount of tokens."""


class InvalidDuration(InvalidInput):
    """Not a duration."""


class InvalidSize(InvalidInput):
    """Not a size in bytes."""


class QueryError(InvalidInput):
    """A search that cannot be read. `column` counts from 1, at the character that is wrong."""

    def __init__(self, column: int, problem: str) -> None:
        super().__init__(f"Column {column} of the search: {problem}")
        self.column = column
        self.problem = problem


class MarketError(LeaseholdError):
    """The market does not allow it as things stand; nothing was sent."""

    exit_code: ClassVar[int] = 9


class NoMachineMatches(MarketError):
    """No machine in the pool fits what was asked."""


class MachineUnavailable(MarketError):
    """The machine takes no such lease now."""


class DocumentUnavailable(MarketError):
    """A document that the chain names by its digest could not be fetched in time."""


class DocumentInvalid(MarketError):
    """A document has the right digest and the wrong form."""


class PriceAboveMaximum(MarketError):
    """The machine asks more than the renter's maximum."""


class NotEnoughFunds(MarketError):
    """Ledger and wallet together do not cover what the call needs."""


class AllowanceMissing(MarketError):
    """The wallet holds enough and the pool may not take it."""


class AlreadyJoined(MarketError):
    """The operator's key already serves a machine of this pool."""


class RulesChange(MarketError):
    """Other rules come into force so soon that what is sent now could accept them unread."""


class StartFailed(MarketError):
    """A lease was opened and did not start; the message says why and what was refunded."""

    exit_code: ClassVar[int] = 10
