"""Ending a process on a host by a number that a file or the driver tells: by now it may be another's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def end_process(pid: int, is_ours: Callable[[int], bool]) -> bool:
    """SIGKILL to the process if it is ours; whether it was. It is held before it is looked at, so that what is ended is
    what was looked at.
    """
    try:
        held = os.pidfd_open(pid)
    except (OSError, ValueError):
        return False
    try:
        if not is_ours(pid):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(held)
    return True
