"""What the shell is offered where a name belongs that this computer knows. Reads files, asks nobody, never fails."""

from __future__ import annotations

import json
import os
from pathlib import Path

import typer

from leasehold.chain import Keystore

DEFAULT_HOME = Path("~/.config/leasehold")


def known_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of groups in the address book that begin so."""
    try:
        known = json.loads((_home(ctx) / "groups.json").read_text())["groups"]
        return sorted(name for name in map(str, known) if name.startswith(incomplete))
    except (OSError, ValueError, KeyError, TypeError):
        return []


def known_wallets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of wallets that begin so."""
    names = (each.name for each in Keystore(_home(ctx) / "keys").list())
    return [name for name in names if name.startswith(incomplete)]


def _home(ctx: typer.Context) -> Path:
    given = ctx.find_root().params.get("home") or os.environ.get("LEASEHOLD_HOME") or DEFAULT_HOME
    return Path(str(given)).expanduser()
