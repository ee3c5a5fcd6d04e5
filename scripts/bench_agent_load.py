"""What the agent itself costs its host while fifty leases run: processor and memory of it and of its sentinel. And what
it costs their tenant to watch them.

The reference is what one core gives in the same time, and what such a program may take of a small host;
both are counted by the kernel for the processes, so that a busy machine does not disturb them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil

import bench_top
from bench_agent import Bench
from devnet import images
from devnet.patience import patient
from devnet.world import PASSWORD, Host, World
from leasehold import Home
from leasehold.chain import Consent, Rpc
from leasehold.files import write_private
from leasehold.market import canonical
from leasehold.workload import Workload, load_workload

LEASES, UNITS = 50, 8
SECONDS = 60
CPU_GOAL, MEMORY_GOAL = 0.03, 200.0
_MIB = 1 << 20


def run() -> list[dict[str, Any]]:
    """The rows: a core's part, and MiB."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        cpu, memory, top = asyncio.run(_run(Path(folder, "world")))
    return [
        top,
        {
            "name": "agent.cpu_50",
            "ours": round(cpu, 4),
            "reference": 1.0,
            "ratio": round(cpu, 4),
            "goal": f"< {CPU_GOAL} of a core, with {LEASES} leases",
            "ok": cpu < CPU_GOAL,
        },
        {
            "name": "agent.memory_50",
            "ours": round(memory),
            "reference": MEMORY_GOAL,
            "ratio": round(memory / MEMORY_GOAL, 2),
            "goal": f"< {MEMORY_GOAL:g} MiB, with {LEASES} leases",
            "ok": memory < MEMORY_GOAL,
        },
    ]


async def _run(folder: Path) -> tuple[float, float, dict[str, Any]]:
    with World(folder) as world:
        tiny = images.tiny()
        images.load(world.engine.url, tiny)
        # As a provider starts it: what is forked of a process that has imported everything shares its memory.
        host = world.host("provider", cpu_units=UNITS, tick_seconds=3.0, confirmations=12)
        host.nursery = None
        described = json.loads(host.describe(world.anvil.accounts[1].address).read_text())
        signed = described["consent"]
        consent = Consent(signed["deadline"], bytes.fromhex(signed["proof"][2:]))
        world.fund(described["operator"])
        async with Rpc([world.anvil.url]) as rpc:
            bench = Bench(world, host, rpc, described["contact"]["age_recipient"], tiny.id)
            contact = canonical(described["contact"])
            await bench.join(described, consent, UNITS, sha256(contact).digest())
            with world.running(host):
                host.serving()
                for _ in range(LEASES):
                    world.anvil.request("eth_sendRawTransaction", await bench.prepared(_workload(tiny.id), 1))
                await asyncio.to_thread(host.until, lambda: _started(host) >= LEASES, patient(300))
                cpu, memory = await _measured(host)
                return cpu, memory, await asyncio.to_thread(bench_top.row, await _tenant(world, described))


async def _tenant(world: World, described: Mapping[str, Any]) -> dict[str, str]:
    """The environment of whoever has the leases, with their key, and their machine's documents at hand."""
    party = world.party("tenant")
    home = Home(party.home)
    key = bytes.fromhex(world.anvil.accounts[2].key.removeprefix("0x"))
    await home.keystore.new("tenant", PASSWORD, key=key)
    for raw in map(canonical, (described["hardware"], described["contact"])):
        write_private(home.documents / f"{sha256(raw).hexdigest()}.json", raw)
    return dict(party.environment)


def _workload(image: str) -> Workload:
    return load_workload({"version": 1, "image": image, "command": ["sleep", "3600"], "grace": 0})


def _started(host: Host) -> int:
    return len({step.line["lease"] for step in host.steps if step.line.get("event") == "started"})


async def _measured(host: Host) -> tuple[float, float]:
    """The part of a core that they use over a minute, and their memory at its end, what they share counted once."""
    assert host.process is not None
    agent = psutil.Process(host.process.pid)
    await asyncio.sleep(SECONDS / 4)  # what the starts have left to do is not what fifty leases cost
    before, began = _cpu(agent), time.monotonic()
    await asyncio.sleep(SECONDS)
    used, seconds = _cpu(agent) - before, time.monotonic() - began
    return used / seconds, sum(each.memory_full_info().pss for each in _all(agent)) / _MIB


def _cpu(agent: psutil.Process) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in _all(agent))


def _all(agent: psutil.Process) -> list[psutil.Process]:
    return [agent, *agent.children(recursive=True)]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(json.dumps(run(), indent=2))
