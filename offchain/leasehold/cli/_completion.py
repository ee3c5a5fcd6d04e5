"""What the shell is offered where a name belongs that this computer knows. Reads files, asks nobody, never fails.

Every command imports this, and a shell waits while it runs: what the chain's modules know is imported where it is used.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

DEFAULT_HOME = Path("~/.config/leasehold")  # as `leasehold.connect` has it, which is not imported for this


def known_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of groups in the address book that begin so."""
    try:
        known = json.loads((_home(ctx) / "groups.json").read_text())["groups"]
        return sorted(name for name in map(str, known) if name.startswith(incomplete))
    except (OSError, ValueError, KeyError, TypeError):
        return []


def known_wallets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of wallets that begin so."""
    from leasehold import Home

    names = (wallet.name for wallet in Home(_home(ctx)).keystore.list())
    return [name for name in names if name.startswith(incomplete)]


def known_leases(ctx: typer.Context, incomplete: str) -> list[str]:
    """Leases that the index has, by name and by number, the newest first."""
    return _leases(ctx, incomplete, live=None)


def running_leases(ctx: typer.Context, incomplete: str) -> list[str]:
    """Those that hold cells: what is over can be closed no more."""
    return _leases(ctx, incomplete, live=True)


def ended_leases(ctx: typer.Context, incomplete: str) -> list[str]:
    """Those that are over."""
    return _leases(ctx, incomplete, live=False)


def known_labels(ctx: typer.Context, incomplete: str) -> list[str]:
    """Labels that some lease has."""
    kept = [tag.get("labels", {}) for tag in _tags(ctx).values()]
    texts = {f"{word}={value}" for labels in kept for word, value in labels.items()}
    return sorted(text for text in texts if text.startswith(incomplete))


def _leases(ctx: typer.Context, incomplete: str, *, live: bool | None) -> list[str]:
    from leasehold import LeaseState, format_lease

    states = [int(state) for state in LeaseState if live is None or state.live is live]
    numbers = _newest(ctx, "lease", f"WHERE state IN ({', '.join(map(str, states))})")
    tags = _tags(ctx)
    names = {
        str(tags[str(number)]["name"]): None for number in numbers if tags.get(str(number), {}).get("name")
    }
    return [text for text in (*names, *map(format_lease, numbers)) if text.startswith(incomplete)]


def _tags(ctx: typer.Context) -> dict[str, dict[str, Any]]:
    """What leases are called, by their numbers on chain, in whichever pool."""
    tags: dict[str, dict[str, Any]] = {}
    for path in (_home(ctx) / "names").glob("*.json"):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            tags |= json.loads(path.read_text()).get("lease", {})
    return tags


def known_params(ctx: typer.Context, incomplete: str) -> list[str]:
    """What `pool propose` sets, up to the equals sign."""
    from leasehold import Params

    return [f"{field.name}=" for field in fields(Params) if field.name.startswith(incomplete)]


def _newest(ctx: typer.Context, kind: str, where: str = "") -> list[int]:
    """Numbers of a kind in the index as the last command left it, the newest first. kind: one of the above. where: what
    holds of their newest rows.
    """
    import sqlite3

    from leasehold import Home

    path = Home(_home(ctx)).index
    if not path.exists():
        return []
    newest = f"SELECT *, max(place) FROM chain_{kind}s GROUP BY {kind}"
    query = f"SELECT {kind} FROM ({newest}) {where} ORDER BY {kind} DESC LIMIT 100"
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as index:
            return [int(row[0]) for row in index.execute(query)]
    except sqlite3.Error:
        return []


def _numbers(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """What offers the numbers of a kind that the index has."""

    def known(ctx: typer.Context, incomplete: str) -> list[str]:
        return [text for text in map(str, _newest(ctx, kind)) if text.startswith(incomplete)]

    return known


known_machines, known_faults, known_rounds, known_seats = map(_numbers, ("machine", "fault", "round", "seat"))


def _home(ctx: typer.Context) -> Path:
    given = ctx.find_root().params.get("home") or os.environ.get("LEASEHOLD_HOME") or DEFAULT_HOME
    return Path(str(given)).expanduser()
