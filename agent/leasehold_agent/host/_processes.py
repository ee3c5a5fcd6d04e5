"""Ending a process whose number somebody has told, writing to it or reading from it: it may have ended, and the number
be another's.

What the kernel hands out for a number is held first and looked at then, so that what is ended is what was looked at.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path


def end_process_of(container: str, pid: int) -> bool:
    """SIGKILL to the process if it is one of that container's, by its full id; whether it was."""
    with _held(container, pid) as held:
        if held is None:
            return False
        try:
            # Had the number gone to another between the two looks, the one that is held would have ended.
            signal.pidfd_send_signal(held, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return False
    return True


def input_pipe_of(container: str, pid: int) -> int | None:
    """A descriptor that writes to the pipe that a process of that container reads as its input, without waiting; or
    None, where that is no pipe, or the process none of the container's.

    Its tenant chooses what stands there. So it is looked at before it is opened, by what the kernel calls it: a pipe
    without a name, to which no more can be done than to write what its reader is sent anyhow.
    """
    return _first_pipe_of(container, pid, os.O_WRONLY)


def output_pipe_of(container: str, pid: int) -> int | None:
    """A descriptor that reads from that same pipe, without waiting, or None: for a process that writes to it what it
    has to say, since nobody else reads there. Whatever its tenant puts there, what is read is his own.
    """
    return _first_pipe_of(container, pid, os.O_RDONLY)


def _first_pipe_of(container: str, pid: int, way: int) -> int | None:
    with _held(container, pid) as held:
        if held is None:
            return None
        try:
            return _opened_pipe(Path("/proc", str(pid), "fd", "0"), held, way)
        except OSError:
            return None


def _opened_pipe(place: Path, held: int, way: int) -> int | None:
    seen = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        own = f"/proc/self/fd/{seen}"
        if not (stat.S_ISFIFO(os.fstat(seen).st_mode) and os.readlink(own).startswith("pipe:[")):
            return None
        signal.pidfd_send_signal(held, 0)  # whose number it is has not ended: what was seen is its own
        return os.open(own, way | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(seen)


@contextlib.contextmanager
def _held(container: str, pid: int) -> Iterator[int | None]:
    """A process of that container, held; or None."""
    try:
        held = os.pidfd_open(pid)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield held if _belongs(Path("/proc", str(pid)), container) else None
    finally:
        os.close(held)


def _belongs(process: Path, container: str) -> bool:
    """gVisor's processes run beside their container, in the engine's own group, and name it on their command line."""
    with contextlib.suppress(OSError):
        return any(container.encode() in (process / where).read_bytes() for where in ("cgroup", "cmdline"))
    return False
