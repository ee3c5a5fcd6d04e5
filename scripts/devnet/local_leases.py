"""Leases without a container engine: each is a folder and the processes started in it.

The outermost stand-in for tests of what serves tenants (the API, SSH, the client). Commands, pipes, terminals and
sockets are real ones; what a container adds (isolation, limits) is tested against a real engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import pty
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from leasehold.chain import ClosingOrder
from leasehold_agent._errors import NoContainer, OrderVoid
from leasehold_agent._runtime import (
    WHOLE_LOG,
    CheckpointFacts,
    CommandStream,
    CommitFacts,
    LeaseHandle,
    LogView,
    Standing,
    VolumeExport,
    VolumeFacts,
    Wish,
)
from leasehold_agent.store import LeaseSample

_PIECE = 65536


class MemoryStore:
    """Uploads in memory."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    async def put(self, digest: bytes, sealed: bytes, source: str = "") -> None:
        if hashlib.sha256(sealed).digest() != digest:
            raise ValueError("digest")
        self.kept[digest] = sealed

    async def get(self, digest: bytes) -> bytes | None:
        return self.kept.get(digest)


@dataclass
class Log:
    """A log that grows; `changed` wakes its followers."""

    data: bytearray = field(default_factory=bytearray)
    ended: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    followers: int = 0


