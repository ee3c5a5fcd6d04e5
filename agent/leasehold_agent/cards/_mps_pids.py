"""MPS's own processes on a host, by the numbers that its files and the driver tell. A number may be another's by now:
what is ended is what was looked at.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_NAMES = {"nvidia-cuda-mps-control"[:15], "nvidia-cuda-mps-server"[:15]}
"""As the kernel has them, which keeps fifteen letters."""
_PROC = Path("/proc")


def daemon_of(pipes: Path) -> int:
    """The daemon's own number, as it has written it down in its folder; 0 where it has not."""
    with contextlib.suppress(OSError, ValueError):
        return int((pipes / "nvidia-cuda-mps-control.pid").read_text())
    return 0


def is_mps(pid: int) -> bool:
    """Whether it is one of MPS's."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text().strip() in _NAMES
    return False


def end_mps(pid: int) -> bool:
    """SIGKILL to the process if it is one of MPS's; whether it was."""
    try:
        held = os.pidfd_open(pid)
    except (OSError, ValueError):
        return False
    try:
        if not is_mps(pid):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(held)
    return True
