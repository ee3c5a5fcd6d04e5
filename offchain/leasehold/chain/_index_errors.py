"""What stops an index, or keeps it from answering."""

from leasehold.errors import ChainError, error_type


@error_type(
    "index-conflict",
    problem="Another process is indexing this pool into the same database",
    advice="stop one of them.",
)
class IndexConflict(ChainError):
    """Another process writes this index."""


@error_type(
    "index-broken",
    problem="The index knows no {what}",
    advice="delete the database, and it is built anew from the chain.",
)
class IndexBroken(ChainError):
    """An event names what the index has never seen."""

    what: str = "place for an event"


@error_type(
    "index-torn",
    problem="The index holds events that are on no one chain",
    advice="delete the database, and it is built anew.",
)
class IndexTorn(IndexBroken):
    """Two events in one place: one of them a node made up, and it may be the one that was believed."""


@error_type(
    "index-unavailable",
    problem="The index's database does not answer: {reason}",
    advice="try again; it is asked until it is there.",
)
class IndexUnavailable(ChainError):
    """The server on which the index lies is away, or has lost the index's tables."""

    reason: str
