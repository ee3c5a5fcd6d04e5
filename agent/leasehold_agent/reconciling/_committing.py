"""A lease's container as an image: what it shows of its files, sealed to a key of its tenant's, on the host's node.

The container stands still while it is read, into a file without a name: an agent that is killed leaves nothing of that.
The engine makes no copy of its own, so that the most that a stranger's files can come to is counted as they come. What
lies in volumes, datasets and secrets is mounted, and no part of it. The image remembers what the one that the container
was made of says of itself, and nothing of the lease: neither its command nor its variables.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final, cast

import structlog

from leasehold.chain import format_lease
from leasehold.datasets import FilePart, encrypted
from leasehold.errors import DatasetError, LeaseholdError
from leasehold_agent._errors import CommitFailed, CommitUnderWay
from leasehold_agent._runtime import CommitFacts
from leasehold_agent.engine import ContainerFacts, LayerArchive
from leasehold_agent.host import DISK_TROUBLE
from leasehold_agent.reconciling._carrying import Carrying
from leasehold_agent.reconciling._checkpoints import Checkpoints
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.store import CommitNotes, read_commit, write_commit

_log = structlog.get_logger("leasehold_agent")
MOST_SECONDS: Final = 3_600.0
"""For one, from its turn on. Its container stands still for the part of that in which it is read."""
_RESTS: Final = 3
_LONGEST_REST: Final = 600
"""How much longer than one took the lease's next one waits, and how long at most."""


@dataclass(frozen=True)
class _Job:
    """One attempt. base: the image that the container was made of. most: bytes that its files may come to."""

    lease: int
    tenant: str
    recipient: str
    container: ContainerFacts
    base: str
    most: int


