"""What is made of the commands themselves: docs/reference/cli.md, and the lines that help says of each.

    python scripts/cli_reference.py

A test compares both with the commands, so that neither can fall behind.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import typer

from leasehold.cli._app import app
from leasehold.cli._command import VERBS
from leasehold.cli._completion import DEFAULT_HOME
from leasehold.cli._lazy import GROUPS, LINES
from leasehold.cli._run import EXIT_CODES
from leasehold.cli._settings import Settings

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/cli.md"

INTRODUCTION = """\
# The command line

Made from the commands by `python scripts/cli_reference.py`; do not edit.

* stdout holds the answer: a table, a line, or with `--json` one JSON document and nothing else. Progress, questions
  and warnings go to stderr.
* Amounts are whole tokens with decimals (`2.5`), exact in both directions; in JSON they are strings. Durations are
  written `90m`, `2h`, `1h30m`, `3d`; in JSON they are seconds, and times are unix seconds.
* A lease is `12`, or from the second use of its slot on `12.1`; in JSON `number` is its id on chain.
* Before money moves, a command shows what it will cost and what comes back when, and asks. `--yes` answers;
  `--dry-run` shows and sends nothing. With `--json`, only `--yes` and `--approve` agree to anything unasked.
* With `--as-group NAME` a command sends nothing: it writes a proposal, which so many of the group's signers approve
  (`group approve`) and anybody then sends (`group execute`). With `--for-account ADDRESS` it acts as that account's
  delegate. Either pays from that account's ledger alone.
* With `--gasless URL --most-fee AMOUNT`, before the command, a gateway sends what the wallet signs and is paid for it
  out of the account's ledger, as everything is then: for a wallet without the chain's coin.
* A wallet's password is asked for at the terminal, or read from `--password-file`, or from `LEASEHOLD_PASSWORD`.
* An error is one sentence on stderr that says what to do next. `--debug`, before the command, prints the traceback.
* `leasehold --install-completion` installs completion for bash, zsh, fish or PowerShell.
"""

MEANINGS = {
    "home": "keys, index, documents and sessions",
    "deployment": "the pool's file",
    "rpc": "nodes of the chain, the preferred first; with commas between in the environment",
    "ws": "a node's WebSocket, for programs that go on listening",
    "ipfs": "API of your own IPFS node, as a multiaddr",
    "wallet": "the usual wallet's name",
    "password": "the wallet's password",
    "docker_config": "what `docker login` has left: read to find private images, and given to no machine",
    "documents_timeout": "seconds to wait for one machine's document",
    "gasless": "a gateway that sends what your wallet signs, where it has no coin for gas",
    "most_fee": "what that gateway may take out of your ledger for one transaction, in whole tokens",
}


class Parameter(Protocol):
    """What is needed of an option or argument."""

    name: str
    opts: list[str]
    secondary_opts: list[str]
    param_type_name: str
    metavar: str | None
    help: str | None
    required: bool
    default: object
    hidden: bool
    is_flag: bool


class Command(Protocol):
    """What is needed of a command or group."""

    help: str | None
    params: list[Parameter]


class CommandGroup(Command, Protocol):
    commands: dict[str, Command]

    def load_all(self) -> None: ...


def reference() -> str:
    """The page."""
    root = cast(CommandGroup, typer.main.get_command(app))
    root.load_all()
    parts = [
        INTRODUCTION,
        _settings(),
        _exit_codes(),
        "## Before the command\n",
        _table(root),
        *_commands(root, "leasehold"),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _settings() -> str:
    lines = [
        "## Settings\n",
        "What stands before the command wins over the environment, which wins over "
        f"`{DEFAULT_HOME}/config.toml` "
        "(`$LEASEHOLD_HOME/config.toml`).\n",
        "| in config.toml | in the environment | meaning | default |",
        "|---|---|---|---|",
    ]
    for field in fields(Settings):
        name, default = field.name, field.default
        shown = ", ".join(default) if isinstance(default, tuple) else "" if default is None else str(default)
        code = f"`{shown}`" if shown else ""
        lines.append(f"| `{name}` | `LEASEHOLD_{name.upper()}` | {MEANINGS[name]} | {code} |")
    return "\n".join(lines) + "\n"


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    note = "`exec` and `ssh` leave with the exit code of what ran on the lease."
    return "\n".join(["## Exit codes\n", "| code | meaning |", "|---|---|", *rows, "", note]) + "\n"


def _commands(group: CommandGroup, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        full = f"{path} {name}"
        if hasattr(command, "commands"):
            yield f"## `{full}`\n"
            yield f"{_said(command)}\n"
            yield from _commands(cast(CommandGroup, command), full)
            continue
        yield f"### `{full}`\n"
        yield f"{_said(command)}\n"
        arguments = [
            parameter.metavar or parameter.name.upper()
            for parameter in command.params
            if parameter.param_type_name == "argument"
        ]
        yield f"```\n{' '.join([full, '[OPTIONS]', *arguments])}\n```\n"
        if table := _table(command):
            yield table


def _said(command: Command) -> str:
    return inspect.cleandoc(command.help or "")


def _table(command: Command) -> str:
    rows = [
        f"| {_spelled(parameter)} | {_help(parameter)} |"
        for parameter in command.params
        if not parameter.hidden and parameter.name not in ("help", "install_completion", "show_completion")
    ]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n" if rows else ""


def _spelled(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} `{(parameter.metavar or 'TEXT').replace('|', ' or ')}`"


def _help(parameter: Parameter) -> str:
    text = (parameter.help or "").replace("|", "\\|").replace("\n", " ")
    if parameter.param_type_name == "option" and parameter.required:
        return f"{text} Required."
    if isinstance(parameter.default, str | int) and not parameter.is_flag and parameter.default != "":
        return f"{text} Default: `{parameter.default}`."
    return text


def lines() -> str:
    """What `lines.json` holds: of each group and module, the commands and the first paragraph of each one's help."""
    told = {
        path: {module: _paragraphs(f"leasehold.cli.{module}") for module in group.modules}
        for path, group in GROUPS.items()
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _paragraphs(module: str) -> dict[str, str]:
    import_module(module)
    texts = {name: inspect.cleandoc(verb.function.__doc__ or "") for name, verb in VERBS[module].items()}
    return {name: text.split("\n\n")[0].replace("\n", " ") for name, text in texts.items()}


if __name__ == "__main__":
    LINES.write_text(lines())
    PAGE.write_text(reference())
