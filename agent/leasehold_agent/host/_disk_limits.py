"""Whether the engine's file system holds a container to its disk limit now, and mending it where it does not.

btrfs refuses a write past a limit only while its count of what each container holds is right. When the kernel
calls the count inconsistent it stops counting: every limit of that file system is off, those of containers that
run already too, and stays off until somebody asks for a new count ("rescan"). Two ways lead there on a host of
ours. The engine turns the count on when it makes its first limited container, and makes that container's
snapshots while the first count still runs: they are counted twice, and the kernel finds out when the first of
them is deleted. And a crash, an older kernel or a tool may leave it so.

So the count is turned on before there is anything to limit, no container is made or started while it is off or
being taken, and none is taken while a container is being made. `mend` belongs in every pass of the agent's
loop: it is what brings back the limits of those that run.

Other file systems (xfs with project quotas, zfs) have no such state: here they always hold.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import errno
import fcntl
import os
import struct
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import structlog

from leasehold_agent._errors import LimitNotHeld

_log = structlog.get_logger("leasehold_agent")
_SYSFS = Path("/sys/fs/btrfs")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.25

# From linux/btrfs.h; the structures are 1,024, 16, 64 and 64 bytes long.
_FS_INFO, _FSID = 0x8400941F, slice(16, 32)
_QUOTA_CTL, _ENABLE = 0xC0109428, struct.pack("=QQ", 1, 0)
_RESCAN, _RESCAN_STATUS = 0x4040942C, 0x8040942D


class Count(enum.Enum):
    """What the file system knows of what each container holds."""

    RIGHT = "right"
    OFF = "off"
    RUNNING = "running"
    WRONG = "wrong"


class DiskLimits:
    """The disk limits of the containers whose layers lie below `root`; None where the engine holds none.

    `seconds` is the longest that a container waits for the count.
    """

    def __init__(
        self,
        root: Path | None,
        *,
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._root = root
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._making = 0
        self._one_at_a_time = asyncio.Lock()
        self._told: str | None = None

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Make a container within: its limit is held from the first byte. Raises LimitNotHeld."""
        await self.settle()
        self._making += 1
        try:
            yield
        finally:
            self._making -= 1

    async def settle(self) -> None:
        """Return once every limit is held, counting anew if it must. Raises LimitNotHeld."""
        deadline, pause = self._clock() + self._seconds, _FIRST_PAUSE
        while (count := await self.mend()) is not Count.RIGHT:
            if self._clock() >= deadline:
                raise LimitNotHeld(
                    f"The file system of {self._root} holds no disk limit (its count is {count.value}), so no "
                    f"container starts; on the host, `btrfs quota rescan -w {self._root}` counts anew."
                )
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def mend(self) -> Count:
        """Look, and count anew where that is needed and no container is being made; returns what was found.

        Raises LimitNotHeld where it cannot be seen.
        """
        if self._root is None:
            return Count.RIGHT
        async with self._one_at_a_time:  # or one of two would start a count that the other has just ended
            try:
                count = await asyncio.to_thread(_look, self._root)
                if count in (Count.OFF, Count.WRONG) and not self._making:
                    await asyncio.to_thread(_count, self._root, count)
            except OSError as error:
                self._tell(str(error))
                raise LimitNotHeld(f"The disk limits below {self._root} cannot be mended: {error}") from error
        self._tell(None if count in (Count.RIGHT, Count.RUNNING) else f"the count is {count.value}")
        return count

    def _tell(self, problem: str | None) -> None:
        if problem not in (None, self._told):
            _log.warning("disk limits", problem=problem)
        self._told = problem


def _look(root: Path) -> Count:
    with _opened(root) as descriptor:
        info = bytearray(1024)
        try:
            fcntl.ioctl(descriptor, _FS_INFO, info)
        except OSError as error:
            if error.errno in (errno.ENOTTY, errno.EOPNOTSUPP):  # not btrfs
                return Count.RIGHT
            raise
        state = _SYSFS / str(uuid.UUID(bytes=bytes(info[_FSID]))) / "qgroups"
        if not state.is_dir():
            return Count.OFF
        status = bytearray(64)
        with contextlib.suppress(PermissionError):  # not root: what the kernel shows to all must do
            fcntl.ioctl(descriptor, _RESCAN_STATUS, status)
        if status[0] & 1:
            return Count.RUNNING
    with contextlib.suppress(FileNotFoundError):  # before Linux 6.1 it is not told
        if (state / "inconsistent").read_text().strip() != "0":
            return Count.WRONG
    return Count.RIGHT


def _count(root: Path, count: Count) -> None:
    with _opened(root) as descriptor:
        if count is Count.OFF:  # starts the first count as well; no error where it is on already
            fcntl.ioctl(descriptor, _QUOTA_CTL, bytearray(_ENABLE))
            return
        try:
            fcntl.ioctl(descriptor, _RESCAN, bytes(64))
        except OSError as error:
            if error.errno != errno.EINPROGRESS:
                raise


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
