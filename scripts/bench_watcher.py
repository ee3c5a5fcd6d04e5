"""Benchmarks of the watcher: how fast the past is read, and how soon the present is heard of.

`watcher.past_events`: events per second from an empty database until the last of 100,000 events is committed with the
cursor, over web3.py's `contract.events.X.get_logs` for the same events on the same node. The two take turns, each turn
gives a ratio and the median of these counts, so that a noisy machine disturbs both alike. web3.py reads an eighth at a
time: it is linear, and so takes as long as ours takes for all.

`watcher.live_latency`: from the frame that announces a block until the consumer holds the block's events, more than a
bare WebSocket client of the same node needs for the same frame; milliseconds, 99th percentile.
"""

import asyncio
import json
import statistics
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

from eth_utils.address import to_checksum_address
from web3 import HTTPProvider, Web3
from websockets.asyncio.client import ClientConnection, connect

from devnet.anvil import Anvil
from devnet.emitter import Emitter
from leasehold.chain import Applied, Deployment, EventWatcher, Indexer, Rpc

EVENTS = 100_000
PER_TRANSACTION = 1_000
PARTS = 8  # that web3.py reads one at a time
ROUNDS = 7
RATIO_GOAL = 17.0
LIVE_BLOCKS = 300
LATENCY_GOAL_MS = 10.0
GAS_LIMIT = 1_000_000_000
ABI = Path(__file__).resolve().parents[1] / "offchain/leasehold/chain/_generated/abi/Controller.json"


def run() -> list[dict[str, Any]]:
    """The rows of the table."""
    with Anvil(args=["--gas-limit", str(GAS_LIMIT)]) as chain:
        past = asyncio.run(past_events(chain))
        live = asyncio.run(live_latency(chain))
    return [past, live]


async def past_events(chain: Anvil) -> dict[str, Any]:
    emitter = Emitter(chain)
    for _ in range(EVENTS // PER_TRANSACTION):
        emitter.emit(*range(1, PER_TRANSACTION + 1), gas=100_000_000)
    last = chain.block_number
    ours, reference = [], []
    for turn in range(ROUNDS):
        reference.append(await asyncio.to_thread(_web3_rate, chain, turn))
        ours.append(await _index_rate(chain, last))
    ratio = statistics.median(mine / theirs for mine, theirs in zip(ours, reference, strict=True))
    return {
        "name": "watcher.past_events",
        "ours": round(statistics.median(ours)),
        "reference": round(statistics.median(reference)),
        "ratio": round(ratio, 2),
        "goal": f">= {RATIO_GOAL:g} x web3.py's get_logs, events/s",
        "ok": ratio >= RATIO_GOAL,
    }


async def _index_rate(chain: Anvil, last: int) -> float:
    deployment = Deployment(
        chain_id=chain.chain_id,
        genesis=chain.genesis,
        factory=Emitter.address,
        accounts=Emitter.address,
        controller=Emitter.address,
        token=Emitter.address,
        block=1,
        token_symbol="T",
        token_decimals=18,
    )
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        url = f"sqlite:///{folder}/index.db"
        async with Rpc([chain.url]) as rpc, Indexer(url, deployment) as index:
            watcher = EventWatcher(rpc, None, [Emitter.address], 1)
            begun = time.perf_counter()
            running = asyncio.create_task(index.run(watcher))
            await index.reached(last)
            seconds = time.perf_counter() - begun
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            moved = (await index.balances())["0x" + "22" * 20]
    expected = EVENTS // PER_TRANSACTION * sum(range(1, PER_TRANSACTION + 1))
    if moved != expected:
        raise RuntimeError(f"the index lost events: {moved} of {expected}")
    return EVENTS / seconds


def _web3_rate(chain: Anvil, turn: int) -> float:
    node = Web3(HTTPProvider(chain.url))
    contract = node.eth.contract(
        address=to_checksum_address(Emitter.address), abi=json.loads(ABI.read_text())
    )
    blocks = EVENTS // PER_TRANSACTION // PARTS
    first = 1 + turn % PARTS * blocks
    begun = time.perf_counter()
    logs = contract.events.Transferred.get_logs(from_block=first, to_block=first + blocks - 1)
    seconds = time.perf_counter() - begun
    if len(logs) != blocks * PER_TRANSACTION:
        raise RuntimeError(f"web3.py found {len(logs)} events")
    return len(logs) / seconds


async def live_latency(chain: Anvil) -> dict[str, Any]:
    emitter = Emitter(chain)
    bare: dict[str, float] = {}
    ours: dict[str, float] = {}
    sent: dict[str, float] = {}
    async with (
        connect(chain.ws_url) as socket,
        Rpc([chain.url]) as rpc,
        EventWatcher(rpc, chain.ws_url, [Emitter.address], chain.block_number) as watcher,
        aclosing(watcher.batches()) as batches,
    ):
        await socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
        await socket.recv()
        await anext(batches)  # the past
        reading = asyncio.create_task(_read_frames(socket, bare, LIVE_BLOCKS))
        for n in range(LIVE_BLOCKS):
            begun = time.perf_counter()
            mining = asyncio.create_task(asyncio.to_thread(emitter.emit, n))
            item = (await anext(batches))[-1]
            arrived = time.perf_counter()
            await mining
            if not isinstance(item, Applied) or len(item.events) != 1:
                raise RuntimeError(f"block {item.block.number} came without its event")
            ours[item.block.hash] = arrived
            sent[item.block.hash] = begun
        await reading
    extra = [1_000 * (ours[block] - bare[block]) for block in ours]
    plain = [1_000 * (bare[block] - sent[block]) for block in ours]
    p99 = statistics.quantiles(extra, n=100)[98]
    plain_p99 = statistics.quantiles(plain, n=100)[98]
    return {
        "name": "watcher.live_latency",
        "ours": round(p99, 2),
        "reference": round(plain_p99, 2),
        "ratio": round(p99 / plain_p99, 2),
        "goal": f"p99 <= {LATENCY_GOAL_MS:g} ms after a bare read (reference: send to bare read, ms)",
        "ok": p99 <= LATENCY_GOAL_MS,
    }


async def _read_frames(socket: ClientConnection, arrivals: dict[str, float], count: int) -> None:
    while len(arrivals) < count:
        frame = await socket.recv()
        now = time.perf_counter()
        arrivals[json.loads(frame)["params"]["result"]["hash"]] = now


if __name__ == "__main__":
    for row in run():
        print(row)
