"""The reference pages say what the code does."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from typer.testing import CliRunner

import leasehold
from cli_reference import reference
from leasehold.cli import app
from leasehold.cli._run import EXIT_CODES
from leasehold.errors import LeaseholdError
from leasehold.market import MACHINES, TENANTS, parse_search

DOCS = Path(__file__).parents[3] / "docs" / "reference"


def test_the_command_lines_page_is_made_from_the_commands() -> None:
    page = (DOCS / "cli.md").read_text()
    assert page == reference(), "run `python scripts/cli_reference.py`"


def test_the_query_page_lists_every_field_and_its_examples_parse() -> None:
    page = (DOCS / "query.md").read_text()
    for field in MACHINES.fields.values():
        assert f"| `{field.name}` | {field.kind.value} | {field.meaning} |" in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for field in TENANTS.fields.values():
        assert f"| `{field.name}` | {field.kind.value} | {field.meaning} |" in page
    assert len(rows) == len(MACHINES.fields) + len(TENANTS.fields) + 3  # and the operators
    for example in ("gpu:H100 mem>=80 price<2.5 verified:yes cpu>=8 disk>=100 country:DE", 'gpu:"RTX 4090"'):
        assert example in page
        parse_search(example)


def test_every_error_has_an_exit_code_of_the_table() -> None:
    def below(kind: type[LeaseholdError]) -> set[int]:
        return {kind.exit_code}.union(*map(below, kind.__subclasses__()))

    for module in pkgutil.walk_packages(leasehold.__path__, "leasehold."):
        importlib.import_module(module.name)
    assert below(LeaseholdError) <= set(EXIT_CODES)


def test_help_is_there_for_everybody() -> None:
    said = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"}).invoke(app, ["rent", "--help"])
    assert said.exit_code == 0
    assert "--allow-unverified" in said.output
    completion = CliRunner(env={"SHELL": "/bin/bash"}).invoke(app, ["--show-completion", "bash"])
    # bash may be asked for by name, or found by looking at the parent process: where no shell is above us, it says so.
    assert completion.exit_code in (0, 2) or "not supported" in completion.output
