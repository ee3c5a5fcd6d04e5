"""What the shell is offered where a name belongs that this computer knows.

Every command imports this, and a shell waits while it runs: what knows the home is imported when it is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from leasehold.home import Glimpse

DEFAULT_HOME = Path("~/.config/leasehold")  # as `leasehold.home` has it, which is not imported for this
Completing = Callable[[typer.Context, str], list[str]]


def _offering(known: Callable[[Glimpse], Iterable[str]]) -> Completing:
    """What is offered of these: those that begin with what was typed."""

    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        from leasehold.home import Glimpse

        given = ctx.find_root().params.get("home") or os.environ.get("LEASEHOLD_HOME") or DEFAULT_HOME
        words = known(Glimpse(Path(str(given)).expanduser()))
        return [word for word in words if word.startswith(incomplete)]

    return offered


def _params(glimpse: Glimpse) -> list[str]:
    """What `pool propose` sets, up to the equals sign."""
    from leasehold import Params

    return [f"{field.name}=" for field in fields(Params)]


known_params = _offering(_params)
known_groups = _offering(lambda glimpse: glimpse.groups())
known_wallets = _offering(lambda glimpse: glimpse.wallets())
known_labels = _offering(lambda glimpse: glimpse.labels())
known_leases = _offering(lambda glimpse: glimpse.leases())
running_leases = _offering(lambda glimpse: glimpse.leases(live=True))
ended_leases = _offering(lambda glimpse: glimpse.leases(live=False))
known_machines = _offering(lambda glimpse: map(str, glimpse.newest("machine")))
known_faults = _offering(lambda glimpse: map(str, glimpse.newest("fault")))
known_rounds = _offering(lambda glimpse: map(str, glimpse.newest("round")))
known_seats = _offering(lambda glimpse: map(str, glimpse.newest("seat")))
