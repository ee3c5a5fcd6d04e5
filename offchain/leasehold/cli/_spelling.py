"""How an option or argument is written: as one types it, and how what was typed is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer


def option(spelled: str, text: str | None = None, **more: Any) -> Any:
    """An option as it is typed: its names, then a word for its value. Without that word it is a flag."""
    words = spelled.split()
    names = [word for word in words if word.startswith("-")]
    return typer.Option(*names, metavar=" ".join(words[len(names) :]), help=text, **more)


def argument(metavar: str, text: str | None = None, **more: Any) -> Any:
    """An argument, by the word that stands for it."""
    return typer.Argument(metavar=metavar, help=text, **more)


@dataclass(frozen=True)
class Read:
    """How the text that is typed is read: `Annotated[int, option("--for DURATION"), Read(parse_duration)]`. A command
    has what `parse` makes of it, or of each of several in a tuple; what was not typed stays `None`.
    """

    parse: Callable[[str], object]


def unless(word: str) -> Read:
    """The text as it is, but `None` for the word that means all or any."""
    return Read(lambda text: None if text == word else text)
