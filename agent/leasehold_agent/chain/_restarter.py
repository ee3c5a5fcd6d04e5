"""The process between the agent and its sentinel: it waits until the sentinel has ended, and starts another.

The fork of the agent that has the first sentinel for its child becomes this file by `exec`, which leaves a process
its children: of every page that agent and sentinel write to, a fork would keep a third copy for as long as it waits. So
this stands on a few modules of the standard library, and what it starts begins anew.

    python -I -S _restarter.py CHILD SECONDS COMMAND…

SECONDS are between an end and the next start. COMMAND is given the exit code of what has ended.
"""

from __future__ import annotations

import os
import sys
import time

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def restart(child: int, seconds: float, command: list[str]) -> None:
    """Have `command` run whenever `child`, and then what was begun last, has ended."""
    while True:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        time.sleep(seconds)
        child = _begin([*command, str(code)], seconds)


def _begin(command: list[str], seconds: float) -> int:
    """A child that runs `command`; a host that has room for none has it later."""
    while True:
        try:
            parent, child = os.getpid(), os.fork()
        except OSError:
            time.sleep(seconds)
            continue
        if child:
            return child
        try:
            import ctypes  # in the child alone, which drops it with all it has

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
            if os.getppid() == parent:
                os.execv(command[0], command)
        finally:
            os._exit(1)


if __name__ == "__main__":
    try:
        restart(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
    except KeyboardInterrupt:  # at a terminal, with the agent
        os._exit(1)
