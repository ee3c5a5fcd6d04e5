"""Groups whose commands are loaded when they are chosen.

Help and completion name every command of a group and say a line of each, and that is all they need: the group's table
holds it, so that neither imports a command. A test holds the table's lines equal to the commands' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

MARKUP: Final = "markdown"

Lines = Mapping[str, str]
"""The first paragraph of a command's help by the command's name, in the order in which help shows them."""


class LazyGroup(TyperGroup):
    """A group that knows its commands by name. Until one is chosen, a stand-in tells its line."""

    package: ClassVar[str]
    verbs: ClassVar[Mapping[str, Lines]]
    groups: ClassVar[Lines]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._modules = {name: module for module, lines in self.verbs.items() for name in lines}
        for lines in (*self.verbs.values(), self.groups):
            for name, line in lines.items():
                self.commands[name] = TyperCommand(name=name, help=line, rich_markup_mode=MARKUP)
        self._stand_ins = set(self.commands)

    def load(self, name: str) -> None:
        """Put the command itself in its stand-in's place. A name that is none is left to be told as such."""
        if name in self._stand_ins:
            self.commands[name] = self._verb(name) if name in self._modules else self._group(name)
            self._stand_ins.remove(name)

    def load_all(self) -> None:
        """Load every command of this group and of those below it, for who reads them all."""
        for name in list(self.commands):
            self.load(name)
            command = self.commands[name]
            if isinstance(command, LazyGroup):
                command.load_all()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, as Typer wants it."""
        self.load(args[0])
        return super().resolve_command(ctx, args)

    def _verb(self, name: str) -> Any:
        gathered = typer.Typer(rich_markup_mode=MARKUP)
        import_module(f"{self.package}.{self._modules[name]}").register(gathered)
        return get_group(gathered).commands[name]

    def _group(self, name: str) -> Any:
        group = get_group(import_module(f"{self.package}.{name}").app)
        group.name = name
        return group


def lazy(package: str, verbs: Mapping[str, Lines], groups: Lines | None = None) -> type[LazyGroup]:
    """The kind of a group with these commands: what Typer takes as `cls`.

    verbs: by the module of the package that `register`s them. groups: each is the `app` of the module of its name.
    """
    return type("LazyGroup", (LazyGroup,), {"package": package, "verbs": verbs, "groups": groups or {}})
