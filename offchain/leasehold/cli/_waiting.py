"""What is waited for, and since when: no command is silent for longer than a few seconds.

On a terminal that is a spinner; elsewhere, where nothing can be drawn over, a line after `QUIET` seconds and another
every `AGAIN`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def waiting(console: Console, what: str) -> Iterator[Callable[[str], None]]:
    """Say what is waited for, already free of what steers a terminal; the yielded function changes it."""
    said = _Said(what)
    if console.is_terminal:
        with console.status(said):

            def change(text: str) -> None:
                said.text = text

            yield change
        return
    over, printed = threading.Event(), threading.Lock()

    def line() -> None:
        with printed:
            console.print(markup(str(said)))

    def update(text: str) -> None:
        if text != said.text:
            said.text = text
            line()

    def remind() -> None:
        pause = QUIET
        while not over.wait(pause):
            line()
            pause = AGAIN

    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield update
    finally:
        over.set()
        reminder.join()
