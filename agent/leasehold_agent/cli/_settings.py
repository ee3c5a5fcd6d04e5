"""`settings`: what is in force, where it came from, and what else could be set."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from leasehold_agent._config import load_settings
from leasehold_agent._config_file import another_owns, config_file, places, settings_file
from leasehold_agent._config_text import DEFAULT, in_force, sample
from leasehold_agent.cli._console import Json, terminal


def settings(
    as_sample: Annotated[
        bool, typer.Option("--sample", help="Print an agent.toml with every setting, explained.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the settings in force and where each came from. The agent reads them once, when it starts."""
    if as_sample:
        print(sample(), end="")
        return
    settings = in_force(load_settings())
    if as_json:
        print(
            json.dumps(
                {setting.name: {"value": setting.value, "from": setting.origin} for setting in settings}
            )
        )
        return
    width = max(len(setting.name) for setting in settings)
    for setting in settings:  # whole lines: what is folded in two cannot be copied
        style = "dim" if setting.origin == DEFAULT else None
        line = f"{setting.name.ljust(width)}  {setting.value or 'not set'}  ({setting.origin})"
        terminal().print(line, style=style, markup=False)
    terminal().print(_read(), markup=False)


def _read() -> str:
    if settings_file() is not None:
        return f"Read from {config_file()}."
    passed = [str(path) for path in places() if path.exists() and another_owns(path)]
    over = f" {passed[0]} is passed over: it is another account's." if passed else ""
    return f"No file was read; write {config_file()}, for which `leasehold-agent settings --sample` prints one.{over}"
