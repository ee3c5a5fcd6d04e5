"""`report`: word that the host goes down, and that it is back."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent.chain import owner_of
from leasehold_agent.cli._console import terminal
from leasehold_agent.cli._pool import in_service, opened_pool
from leasehold_agent.engine import Engine
from leasehold_agent.host import load_identity


def report(
    undo: Annotated[bool, typer.Option("--undo", help="The host is back: end the outage now.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show for which machines, and what they have at stake; send nothing."),
    ] = False,
) -> None:
    """Say that this host is down from now on, before you take it down: half of what it costs to be found out.

    Tenants pay nothing from then on. The agent ends the outage when it is next started.
    """
    if dry_run:
        asyncio.run(_would(load_settings(), undo))
        return
    question = (
        "An outage that you report costs 2 % of each machine's stake up to 7 minutes, 4 % up to 48 hours, 30 % up to "
        "120 hours and 50 % beyond, outages of the last week counted together. Report one?"
    )
    if not (undo or yes) and not typer.confirm(question, err=True):
        raise typer.Exit(1)
    asyncio.run(_end_outages(load_settings()) if undo else _report(load_settings()))


async def _would(settings: AgentSettings, undo: bool) -> None:
    """What the chain would be told of each machine."""
    identity, console = load_identity(settings.state_dir), terminal()
    async with opened_pool(settings, identity) as pool:
        unit = 10**pool.deployment.token_decimals
        for machine in await in_service(pool, identity.operator.address, owner_of(settings)):
            stake = (
                f"{machine.stake / unit:,.6f}".rstrip("0").rstrip(".") + f" {pool.deployment.token_symbol}"
            )
            if undo:
                said = "would be back." if machine.down else "is not down."
            else:
                said = (
                    "is down already."
                    if machine.down
                    else f"would be down from now on, with {stake} at stake."
                )
            console.print(f"Machine {machine.id} {said}", markup=False)
    console.print("Nothing was sent.")


async def _report(settings: AgentSettings) -> None:
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        faults = await pool.faults()
        for machine in await in_service(pool, identity.operator.address, owner_of(settings)):
            if machine.down:
                terminal().print(f"Machine {machine.id} is down already.")
                continue
            fault, _ = await faults.report_outage(machine.id)
            terminal().print(
                f"Machine {machine.id} is down from now on (fault {fault}). The agent ends the outage when it is "
                "next started, or you with `leasehold-agent report --undo`."
            )


async def _end_outages(settings: AgentSettings) -> None:
    """Only where the engine answers: the word that a host is back is believed."""
    identity, engine = load_identity(settings.state_dir), Engine(settings.docker)
    try:
        await engine.facts()
    finally:
        await engine.aclose()
    async with opened_pool(settings, identity) as pool:
        faults = await pool.faults()
        for machine in await in_service(pool, identity.operator.address, owner_of(settings)):
            if machine.down:
                await faults.recover(machine.id)
                terminal().print(f"Machine {machine.id} is back.")
