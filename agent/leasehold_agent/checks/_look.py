"""All checks, side by side: as long as the slowest of them, and no longer than that may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leasehold_agent._config import AgentSettings
from leasehold_agent.checks._finding import Finding
from leasehold_agent.checks._outside import Effort, Outside, ask_peer, name_of
from leasehold_agent.checks._parts import (
    judge_egress,
    judge_network,
    judge_ports,
    look_at_cards,
    look_at_chain,
    look_at_disk,
    look_at_engine,
    look_at_ipfs,
    look_at_resolvers,
)
from leasehold_agent.checks._ports import listening
from leasehold_agent.documents import Measurements, read_status
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import Inventory, default_address

_STALE_SECONDS = 60


@dataclass(frozen=True)
class Checkup:
    """What was found, in the order of the parts, and measured."""

    findings: tuple[Finding, ...]
    measured: Measurements


async def look(
    settings: AgentSettings,
    inventory: Inventory,
    facts: EngineFacts | None,
    *,
    effort: Effort | None = None,
    now: Callable[[], float] = time.time,
) -> Checkup:
    """Try all parts of a host. facts: the engine's, or None where it does not answer. Nothing that is dead keeps it."""
    root = facts.root if facts is not None else settings.state_dir
    chain, ipfs, dns, (disk, pace), (reach, outside) = await asyncio.gather(
        look_at_chain(settings, now),
        look_at_ipfs(settings),
        look_at_resolvers(settings),
        asyncio.to_thread(look_at_disk, root, settings),
        _look_from_outside(settings, effort),
    )
    peer = name_of(settings.speed_peer) if settings.speed_peer else ""
    findings = (
        *look_at_cards(inventory),
        *(await _engine(settings, inventory, facts)),
        *disk,
        *chain,
        ipfs,
        dns,
        *reach,
        judge_egress(settings, default_address()),
        judge_network(outside, peer),
    )
    measured = Measurements(int(now()), pace)
    if outside is not None:
        measured = Measurements(int(now()), pace, outside.down, outside.up, peer)
    return Checkup(findings, measured)


async def _engine(settings: AgentSettings, inventory: Inventory, facts: EngineFacts | None) -> list[Finding]:
    if facts is None:
        text = f"The Docker engine at {settings.docker} does not answer: start it, or correct `docker`."
        return [Finding("engine", "bad", text)]
    return await asyncio.to_thread(look_at_engine, facts, inventory)


async def _look_from_outside(
    settings: AgentSettings, effort: Effort | None
) -> tuple[list[Finding], Outside | None]:
    """The ports, with something that listens on each, and the speed."""
    serving = _serves(settings.state_dir)
    async with listening(settings.listen, _ports_of(settings, serving=serving)) as held:
        outside = None
        if settings.speed_peer:
            outside = await ask_peer(settings.speed_peer, held.ports, effort)
    return judge_ports(held, outside, serving=serving, peer=name_of(settings.speed_peer)), outside


def _serves(state_dir: Path) -> bool:
    """Whether an agent runs here, by when it last said so."""
    status = read_status(state_dir)
    return status is not None and time.time() - status["at"] < _STALE_SECONDS


def _ports_of(settings: AgentSettings, *, serving: bool) -> list[int]:
    """Those that renters need; of those that are published for leases the first and the last, where that is here. Not
    while an agent serves: a lease that begins could be given one, and would not get it.
    """
    published = [settings.first_port, settings.last_port]
    here = settings.engine_netns is None and settings.ports_host in ("", settings.public_host)
    return [settings.api_port, settings.ssh_port, *(published if here and not serving else [])]
