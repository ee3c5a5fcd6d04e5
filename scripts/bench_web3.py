"""What is done by hand beside web3.py, and what web3.py costs over our nodes: why each is as it is
(docs/decisions/0170-web3-and-what-is-by-hand.md).

`web3.read`: reads of a struct a second by a binding, over web3.py's `contract.functions.params(…).call()` at the same
node. `web3.given`: the same call through `pool.w3`, which fails over and checks answers, over web3.py with its own
provider. `web3.imports`: what has to be imported to read the chain, over the same with web3.py; milliseconds of
processor time. All take turns, and the medians count. How fast past events are read is `watcher.past_events`.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from web3 import AsyncHTTPProvider, AsyncWeb3

import leasehold
from devnet.anvil import Anvil
from devnet.contracts import deploy_fast

CALLS = 200
ROUNDS = 7
READ_GOAL = 2.0
GIVEN_GOAL = 0.7
IMPORTS_GOAL = 0.8
READING = "from leasehold.chain import Deployment, Pool, Rpc"


def run() -> list[dict[str, Any]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder, Anvil() as chain:
        deployment = deploy_fast(chain.url, Path(folder))
        return [*asyncio.run(_reads(chain, deployment, Path(folder))), _imports()]


async def _reads(chain: Anvil, deployment: Path, home: Path) -> list[dict[str, Any]]:
    provider = AsyncHTTPProvider(chain.url)
    async with leasehold.connect(deployment, rpc=chain.url, home=home) as pool:
        given = await pool.contract("Controller")
        plain = AsyncWeb3(provider).eth.contract(address=given.address, abi=given.abi)
        ways: Mapping[str, Callable[[], Awaitable[object]]] = {
            "ours": lambda: pool.pool.params(1),
            "given": lambda: given.functions.params(1).call(),
            "web3": lambda: plain.functions.params(1).call(),
        }
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, read in ways.items():
                rates[name].append(await _rate(read))
    await provider.disconnect()
    median = {name: statistics.median(rate) for name, rate in rates.items()}
    return [
        _row("web3.read", "web3.py's contract call", median["ours"], median["web3"], READ_GOAL),
        _row("web3.given", "web3.py's own provider", median["given"], median["web3"], GIVEN_GOAL),
    ]


async def _rate(read: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    for _ in range(CALLS):
        await read()
    return CALLS / (time.perf_counter() - begun)


def _row(name: str, other: str, ours: float, reference: float, least: float) -> dict[str, Any]:
    ratio = ours / reference
    return {
        "name": name,
        "ours": round(ours),
        "reference": round(reference),
        "ratio": round(ratio, 2),
        "goal": f">= {least:g} x {other}, reads/s",
        "ok": ratio >= least,
    }


def _imports() -> dict[str, Any]:
    without, with_web3 = [], []
    for _ in range(ROUNDS):
        without.append(_seconds(READING))
        with_web3.append(_seconds(f"{READING}; import web3"))
    mine, theirs = 1_000 * statistics.median(without), 1_000 * statistics.median(with_web3)
    return {
        "name": "web3.imports",
        "ours": round(mine),
        "reference": round(theirs),
        "ratio": round(mine / theirs, 2),
        "goal": f"<= {IMPORTS_GOAL:g} x the same and web3.py, ms",
        "ok": mine / theirs <= IMPORTS_GOAL,
    }


def _seconds(code: str) -> float:
    """Of processor time, the interpreter's start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    for row in run():
        print(row)
