"""Checkpoints of leases: what a program has got to, so that its machine's end is not the end of that.

The folder is a volume of the lease's own, and a checkpoint an export of it: a whole one, of which every byte was read
while the folder stood still. It is offered once the host's IPFS node keeps it, and not before. What goes wrong is said
and tried again; the lease goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from leasehold.chain import LeaseState, format_lease
from leasehold.datasets import STILL_SECONDS
from leasehold.errors import DatasetError, LeaseholdError
from leasehold.workload import Checkpoint
from leasehold_agent._errors import CheckpointFailed, NoContainer
from leasehold_agent._runtime import CheckpointFacts
from leasehold_agent.chain import ChainSnapshot
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import DISK_TROUBLE, MaintenanceWindow
from leasehold_agent.reconciling._carrying import Carrying
from leasehold_agent.reconciling._checkpoint_due import due, wait_before, warned_of
from leasehold_agent.reconciling._checkpoint_folder import folder_name
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.store import (
    CheckpointNotes,
    CheckpointWhy,
    KeptCheckpoint,
    Volumes,
    notice_of,
    read_checkpoints,
    volume_id,
    write_checkpoints,
)

_log = structlog.get_logger("leasehold_agent")
_AT_ONCE, _ENDS_AT_ONCE = 4, 4
"""How many are taken at a time, and how many beside them of leases that end: neighbours whose folders take an hour to
read hold up nobody's end, nor the lease that goes on with what he has got to.
"""
_TRIES: Final = 2
"""How often a folder is read that changes meanwhile, before its container is held for it."""
HELD_SECONDS: Final = 20.0
_MOST_OUTPUT: Final = 1 << 20
_TOLD: Final = 500
"""Characters of what a command printed last, where it failed."""
_LAST_COMMAND: Final = 120
_LAST_SECONDS, _MOST_SECONDS = 900.0, 3600.0
"""For the command and for the reading of a folder whose container is at its end: nobody pays for that time any more.
And for the reading of any other."""


@dataclass(frozen=True)
class _Job:
    """One attempt. warned: what the lease has ahead. container: in which the command is called, if it runs."""

    lease: int
    checkpoint: Checkpoint
    volume: str
    why: CheckpointWhy
    warned: str = ""
    container: ContainerFacts | None = None
    seconds: float = _MOST_SECONDS


@dataclass
class Checkpoints:
    """Of the leases that have a folder for them. now: unix seconds. `sleep` waits for so many. held_seconds: how long a
    container is held at most. holding: the leases whose containers are now.
    """

    containers: Containers
    volumes: Volumes
    leases: LeaseBook
    carrying: Carrying
    now: Callable[[], int] = lambda: int(time.time())
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    held_seconds: float = HELD_SECONDS
    holding: set[int] = field(default_factory=set)
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _dropping: asyncio.Lock = field(default_factory=asyncio.Lock)
    _holds: dict[int, asyncio.Lock] = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _ends: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_ENDS_AT_ONCE))

    # --------------------------------------------------------------------------------------------- what there is

    def facts(self, lease: int) -> CheckpointFacts:
        """What is whole, and how the last attempt went."""
        notes = self.noted(lease)
        return CheckpointFacts(notes.kept, self._busy(lease), notes.trouble)

    def noted(self, lease: int) -> CheckpointNotes:
        return read_checkpoints(self.leases.folder(lease).checkpoints)

    def _busy(self, lease: int) -> bool:
        return (task := self._tasks.get(lease)) is not None and not task.done()

    # --------------------------------------------------------------------------------------------------- when

    def look(
        self,
        seen: ChainSnapshot,
        containers: Mapping[int, ContainerFacts],
        windows: Sequence[MaintenanceWindow],
    ) -> None:
        """Begin what is due, of leases that are billed and whose containers run."""
        for lease, desired in seen.leases.items():
            container = containers.get(lease)
            billed = desired.state is LeaseState.ACTIVE and desired.live_at(seen.now)
            if not billed or container is None or not container.running or self._busy(lease):
                continue
            if (job := self._job(lease, "interval")) is None:
                continue
            window = next((window for window in windows if window.meets(seen.now, desired.end)), None)
            warned, notes = warned_of(notice_of(desired), window), self.noted(lease)
            why = due(job.checkpoint, notes, warned, int(container.started_at), self.now())
            if why is not None and not self.leases.folder(lease).load().stopped:
                self._begin(replace(job, why=why, warned=warned, container=container))

    def begin(self, lease: int, container: ContainerFacts | None) -> None:
        """Take one now, as its tenant asks, unless one is being taken. Raises NoContainer: it has no folder."""
        if (job := self._job(lease, "asked")) is None:
            raise NoContainer("The lease has no folder for checkpoints attached.")
        running = container if container is not None and container.running else None
        if not self._busy(lease):
            self._begin(replace(job, container=running))

    def _job(self, lease: int, why: CheckpointWhy) -> _Job | None:
        """None of a lease that makes none, whose folder is not attached, or that has changed hands."""
        notes, workload = self.leases.folder(lease).load(), self.leases.workload(lease)
        if workload is None or workload.checkpoint is None or notes.tenant != notes.author:
            return None
        volume = volume_id(notes.author, folder_name(lease, notes.workload))
        known = self.volumes.get(volume)
        if known is None or known.holder != lease or known.filling or not notes.launched:
            return None
        return _Job(lease, workload.checkpoint, volume, why)

    def _begin(self, job: _Job) -> asyncio.Task[None]:
        self._tasks[job.lease] = asyncio.create_task(self._take(job))
        return self._tasks[job.lease]

    # ---------------------------------------------------------------------------------------------- at an end

    async def before_end(self, lease: int) -> None:
        """Its container is about to be stopped: the command is called once more. What is wrong with it is noted."""
        await self.close(lease)
        if (job := self._job(lease, "stop")) is None or job.checkpoint.command is None:
            return
        container = await self.containers.inspect(lease)  # it may have been held until now
        if container is None or not container.running:
            return
        seconds = min(job.checkpoint.timeout, _LAST_COMMAND)
        try:
            await self._call(lease, container, job.checkpoint, seconds)
        except (LeaseholdError, OSError) as error:
            self._failed(lease, str(error))

    async def after_end(self, lease: int) -> None:
        """Its container stands still, and its folder with it: what lies there is kept, as far as that goes."""
        await self.close(lease)
        if (job := self._job(lease, "stop")) is not None:
            await asyncio.wait([self._begin(replace(job, seconds=_LAST_SECONDS))])

    async def close(self, lease: int) -> None:
        """None of the lease is taken any more."""
        if (task := self._tasks.pop(lease, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def aclose(self) -> None:
        """The agent ends."""
        for lease in list(self._tasks):
            await self.close(lease)

    async def forget(self, lease: int) -> set[str]:
        """The host's IPFS node may drop them; those that it could not be told of now."""
        await self.close(lease)
        self._holds.pop(lease, None)
        return {cid for cid in self.noted(lease).cids if not await self._dropped(lease, cid)}

    # ------------------------------------------------------------------------------------------------- taking

    async def _take(self, job: _Job) -> None:
        lease = job.lease
        try:
            if job.why == "asked":
                await self.sleep(wait_before(self.noted(lease), self.now()))
            began = self.now()
            self._note(lease, replace(self.noted(lease), begun_at=began))
            log_step(lease, "checkpoint")
            if job.container is not None and job.checkpoint.command is not None:
                await self._call(lease, job.container, job.checkpoint, job.checkpoint.timeout)
            async with self._ends if job.why == "stop" else self._turns, asyncio.timeout(job.seconds):
                await self._made(job, began)
        except (LeaseholdError, OSError) as error:
            self._failed(lease, str(error) or "It took too long.")
        except Exception:  # noqa: BLE001 - a task of its own, that nobody waits for
            self._failed(lease, "internal error")
            _log.exception("checkpoint", lease=format_lease(lease))

    async def _made(self, job: _Job, began: int) -> None:
        lease = job.lease
        cid, read = await self._packed(job)
        await self._keep(lease, KeptCheckpoint(cid, began, job.why, read))
        done = replace(self.noted(lease), took=self.now() - began, failures=0, trouble="", heard=job.warned)
        self._note(lease, done)
        _log.info("checkpoint", lease=format_lease(lease), cid=cid, why=job.why, read=read)

    async def _packed(self, job: _Job) -> tuple[str, int]:
        """An export of the folder as it stood all the while. One that changes each time is read once more while its
        container stands still, as long as a tenant may be expected to bear. Raises CheckpointFailed.
        """
        for _ in range(_TRIES):
            if (read := await self._read(job)) is not None:
                return read
        if job.container is not None:
            async with self.held(job.lease, job.container):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.held_seconds):
                        if (read := await self._read(job)) is not None:
                            return read
        raise CheckpointFailed(
            "The folder changed each time while it was read, which takes too long to hold the container for: name a "
            "command that brings it up to date, and write to it then alone."
        )

    async def _read(self, job: _Job) -> tuple[str, int] | None:
        """None where the folder did not stand still."""
        assert job.checkpoint.key is not None
        before = await self.carrying.state(job.volume)
        await self.sleep(STILL_SECONDS)
        await self.carrying.written_back(
            job.volume
        )  # after a look, so that the next one shows what comes after this
        read = await self.carrying.added(job.volume, job.checkpoint.key)
        return read if await self.carrying.state(job.volume) == before else None

    @contextlib.asynccontextmanager
    async def held(self, lease: int, container: ContainerFacts) -> AsyncIterator[None]:
        """Its container stands still meanwhile, for one who reads it at a time. Should the agent be killed, the next
        run of it lets it go on.
        """
        engine = self.containers.engine
        async with self._holds.setdefault(lease, asyncio.Lock()):
            self.holding.add(lease)
            try:
                log_step(lease, "checkpoint-hold")
                await engine.pause(container.name)
                yield
            finally:
                try:
                    await engine.unpause(container.name)
                finally:
                    self.holding.discard(lease)

    async def _keep(self, lease: int, made: KeptCheckpoint) -> None:
        """Note it, have the node keep it, note that it does, and let go of what is one too many."""
        notes = self.noted(lease).given_up()
        log_step(lease, "checkpoint-pin")
        async with self._dropping:  # what another lease lets go of at this moment is kept after that
            self._note(lease, replace(notes, adding=made.cid))
        await self.carrying.pin(made.cid)
        notes = replace(notes, adding=made.cid).with_kept(made)
        log_step(lease, "checkpoint-keep")
        self._note(lease, notes)
        gone = {cid for cid in notes.leaving if await self._dropped(lease, cid)}
        if gone:
            self._note(lease, replace(notes, leaving=tuple(cid for cid in notes.leaving if cid not in gone)))

    async def _call(self, lease: int, container: ContainerFacts, made: Checkpoint, seconds: float) -> None:
        """Run the command inside. Raises CheckpointFailed: it fails, prints without end, or takes too long."""
        streams, environment = self.containers.engine.streams, {"LEASEHOLD_CHECKPOINT": made.path}
        log_step(lease, "checkpoint-command")
        printed, length = b"", 0
        stream = await streams.exec(container.id, made.command or (), tty=False, env=environment, size=None)
        try:
            async with asyncio.timeout(seconds):
                async for _, data in stream:
                    printed, length = (printed + data)[-_TOLD:], length + len(data)
                    if length > _MOST_OUTPUT:
                        raise CheckpointFailed(f"The command printed more than {_MOST_OUTPUT} bytes.")
                if code := await stream.wait():
                    said = printed.decode(errors="replace").strip()
                    raise CheckpointFailed(f"The command ended with {code}: {said}")
        except TimeoutError:
            raise CheckpointFailed(f"The command took longer than {seconds} s.") from None
        finally:
            await stream.close()

    async def _dropped(self, lease: int, cid: str) -> bool:
        async with self._dropping:
            others = (number for number in self.leases.folders() if number != lease)
            if any(cid in self.noted(number).cids for number in others):
                return True
            try:
                await self.carrying.ipfs.unpin(cid)
            except (DatasetError, TimeoutError) as error:
                _log.warning("unpin", lease=format_lease(lease), cid=cid, problem=str(error))
                return False
            return True

    def _note(self, lease: int, notes: CheckpointNotes) -> None:
        write_checkpoints(self.leases.folder(lease).checkpoints, notes)

    def _failed(self, lease: int, trouble: str) -> None:
        _log.warning("checkpoint", lease=format_lease(lease), problem=trouble)
        with contextlib.suppress(*DISK_TROUBLE):
            notes = self.noted(lease)
            took = max(0, self.now() - notes.begun_at)
            self._note(lease, replace(notes, took=took, failures=notes.failures + 1, trouble=trouble))
