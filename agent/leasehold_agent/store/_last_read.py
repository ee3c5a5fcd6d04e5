"""What a small file was last read as, for as long as it is that very file.

Each look of the agent asks for the same few files of every lease, and hardly ever does one of them differ from what it
was. They are replaced whole, never written into (`leasehold.files`), so that the kernel tells one from the next.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
_MOST = 8_192
_SETTLED_NS = 10**9
"""A file that was put there so lately is read again: the kernel's clock stands for some milliseconds, in which its
number may be free, given to another, and the time be the same."""


class LastRead(Generic[T]):
    """`read`, called for a path only where its file is not the one of before. Whoever gets the answer leaves it as it
    is. now: the wall clock, in nanoseconds.
    """

    def __init__(self, read: Callable[[Path], T], now: Callable[[], int] = time.time_ns) -> None:
        self._read = read
        self._now = now
        self._known: dict[str, tuple[tuple[int, ...] | None, T]] = {}
        self._keeping = threading.Lock()

    def of(self, path: Path | str) -> T:
        """As `read` has it, and what that raises."""
        name = str(path)
        file = _which(name)
        known = self._known.get(name)
        if known is not None and known[0] == file:
            return known[1]
        value = self._read(Path(name))
        if _which(name) == file and (file is None or file[0] + _SETTLED_NS < self._now()):
            self._keep(name, file, value)
        return value

    def _keep(self, name: str, file: tuple[int, ...] | None, value: T) -> None:
        with self._keeping:
            self._known.pop(name, None)
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[name] = (file, value)


def _which(path: str) -> tuple[int, ...] | None:
    """When it was put there, which it is, and what it holds as far as the kernel knows; None: there is none."""
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        return None
    return seen.st_ctime_ns, seen.st_mtime_ns, seen.st_ino, seen.st_dev, seen.st_size
