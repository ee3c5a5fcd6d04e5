"""The status file: what `leasehold-agent status` shows, written by the agent that runs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leasehold.chain import format_lease
from leasehold.files import replace_file
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.chain import PROVE_TIME, ChainSnapshot, GasState
from leasehold_agent.documents._footing import lacks_at_work
from leasehold_agent.host import Card, CardReading
from leasehold_agent.reconciling import DockerRuntime, Host

NAME = "status.json"


async def write_status(
    host: Host, runtime: DockerRuntime, gas: GasState | None, lacks: Sequence[str] = ()
) -> None:
    """Write the file whole; a reader never sees half of it. lacks: sentences on what is missing of the agent itself."""
    known = set(host.leases.folders()) | host.snapshot.leases.keys()
    handles = [handle for lease in sorted(known) if (handle := await runtime.lookup(lease)) is not None]
    document = {
        "at": int(time.time()),
        "current": host.snapshot.current,
        "block": host.snapshot.block,
        "nodes": len(set(host.facts.settings.rpc)),
        "chain_time": host.snapshot.now,
        "machines": [
            {
                "machine": machine.id,
                "gpus": machine.gpus,
                "leased": machine.leased,
                "withheld": machine.withheld,
                "stalled": machine.stalled,
                "down_since": machine.down_since or None,
                **sign_of_life(host.snapshot, machine.id),
                "delisted": machine.delisted,
            }
            for machine in host.snapshot.machines.values()
        ],
        "cards": [_card(host, card) for card in host.facts.inventory.gpus],
        "idle": list(host.idle.shown()),
        "strangers": list(host.snapshot.strangers),
        "leases": [_shown(handle) for handle in handles],
        "lacks": [*filter(None, [host.estranged]), *lacks, *lacks_at_work(host.facts.engine)],
        "gas": {**asdict(gas), "leases": gas.leases, "warning": gas.warning} if gas else None,
    }
    replace_file(host.facts.settings.state_dir / NAME, json.dumps(document, default=asdict).encode())


def sign_of_life(chain: ChainSnapshot, machine: int) -> dict[str, Any]:
    """Whether somebody waits for a sign of life; and if it came too late, until when anybody may prove that."""
    asked = chain.asked.get(machine)
    late = asked is not None and asked.until < chain.now <= asked.until + PROVE_TIME
    return {
        "challenged": asked is not None and chain.now <= asked.until,
        "provable_until": asked.until + PROVE_TIME if asked is not None and late else None,
    }


def read_status(state_dir: Path) -> dict[str, Any] | None:
    """What the agent last wrote, or None if it never ran here."""
    try:
        return dict(json.loads((state_dir / NAME).read_text()))
    except FileNotFoundError:
        return None


def _card(host: Host, card: Card) -> dict[str, object]:
    """A card that is here, what it said last, and what ails it."""
    reading = host.facts.readings.get(card.uuid_hash, CardReading())
    ailment = host.facts.ill.get(card.uuid_hash)
    return {
        "model": card.model,
        "pci": card.pci,
        "uuid_hash": card.uuid_hash,
        "temperature": reading.temperature,
        "busy": reading.busy,
        "memory_used": reading.memory_used,
        "memory_bytes": card.memory_bytes,
        "power_watts": reading.power_watts,
        "ailment": asdict(ailment) if ailment else None,
    }


def _shown(handle: LeaseHandle) -> dict[str, object]:
    shown = {field: value for field, value in vars(handle).items() if field != "ssh_keys"}
    return {**shown, "lease": format_lease(handle.lease)}
