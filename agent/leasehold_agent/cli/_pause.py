"""`pause`: nothing new is sold, and what ending the leases that run would cost."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.chain import Lease, LeaseState, Machine, Pool, cost, format_lease
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent.chain import owner_of
from leasehold_agent.cli._console import Json, terminal
from leasehold_agent.cli._pool import (
    back_on_sale,
    in_service,
    leases_here,
    opened_pool,
    set_aside,
    would_be_set_aside,
)
from leasehold_agent.host import load_identity

if TYPE_CHECKING:
    from rich.console import Console


def pause(
    as_json: Json = False,
    undo: Annotated[bool, typer.Option("--undo", help="Sell again what `pause` took out of sale.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what it would do and what ending leases costs; send nothing."),
    ] = False,
) -> None:
    """Give me my card back: sell nothing more, and show what ending the leases that run would cost."""
    do = _undo if undo else _pause
    asyncio.run(do(load_settings(), as_json, dry_run=dry_run))


@dataclass(frozen=True)
class _Ending:
    """A lease that runs, and what ending it would take from the provider's ledger, token units."""

    lease: Lease
    penalty: int


async def _pause(settings: AgentSettings, as_json: bool, *, dry_run: bool) -> None:
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        machines = await in_service(pool, identity.operator.address, owner_of(settings))
        leases, now = await leases_here(pool, settings), await pool.now()
        endings = [_Ending(lease, await _penalty(pool, lease, now)) for lease in leases]
        for machine in machines if not dry_run else ():
            await set_aside(pool, settings, machine, "paused", undo=False)
    if as_json:
        shown = [
            {"lease": format_lease(e.lease.id), "end": e.lease.end, "penalty": e.penalty} for e in endings
        ]
        print(json.dumps({"machines": [m.id for m in machines], "leases": shown, "sent": not dry_run}))
        return
    _show(terminal(), pool, machines, endings, dry_run=dry_run)


async def _undo(settings: AgentSettings, as_json: bool, *, dry_run: bool) -> None:
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        machines = await in_service(pool, identity.operator.address, owner_of(settings))
        undoing = would_be_set_aside if dry_run else set_aside
        left = {
            machine.id: await undoing(pool, settings, machine, "paused", undo=True) for machine in machines
        }
    if as_json:
        still = {str(machine): list(out.reasons) for machine, out in left.items()}
        print(json.dumps({"machines": list(left), "still": still, "sent": not dry_run}))
        return
    for machine, out in left.items():
        terminal().print(f"Machine {machine} {back_on_sale(out)}", markup=False)
    if dry_run:
        terminal().print("That is how it would be. Nothing was sent.")


def _show(
    console: Console, pool: Pool, machines: list[Machine], endings: list[_Ending], *, dry_run: bool
) -> None:
    from rich.table import Table

    named = ", ".join(str(machine.id) for machine in machines) or "none"
    console.print(
        f"Would be withheld: machine {named}. Nothing was sent."
        if dry_run
        else f"Withheld: machine {named}. Nothing new is rented."
    )
    if not endings:
        console.print("No lease runs: the host is yours.")
        return
    symbol, decimals = pool.deployment.token_symbol, pool.deployment.token_decimals
    table = Table("lease", "ends", f"ending it costs ({symbol})")
    for ending in endings:
        ends = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(ending.lease.end))
        table.add_row(format_lease(ending.lease.id), ends, f"{ending.penalty / 10**decimals:,.6f}")
    console.print(table)
    console.print("Until then their tenants may extend them, but for leases that were given notice.")
    leases = " ".join(format_lease(ending.lease.id) for ending in endings)
    console.print(f"To end them, where the owner's key is:  leasehold provider terminate {leases}")


async def _penalty(pool: Pool, lease: Lease, now: int) -> int:
    """What `terminate` takes from the provider's ledger: price × the lesser of penaltySeconds and the
    time cut off.
    """
    if lease.spot or lease.state is not LeaseState.ACTIVE or lease.noticed:
        return 0
    params = await pool.params(lease.params)
    cut = max(0, lease.end - now - params.notice_seconds)
    return cost(lease.price, lease.cells, min(params.penalty_seconds, cut))
