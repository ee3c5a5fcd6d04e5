"""What stops an index."""

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
