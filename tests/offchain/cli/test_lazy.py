"""Help and completion answer at once: they import no command, and nothing of the chain."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest
import typer

from leasehold.cli import app
from leasehold.cli._lazy import LazyGroup

HEAVY = ("coincurve", "eth_abi", "eth_account", "httpx", "pyrage", "sqlalchemy", "web3")
SPY = f"""
import json, sys
from leasehold.cli import main
sys.argv[0] = "leasehold"
try:
    main()
finally:
    print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]), file=sys.stderr)
"""


def imported_by(*words: str, **environment: str) -> list[str]:
    """Which of the heavy ones a command has imported when it ends."""
    ran = subprocess.run(
        [sys.executable, "-c", SPY, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    found: list[str] = json.loads(ran.stderr.splitlines()[-1])
    return found


def groups(group: LazyGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], LazyGroup]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, LazyGroup):
            yield from groups(command, (*path, name))


def lines(group: LazyGroup) -> Mapping[str, str]:
    return {name: command.help or "" for name, command in group.commands.items()}


def test_what_a_group_says_of_its_commands_is_what_they_say() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, LazyGroup)
    root.load_all()
    found = dict(groups(root))
    assert {(), ("provider",), ("validator",), ("pool",), ("group",)} <= found.keys()
    for path, group in found.items():
        told = {name: line for verbs in (*group.verbs.values(), group.groups) for name, line in verbs.items()}
        own = {name: inspect.cleandoc(text).split("\n\n")[0] for name, text in lines(group).items()}
        assert told == {name: line.replace("\n", " ") for name, line in own.items()}, path
        for name, command in group.commands.items():
            assert command.name == name
            assert not command.hidden
            assert not command.deprecated


def test_a_group_has_every_command_that_its_modules_register() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, LazyGroup)
    root.load_all()
    for path, group in groups(root):
        for module, told in group.verbs.items():
            own = typer.Typer()
            sys.modules[f"{group.package}.{module}"].register(own)
            names = {each.name or each.callback.__name__ for each in own.registered_commands if each.callback}
            assert names == told.keys(), (path, module)


@pytest.mark.parametrize(
    "words", [("--help",), ("provider", "--help"), ("--nonsense",), ("pool", "nonsense")], ids=" ".join
)
def test_help_imports_nothing_of_the_chain(words: tuple[str, ...]) -> None:
    assert imported_by(*words) == []


@pytest.mark.parametrize("line", ["leasehold ", "leasehold va", "leasehold validator st", "leasehold --"])
def test_completion_imports_nothing_of_the_chain(line: str) -> None:
    told = {"_LEASEHOLD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert imported_by(**told) == []
