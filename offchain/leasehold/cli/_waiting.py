"""What is waited for, and since when: no command is silent for longer than a few seconds.

On a terminal that is a spinner; elsewhere, where nothing can be drawn over, a line after `QUIET` seconds and another
every `AGAIN`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape as markup
from rich.text import Text

QUIET = 3.0
AGAIN = 30.0


class _Said:
    """The text, with the seconds behind it once somebody would ask."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._began = time.monotonic()

    def __str__(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{self.text} ({seconds:.0f} s)" if seconds >= QUIET else self.text

    def __rich__(self) -> Text:
        return Text(str(self))


@dataclass(frozen=True)
class Shown:
    """What is waited for, as it is shown. change: it is something else now, which where nothing can be drawn over is a
    line. back_to: it is what it was before, which nobody is told at once: that would be one line for each thing done.
    """

    change: Callable[[str], None]
    back_to: Callable[[str], None]


@contextmanager
def waiting(console: Console, what: str) -> Iterator[Shown]:
    """Say what is waited for, already free of what steers a terminal."""
    said = _Said(what)

    def put(text: str) -> None:
        said.text = text

    if console.is_terminal:
        with console.status(said):
            yield Shown(put, put)
        return
    over, printed = threading.Event(), threading.Lock()

    def line() -> None:
        with printed:
            console.print(markup(str(said)))

    def update(text: str) -> None:
        if text != said.text:
            put(text)
            line()

    def remind() -> None:
        pause = QUIET
        while not over.wait(pause):
            line()
            pause = AGAIN

    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield Shown(update, put)
    finally:
        over.set()
        reminder.join()
