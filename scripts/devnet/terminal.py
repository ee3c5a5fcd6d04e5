"""A shell at a terminal, at which somebody types: Ctrl-C, questions and hidden passwords are what they are anywhere."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from devnet.patience import patient
from devnet.transcript import Cue

ROWS, COLUMNS = 50, 118
_MARK = "\x1e"
_PROMPT = re.compile(f"{_MARK}(\\d+){_MARK}$")
# Who runs the tests in the background, or past a hang-up, ignores what a terminal sends; and children inherit that.
_SHELL = ("env", "--default-signal=INT,QUIT,HUP,TERM", "setsid", "--ctty", "--wait")
_BASH = ("bash", "--noprofile", "--norc", "--noediting", "-i")


class Hung(RuntimeError):
    """A command did not end, or did not say what was waited for; the text is what it said."""


class Terminal:
    """A shell of somebody's, as a context manager. What is typed goes through `folder`, which is nobody else's.

    around: a command that runs the shell, such as `unshare`.
    """

    def __init__(
        self, environment: Mapping[str, str], cwd: Path, folder: Path, around: Sequence[str] = ()
    ) -> None:
        self._environment = {**environment, "TERM": "dumb"}
        self._cwd, self._folder, self._around = cwd, folder, around
        self._count = 0
        self._goes_on = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        try:
            self._process = subprocess.Popen(
                [*_SHELL, *self._around, *_BASH],
                env=self._environment,
                cwd=self._cwd,
                stdin=slave,
                stdout=slave,
                stderr=slave,
            )
        finally:
            os.close(slave)
        self._type(f"PS1='{_MARK}$?{_MARK}' PS2=\n")
        self._until_prompt([], patient(60))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            if self._goes_on:
                self._interrupt()
            os.close(self._master)  # a hang-up, which ends the shell and what it runs
        try:
            self._process.wait(patient(10))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # The kernel tells the shell twice, as the session's leader and as what stands in front; where the second comes
        # while bash is at the first, it dies and tells nobody.
        for number in _of_session(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGHUP)

    def run(self, text: str, cues: Iterable[Cue] = (), timeout: float = patient(120)) -> tuple[int, str]:
        """Types a command, and then each cue's keys when its time has come; its exit code, and all that was said.

        Raises:
            Hung: it did not end, or was never as far as a cue.
        """
        self._type_file(text)
        code, said = self._until_prompt(list(cues), timeout)
        return code, said.partition("\n")[2]  # without what was typed

    def begin(self, text: str, until: str, timeout: float = patient(120)) -> str:
        """Types a command that goes on past what `until` matches; what it said up to there, with all of that line.
        Ctrl-C ends it with the terminal, at which nothing else is typed.

        Raises:
            Hung: it was never as far, or ended before.
        """
        self._type_file(text)
        said, deadline, far = "", time.monotonic() + timeout, re.compile(f"{until}\n")
        while (reached := far.search(said)) is None:
            if _PROMPT.search(said):
                raise Hung(f"it ended, and {until!r} was not seen:\n{said}")
            said = (said + self._read(deadline, said, f"{until!r} was not seen")).replace("\r\n", "\n")
        self._goes_on = True
        return said[: reached.end()].partition("\n")[2]

    def _interrupt(self) -> None:
        """What goes on is asked to end as by hand, and is gone when the prompt is back, or is hung up on."""
        with contextlib.suppress(Hung):
            self._type("\x03\n")
            self._until_prompt([], patient(20))

    def _type_file(self, text: str) -> None:
        self._count += 1
        path = self._folder / str(self._count)
        path.write_text(text + "\n")
        self._type(f". {path}\n")

    def _type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def _until_prompt(self, waiting: list[Cue], timeout: float) -> tuple[int, str]:
        said, at, deadline = "", 0, time.monotonic() + timeout
        while (prompt := _PROMPT.search(said)) is None or "\n" not in said:
            waits = f", and {waiting[0].after!r} was not seen" if waiting else ""
            said += self._read(deadline, said, f"not over within {timeout} s{waits}")
            while found := _next(waiting, said, at):
                cue, at = found
                self._answer(cue, deadline)
                if not cue.always:
                    waiting.remove(cue)
        if cues := [cue for cue in waiting if not cue.always]:
            raise Hung(f"it ended, and {cues[0].after!r} was not seen:\n{said}")
        return int(prompt[1]), said[: prompt.start()]

    def _read(self, deadline: float, said: str, lacks: str) -> str:
        """The next that is said. Raises Hung, with what is lacking."""
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self._master], [], [], left)[0]:
            raise Hung(f"{lacks}:\n{said}")
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            raise Hung(f"the shell has ended:\n{said}") from None
        return self._decoder.decode(data).replace("\r\n", "\n")

    def _answer(self, cue: Cue, deadline: float) -> None:
        pause = threading.Event()
        while cue.hidden and termios.tcgetattr(self._master)[3] & termios.ECHO:
            if time.monotonic() >= deadline:
                raise Hung(f"what is typed after {cue.after!r} would be seen")
            pause.wait(0.002)
        self._type(cue.keys)


def _next(waiting: Sequence[Cue], said: str, at: int) -> tuple[Cue, int] | None:
    """Whose time has come, and where what is said after that begins. Of those that come in order only the first."""
    ordered = [cue for cue in waiting if not cue.always][:1]
    for cue in (*ordered, *(cue for cue in waiting if cue.always)):
        if seen := re.compile(cue.after).search(said, at):
            return cue, seen.end()
    return None


def _of_session(leader: int) -> Iterator[int]:
    """What is left of the session that began with the process `leader`."""
    for number in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(number) == leader:
                yield number
