"""What a command says: people read tables on stdout, programs read one JSON document there.

Whatever is not the answer (progress, questions, warnings) goes to stderr, so that stdout stays pure.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape as _markup
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TransferSpeedColumn
from rich.table import Table

from leasehold.cli._asking import NobodyThere, ask_yes
from leasehold.cli._waiting import waiting
from leasehold.errors import LeaseholdError

if TYPE_CHECKING:
    from leasehold.market import Json, Listing


_UNFOLDED = 100_000  # columns, where nobody has said how many there are


# Escapes would be obeyed by the terminal, and marks that turn the direction of writing make it show another text.
_SPANS = (0, 8), (11, 31), (0x7F, 0x9F), (0x61C, 0x61C), (0x200E, 0x200F), (0x2028, 0x202E), (0x2066, 0x2069)
_STEERING = {
    character: "\N{REPLACEMENT CHARACTER}" for first, last in _SPANS for character in range(first, last + 1)
}


def plain(text: str) -> str:
    """`text` without what steers a terminal: much of what is shown was written by strangers."""
    return text.translate(_STEERING)


def escape(text: str) -> str:
    """`text` for rich: plain, and without markup."""
    return _markup(plain(text))


class NotConfirmed(LeaseholdError):
    """Nobody said yes; nothing was sent."""

    exit_code = 11


class Output:
    """One command's voice. `as_json` turns tables off and `answer` on; `yes` answers every question.

    if_interrupted: what Ctrl-C says at the moment, which is what goes on without us and what that costs.
    """

    def __init__(self, *, as_json: bool = False, yes: bool = False) -> None:
        self.as_json = as_json
        self.yes = yes
        self.if_interrupted = "Interrupted."
        self._change: Callable[[str], None] | None = None
        self._back: Callable[[str], None] = lambda text: None
        self._said = ""
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)

    def answer(self, document: Json) -> None:
        """The command's result for programs: printed with ``--json`` only."""
        if self.as_json:
            said = json.dumps(document, indent=2, ensure_ascii=False)
            typer.echo(said.translate({character: f"\\u{character:04x}" for character in _STEERING}))

    def say(self, text: str) -> None:
        """A line for people."""
        (self.err if self.as_json else self.out).print(escape(text))

    def aside(self) -> None:
        """From now on what is said for people goes to stderr: a log has stdout for itself."""
        self.out = self.err

    def warn(self, text: str) -> None:
        """A line for people that must not be missed, and is no part of the answer."""
        self.err.print(f"[yellow]{escape(text)}[/yellow]")

    def warn_of(self, *listings: Listing) -> None:
        """Say what of machines' documents could not be had."""
        for listing in listings:
            if listing.missing and not self.as_json:
                self.warn(f"Machine {listing.id}: {listing.missing}")

    def pairs(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Names and values, one a line."""
        console = self.err if self.as_json else self.out
        width = max((len(name) for name, _ in rows), default=0)
        console.print(f"[italic]{escape(title)}[/italic]")
        for name, value in rows:  # whole lines: what is folded in two cannot be copied
            console.print(f"[dim]{escape(name.ljust(width))}[/dim]  {escape(value)}".rstrip())

    def sheet(self, document: Json, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """One thing: a document for programs, names and values for people."""
        self.answer(document)
        if not self.as_json:
            self.pairs(title, rows)

    def listing(
        self, document: Json, columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str
    ) -> None:
        """Several things: a document for programs, a table for people."""
        self.answer(document)
        self.table(columns, rows, empty=empty)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
        """A table for people; `empty` is said instead when there are no rows."""
        if self.as_json:
            return
        if not rows:
            self.out.print(escape(empty))
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            numeric = column.startswith(">")
            table.add_column(
                escape(column.lstrip(">")), justify="right" if numeric else "left", overflow="fold"
            )
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        folds = self.out.is_terminal or "COLUMNS" in os.environ
        self.out.print(table, width=None if folds else _UNFOLDED)

    def confirm(self, question: str) -> None:
        """Ask before money moves.

        Raises:
            NotConfirmed: the answer was no, or there is nobody to ask.
        """
        if self.yes:
            return
        try:
            agreed = ask_yes(plain(question))
        except NobodyThere:
            raise NotConfirmed(
                "Nobody confirmed, so nothing was sent: pass --yes to go ahead unasked."
            ) from None
        if not agreed:
            raise NotConfirmed("Stopped at your word: nothing was sent.")

    def ask(self, question: str) -> bool:
        """A question whose answer is no unless somebody types yes; never asked with ``--yes``."""
        if self.yes or self.as_json:
            return False
        try:
            return ask_yes(plain(question))
        except NobodyThere:
            return False

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """A spinner on a terminal; the yielded function changes its text, which elsewhere becomes a line.

        Inside another one it takes its place, and gives it back.
        """
        if self._change is not None:
            outer, said = self._change, self._said
            outer(what)
            try:
                yield outer
            finally:
                self._said = said
                self._back(plain(said))
            return
        with waiting(self.err, plain(what)) as shown:

            def update(text: str) -> None:
                self._said = text
                shown.change(plain(text))

            self._change, self._back, self._said = update, shown.back_to, what
            try:
                yield update
            finally:
                self._change = None

    def report(self, text: str) -> None:
        """What is being waited for now, for whoever waits deep down: in place of what `working` says, else a line."""
        if self._change is not None:
            self._change(text)
        else:
            self.err.print(escape(text))

    @contextmanager
    def transferring(self, what: str) -> Iterator[Callable[[int, int | None], None]]:
        """A progress bar in bytes; the yielded function takes (done, total or `None`)."""
        if not self.err.is_terminal:
            yield lambda done, total: None
            return
        said = TextColumn("{task.description}")
        columns = (SpinnerColumn(), said, BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task(escape(what), total=None)

            def update(done: int, total: int | None) -> None:
                progress.update(task, completed=done, total=total)

            yield update
