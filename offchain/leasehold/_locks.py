"""Locks between the processes of one computer, by a file that each has open: they die with whoever has them."""

from __future__ import annotations

import fcntl


def locked_now(handle: int) -> bool:
    """Take the lock of an open file unless another has it. It is held until the handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
