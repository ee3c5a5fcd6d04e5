"""The gateway under load: 10,000 machines and 100,000 leases, searches of a stated mix, a thousand who listen.

The server is a process of its own with a real index on SQLite, and the tasks that a gateway has; every second comes a
block in which twenty leases end and twenty begin. Who searches and who listens are two more processes, on the same two
cores. Searches are compared with a constant of the same size from the same application in the same run.

The index is filled from events once, and kept in `build/bench-gateway` for the next run. What a machine that other
people use at the time adds is in the absolute figures: `python scripts/bench.py gateway` measures them again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

ROUNDS: Final = 3
CONNECTIONS: Final = 16
KEPT: Final = Path("build/bench-gateway")
SERVER: Final = Path(__file__).with_name("gateway_of_size.py")
EARS: Final = Path(__file__).with_name("gateway_ears.py")


@dataclass(frozen=True)
class GatewayLoad:
    """What the gateway bears. rate: searches a second while all listen, for `seconds`. round_seconds: of each turn in
    which as many searches are answered as can be.
    """

    machines: int = 10_000
    leases: int = 100_000
    listeners: int = 1_000
    rate: int = 200
    seconds: float = 12.0
    round_seconds: float = 3.0


def search(rng: random.Random) -> str:
    """One of the mix: what kind of card, and up to six conditions, each with its own share of the searches."""
    terms = (
        (0.6, lambda: f"gpu:{rng.choice(('H100', 'A100', '4090', 'L40S', 'H200,H100'))}"),
        (0.5, lambda: f"price<{rng.randint(20, 400) / 100}"),
        (0.3, lambda: f"mem>={rng.choice((24, 40, 48, 80))}"),
        (0.3, lambda: f"country:{rng.choice(('DE', 'US', 'DE,FR'))}"),
        (0.3, lambda: "cpu>=32"),
        (0.2, lambda: "state:free"),
        (0.2, lambda: "image:pytorch"),
        (0.2, lambda: f"uptime>{rng.randint(90, 99)}"),
    )
    query = " ".join(term() for share, term in terms if rng.random() < share)
    sort = rng.choice(("price", "price", "-price", "-mem", "id", "-free"))
    return "/api/v1/machines?" + urlencode({"q": query, "sort": sort, "limit": "20"})


def filled(load: GatewayLoad, place: Path = KEPT) -> Path:
    """The folder of such an index, from an earlier run or made now."""
    from leasehold.chain import SCHEMA

    told = f"{SCHEMA} {load.machines} {load.leases}".encode() + SERVER.read_bytes()
    kept = place / hashlib.sha256(told).hexdigest()[:16]
    if not kept.exists():
        shutil.rmtree(place, ignore_errors=True)
        command = [sys.executable, str(SERVER), "fill", str(kept), str(load.machines), str(load.leases)]
        subprocess.run(command, check=True)
    return kept


# ---------------------------------------------------------------------------------------------------- the generator


class _Caller:
    """One kept connection; HTTP as far as it takes to read one answer after another."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)

    async def get(self, path: str) -> int:
        """The answer's status."""
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: gateway\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await self._reader.readexactly(int(length.split(b":")[1]))
        return int(head[9:12])

    def close(self) -> None:
        self._writer.close()


async def _callers(port: int, count: int) -> list[_Caller]:
    callers = [_Caller(port) for _ in range(count)]
    for caller in callers:
        await caller.open()
    return callers


async def _throughput(callers: list[_Caller], paths: Iterator[str], seconds: float) -> float:
    """Answers a second, all connections busy."""
    begun, count = time.monotonic(), 0

    async def call(caller: _Caller) -> None:
        nonlocal count
        while time.monotonic() < begun + seconds:
            assert await caller.get(next(paths)) == 200
            count += 1

    await asyncio.gather(*map(call, callers))
    return count / (time.monotonic() - begun)


async def _paced(callers: list[_Caller], paths: Iterator[str], load: GatewayLoad) -> list[float]:
    """Seconds of each of so many searches, from when it was due: a queue before the server counts."""
    free: asyncio.Queue[_Caller] = asyncio.Queue()
    for caller in callers:
        free.put_nowait(caller)
    taken: list[float] = []

    async def call(due: float) -> None:
        caller = await free.get()
        assert await caller.get(next(paths)) == 200
        taken.append(time.monotonic() - due)
        free.put_nowait(caller)

    start, calls = time.monotonic(), []
    for number in range(int(load.rate * load.seconds)):
        due = start + number / load.rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        calls.append(asyncio.create_task(call(due)))
    await asyncio.gather(*calls)
    return taken


