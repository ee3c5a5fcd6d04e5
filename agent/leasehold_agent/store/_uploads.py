"""Sealed workloads that renters upload before they open a lease, by the SHA-256 of their bytes.

Anyone may upload, so unclaimed uploads share a small space and live for an hour, and no address may have more than a
part of it; when it is full, the oldest of the address that holds most gives way, as long as that address holds more
than the one that comes. Or, within a space of their own
of the same size, for as long as a live lease elsewhere names one as what its standby here would run. A lease that
opens copies its workload into its own folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

from leasehold.files import write_private
from leasehold.workload import MAX_SEALED_BYTES
from leasehold_agent._errors import UploadsFull

Standbys = Callable[[Collection[bytes]], Awaitable[Collection[bytes]]]
"""Which of some digests live leases name as what their standbys would run."""


class UploadedWorkloads:
    """`WorkloadStore` in a folder. `clock` is unix seconds."""

    def __init__(
        self,
        root: Path,
        *,
        keep_seconds: float = 3600,
        room: int = 256 * MAX_SEALED_BYTES,
        of_source: int = 32 * MAX_SEALED_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._keep = keep_seconds
        self._room = room
        self._of_source = of_source
        self._sources: dict[str, str] = {}
        self._clock = clock
        self._ask_again = float("-inf")
        self._awaited: dict[bytes, set[asyncio.Event]] = {}

    async def put(self, digest: bytes, sealed: bytes, source: str = "") -> None:
        """Keep `sealed` from the address `source`. Raises ValueError if it is not what `digest` names, UploadsFull."""
        if len(sealed) > MAX_SEALED_BYTES:
            raise ValueError(f"a sealed workload has at most {MAX_SEALED_BYTES} bytes, not {len(sealed)}")
        if hashlib.sha256(sealed).digest() != digest:
            raise ValueError("the bytes are not those that the digest names")
        await asyncio.to_thread(self._put, digest, sealed, source)
        for event in self._awaited.get(digest, ()):
            event.set()

    async def get(self, digest: bytes) -> bytes | None:
        return await asyncio.to_thread(self._get, digest)

    async def wait(self, digest: bytes) -> bytes:
        """The workload, now or when it is uploaded; the caller sets the time limit."""
        arrived, waiting = asyncio.Event(), self._awaited.setdefault(digest, set())
        waiting.add(arrived)  # before the look: what comes in between is not missed
        try:
            while (sealed := await self.get(digest)) is None:
                await arrived.wait()
                arrived.clear()
            return sealed
        finally:  # most leases are cut off here: what they waited for is remembered no longer
            waiting.discard(arrived)
            if not waiting:
                self._awaited.pop(digest, None)

    async def sweep(self, standbys: Standbys) -> None:
        """Drop what no lease has claimed in time. What `standbys` keeps is asked about again after a tenth of it."""
        late = await asyncio.to_thread(self._late)
        if not late or self._clock() < self._ask_again:
            return
        kept, room = set(await standbys([bytes.fromhex(path.name) for path in late])), self._room
        for path in late:
            size = _size(path)
            if bytes.fromhex(path.name) not in kept or size > room:
                path.unlink(missing_ok=True)
            else:
                room -= size
        self._ask_again = self._clock() + self._keep / 10

    def _put(self, digest: bytes, sealed: bytes, source: str) -> None:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        late = set(self._late())
        waiting = [path for path in self._files() if path not in late and path.name != digest.hex()]
        self._make_room(waiting, len(sealed), source)
        write_private(self._root / digest.hex(), sealed)
        self._sources[digest.hex()] = source

    def _make_room(self, waiting: list[Path], size: int, source: str) -> None:
        """Drop what must give way for `size` bytes from `source`. Raises UploadsFull."""
        sizes = {path: _size(path) for path in sorted(waiting, key=_time)}
        self._sources = {path.name: self._sources.get(path.name, "") for path in waiting}
        held: Counter[str] = Counter()
        for path, bytes_ in sizes.items():
            held[self._sources[path.name]] += bytes_
        full = "Too many uploads wait for their lease here: try again later, or pin it to IPFS."
        if held[source] + size > self._of_source:
            raise UploadsFull(full)
        while held.total() + size > self._room:
            most = max(held, key=lambda other: held[other])
            if held[most] <= held[source] + size:
                raise UploadsFull(full)
            oldest = next(path for path in sizes if self._sources[path.name] == most)
            oldest.unlink(missing_ok=True)
            held[most] -= sizes.pop(oldest)

    def _get(self, digest: bytes) -> bytes | None:
        try:
            sealed = (self._root / digest.hex()).read_bytes()
        except FileNotFoundError:
            return None
        return sealed if hashlib.sha256(sealed).digest() == digest else None

    def _late(self) -> list[Path]:
        """What nobody has claimed in time, the oldest first."""
        oldest = self._clock() - self._keep
        aged = [(_time(path), path) for path in self._files()]
        return [path for time_, path in sorted(aged) if time_ < oldest]

    def _files(self) -> list[Path]:
        if not self._root.is_dir():
            return []
        return [path for path in self._root.iterdir() if not path.name.startswith(".")]


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _time(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0
