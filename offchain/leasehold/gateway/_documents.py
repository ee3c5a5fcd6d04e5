"""The documents that machines name: from the folder at once, from IPFS when nobody waits for it.

A provider can name documents that nobody serves, or name new ones without end. So no answer waits for one: a machine is
shown without, and what is missing is fetched beside, a few at a time, again later where it did not come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from leasehold.chain import MachineRecord
from leasehold.market import (
    Blocks,
    DocumentCache,
    DocumentUnavailable,
    Listing,
    Money,
    digests_of,
    joined,
    kept_document,
)

AGAIN: Final = 300.0
"""Seconds after which what did not come is asked for again."""
_AT_ONCE: Final = 64  # documents that are asked for together
_MOST_IMAGES: Final = 256
_MOST_DATASETS: Final = 256


class Documents:
    """Documents by digest, and the machines that wait for them."""

    def __init__(self, folder: Path, blocks: Blocks, money: Money, timeout: float) -> None:
        self._folder = folder
        self._cache = DocumentCache(folder, blocks, timeout=timeout)
        self._money = money
        self._wanted: dict[bytes, None] = {}
        self._woken = asyncio.Event()

    def listing(self, record: MachineRecord) -> Listing:
        """The machine with the documents that are here; those that are not will be fetched."""
        here = [self.here(digest) for digest in digests_of([record])]
        for digest, document in zip(digests_of([record]), here, strict=True):
            if document is None:
                self._wanted[digest] = None
                self._woken.set()
        given = [document if document is not None else _coming() for document in here]
        (listing,) = joined([record], given, self._money)
        return _bounded(listing)

    def here(self, digest: bytes) -> bytes | None:
        """A document, if it was fetched before."""
        return kept_document(self._folder, digest)

    async def get(self, digest: bytes) -> bytes:
        """A document. Raises DocumentUnavailable."""
        return await self._cache.get(digest)

    async def fetching(self, came: Callable[[frozenset[bytes]], Awaitable[None]]) -> None:
        """Fetches what is wanted, for ever, and says what came."""
        while True:
            self._woken.clear()
            late = await self._round(came)
            try:
                async with asyncio.timeout(AGAIN if late else None):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._wanted |= dict.fromkeys(late)

    async def _round(self, came: Callable[[frozenset[bytes]], Awaitable[None]]) -> list[bytes]:
        late: list[bytes] = []
        while self._wanted:
            some = list(self._wanted)[:_AT_ONCE]
            for digest in some:
                del self._wanted[digest]
            got = await self._cache.get_all(some)
            here = [digest for digest, given in zip(some, got, strict=True) if isinstance(given, bytes)]
            late += [digest for digest in some if digest not in here]
            if here:
                await came(frozenset(here))
        return late


def _coming() -> DocumentUnavailable:
    return DocumentUnavailable("Its document is not here yet", "look again in a moment.")


def _bounded(listing: Listing) -> Listing:
    """Without the rest of a list that is longer than anybody searches: it would stay in memory for every machine."""
    contact = listing.contact
    if contact is None or (len(contact.images) <= _MOST_IMAGES and len(contact.datasets) <= _MOST_DATASETS):
        return listing
    short = contact.model_copy(
        update={"images": contact.images[:_MOST_IMAGES], "datasets": contact.datasets[:_MOST_DATASETS]}
    )
    return replace(listing, contact=short)