class LocalLeases:
    """A `LeaseRuntime` of local processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workloads = MemoryStore()
        self.handles: dict[int, LeaseHandle] = {}
        self.logs_of: dict[int, Log] = {}
        self.ports: dict[tuple[int, int], tuple[str, int]] = {}
        self.streams: list[ProcessStream] = []
        self.samples: dict[int, list[tuple[str, LeaseSample]]] = {}
        self.lookups = 0
        self.codes: dict[int, list[tuple[str, bytes]]] = {}
        self.orders: dict[int, tuple[ClosingOrder, bytes]] = {}
        self.takes_orders = True
        self.standings: dict[int, Standing] = {}
        self.volumes_of: dict[int, list[VolumeFacts]] = {}
        self.committed_of: dict[int, CommitFacts] = {}
        self.cid = ""
        self.powered: list[tuple[int, Wish]] = []
        self.views: list[LogView] = []
        self.much = False  # whether the last command was to write much

    def add(self, handle: LeaseHandle) -> Path:
        """A lease and its folder, where its commands start."""
        self.handles[handle.lease] = handle
        self.logs_of[handle.lease] = Log()
        folder = self.root / str(handle.lease)
        folder.mkdir()
        return folder

    def change(self, lease: int, **changes: object) -> None:
        """The lease as the chain or the engine has it from now on."""
        self.handles[lease] = replace(self.handles[lease], **changes)  # type: ignore[arg-type]  # a test's own

    async def say(self, lease: int, data: bytes, *, end: bool = False) -> None:
        """The lease's container writes `data`."""
        log = self.logs_of[lease]
        async with log.changed:
            log.data += data
            log.ended = end
            log.changed.notify_all()

    async def lookup(self, lease: int) -> LeaseHandle | None:
        self.lookups += 1
        return self.handles.get(lease)

    async def standing(self, lease: int) -> Standing:
        handle = self.handles[lease]
        return self.standings.get(
            lease, Standing(handle.container_id or "", handle.container_state or "none", 0, 0, "", None, 0, 0)
        )

    async def logs(
        self, lease: int, tail: int | None, follow: bool, view: LogView = WHOLE_LOG
    ) -> AsyncIterator[bytes]:
        self.views.append(view)
        log = self.logs_of[lease]
        lines = bytes(log.data).splitlines(keepends=True)
        at = 0 if tail is None else len(log.data) - sum(len(line) for line in lines[len(lines) - tail :])
        log.followers += 1
        try:
            while True:
                async with log.changed:
                    while at == len(log.data) and follow and not log.ended:
                        await log.changed.wait()
                    piece = bytes(log.data[at : at + _PIECE])
                if not piece:
                    return
                at += len(piece)
                yield piece
        finally:
            log.followers -= 1

    async def power(self, lease: int, wish: Wish) -> None:
        self.powered.append((lease, wish))
        self.change(lease, phase="stopped" if wish == "stop" else "running")

    async def checkpoints(self, lease: int) -> CheckpointFacts:
        """None: no container here has a folder for them."""
        return CheckpointFacts()

    async def take_checkpoint(self, lease: int) -> None:
        raise NoContainer("The lease has no folder for checkpoints attached.")

    async def committed(self, lease: int) -> CommitFacts:
        return self.committed_of.get(lease, CommitFacts())

    async def commit(self, lease: int, recipient: str) -> None:
        """It is done at once."""
        self.committed_of[lease] = CommitFacts(self.cid, recipient, size=9, at=1)

    async def volumes(self, lease: int) -> Sequence[VolumeFacts]:
        return self.volumes_of.get(lease, [])

    async def export(self, lease: int, name: str) -> None:
        if not any(volume.name == name for volume in self.volumes_of.get(lease, ())):
            raise NoContainer("The lease has no such volume attached.")
        export = VolumeExport("done", self.cid, read=9)
        self.volumes_of[lease] = [replace(volume, export=export) for volume in self.volumes_of[lease]]

    async def discard(self, lease: int, name: str) -> None:
        kept = [volume for volume in self.volumes_of.get(lease, ()) if volume.name != name]
        self.volumes_of[lease] = kept

    async def offer_code(self, lease: int, tenant: str, folded: bytes) -> list[bool]:
        """Takes any list, and lacks all but the first piece of three."""
        self.codes.setdefault(lease, []).append((tenant, folded))
        return [False, True, True]

    async def take_code(
        self, lease: int, tenant: str, pack: bytes, keep_as: Callable[[Path], bool]
    ) -> tuple[int, int]:
        """Takes any pack for one new piece."""
        self.codes.setdefault(lease, []).append((tenant, pack))
        return 1, 1

    async def keep_order(self, lease: int, order: ClosingOrder, workload: bytes) -> None:
        if not self.takes_orders:
            raise OrderVoid("This host closes no lease for its tenant.")
        self.orders[lease] = (order, workload)
        self.change(lease, closes_when_done=True)

    async def exec(
        self,
        lease: int,
        command: Sequence[str],
        *,
        tty: bool = False,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
        much: bool = False,
    ) -> CommandStream:
        handle, self.much = self.handles[lease], much
        if handle.container_id is None:
            raise NoContainer(f"The lease is {handle.phase}.")
        folder = self.root / str(lease)
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **(env or {})}
        stream = await (_terminal if tty else _pipes)(command, folder, variables, size or (24, 80))
        self.streams.append(stream)
        return stream

    async def usage(self, lease: int, tenant: str) -> Sequence[LeaseSample]:
        return [sample for of, sample in self.samples.get(lease, ()) if of == tenant]

    async def connect(self, lease: int, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            host, real = self.ports[lease, port]
        except KeyError:
            raise ConnectionRefusedError(f"Nothing listens on port {port}.") from None
        return await asyncio.open_connection(host, real)

    async def close(self) -> None:
        for stream in self.streams:
            await stream.close()


class ProcessStream:
    """A local process as an `ExecStream`."""

    def __init__(self, process: asyncio.subprocess.Process | None, terminal: int | None = None) -> None:
        self._process = process
        self._terminal = terminal
        self._ready = asyncio.Event()
        self._closing = False
        self.closed = False  # and its process has ended

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def write(self, data: bytes | memoryview) -> None:
        if self._terminal is not None:
            await asyncio.to_thread(os.write, self._terminal, data)
        elif self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def write_eof(self) -> None:
        if self._terminal is not None:
            await self.write(b"\x04")
        elif self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        if self._process is None:
            yield 1, b"OCI runtime exec failed: no such file or directory\r\n"
        elif self._terminal is not None:
            async for data in self._screen():
                yield 1, data
        else:
            async for piece in self._both():
                yield piece

    async def _both(self) -> AsyncIterator[tuple[int, bytes]]:
        assert self._process is not None
        pieces: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(4)

        async def carry(fd: int, reader: asyncio.StreamReader | None) -> None:
            while reader is not None and (data := await reader.read(_PIECE)):
                await pieces.put((fd, data))
            await pieces.put((fd, b""))

        tasks = [
            asyncio.create_task(carry(1, self._process.stdout)),
            asyncio.create_task(carry(2, self._process.stderr)),
        ]
        try:
            open_ = 2
            while open_:
                fd, data = await pieces.get()
                if data:
                    yield fd, data
                else:
                    open_ -= 1
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _screen(self) -> AsyncIterator[bytes]:
        assert self._terminal is not None
        loop = asyncio.get_running_loop()
        while self._terminal is not None:
            self._ready.clear()
            loop.add_reader(self._terminal, self._ready.set)
            try:
                await self._ready.wait()
            finally:
                if self._terminal is not None:
                    loop.remove_reader(self._terminal)
            try:
                data = os.read(self._terminal, _PIECE)
            except OSError:  # a terminal whose last process ended
                return
            if not data:
                return
            yield data

    async def resize(self, rows: int, columns: int) -> None:
        if self._terminal is not None:
            _resize(self._terminal, (rows, columns))

    async def wait(self) -> int:
        if self._process is None:
            return 127
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            # Its pipes first: waiting lasts until they end, and what is not read does not end. The transport itself
            # stays open: closing it takes the exit code from under the thread that waits for it, which then says 255.
            transport = getattr(self._process, "_transport", None)
            for pipe in (transport.get_pipe_transport(fd) for fd in range(3) if transport is not None):
                if pipe is not None:
                    pipe.close()
            await self._process.wait()
        if self._terminal is not None:
            terminal, self._terminal = self._terminal, None
            asyncio.get_running_loop().remove_reader(terminal)
            self._ready.set()
            os.close(terminal)
        self.closed = True


async def _pipes(
    command: Sequence[str], folder: Path, env: Mapping[str, str], size: tuple[int, int]
) -> ProcessStream:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        return ProcessStream(None)
    return ProcessStream(process)


async def _terminal(
    command: Sequence[str], folder: Path, env: Mapping[str, str], size: tuple[int, int]
) -> ProcessStream:
    ours, theirs = pty.openpty()
    _resize(ours, size)
    try:
        process = await asyncio.create_subprocess_exec(
            "setsid", "-c", *command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs
        )
    finally:
        os.close(theirs)
    return ProcessStream(process, ours)


def _resize(terminal: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