@contextmanager
def _listening(port: int, count: int) -> Iterator[Callable[[], dict[str, Any]]]:
    """Those who listen; what is given ends them, and says what they heard."""
    command = [sys.executable, str(EARS), str(port), str(count)]
    ears = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert ears.stdin is not None
    assert ears.stdout is not None

    def ended() -> dict[str, Any]:
        assert ears.stdin is not None
        assert ears.stdout is not None
        ears.stdin.close()
        said: dict[str, Any] = json.loads(ears.stdout.readline())
        return said

    try:
        assert ears.stdout.readline() == b"all listen\n"
        yield ended
    finally:
        ears.kill()
        ears.wait()
        ears.stdout.close()


async def _compared(
    port: int, paths: Iterator[str], constant: Iterator[str], seconds: float
) -> tuple[float, float]:
    """Searches a second, and constants, in turns."""
    callers = await _callers(port, CONNECTIONS)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        theirs.append(await _throughput(callers, constant, seconds))
        ours.append(await _throughput(callers, paths, seconds))
    for caller in callers:
        caller.close()
    return sorted(ours)[ROUNDS // 2], sorted(theirs)[ROUNDS // 2]


async def _paced_calls(port: int, paths: Iterator[str], load: GatewayLoad) -> list[float]:
    callers = await _callers(port, CONNECTIONS)
    taken = await _paced(callers, paths, load)
    for caller in callers:
        caller.close()
    return taken


def _measured(port: int, folder: Path, load: GatewayLoad) -> dict[str, float]:
    rng = random.Random(3)
    paths, constant = iter(lambda: search(rng), ""), iter(lambda: "/constant", "")
    ours, theirs = asyncio.run(_compared(port, paths, constant, load.round_seconds))
    with _listening(port, load.listeners) as ended:
        taken = sorted(asyncio.run(_paced_calls(port, paths, load)))
        heard = ended()
    commits = [line.split() for line in (folder / "commits").read_text().splitlines()]
    updates = [heard["last"][n] - float(at) for n, at in commits if n in heard["last"]]
    if heard["gone"] or not updates:
        raise RuntimeError(f"{heard['gone']} who listen were let go, and {len(updates)} blocks reached all")
    return {
        "ours": ours,
        "constant": theirs,
        "p50": taken[len(taken) // 2] * 1e3,
        "p99": taken[int(len(taken) * 0.99)] * 1e3,
        "update": max(updates),
    }


def _resident(pid: int) -> float:
    """MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def run(load: GatewayLoad = GatewayLoad(), place: Path = KEPT) -> Iterator[dict[str, Any]]:
    """The rows of `make bench`. place: where the filled index is kept."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8_192)), hard))
    kept = filled(load, place)
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name) / "gateway", _free_port()
        shutil.copytree(kept, folder)
        server = subprocess.Popen(
            [sys.executable, str(SERVER), "serve", str(folder), str(port), str(load.machines)]
        )
        try:
            _wait(server, port)
            figures = _measured(port, folder, load)
            memory = _resident(server.pid)
        finally:
            server.kill()
            server.wait()
    ratio = figures["ours"] / figures["constant"]
    yield {"name": "gateway.search", "ours": figures["ours"], "reference": figures["constant"], "ratio": ratio,
           "goal": ">= 0.5 of a constant", "ok": ratio >= 0.5}  # fmt: skip
    for row, figure, most in (
        ("gateway.search_p99_ms", figures["p99"], 50.0),
        ("gateway.update_s", figures["update"], 1.0),
        ("gateway.memory_mib", memory, 600.0),
    ):
        yield {"name": row, "ours": figure, "reference": None, "ratio": None, "goal": f"< {most:g}",
               "ok": figure < most}  # fmt: skip


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as place:
        return int(place.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    """Until it answers."""
    import socket

    while server.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.2)
    raise RuntimeError("the gateway of the benchmark ended by itself")


if __name__ == "__main__":
    for row in run():
        print(row)
