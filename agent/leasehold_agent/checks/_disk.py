"""How fast a disk is: one file of random bytes, past the kernel's cache where the file system allows that.

The file never has a name, so that nothing stays whatever happens. Of disks that leases have nothing on, which may be
full of what their owner holds dear, not a byte is written: the first of what lies on them is read.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from leasehold_agent.documents import Pace

_BLOCK = 4 << 20


def measure_disk(
    folder: Path, *, seconds: float, most: int, clock: Callable[[], float] = time.monotonic
) -> Pace | None:
    """What is written and read there in `seconds` each, and `most` bytes. None where not even one block was.

    Raises OSError: it cannot be written, or is full. May hang where the disk does.
    """
    with mmap.mmap(-1, _BLOCK) as block, tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        block.write(os.urandom(_BLOCK))
        descriptor = file.fileno()
        _past_the_cache(descriptor)
        begun, written = clock(), 0
        while written + _BLOCK <= most and clock() - begun < seconds:
            written += os.write(descriptor, block)
        os.fdatasync(descriptor)
        write = _rate(written, clock() - begun)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        begun, got = clock(), 0
        while got < written and clock() - begun < seconds:
            got += os.readv(descriptor, [block])
        return Pace(_rate(got, clock() - begun), write) if got else None


def measure_reading(
    device: Path, *, seconds: float, most: int, clock: Callable[[], float] = time.monotonic
) -> int | None:
    """Bytes a second that are read of the device from its beginning. None where not even one block was.

    Raises OSError: it cannot be read, or not by who runs this. May hang where the disk does.
    """
    with mmap.mmap(-1, _BLOCK) as block:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _past_the_cache(descriptor)
            begun, got = clock(), 0
            while got + _BLOCK <= most and clock() - begun < seconds:
                if (count := os.readv(descriptor, [block])) == 0:
                    break
                got += count
            return _rate(got, clock() - begun) if got else None
        finally:
            os.close(descriptor)


def _past_the_cache(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # tmpfs and some overlays cannot
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_DIRECT)


def _rate(count: int, seconds: float) -> int:
    return int(count / max(seconds, 1e-6))
