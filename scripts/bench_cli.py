"""How soon the command line answers, beside an empty Typer application of the same environment.

`cli.help`: `leasehold --help`. `cli.machines`: `leasehold machines` over a local pool of some machines, with an index
that is at the head of its chain and the machines' documents at hand. Each takes turns with the empty application's
`--help`, and the medians count; milliseconds from start to end.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from devnet.anvil import Anvil
from devnet.contracts import deploy_fast
from devnet.pool import PoolChain
from leasehold import Home
from leasehold.chain import Deployment, Rpc, Terms
from leasehold.files import write_private
from leasehold.market import canonical

ROUNDS = 15
HELP_GOAL = 1.3
MACHINES_GOAL = 3.0
MACHINES = 6
EMPTY = """
import typer
app = typer.Typer()
@app.callback()
def main() -> None: ...
app()
"""
LEASEHOLD = (sys.executable, "-c", "from leasehold.cli import main; main()")
TERMS = Terms(
    price=2 * 10**18,
    spot_price=0,
    min_duration=60,
    max_duration=30 * 86_400,
    trial=300,
    available_until_day=60_000,
)
HARDWARE = {
    "version": 1,
    "gpus": [{"model": "NVIDIA H100 80GB HBM3", "memory_bytes": 85_520_809_984}] * 2,
    "cpu": {"model": "AMD EPYC 9454", "cores": 48},
    "memory_bytes": 1_080_000_000_000,
    "disk": {"bytes": 3_800_000_000_000, "quota": True},
}
CONTACT = {
    "version": 1,
    "endpoints": ["https://127.0.0.1:1"],
    "certificate": "none",
    "age_recipient": "age1q",
}


def run() -> list[dict[str, Any]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder, Anvil() as chain:
        home, deployment = Path(folder, "home"), deploy_fast(chain.url, Path(folder))
        environment = {
            **os.environ,
            "LEASEHOLD_HOME": str(home),
            "LEASEHOLD_DEPLOYMENT": str(deployment),
            "LEASEHOLD_RPC": chain.url,
        }
        asyncio.run(_stock(chain, Deployment.load(deployment), Home(home)))
        _seconds([*LEASEHOLD, "machines"], environment)  # the index is warm from here on
        answer = subprocess.run(
            [*LEASEHOLD, "machines", "gpu:H100", "--json"], env=environment, check=True, capture_output=True
        )
        assert len(json.loads(answer.stdout)) == MACHINES, answer
        return [
            _row("cli.help", ["--help"], environment, HELP_GOAL),
            _row("cli.machines", ["machines"], environment, MACHINES_GOAL),
        ]


async def _stock(anvil: Anvil, deployment: Deployment, home: Home) -> None:
    """Put machines into the pool, and their documents into the home."""
    digests = []
    for document in (HARDWARE, CONTACT):
        raw = canonical(document)
        digests.append(sha256(raw).digest())
        write_private(home.documents / f"{digests[-1].hex()}.json", raw)
    async with Rpc([anvil.url]) as rpc:
        chain = PoolChain(anvil, deployment, rpc)
        await chain.token(1).approve(deployment.controller)
        for operator in range(2, 2 + MACHINES):
            consent = await chain.consent(1, chain.signer(operator))
            await chain.pool(1).register(TERMS, 2, 1, *digests, chain.address(operator), consent)


def _row(name: str, words: Sequence[str], environment: Mapping[str, str], goal: float) -> dict[str, Any]:
    ours, reference = [], []
    for _ in range(ROUNDS):
        reference.append(_seconds([sys.executable, "-c", EMPTY, "--help"], environment))
        ours.append(_seconds([*LEASEHOLD, *words], environment))
    mine, theirs = 1_000 * statistics.median(ours), 1_000 * statistics.median(reference)
    return {
        "name": name,
        "ours": round(mine),
        "reference": round(theirs),
        "ratio": round(mine / theirs, 2),
        "goal": f"<= {goal:g} x an empty Typer application, ms",
        "ok": mine / theirs <= goal,
    }


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    for row in run():
        print(row)
