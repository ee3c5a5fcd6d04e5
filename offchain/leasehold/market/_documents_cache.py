"""Documents by digest: from a folder, else from IPFS, always checked, never waited for beyond a limit."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from leasehold.chain import cid_of_digest
from leasehold.errors import DatasetError
from leasehold.market._documents import MAX_DOCUMENT_BYTES
from leasehold.market._errors import DocumentUnavailable
from leasehold.market._renter import Blocks


class DocumentCache:
    """Raw documents, kept in `folder` under their digests, since a digest's document never changes.

    timeout: seconds for one document. parallel: how many are asked for at once.
    """

    def __init__(self, folder: Path, blocks: Blocks, *, timeout: float = 10.0, parallel: int = 16) -> None:
        self._folder = folder
        self._blocks = blocks
        self._timeout = timeout
        self._slots = asyncio.Semaphore(parallel)

    async def get(self, digest: bytes) -> bytes:
        """The document whose SHA-256 is `digest`.

        Raises:
            DocumentUnavailable: nobody gave it in time, or what came is another document.
        """
        kept = self._kept(digest)
        if kept is not None:
            return kept
        cid = cid_of_digest(digest)
        try:
            async with self._slots:
                raw = await self._blocks.get_block(cid, self._timeout)
        except DatasetError as error:
            raise DocumentUnavailable(
                f"The document {cid} could not be fetched within {self._timeout:g} s: see that your IPFS "
                "node "
                "runs (setting `ipfs`), and that the provider's does."
            ) from error
        if len(raw) > MAX_DOCUMENT_BYTES or sha256(raw).digest() != digest:
            raise DocumentUnavailable(
                f"What came for the document {cid} is something else: use another IPFS node."
            )
        self._keep(digest, raw)
        return raw

    async def get_all(self, digests: Sequence[bytes]) -> list[bytes | DocumentUnavailable]:
        """Each document, or why it could not be had, in order."""
        found = await asyncio.gather(*map(self.get, digests), return_exceptions=True)
        answers: list[bytes | DocumentUnavailable] = []
        for each in found:
            if not isinstance(each, bytes | DocumentUnavailable):
                raise each
            answers.append(each)
        return answers

    def _path(self, digest: bytes) -> Path:
        return self._folder / f"{digest.hex()}.json"

    def _kept(self, digest: bytes) -> bytes | None:
        try:
            raw = self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        return raw if sha256(raw).digest() == digest else None  # a torn write heals itself

    def _keep(self, digest: bytes, raw: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(digest)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(raw)
        partial.replace(path)
