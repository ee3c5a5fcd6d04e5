"""What stops an index."""

from leasehold.errors import ChainError


class IndexConflict(ChainError):
    """Another process writes this index."""

    def __str__(self) -> str:
        return "Another process is indexing this pool into the same database: stop one of them."


class IndexBroken(ChainError):
    """An event names what the index has never seen."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"The index knows no {self.what}: delete the database, and it is built anew from the chain."


class IndexTorn(IndexBroken):
    """Two events in one place: one of them a node made up, and it may be the one that was believed."""

    def __init__(self) -> None:
        super().__init__("place for an event")

    def __str__(self) -> str:
        return "The index holds events that are on no one chain: delete the database, and it is built anew."
