"""Ending a process whose number somebody has told: it may have ended since, and the number be another's.

What the kernel hands out for a number is held first and looked at then, so that what is ended is what was looked at.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def end_process_of(container: str, pid: int) -> bool:
    """SIGKILL to the process if it is one of that container's, by its full id; whether it was."""
    try:
        held = os.pidfd_open(pid)
    except (ProcessLookupError, ValueError):
        return False
    try:
        if not _belongs(Path("/proc", str(pid)), container):
            return False
        # Had the number gone to another between the two looks, the one that is held would have ended.
        signal.pidfd_send_signal(held, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(held)
    return True


def _belongs(process: Path, container: str) -> bool:
    """gVisor's processes run beside their container, in the engine's own group, and name it on their command line."""
    with contextlib.suppress(OSError):
        return any(container.encode() in (process / where).read_bytes() for where in ("cgroup", "cmdline"))
    return False