@dataclass
class Committing:
    """Of all leases, one at a time. folder: on whose disk an archive lies while it is sealed. limit: the most bytes
    that an image may come to, copied and unpacked. now: unix seconds.
    """

    containers: Containers
    leases: LeaseBook
    carrying: Carrying
    checkpoints: Checkpoints
    folder: Path
    limit: int
    now: Callable[[], int] = lambda: int(time.time())
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _jobs: dict[int, _Job] = field(default_factory=dict)
    _read: dict[int, int] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def facts(self, lease: int, tenant: str) -> CommitFacts:
        """What that tenant has had made."""
        notes = self._noted(lease)
        if notes.tenant.lower() != tenant.lower():
            return CommitFacts()
        running, read = self._busy(lease), self._read.get(lease, 0)
        return CommitFacts(notes.cid, notes.recipient, notes.size, notes.at, running, read, notes.trouble)

    def begin(
        self, lease: int, tenant: str, recipient: str, container: ContainerFacts, base: str, most: int
    ) -> None:
        """Make one, unless one is being made for that key. Raises CommitUnderWay: for another."""
        if self._busy(lease):
            if self._jobs[lease].recipient != recipient:
                raise CommitUnderWay
            return
        job = _Job(lease, tenant, recipient, container, base, min(most, self.limit // 2))
        self._note(lease, replace(self._of(job), trouble=""))
        self._jobs[lease], self._read[lease] = job, 0
        self._tasks[lease] = asyncio.create_task(self._make(job))

    async def close(self, lease: int) -> None:
        """None of the lease is made any more: its container is to stop, and goes on until it has."""
        if (task := self._tasks.pop(lease, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def forget(self, lease: int) -> set[str]:
        """The host's IPFS node may drop them; those that it could not be told of now."""
        await self.close(lease)
        self._jobs.pop(lease, None)
        self._read.pop(lease, None)
        return {cid for cid in self._noted(lease).cids if not await self._dropped(lease, cid)}

    async def aclose(self) -> None:
        """The agent ends."""
        for lease in list(self._tasks):
            await self.close(lease)

    # ------------------------------------------------------------------------------------------------- making

    async def _make(self, job: _Job) -> None:
        lease, began = job.lease, 0
        try:
            await self.sleep(_rest(self._noted(lease), self.now()))
            async with self._turn, asyncio.timeout(MOST_SECONDS):
                began = self.now()
                if self.leases.folder(lease).load().tenant.lower() != job.tenant.lower():
                    raise CommitFailed("The lease is another's now.")
                await self._made(job, began)
        except asyncio.CancelledError:
            self._failed(job, began, "It was cut off: the container stops.")
            raise
        except (LeaseholdError, OSError) as error:
            self._failed(job, began, str(error) or "It took too long.")
        except Exception:  # noqa: BLE001 - a task of its own, that nobody waits for
            self._failed(job, began, "internal error")
            _log.exception("commit", lease=format_lease(lease))

    async def _made(self, job: _Job, began: int) -> None:
        lease = job.lease
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=self.folder) as unnamed:
            archive = LayerArchive(cast(BinaryIO, unnamed), job.most, self.carrying.room)
            await self._read_into(archive, job)
            engine = self.containers.engine
            config = await engine.config_with(job.base, [archive.digest])
            await asyncio.to_thread(archive.finish, config)
            log_step(lease, "commit-survey")
            await engine.survey(archive.path, self.limit)  # what no host would take is said now
            log_step(lease, "commit-add")
            sealed = encrypted(archive.chunks(self._check_room), [job.recipient])
            ipfs, wait = self.carrying.ipfs, self.carrying.wait
            cid = await ipfs.add_stream([FilePart("image", sealed)], pin=False, timeout=wait)
        await self._keep(job, cid, archive.size, began)
        _log.info("committed", lease=format_lease(lease), cid=cid, size=archive.size)

    async def _read_into(self, archive: LayerArchive, job: _Job) -> None:
        """All that the container shows of its files, as they are at one moment."""
        log_step(job.lease, "commit-read")
        tar = self.containers.engine.streams.export(job.container.id)
        async with self.checkpoints.held(job.lease, job.container), contextlib.aclosing(tar):
            async for data in tar:
                await asyncio.to_thread(archive.write, data)
                self._read[job.lease] = archive.layer

    def _check_room(self, size: int) -> None:
        if self.carrying.room() < size:
            raise CommitFailed("This host's disk has no room for an image now.")

    async def _keep(self, job: _Job, cid: str, size: int, began: int) -> None:
        """Note it, have the node keep it, note that it does, and let go of the one before."""
        lease = job.lease
        self._note(lease, self._of(job).adds(cid))
        log_step(lease, "commit-pin")
        await self.carrying.pin(cid)
        now = self.now()
        notes = replace(self._of(job), ended_at=now, took=now - began)
        notes = notes.with_whole(cid, job.recipient, size, began)
        log_step(lease, "commit-keep")
        self._note(lease, notes)
        left = [former for former in notes.leaving if not await self._dropped(lease, former)]
        self._note(lease, replace(notes, leaving=tuple(left)))

    async def _dropped(self, lease: int, cid: str) -> bool:
        """Sealed anew each time, none is another lease's as well."""
        try:
            await self.carrying.ipfs.unpin(cid)
        except (DatasetError, TimeoutError) as error:
            _log.warning("unpin", lease=format_lease(lease), cid=cid, problem=str(error))
            return False
        return True

    # -------------------------------------------------------------------------------------------------- notes

    def _busy(self, lease: int) -> bool:
        return (task := self._tasks.get(lease)) is not None and not task.done()

    def _noted(self, lease: int) -> CommitNotes:
        return read_commit(self.leases.folder(lease).commit)

    def _of(self, job: _Job) -> CommitNotes:
        """What is noted, as that tenant's: of one before him nothing is shown, and all of it goes."""
        notes = self._noted(job.lease)
        if notes.tenant.lower() == job.tenant.lower():
            return notes
        return CommitNotes(tenant=job.tenant, leaving=tuple(sorted(notes.cids)))

    def _note(self, lease: int, notes: CommitNotes) -> None:
        write_commit(self.leases.folder(lease).commit, notes)

    def _failed(self, job: _Job, began: int, trouble: str) -> None:
        _log.warning("commit", lease=format_lease(job.lease), problem=trouble)
        with contextlib.suppress(*DISK_TROUBLE):
            now = self.now()
            took = max(0, now - began) if began else 0
            self._note(job.lease, replace(self._of(job), ended_at=now, took=took, trouble=trouble))


def _rest(notes: CommitNotes, now: int) -> int:
    """Seconds that whoever asks again and again waits first: a host does little else for nobody."""
    rest = min(_RESTS * notes.took, _LONGEST_REST)
    return max(0, min(rest, notes.ended_at + rest - now))
