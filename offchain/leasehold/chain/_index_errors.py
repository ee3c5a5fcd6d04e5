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
