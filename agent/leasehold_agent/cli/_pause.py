"""`pause`: nothing new is sold, and what ending the leases that run would cost."""

from __future__ import annotations

import asyncio
import json
import time

from rich.table import Table

from leasehold.chain import Lease, LeaseState, Pool, cost, format_lease
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent.chain import owner_of
from leasehold_agent.cli._console import Json, terminal
from leasehold_agent.cli._pool import all_cells, in_service, leases_here, opened_pool
from leasehold_agent.host import load_identity


def pause(as_json: Json = False) -> None:
    """Give me my card back: sell nothing more, and show what ending the leases that run would cost."""
    asyncio.run(_pause(load_settings(), as_json))


async def _pause(settings: AgentSettings, as_json: bool) -> None:
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        machines = await in_service(pool, identity.operator.address, owner_of(settings))
        for machine in machines:
            await pool.withhold(machine.id, all_cells(machine))
        leases = await leases_here(pool, settings)
        now = await pool.now()
        costs = [(lease, await _penalty(pool, lease, now)) for lease in leases]
        symbol, decimals = pool.deployment.token_symbol, pool.deployment.token_decimals
    if as_json:
        shown = [{"lease": format_lease(lease.id), "end": lease.end, "penalty": p} for lease, p in costs]
        print(json.dumps({"machines": [m.id for m in machines], "leases": shown}))
        return
    console = terminal()
    console.print(
        f"Withheld: machine {', '.join(str(m.id) for m in machines) or 'none'}. Nothing new is rented."
    )
    if not costs:
        console.print("No lease runs: the host is yours.")
        return
    table = Table("lease", "ends", f"ending it costs ({symbol})")
    for lease, penalty in costs:
        ends = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(lease.end))
        table.add_row(format_lease(lease.id), ends, f"{penalty / 10**decimals:,.6f}")
    console.print(table)
    named = " ".join(format_lease(lease.id) for lease, _ in costs)
    console.print(f"To end them, where the owner's key is:  leasehold provider terminate {named}")


async def _penalty(pool: Pool, lease: Lease, now: int) -> int:
    """What `terminate` takes from the provider's ledger: price × the lesser of penaltySeconds and the
    time cut off.
    """
    if lease.spot or lease.state is not LeaseState.ACTIVE or lease.noticed:
        return 0
    params = await pool.params(lease.params)
    cut = max(0, lease.end - now - params.notice_seconds)
    return cost(lease.price, lease.cells, min(params.penalty_seconds, cut))
