"""Documents by digest: from a folder, else from IPFS, always checked, never waited for beyond a limit.

Who asks for many has one limit for all of them, so that documents which nobody serves cost no more than one of them
does. A document that is served comes in a moment: each is given a moment first, in turn, and what is left of the limit
goes to those that did not come. Which those were is remembered: the next time they come last.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.chain import cid_of_digest
from leasehold.errors import DatasetError
from leasehold.files import write_private
from leasehold.market._errors import DocumentUnavailable

if TYPE_CHECKING:
    from leasehold.market._renter import Blocks

MAX_DOCUMENT_BYTES: Final = 1 << 20

_MOMENT = 1.5
"""Seconds in which a document comes that a node nearby has."""
_REMEMBERED = 600.0
"""Seconds for which a document that nobody gave is asked for last, and for a moment only."""


class DocumentCache:
    """Raw documents, kept in `folder` under their digests, since a digest's document never changes.

    timeout: seconds for one document, and for all of `get_all` together. parallel: how many are asked for at once.
    clock: unix seconds.
    """

    def __init__(
        self,
        folder: Path,
        blocks: Blocks,
        *,
        timeout: float = 10.0,
        parallel: int = 8,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._blocks = blocks
        self._timeout = timeout
        self._parallel = parallel
        self._clock = clock

    async def get(self, digest: bytes) -> bytes:
        """The document whose SHA-256 is `digest`.

        Raises:
            DocumentUnavailable: nobody gave it in time, or what came is another document.
        """
        kept = self._kept(digest)
        if kept is not None:
            return kept
        return await self._fetch(digest, self._timeout)

    async def get_all(self, digests: Sequence[bytes]) -> list[bytes | DocumentUnavailable]:
        """Each document, or why it could not be had, in order. Takes no longer than `timeout`."""
        documents: dict[bytes, bytes | DocumentUnavailable] = {}
        for digest in digests:
            if digest not in documents and (kept := self._kept(digest)) is not None:
                documents[digest] = kept
        wanted = [digest for digest in dict.fromkeys(digests) if digest not in documents]
        missed = dict.fromkeys(digest for digest in wanted if self._missed(digest))
        hopeful = [digest for digest in wanted if digest not in missed]
        try:
            async with asyncio.timeout(self._timeout):
                await self._gather(hopeful, _MOMENT, documents)
                await self._gather(list(missed), _MOMENT, documents)
                late = [digest for digest in hopeful if not isinstance(documents[digest], bytes)]
                await self._gather(late, self._timeout, documents)
        except TimeoutError:
            pass
        for digest in wanted:
            if isinstance(documents.get(digest), DocumentUnavailable):
                self._miss(digest)  # what was not even asked for comes first the next time
        return [documents[digest] if digest in documents else self._unavailable(digest) for digest in digests]

    async def _gather(
        self, digests: Sequence[bytes], seconds: float, documents: dict[bytes, bytes | DocumentUnavailable]
    ) -> None:
        """Asks for some at a time, each for so long, and puts what came of it into `documents`."""
        slots = asyncio.Semaphore(self._parallel)

        async def one(digest: bytes) -> None:
            async with slots:
                documents[digest] = self._unavailable(digest)  # which it stays if the limit comes first
                try:
                    documents[digest] = await self._fetch(digest, min(seconds, self._timeout))
                except DocumentUnavailable as error:
                    documents[digest] = error

        async with asyncio.TaskGroup() as tasks:
            for digest in digests:
                tasks.create_task(one(digest))

    async def _fetch(self, digest: bytes, seconds: float) -> bytes:
        cid = cid_of_digest(digest)
        try:
            async with asyncio.timeout(seconds):
                raw = await self._blocks.get_block(cid, seconds)
        except (DatasetError, TimeoutError) as error:
            raise self._unavailable(digest) from error
        if len(raw) > MAX_DOCUMENT_BYTES or sha256(raw).digest() != digest:
            raise DocumentUnavailable(
                f"What came for the document {cid} is something else", "use another IPFS node."
            )
        self._keep(digest, raw)
        return raw

    def _unavailable(self, digest: bytes) -> DocumentUnavailable:
        return DocumentUnavailable(
            f"The document {cid_of_digest(digest)} could not be fetched within {self._timeout:g} s",
            "see that your IPFS node runs (setting `ipfs`), and that the provider's does.",
        )

    def _path(self, digest: bytes) -> Path:
        return _path(self._folder, digest)

    def _kept(self, digest: bytes) -> bytes | None:
        return kept_document(self._folder, digest)

    def _keep(self, digest: bytes, raw: bytes) -> None:
        write_private(self._path(digest), raw)
        self._path(digest).with_suffix(".missed").unlink(missing_ok=True)

    def _missed(self, digest: bytes) -> bool:
        """Whether nobody gave it a while ago."""
        try:
            at = self._path(digest).with_suffix(".missed").stat().st_mtime
        except FileNotFoundError:
            return False
        return 0 <= self._clock() - at < _REMEMBERED

    def _miss(self, digest: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(digest).with_suffix(".missed")
        path.touch()
        os.utime(path, (self._clock(), self._clock()))


def kept_document(folder: Path, digest: bytes) -> bytes | None:
    """The document, if the folder of a `DocumentCache` has it. Nobody is asked."""
    try:
        raw = _path(folder, digest).read_bytes()
    except OSError:
        return None
    return raw if sha256(raw).digest() == digest else None  # a torn write heals itself


def _path(folder: Path, digest: bytes) -> Path:
    return folder / f"{digest.hex()}.json"
