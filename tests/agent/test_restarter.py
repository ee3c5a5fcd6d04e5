"""What starts the sentinel anew: it waits for its child, and has a command run whenever that has ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.patience import patient
from leasehold_agent.chain import _restarter

# Its first child is there before it is what it is, as the sentinel is.
BECOME = """
import os, sys
file, first, *command = sys.argv[1:]
child = os.fork()
if not child:
    os._exit(int(first))
os.execv(sys.executable, [sys.executable, "-I", "-S", file, str(child), "0.01", *command])
"""
# Says who it is and with what it was begun, and ends, or waits to be ended.
NEXT = """
import json, os, signal, sys
out, last, code = sys.argv[1:]
os.write(int(out), json.dumps([os.getpid(), int(code)]).encode() + b"\\n")
if code != last:
    os._exit(int(code) + 1)
signal.pause()
"""


@pytest.fixture
def begun() -> Iterator[tuple[int, int]]:
    """The restarter's number, and where its children say who they are: the fourth stays."""
    mine, theirs = os.pipe()
    command = [sys.executable, "-c", NEXT, str(theirs), "6"]
    process = subprocess.Popen(
        [sys.executable, "-c", BECOME, _restarter.__file__, "3", *command], pass_fds=[theirs]
    )
    os.close(theirs)
    try:
        yield process.pid, mine
    finally:
        process.kill()
        process.wait()
        os.close(mine)


def said(pipe: int) -> tuple[int, int]:
    """Who was begun, and the code that it was given."""
    assert select.select([pipe], [], [], patient(30))[0]
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(pipe, 1)
    process, code = json.loads(line)
    return process, code


def test_each_end_is_followed_by_a_start_which_hears_of_it(begun: tuple[int, int]) -> None:
    codes = [said(begun[1])[1] for _ in range(4)]
    assert codes == [3, 4, 5, 6]


def test_a_killed_one_is_followed_too(begun: tuple[int, int]) -> None:
    last = [said(begun[1])[0] for _ in range(4)][-1]
    os.kill(last, signal.SIGKILL)
    assert said(begun[1])[1] == -signal.SIGKILL


def test_what_it_began_ends_with_it(begun: tuple[int, int]) -> None:
    restarter, pipe = begun
    last = [said(pipe)[0] for _ in range(4)][-1]
    gone = os.pidfd_open(last)
    try:
        os.kill(restarter, signal.SIGKILL)
        assert select.select([gone], [], [], patient(30))[0]
    finally:
        os.close(gone)


def test_a_host_without_room_for_a_process_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int | OSError] = [OSError("no process left"), OSError("no memory left"), 77]

    def fork() -> int:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, "fork", fork)
    assert _restarter._begin(["/bin/true"], 0) == 77


def test_it_stands_on_little() -> None:
    """As long as an agent runs, so does it: what it takes, it takes of every host."""
    source = Path(_restarter.__file__).read_text()
    heads = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert heads == ["from __future__ import annotations", "import os", "import sys", "import time"]
