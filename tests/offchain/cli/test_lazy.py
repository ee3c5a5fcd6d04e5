"""Help and completion answer at once: they import no command, and nothing of the chain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer

from cli_reference import lines
from leasehold.cli import app
from leasehold.cli._command import VERBS
from leasehold.cli._lazy import GROUPS, LINES, LazyGroup

HEAVY = ("aiohttp", "coincurve", "eth_abi", "eth_account", "httpx", "pyrage", "sqlalchemy", "web3")
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


def test_what_a_group_says_of_its_commands_is_what_they_say() -> None:
    assert LINES.read_text() == lines(), "run `python scripts/cli_reference.py`"


def test_every_command_that_a_module_has_is_found_under_its_group() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, LazyGroup)
    root.load_all()
    found = dict(groups(root))
    assert found.keys() == GROUPS.keys()
    for path, group in found.items():
        own = [name for module in GROUPS[path].modules for name in VERBS[f"leasehold.cli.{module}"]]
        below = [words.rpartition(" ")[2] for words in GROUPS if words and words.rpartition(" ")[0] == path]
        assert list(group.commands) == own + below
        for name, command in group.commands.items():
            assert command.name == name
            assert not command.hidden
            assert not command.deprecated


def test_every_module_with_commands_stands_under_a_group() -> None:
    folder = LINES.parent
    modules = {module for group in GROUPS.values() for module in group.modules}
    files = {path.relative_to(folder).with_suffix("") for path in folder.rglob("[!_]*.py")}
    assert modules == {".".join(path.parts) for path in files}


def groups(group: LazyGroup, path: str = "") -> Iterator[tuple[str, LazyGroup]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, LazyGroup):
            yield from groups(command, f"{path} {name}".strip())


@pytest.mark.parametrize(
    "words", [("--help",), ("provider", "--help"), ("--nonsense",), ("pool", "nonsense")], ids=" ".join
)
def test_help_imports_nothing_of_the_chain(words: tuple[str, ...]) -> None:
    assert imported_by(*words) == []


@pytest.mark.parametrize("line", ["leasehold ", "leasehold va", "leasehold validator st", "leasehold --"])
def test_completion_imports_nothing_of_the_chain(line: str) -> None:
    told = {"_LEASEHOLD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert imported_by(**told) == []
