"""What a run refuses before anything is sent, and how it can end badly.

InvalidInput
├── NotForARun
├── RunIsAnother
├── NoSuchRun
├── BudgetMissing
└── ResultsInTheWay
StartFailed
└── NothingRan                  says what the last machine said
MarketError
├── BudgetTooSmall
└── PriceTooHigh
"""

from __future__ import annotations

from leasehold.errors import error_type
from leasehold.market import InvalidInput, MarketError, StartFailed


@error_type("not-for-a-run", problem="A run is one lease of one's own at a time", advice="{why}.")
class NotForARun(InvalidInput):
    """A gang, an offer, an earlier lease, a standby or another account. why: what to leave away, or do instead."""

    why: str


@error_type(
    "run-is-another",
    problem="Run {name} is under way and does something else",
    advice="attach to it, end it, or name this one differently.",
)
class RunIsAnother(InvalidInput):
    """A name stands for one wish until its run has ended."""

    name: str


@error_type("no-such-run", problem="No run {name} was begun here", advice="{known}.")
class NoSuchRun(InvalidInput):
    """Nothing to attach to. known: which there are."""

    name: str
    known: str


@error_type(
    "results-in-the-way",
    problem="{folder} is there already, and the run's results go into a new folder",
    advice="name another, or move it away.",
)
class ResultsInTheWay(InvalidInput):
    """Where the results should go is something."""

    folder: str


@error_type(
    "budget-missing",
    problem="A run that is recovered may be paid for on several machines",
    advice="name the most that it may spend in all.",
)
class BudgetMissing(InvalidInput):
    """Nobody watches what a recovered run spends."""


@error_type("nothing-ran", problem="Run {name} found no machine that ran it: {tries};", advice="{last}.")
class NothingRan(StartFailed):
    """Every machine that fits was tried. tries: what became of each. last: why no other is tried."""

    name: str
    tries: str
    last: str


@error_type(
    "budget-too-small",
    problem="{left:money} are left of the budget, and a minute there costs more",
    advice="allow more, or take a smaller share.",
)
class BudgetTooSmall(MarketError):
    """What is left pays for no lease at all."""

    left: int
