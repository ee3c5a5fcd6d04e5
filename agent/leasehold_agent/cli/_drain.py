"""`drain`: no new leases."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent.chain import owner_of
from leasehold_agent.cli._console import terminal
from leasehold_agent.cli._pool import (
    back_on_sale,
    in_service,
    leases_here,
    opened_pool,
    set_aside,
    would_be_set_aside,
)
from leasehold_agent.host import load_identity


def drain(
    undo: Annotated[bool, typer.Option("--undo", help="Take new leases again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return once no lease is left.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it would do; send nothing, and wait for nothing.")
    ] = False,
) -> None:
    """Take no new leases; those that run go on to their end."""
    settings = load_settings()
    asyncio.run(_would_drain(settings, undo) if dry_run else _drain(settings, undo, wait))


async def _would_drain(settings: AgentSettings, undo: bool) -> None:
    identity, console = load_identity(settings.state_dir), terminal()
    async with opened_pool(settings, identity) as pool:
        for machine in await in_service(pool, identity.operator.address, owner_of(settings)):
            left = await would_be_set_aside(pool, settings, machine, "drained", undo=undo)
            console.print(
                f"Machine {machine.id} {back_on_sale(left) if undo else 'takes no new leases.'}", markup=False
            )
        running = len(await leases_here(pool, settings))
    console.print(f"That is how it would be; {running} leases go on to their end. Nothing was sent.")


async def _drain(settings: AgentSettings, undo: bool, wait: bool) -> None:
    console = terminal()
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        for machine in await in_service(pool, identity.operator.address, owner_of(settings)):
            left = await set_aside(pool, settings, machine, "drained", undo=undo)
            console.print(
                f"Machine {machine.id} {back_on_sale(left) if undo else 'takes no new leases.'}", markup=False
            )
        while wait and await leases_here(pool, settings):  # noqa: ASYNC110 - the chain is polled
            await asyncio.sleep(settings.tick_seconds)
