"""Questions to whoever sits at the terminal, which Ctrl-C ends at the first press.

While a command runs, asyncio turns Ctrl-C into the cancelling of a task, which a question that blocks would never
notice.
"""

from __future__ import annotations

import getpass
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer


class Interrupted(BaseException):
    """Ctrl-C at a question."""


class NobodyThere(Exception):
    """There is nobody to ask: standard input is at its end."""


def ask_password(prompt: str, *, twice: bool = False) -> str:
    """A password that is not shown while it is typed; without a terminal, the next line of standard input.

    Raises:
        Interrupted. NobodyThere.
    """
    with _interruptible(), warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return str(typer.prompt(prompt, hide_input=True, confirmation_prompt=twice, err=True))
        except typer.Abort:
            raise NobodyThere from None
        except getpass.GetPassWarning:
            line = sys.stdin.readline()
    if not line:
        typer.echo(err=True)  # what is said of it stands on a line of its own
        raise NobodyThere
    return line.rstrip("\r\n")


def ask_yes(question: str) -> bool:
    """Whether somebody typed yes.

    Raises:
        Interrupted. NobodyThere.
    """
    with _interruptible():
        try:
            return bool(typer.confirm(question, default=False, err=True))
        except typer.Abort:
            raise NobodyThere from None
        finally:
            if not sys.stdin.isatty():
                typer.echo(err=True)  # nobody's Enter has ended the line


def ask_text(question: str, usual: str) -> str:
    """What somebody types, or what is usual where he only presses Enter.

    Raises:
        Interrupted. NobodyThere.
    """
    with _interruptible():
        try:
            return str(typer.prompt(question, default=usual or None, err=True)).strip()
        except typer.Abort:
            raise NobodyThere from None


def ask_word(question: str, words: tuple[str, ...], usual: str) -> str:
    """One of the words, or the first letter of it.

    Raises:
        Interrupted. NobodyThere.
    """
    with _interruptible():
        try:
            while True:
                typed = str(typer.prompt(question, default=usual, err=True)).strip().lower()
                if chosen := next((word for word in words if typed and word.startswith(typed[0])), None):
                    return chosen
        except typer.Abort:
            raise NobodyThere from None


@contextmanager
def _interruptible() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Interrupted:
        typer.echo(err=True)  # behind the question
        raise
    finally:
        signal.signal(signal.SIGINT, before)
