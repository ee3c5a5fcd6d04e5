"""Which offers were signed here, so that none is forgotten and no nonce given away twice."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from leasehold.agreements import Document, OfferFile, read_file, write_file
from leasehold.chain import Deployment


class _Offers(Document):
    leasehold: Literal["offers"] = "offers"
    version: Literal[1] = 1
    offers: tuple[OfferFile, ...] = Field(default_factory=tuple)


class OfferBook:
    """Of one pool, a file under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._path = home / "offers" / f"{pool}.json"

    def all(self) -> tuple[OfferFile, ...]:
        """In the order in which they were signed. Raises FileRefused: the file is damaged."""
        return read_file(self._path, _Offers).offers if self._path.exists() else ()

    def add(self, offer: OfferFile) -> None:
        """Keep one more."""
        write_file(self._path, _Offers(offers=(*self.all(), offer)), private=True)
