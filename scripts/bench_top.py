"""What `leasehold top` takes of a core at a terminal while fifty leases run: counted by the kernel for its process."""

from __future__ import annotations

import os
import pty
import sys
import threading
import time
from collections.abc import Mapping
from subprocess import Popen
from typing import Any

import psutil

GOAL = 0.05
LEASES = 50
_BEGIN, _SECONDS = 20.0, 60.0
"""What it has to look up and sign first is not what watching costs."""
_TOP = (sys.executable, "-c", "from leasehold.cli import main; main()", "top")


def row(environment: Mapping[str, str]) -> dict[str, Any]:
    """The row. environment: of whoever has the leases."""
    used = _measured({**environment, "LINES": "60", "COLUMNS": "200", "TERM": "xterm-256color"})
    return {
        "name": "top.cpu",
        "ours": round(used, 4),
        "reference": 1.0,
        "ratio": round(used, 4),
        "goal": f"< {GOAL} of a core, with {LEASES} leases",
        "ok": used < GOAL,
    }


def _measured(environment: Mapping[str, str]) -> float:
    """The part of a core that it takes over a minute."""
    outer, inner = pty.openpty()
    drawn: list[bytes] = []
    with Popen(_TOP, env=environment, stdin=inner, stdout=inner, stderr=inner) as process:
        os.close(inner)
        reader = threading.Thread(target=_read, args=(outer, drawn), daemon=True)
        reader.start()
        try:
            while not any(b"leases:" in data for data in drawn):
                assert process.poll() is None, b"".join(drawn)
                time.sleep(0.1)
            time.sleep(_BEGIN)
            watched, before, began = psutil.Process(process.pid), len(drawn), time.monotonic()
            used = sum(watched.cpu_times()[:2])
            time.sleep(_SECONDS)
            taken, seconds = sum(watched.cpu_times()[:2]) - used, time.monotonic() - began
            assert len(drawn) > before, b"".join(drawn)
            return taken / seconds
        finally:
            process.terminate()
            process.wait()
            reader.join(timeout=5)
            os.close(outer)


def _read(terminal: int, drawn: list[bytes]) -> None:
    """Take what is drawn off the terminal, for as long as somebody draws."""
    while True:
        try:
            drawn.append(os.read(terminal, 1 << 16))
        except OSError:
            return
