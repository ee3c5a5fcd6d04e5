"""MPS's own processes on a host, by the numbers that its files and the driver tell."""

from __future__ import annotations

import contextlib
from pathlib import Path

from leasehold_agent.cards._ending import end_process

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
    return end_process(pid, is_mps)
