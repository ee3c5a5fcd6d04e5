"""Walks a document as a reader would: every command typed at a terminal, what it says held against what is shown."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from devnet.terminal import Hung, Terminal
from devnet.transcript import SHELLS, Block, Command, blocks, difference, pattern
from devnet.world import PASSWORD


class Drifted(AssertionError):
    """What a document shows is not what happens; the text says where, what was said, and what is shown."""


@dataclass
class Walkthrough:
    """Who types, as a context manager, which opens the terminals.

    terminals: by what stands before the prompt; `""` is the reader's. moments: what the words behind `after` stand
    for. inside: how what is typed in a container is run: by whose terminal, and the command there, with {} for a file
    that has what was typed. heard: what was said last at each terminal.
    """

    terminals: Mapping[str, Terminal]
    moments: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    inside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)
    _undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            for terminal in self.terminals.values():
                undo.enter_context(terminal)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def define(self, **variables: str) -> None:
        """Sets what a document holds in variables, at every terminal."""
        for terminal in self.terminals.values():
            terminal.run("\n".join(f"export {name}='{value}'" for name, value in variables.items()))

    def walk(self, document: Path) -> int:
        """Every block of the document that can be typed, in order; how many commands were.

        Raises:
            Drifted.
        """
        count = 0
        for block in blocks(document, *SHELLS):
            if block.parsed_only:
                continue
            for moment in block.moments:
                self.moments[moment]()
            for command in block.commands():
                self._typed(document, command, block)
                count += 1
        return count

    def _typed(self, document: Path, command: Command, block: Block) -> None:
        where = f"{document}:{command.line}: {command.text}"
        who, text = command.who, command.text
        if who in self.inside:
            who, around = self.inside[who]
            text = around.format(f"<<'END'\n{text}\nEND\n")
        terminal, code = self.terminals[who], 0
        try:
            if block.stays:
                said = terminal.begin(text, pattern(command.shows[-1]))
            else:
                code, said = terminal.run(text, command.cues(PASSWORD))
        except Hung as error:
            raise Drifted(f"{where}\n{error}") from error
        self.heard[who] = said
        stopped = any(line.startswith("^C") for line in command.shows)
        if not stopped and (code != 0) != block.fails:
            raise Drifted(f"{where}\nexited with {code}:\n{said}")
        if lost := difference(command.shows, said):
            raise Drifted(f"{where}\nsaid:\n{said}\nand not: {lost}")
