"""Readers: containers in which tenants look at what leases that are over, or whose command is, have left, and can
change nothing.

A stopped container cannot be entered, and to start it again would run its command and write to its files. So its files
are copied into an image, and a container is made of that in which a shell waits: read-only, without a network, without
a GPU, secrets or datasets, with little of everything. It goes with the image when nobody has looked for a while, when
its lease's time for that is used up, when somebody else's turn has come or the disk is wanted, and with the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from leasehold.chain import format_lease
from leasehold.errors import AgentError
from leasehold.market import format_duration, format_size
from leasehold.market.wire import TooManyRequests
from leasehold.workload import Runtime
from leasehold_agent._errors import EngineRefused, LimitNotHeld, NotRead
from leasehold_agent._runtime import CommandStream
from leasehold_agent.engine import ReaderSpec
from leasehold_agent.reconciling import Containers, HostFacts, LeaseBook, log_step
from leasehold_agent.store import ReadingTime

_log = structlog.get_logger("leasehold_agent")
READERS_AT_ONCE = 4
IDLE_SECONDS = 120.0
"""After the last command has ended: a person who looks around types the next one, and need not wait for a copy."""
_BYTES_A_SECOND = 64 << 20
"""Of a copy, beside the time that it takes: who comes and goes may not have a fast disk busy all the while."""
_LOOK_SECONDS = 60.0
_PARTING_SECONDS = 5.0


@dataclass
class _Reader:
    """A reader that is open, and the image that it is made of. `streams` run in it, and until `last` one did, in
    seconds of the clock.
    """

    container: str
    image: str
    streams: int = 0
    last: float = 0.0


@dataclass
class Readers:
    """The readers of this host. `lent`: a static busybox of the host's, and where in a container it is mounted, for
    images without a shell. `clock` is monotonic seconds, `now` unix seconds.
    """

    containers: Containers
    leases: LeaseBook
    facts: HostFacts
    lent: tuple[Path, str] | None = None
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    _open: dict[int, _Reader] = field(default_factory=dict)
    _opening: dict[int, asyncio.Task[_Reader]] = field(default_factory=dict)
    _making: set[int] = field(default_factory=set)
    _ending: set[int] = field(default_factory=set)
    _turns: defaultdict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    _sweeping: asyncio.Task[None] | None = None
    _looked: float = float("-inf")

    def left(self, lease: int) -> int:
        """Seconds for which the lease's files can still be read."""
        used = ReadingTime.load(self.leases.folder(lease).read).used(self.now())
        return max(0, int(self.facts.settings.reading_seconds - used))

    async def exec(
        self,
        lease: int,
        command: Sequence[str],
        *,
        tty: bool,
        env: Mapping[str, str],
        size: tuple[int, int] | None,
    ) -> CommandStream:
        """A command among the files of a lease that is over. Raises NotRead, TooManyRequests, EngineDown."""
        reader = await self._entered(lease)
        reader.streams += 1
        try:
            streams = self.containers.engine.streams
            stream = await streams.exec(reader.container, command, tty=tty, env=env, size=size)
        except BaseException:
            self._leave(reader)
            raise
        return _Look(stream, lambda: self._leave(reader))

    def _leave(self, reader: _Reader) -> None:
        reader.streams, reader.last = reader.streams - 1, self.clock()

    # ------------------------------------------------------------------------------------------ opening one

    async def _entered(self, lease: int) -> _Reader:
        """The lease's reader. Who comes meanwhile waits for the same one; and that somebody has gone does not end what
        the engine is about for him: he would have it begin again each time that he comes.
        """
        if (opening := self._opening.get(lease)) is None:
            opening = self._opening[lease] = asyncio.create_task(self._in_turn(lease))
            opening.add_done_callback(lambda done: self._opened(lease, done))
        return await asyncio.shield(opening)

    def _opened(self, lease: int, opening: asyncio.Task[_Reader]) -> None:
        self._opening.pop(lease, None)
        if not opening.cancelled():
            opening.exception()  # who waited for it was told

    async def _in_turn(self, lease: int) -> _Reader:
        async with self._turns[lease]:
            return await self._reader(lease)

    async def _reader(self, lease: int) -> _Reader:
        """It is this lease's turn."""
        if (known := self._open.get(lease)) is not None:
            known.last = self.clock()
            here = await self.containers.engine.inspect(known.container)
            if here is not None and here.running:
                return known
        if not self.left(lease):
            raise NotRead(self._used_up())
        if known is not None:  # its memory was too little: it begins anew, and nothing is copied
            return await self._guarded(lease, known.image)
        await self._make_room()
        self._making.add(lease)
        try:
            return await self._guarded(lease, None)
        finally:
            self._making.discard(lease)

    def _used_up(self) -> str:
        if not (seconds := self.facts.settings.reading_seconds):
            return "The lease is over, and this host gives its log and its results only."
        most = format_duration(seconds)
        return f"The lease is over, and its files have been read for {most}: its log and its results are here still."

    async def _make_room(self) -> None:
        """One reader more is not too many: else the one goes that nobody has used for longest."""
        while len(self._open) + len(self._making) >= READERS_AT_ONCE:
            idle = [(reader.last, other) for other, reader in self._open.items() if not reader.streams]
            if not idle:
                raise TooManyRequests("Others are reading what their leases have left here.", retry_after=60)
            await self._end(min(idle)[1])

    async def _guarded(self, lease: int, image: str | None) -> _Reader:
        """Whatever becomes of it, nothing of a reader stays that is not open."""
        try:
            reader = self._open[lease] = await self._made(lease, image)
        except BaseException as error:
            await asyncio.shield(self._end(lease))
            if not isinstance(error, EngineRefused | LimitNotHeld | OSError):
                raise
            _log.warning(
                "reader", lease=format_lease(lease), problem=str(error)
            )  # it names what is the host's own
            raise NotRead("The lease is over, and its files cannot be read now: its log is here.") from error
        return reader

    async def _made(self, lease: int, image: str | None) -> _Reader:
        """image: the copy that there is already."""
        await self._check_kept(lease)
        file = self.leases.folder(lease).read
        if image is None:
            ReadingTime(ReadingTime.load(file).used(self.now()), self.now()).save(file)
        log_step(lease, "read")
        async with self.containers.limits.held():
            if image is None:
                image = await self._copied(lease)
            container = await self.containers.engine.open_reader(await self._spec(lease, image))
        if container is None:
            raise NotRead("The lease is over, and its image has no shell with which to read its files.")
        await self._check_kept(lease)  # it may have gone meanwhile, and would be read still
        return _Reader(container, image, last=self.clock())

    async def _check_kept(self, lease: int) -> None:
        """Raises NotRead for what is not kept, or may yet run."""
        container = await self.containers.inspect(lease)
        rests = self.leases.folder(lease).load().rests
        if container is None or not rests or container.running or container.paused:
            raise NotRead("The lease's container is not running; its status says why.")

    async def _copied(self, lease: int) -> str:
        """An image of what it has written, paid for with its time, by the bytes that are copied."""
        engine, names, most = self.containers.engine, self.containers.names, self.facts.settings.reading_limit
        size = await engine.written(names.container(lease))
        if size > most:
            raise NotRead(
                f"The lease is over. It has written {format_size(size)}, and this host makes no copy of more than "
                f"{format_size(most)} to be read: its log and its results are here, and a lease that renews it has all."
            )
        if self.facts.room(size):
            raise NotRead(
                "The lease is over, and this host's disk has no room now for a copy of its files to be read."
            )
        file = self.leases.folder(lease).read
        spent = ReadingTime.load(file)
        ReadingTime(spent.seconds + size / _BYTES_A_SECOND, spent.since).save(file)
        return await engine.keep(names.container(lease), names.read(lease))

    async def _spec(self, lease: int, image: str) -> ReaderSpec:
        names, workload = self.containers.names, self.leases.workload(lease)
        gvisor = workload is not None and workload.runtime is Runtime.GVISOR
        return ReaderSpec(
            name=names.reader(lease),
            image=image,
            labels=names.reader_labels(lease),
            volumes=await self.containers.engine.volumes_of(names.container(lease)),
            runtime="runsc" if gvisor else None,
            seccomp=self.facts.engine.seccomp,
            seconds=max(1, self.left(lease)),
            lent=self.lent,
        )

    # ------------------------------------------------------------------------------------------ ending one

    async def close(self, lease: int) -> None:
        """Nobody reads the lease's files any more, nor is about to."""
        async with self._turns[lease]:
            await self._end(lease)
        if not self._turns[lease].locked():
            del self._turns[lease]

    async def _end(self, lease: int) -> None:
        """Container and image go, and what was used of the lease's time is noted. It is this lease's turn, or nobody
        uses it. What the engine does not do now, it is asked again with the next sweep.
        """
        self._open.pop(lease, None)
        self._ending.add(lease)
        await self.containers.remove_reader(lease)
        self._ending.discard(lease)
        folder = self.leases.folder(lease)
        if folder.exists and (reading := ReadingTime.load(folder.read)).since is not None:
            ReadingTime(reading.used(self.now())).save(folder.read)

    def sweep(self, *, wanted: bool) -> None:
        """Begin to close what has been open for long enough. wanted: the disk's room, by those who pay for it."""
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep(wanted))

    async def _sweep(self, wanted: bool) -> None:
        try:
            await self._find_what_was_left()
            for lease in list(self._ending):
                async with self._turns[lease]:
                    self._ending.discard(lease)
                    if lease not in self._open:  # or it has been opened anew
                        await self._end(lease)
            for lease, reader in list(self._open.items()):
                idle = not reader.streams and (wanted or self.clock() - reader.last >= IDLE_SECONDS)
                if idle or not self.left(lease):
                    await self.close(lease)
        except (AgentError, OSError) as error:  # the next sweep does it
            _log.warning("readers", problem=str(error))

    async def _find_what_was_left(self) -> None:
        """An agent that died has left its readers; and the engine makes a copy to its end that nobody waits for, which
        may be there only later.
        """
        if self.clock() - self._looked < _LOOK_SECONDS:
            return
        copied = await self.containers.read()
        for lease, folder in self.leases.folders().items():
            known = lease in self._open or lease in self._opening
            here = self.containers.names.container(lease) in copied
            if not known and (here or ReadingTime.load(folder.read).since is not None):
                _log.info("reader", lease=format_lease(lease), problem="left by an agent that ended")
                self._ending.add(lease)
        self._looked = self.clock()

    async def aclose(self) -> None:
        """The agent ends, and with it who could look after them. What the engine does not do now, the next run does."""
        tasks = [*self._opening.values(), *([self._sweeping] if self._sweeping else [])]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(AgentError, TimeoutError, OSError):
            async with asyncio.timeout(_PARTING_SECONDS):
                await asyncio.gather(*tasks, return_exceptions=True)
                for lease in list(self._open):
                    await self._end(lease)


class _Look:
    """A `CommandStream` in a reader, which is used by one command less once it is closed."""

    def __init__(self, stream: CommandStream, leave: Callable[[], None]) -> None:
        self._stream = stream
        self._leave: Callable[[], None] | None = leave
        self.write, self.write_eof = stream.write, stream.write_eof
        self.resize, self.wait = stream.resize, stream.wait

    def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        return aiter(self._stream)

    async def close(self) -> None:
        leave, self._leave = self._leave, None
        try:
            await self._stream.close()
        finally:
            if leave is not None:
                leave()
