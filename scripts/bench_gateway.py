"""What a gateway of 10,000 machines and 100,000 leases gives: searches against a constant, beside 1,000 listeners.

Everything runs on one machine, the generator too. The mix of searches: half are drawn from twenty that everybody
asks, half have a bound that nobody had before, so that no answer is remembered; 50 machines a page. A block with events
comes every second, after which nothing is remembered of the one before.

- `gateway.search`: searches a second over 16 connections, over those that the same application gives of a constant.
- `gateway.search_p99_ms`: of 200 searches a second, while 1,000 WebSockets listen to all machines.
- `gateway.update_s`: the slowest of the listeners, from a block's being given to the index, over all blocks meanwhile.
- `gateway.memory_mib`: at the end; and it may not have grown by more than a quarter since the load began.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import psutil
from websockets.asyncio.client import connect

MACHINES, LEASES = 10_000, 100_000
LISTENERS, RATE = 1_000, 200
CONNECTIONS = 16
TURNS, TURN_SECONDS, LOAD_SECONDS = 5, 3.0, 20.0
MOST_MIB, MOST_GROWTH = 700, 1.25
SEED = 20_261_124

POPULAR = (
    "", "gpu:H100", "gpu:A100", "gpu:4090", "gpu:H100 verified:yes", "gpu:A100 mem>=80", "mem>=40", "mem>=80 price<2.5",
    "country:DE", "country:US gpu:H100", "free>=1", "free>=2 gpu:H100", "gpus>=8", "verified:yes price<2",
    "class:h100-80g", "image:pytorch", "state:free", "state:free gpu:RTX", "cpu>=8 disk>=100", "-country:US gpu:H200",
)  # fmt: skip
SORTS = ("price", "-mem", "-gpus", "id")


def run() -> list[dict[str, Any]]:
    """The rows."""
    return asyncio.run(_rows())


async def _rows() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        async with _serving(Path(folder)) as (process, port):
            ratios = [await _ratio(port, turn) for turn in range(TURNS)]
            searches, constants, ratio = sorted(ratios, key=lambda turn: turn[2])[TURNS // 2]
            process.stdin.write(b"go\n")
            before = _mib(process.pid)
            p99, update = await _beside_listeners(port)
            after = _mib(process.pid)
    return [
        {"name": "gateway.search", "ours": round(searches), "reference": round(constants), "ratio": round(ratio, 3),
         "goal": "≥ 0.5 of a constant's", "ok": ratio >= 0.5},
        {"name": "gateway.search_p99_ms", "ours": round(p99 * 1_000, 1), "reference": None, "ratio": None,
         "goal": f"< 50, at {RATE}/s beside {LISTENERS:,} listeners", "ok": p99 < 0.05},
        {"name": "gateway.update_s", "ours": round(update, 3), "reference": None, "ratio": None,
         "goal": "< 1, the slowest listener", "ok": update < 1},
        {"name": "gateway.memory_mib", "ours": round(after), "reference": round(before),
         "ratio": round(after / before, 2),
         "goal": f"< {MOST_MIB}, ≤ {MOST_GROWTH} of before the load",
         "ok": after < MOST_MIB and after <= before * MOST_GROWTH},
    ]  # fmt: skip


@asynccontextmanager
async def _serving(folder: Path) -> AsyncIterator[tuple[Any, int]]:
    command = [Path(__file__).with_name("bench_gateway_serving.py"), folder, str(MACHINES), str(LEASES)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process, int(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()


def _mib(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss / 2**20)


def _search(chance: random.Random) -> str:
    if chance.random() < 0.5:
        text = chance.choice(POPULAR)
    else:
        text = f"{chance.choice(POPULAR)} price<{chance.uniform(0.5, 9):.6f}".strip()
    return f"/api/v1/machines?q={quote(text)}&sort={chance.choice(SORTS)}&limit=50"


class Connection:
    """One that is kept, as a reverse proxy keeps it: a client that costs less than what it measures."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))

    async def get(self, path: str) -> bytes:
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return await self._reader.readexactly(int(length.partition(b":")[2]))

    def close(self) -> None:
        self._writer.close()


async def _ratio(port: int, turn: int) -> tuple[float, float, float]:
    """Searches and constants a second, one after the other, and what the one is of the other."""
    chance = random.Random(SEED + turn)
    constants = await _rate(port, lambda: "/constant")
    searches = await _rate(port, lambda: _search(chance))
    return searches, constants, searches / constants


async def _rate(port: int, path: Any) -> float:
    ends, count = time.monotonic() + TURN_SECONDS, 0

    async def ask() -> None:
        nonlocal count
        connection = await Connection.open(port)
        while time.monotonic() < ends:
            await connection.get(path())
            count += 1
        connection.close()

    began = time.monotonic()
    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    return count / (time.monotonic() - began)


async def _beside_listeners(port: int) -> tuple[float, float]:
    """p99 of the searches, and the slowest update, both in seconds."""
    slowest, began = list[float](), time.monotonic_ns()
    opened = asyncio.Semaphore(50)

    async def listen(ready: asyncio.Barrier) -> None:
        async with opened:
            socket = await connect(f"ws://127.0.0.1:{port}/api/v1/live", compression=None, open_timeout=60)
        async with socket:
            await socket.send('{"subscribe":["block","machines"]}')
            await ready.wait()
            async for frame in socket:
                now, told = time.monotonic_ns(), orjson.loads(frame)
                given = int(told["block"]["hash"], 16) if told.get("topic") == "block" else 0
                if given > began:  # what it is told at first is where the market stands
                    slowest.append((now - given) / 1e9)

    ready = asyncio.Barrier(LISTENERS + 1)
    listening = [asyncio.create_task(listen(ready)) for _ in range(LISTENERS)]
    await ready.wait()
    slowest.clear()
    took = await _searched(port)
    for task in listening:
        assert not task.done(), task.exception()
        task.cancel()
    await asyncio.gather(*listening, return_exceptions=True)
    assert len(slowest) >= LISTENERS * LOAD_SECONDS / 4, "the listeners were told of too few blocks"
    return sorted(took)[int(len(took) * 0.99)], max(slowest)


async def _searched(port: int) -> list[float]:
    """How long each search took from when it was due: one that waits for a connection waits, too."""
    chance, took = random.Random(SEED), list[float]()
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await Connection.open(port))

    async def ask(due: float) -> None:
        connection = await free.get()
        await connection.get(_search(chance))
        took.append(time.monotonic() - due)
        free.put_nowait(connection)

    began = time.monotonic()
    async with asyncio.TaskGroup() as asking:
        for turn in range(int(RATE * LOAD_SECONDS)):
            due = began + turn / RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            asking.create_task(ask(due))
    while not free.empty():
        free.get_nowait().close()
    return took
