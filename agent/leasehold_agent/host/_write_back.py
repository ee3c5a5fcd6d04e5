"""A file system's dirty pages, on their way to its disk."""

from __future__ import annotations

import ctypes
import os


def write_back(descriptor: int) -> None:
    """Write all that waits of the file system that `descriptor` is open on. It lasts as long as that takes. Raises
    OSError.
    """
    library = ctypes.CDLL(None, use_errno=True)  # Python has the call for all file systems at once alone
    if library.syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
