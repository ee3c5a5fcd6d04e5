"""Groups whose commands are loaded when they are chosen.

Help and completion name every command of a group and say a line of each, and that is all they need: `lines.json` holds
it, made from the commands, so that neither imports a command. A test holds the two equal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from leasehold.cli._usage import ClickException, NoArgsIsHelpError, usage_sentence

MARKUP: Final = "markdown"
LINES: Final = Path(__file__).with_name("lines.json")


class GroupHelp(NamedTuple):
    """What is said of a group, and the modules with its commands, in the order in which help shows them. default: the
    command that is meant where none is named; without one help is shown.
    """

    help: str
    modules: tuple[str, ...]
    default: str | None = None


def _of(folder: str, modules: str) -> tuple[str, ...]:
    return tuple(f"{folder}.{module}" for module in modules.split())


GROUPS = {
    "": GroupHelp(
        "Rent GPU time from whoever has some, or offer your own. The chain keeps the accounts.",
        ("init", "doctor", "run", "machines", "machine", "rent", "leases", "top", "cost", "naming", "tenancy", "power",
         "moving", "transfer", "auto_extend", "quotes", "entering", "ssh_config", "copying", "results", "checkpoints",
         "commit", "statements", "audit", "challenge", "faults", "compensate", "pools"),
    ),
    "guard": GroupHelp("Have your leases looked after while nobody is there: warn, extend, recover.", ("guard",)),
    "gateway": GroupHelp("Serve the pool to browsers.", ("gateway",)),
    "access": GroupHelp("Let a colleague see a lease, for a while, and nothing else.", ("sharing",)),
    "wallet": GroupHelp("Make keys; see, approve, deposit and withdraw money.", ("wallet",)),
    "provider": GroupHelp(
        "Offer machines: join, set terms, collect, leave.",
        _of("provider", "join machines host money status duties tenants"),
    ),
    "provider fleet": GroupHelp(
        "Join, update, drain and look after all hosts of a file, over ssh, with your key here.",
        ("provider.fleet",),
    ),
    "validator": GroupHelp(
        "Stake a seat, measure machines as one of a committee, attest outages.",
        _of("validator", "seats status rounds votes quorums statements"),
    ),
    "validator attest": GroupHelp(
        "Sign that a machine was down, and send a quorum's signatures.", ("validator.attest",)
    ),
    "pool": GroupHelp(
        "See who has which power over a pool; make one, and own it.",
        _of("pool", "trust params create owner licences rulings fees"),
    ),
    "templates": GroupHelp("Workloads to start from, for `leasehold rent --template`.", ("templates",), "list"),
    "registry": GroupHelp("Logins that machines show to registries, to fetch your private images.", ("registry",)),
    "services": GroupHelp(
        "What others offer to the pool beside machines: list it, use it, announce your own.", ("services",), "list"
    ),
    "volume": GroupHelp("See, export and remove what you keep on machines.", ("volume",)),
    "dataset": GroupHelp("Add, keep, list and fetch data on IPFS.", ("dataset",)),
    "group": GroupHelp(
        "Rent as a group: so many of its signers must agree. Proposals and signatures travel as files.",
        _of("group", "book signing changing"),
    ),
    "delegate": GroupHelp(
        "Let others open, extend, close and resize leases for an account, up to a cap.", ("delegate",)
    ),
    "offer": GroupHelp("Sign terms for a renter, see what became of them, take them back.", ("offer",)),
}  # fmt: skip


@cache
def lines() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Of each group, by the words that lead to it: of each of its modules: the commands, and a line of each."""
    told: dict[str, dict[str, dict[str, str]]] = json.loads(LINES.read_text())
    return told


class LazyGroup(TyperGroup):
    """A group that knows its commands by name. Until one is chosen, a stand-in tells its line."""

    path: ClassVar[str]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._modules: dict[str, str] = {}
        for module, verbs in lines()[self.path].items():
            for name, line in verbs.items():
                self._modules[name] = module
                self.commands[name] = TyperCommand(name=name, help=line, rich_markup_mode=MARKUP)
        for path, group in GROUPS.items():
            above, _, name = path.rpartition(" ")
            if path and above == self.path:
                self.commands[name] = TyperCommand(name=name, help=group.help, rich_markup_mode=MARKUP)
        self._stand_ins = set(self.commands)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """As Click's, but that a command line which cannot be understood is told in one sentence."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.exit(code or 0)
        except NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except ClickException as error:
            from leasehold.cli._output import plain  # here: help and completion do without it

            typer.echo(plain(usage_sentence(error)), err=True)
            sys.exit(error.exit_code)
        except typer.Abort:
            typer.echo("Stopped.", err=True)
            sys.exit(1)

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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What was typed behind the group's name."""
        default = GROUPS[self.path].default
        if default is not None and "--help" not in args and all(word.startswith("-") for word in args):
            args = [default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, as Typer wants it."""
        self.load(args[0])
        return super().resolve_command(ctx, args)

    def _verb(self, name: str) -> Any:
        from leasehold.cli._command import VERBS

        module, gathered = f"{__package__}.{self._modules[name]}", typer.Typer(rich_markup_mode=MARKUP)
        import_module(module)
        VERBS[module][name].put_into(gathered, name)
        return get_group(gathered).commands[name]

    def _group(self, name: str) -> Any:
        return get_group(typer.Typer(name=name, **shape(f"{self.path} {name}".strip())))


def shape(path: str) -> dict[str, Any]:
    """How the group to which these words lead is set up."""
    return {
        "cls": type("LazyGroup", (LazyGroup,), {"path": path}),
        "help": GROUPS[path].help,
        "no_args_is_help": True,
        "rich_markup_mode": MARKUP,
    }
