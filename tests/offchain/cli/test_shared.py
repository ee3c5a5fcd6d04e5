"""How a command is made of an async function and of the options that it shares with others."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from leasehold.cli import app
from leasehold.cli._command import ANSWERS, FOR_ACCOUNT, OF_GROUP, PROPOSES, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import Globals
from leasehold.market import InvalidInput


@dataclass(frozen=True)
class Size:
    """Two options in one parameter."""

    width: Annotated[int, typer.Option("--width", min=1)] = 1
    height: Annotated[int, typer.Option("--height")] = 2


ran: list[tuple[Invocation, object]] = []


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def build(
    call: Invocation, what: Annotated[str, typer.Argument()], *, deep: bool = False, size: Size
) -> int:
    """Build something."""
    ran.append((call, (what, deep, size)))
    return 7


@shared(ANSWERS | WALLET | OF_GROUP)
async def look(call: Invocation) -> None:
    """Look at it."""
    ran.append((call, ()))
    if call.wallet == "none":
        raise InvalidInput("There is nothing to look at: build something.")


tool = typer.Typer()
for each in (build, look):
    tool.command()(each)


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


def test_a_command_gets_its_invocation_its_own_options_and_those_of_a_dataclass() -> None:
    words = "build it --deep --width 3 --for-account 0x1 --wallet ada --dry-run --json"
    result = CliRunner().invoke(tool, words.split())
    ((call, own),) = ran
    assert result.exit_code == 7
    assert own == ("it", True, Size(3, 2))
    assert (call.name, call.wallet, call.dry_run, call.out.as_json, call.out.yes) == (
        "build", "ada", True, True, False,
    )  # fmt: skip
    assert (call.group, call.account, call.proposal) == (None, "0x1", None)
    assert call.given == Globals()


def test_a_proposal_asks_nothing_and_a_group_is_looked_at_by_the_same_name() -> None:
    assert (
        CliRunner().invoke(tool, ["build", "it", "--as-group", "lab", "--proposal", "p.json"]).exit_code == 7
    )
    assert CliRunner().invoke(tool, ["look", "--as-group", "lab"]).exit_code == 0
    (built, _), (looked, _) = ran
    assert (built.group, built.account, built.proposal) == ("lab", None, Path("p.json"))
    assert built.out.yes
    assert (looked.group, looked.proposal) == ("lab", None)
    assert (
        CliRunner().invoke(tool, ["look", "--as-group", ""]).exit_code == 0
    )  # an unset variable is no own account
    assert ran[-1][0].group == ""


def test_an_error_is_a_sentence_and_an_option_that_is_not_taken_is_none() -> None:
    failed = CliRunner().invoke(tool, ["look", "--wallet", "none"])
    assert (failed.exit_code, failed.stderr) == (2, "There is nothing to look at: build something.\n")
    for option in ("--dry-run", "--yes", "--for-account", "--proposal"):
        refused = CliRunner().invoke(tool, ["look", option])
        assert refused.exit_code == 2
        assert "No such option" in refused.stderr
    with pytest.raises(AssertionError, match="typo"):
        shared(ANSWERS | {"typo"})


def test_what_typer_sees_is_the_commands_own_and_then_the_shared_options_in_one_order() -> None:
    assert list(inspect.signature(build).parameters) == [
        "ctx", "what", "deep", "width", "height",
        "for_account", "as_group", "as_safe", "proposal", "wallet", "password_file", "dry_run", "yes", "as_json",
    ]  # fmt: skip
    assert (build.__name__, build.__doc__, build.__module__) == ("build", "Build something.", __name__)
    assert not hasattr(build, "__wrapped__")
    assert not inspect.iscoroutinefunction(build)


@pytest.mark.parametrize("command", ["close 1", "leases"])
def test_the_shell_completes_the_shared_options_and_their_values(command: str, tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"groups": {"lab": {}, "labour": {}, "other": {}}}')
    for typed, offered in (("--as-group lab", ["lab", "labour"]), ("--wal", ["--wallet"])):
        words = f"leasehold {command} {typed}"
        environment = {
            "LEASEHOLD_HOME": str(tmp_path),
            "_LEASEHOLD_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        result = CliRunner(env=environment).invoke(app, prog_name="leasehold")
        assert result.stdout.split() == offered
