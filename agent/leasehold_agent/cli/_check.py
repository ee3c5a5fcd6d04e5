"""`check`: whether this host can serve, part by part."""

from __future__ import annotations

import asyncio
import json

import typer

from leasehold.errors import AgentError
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent.checks import Checkup, Finding, State, look, worst
from leasehold_agent.cli._console import Json, terminal
from leasehold_agent.documents import keep_measured
from leasehold_agent.engine import Engine, EngineFacts, engine_answers
from leasehold_agent.host import take_inventory

_COLOURS: dict[State, str] = {"ok": "green", "warning": "yellow", "bad": "red"}
_ENGINE_SECONDS = 10


def check(as_json: Json = False) -> None:
    """Try what a host needs: driver, engine, disk, chain, clock, IPFS, names, ports, speed; and say how to mend it.

    Ends with 1 where something is bad, which costs leases or stake.
    """
    looked = asyncio.run(_check(load_settings()))
    if as_json:
        findings = [finding.document() for finding in looked.findings]
        print(json.dumps({"check": findings, "measured": looked.measured.document()}))
    else:
        for finding in looked.findings:
            show(finding)
    if worst(looked.findings) == "bad":
        raise typer.Exit(1)


def show(finding: Finding, *, stderr: bool = False) -> None:
    """One line."""
    console, colour = terminal(stderr=stderr), _COLOURS[finding.state]
    console.print(f"[{colour}]{finding.state:7}[/{colour}]", end=" ")
    console.print(f"{finding.name}: {finding.text}", markup=False)


async def _check(settings: AgentSettings) -> Checkup:
    inventory = await asyncio.to_thread(take_inventory)
    looked = await look(settings, inventory, await _facts(settings.docker))
    if settings.state_dir.is_dir():
        keep_measured(settings.state_dir, looked.measured)
    return looked


async def _facts(url: str) -> EngineFacts | None:
    """The engine's, or None where it does not answer: for that no call is waited for as long as at work."""
    if not await engine_answers(url):
        return None
    engine = Engine(url, call_seconds=_ENGINE_SECONDS)
    try:
        return await engine.facts()
    except AgentError:
        return None
    finally:
        await engine.aclose()
