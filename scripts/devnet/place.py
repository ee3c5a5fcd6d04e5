"""A folder that one process has for itself, empty at first and gone afterwards."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


class PlaceTaken(RuntimeError):
    """Another process has the folder; the text says which and what to do."""


@contextlib.contextmanager
def own(folder: Path) -> Iterator[None]:
    """Have `folder` for oneself. What a run before left there, whose process is gone, is removed.

    The lock is a file beside it, which stays: whoever removed it would let two processes in.

    Raises:
        PlaceTaken: somebody has it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(
        folder.with_name(f".{folder.name}.lock"), "a+"
    ) as lock:  # not inherited by what is started later
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            raise PlaceTaken(
                f"{folder} is in use by process {owner}: end that first (Ctrl-C where it runs), or wait for it."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)
