"""The gateway under load: 10,000 machines and 100,000 leases, searches of a stated mix, a thousand who listen.

The server is a process of its own with a real index on SQLite, filled from events; every second comes a block in which
twenty leases end and twenty begin. The generator shares the two cores with it. Searches are compared with a constant
of the same size from the same application in the same run.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

MACHINES: Final = 10_000
LEASES: Final = 100_000
LISTENERS: Final = 1_000
RATE: Final = 200  # searches a second
SECONDS: Final = 12.0
ROUND_SECONDS: Final = 3.0
ROUNDS: Final = 3
CONNECTIONS: Final = 16
CHANGED: Final = 20  # leases that end, and that begin, in a block
BATCH: Final = 1_000  # blocks of one commit
UNIT: Final = 10**6
NOW: Final = 1_800_000_000
MODELS: Final = (
    ("NVIDIA H100 80GB HBM3", 85_520_809_984),
    ("NVIDIA A100-SXM4-80GB", 85_520_809_984),
    ("NVIDIA GeForce RTX 4090", 25_757_220_864),
    ("NVIDIA L40S", 48_305_799_168),
    ("NVIDIA H200", 150_754_820_096),
)


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


# ------------------------------------------------------------------------------------------------------- the server


def serve(folder: Path, port: int, machines: int, leases: int) -> None:
    """Fill the index, and serve until killed."""
    asyncio.run(_serve(folder, port, machines, leases))


async def _serve(folder: Path, port: int, machines: int, leases: int) -> None:
    import uvicorn
    from starlette.responses import Response

    from leasehold.chain import Indexer
    from leasehold.gateway import GatewaySettings, create_app
    from leasehold.gateway._documents import Documents
    from leasehold.gateway._figures import Figures
    from leasehold.gateway._following import _keep_what_stays
    from leasehold.gateway._gateway import Gateway
    from leasehold.gateway._hub import Hub
    from leasehold.gateway._limits import Places
    from leasehold.gateway._market import Market
    from leasehold.market import Money

    world = _World(folder, machines)
    settings = GatewaySettings(
        world.deployment, folder, calls=10**9, most_live=2 * LISTENERS, most_live_each=2 * LISTENERS
    )
    async with Indexer(settings.database_url, world.deployment) as index:
        for blocks in world.filled(leases):
            await index.apply(blocks)
        hub, money = Hub(), Money.of(world.deployment)
        documents = Documents(folder / "documents", world, money, 1.0)  # type: ignore[arg-type]  # never asked
        market = Market(index, documents, world, hub)  # type: ignore[arg-type]  # nor this
        await market.refresh()
        _keep_what_stays()
        places = Places(settings.most_live_each, settings.most_live)
        gateway = Gateway(settings, index, market, documents, world, hub, Figures(index), places)  # type: ignore[arg-type]

        @asynccontextmanager
        async def opening(_: GatewaySettings) -> AsyncIterator[Gateway]:
            yield gateway

        app = create_app(settings, opening=opening)
        constant = market.board.page("gpu:H100", "price", 20, None)

        @app.get("/constant")
        async def same() -> Response:
            return Response(constant, media_type="application/json")

        async def blocks_come() -> None:
            with (folder / "commits").open("w", buffering=1) as commits:
                while True:
                    await asyncio.sleep(1)
                    block = world.block()
                    await index.apply([block])
                    commits.write(f"{block.block.number} {time.monotonic()}\n")
                    await market.refresh()

        coming = asyncio.create_task(blocks_come())
        config = uvicorn.Config(
            app, port=port, log_level="error", access_log=False, ws_per_message_deflate=False, backlog=2_048
        )
        await uvicorn.Server(config).serve()
        coming.cancel()


class _World:
    """The pool's events, block by block."""

    def __init__(self, folder: Path, machines: int) -> None:
        from leasehold.chain import Deployment

        self.folder = folder
        self._machines = machines
        places = ("0x" + f"{n}" * 40 for n in range(1, 5))
        self.deployment = Deployment(31337, "0x" + "ab" * 32, *places, 1, "TUSD", 6)
        self._rng = random.Random(7)
        self._number = 0
        self._next = 1
        self._live: list[tuple[int, int]] = []
        self._documents = [self._keep(document) for document in _documents()]

    def _keep(self, document: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        from hashlib import sha256

        kept = []
        for raw in document:
            digest = sha256(raw).digest()
            path = self.folder / "documents" / f"{digest.hex()}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(raw)
            kept.append(digest)
        return kept[0], kept[1]

    def filled(self, leases: int) -> Iterator[list[Any]]:
        """All machines, then all leases but those that are to come, of which the last stay open."""
        blocks = [self._applied(self._joining(number)) for number in range(1, self._machines + 1)]
        yield from (blocks[at : at + BATCH] for at in range(0, len(blocks), BATCH))
        for _ in range(0, leases, BATCH):
            yield [
                self._applied([*self._opening(50), *(self._closing(50) if len(self._live) > 3_000 else [])])
                for _ in range(BATCH // 50)
            ]

    def block(self) -> Any:
        """The next block."""
        return self._applied([*self._closing(CHANGED), *self._opening(CHANGED)])

    def _applied(self, events: Iterable[tuple[Any, dict[str, Any]]]) -> Any:
        from leasehold.chain import Applied, Block, LogMeta

        self._number += 1
        digest = f"0x{self._number:064x}"
        block = Block(self._number, digest, NOW + self._number)
        return Applied(
            block,
            tuple(
                kind(
                    LogMeta(block.number, digest, digest, at, self.deployment.controller, block.timestamp),
                    **values,
                )
                for at, (kind, values) in enumerate(events)
            ),
        )

    def _joining(self, machine: int) -> list[tuple[Any, dict[str, Any]]]:
        from leasehold.chain import ContactSet, HardwareSet, MachineRegistered, Terms, TermsSet

        hardware, contact = self._rng.choice(self._documents)
        terms = Terms(self._rng.randint(UNIT // 5, 4 * UNIT), 0, 600, 86_400 * 30, 600, 60_000)
        provider = f"0x{machine // 5 + 1:040x}"
        return [
            (MachineRegistered, {"machine": machine, "provider": provider, "operator": provider, "gpus": 8,
             "smallest_share": 1, "stake": UNIT, "pulled": UNIT}),
            (TermsSet, {"machine": machine, "revision": 1, "params": 1, "terms": terms}),
            (HardwareSet, {"machine": machine, "revision": 1, "digest": hardware}),
            (ContactSet, {"machine": machine, "digest": contact}),
        ]  # fmt: skip

    def _opening(self, count: int) -> list[tuple[Any, dict[str, Any]]]:
        from leasehold.chain import LeaseOpened, LeaseStarted

        events: list[tuple[Any, dict[str, Any]]] = []
        for _ in range(count):
            lease, machine = self._next << 16, self._rng.randint(1, self._machines)
            self._next += 1
            self._live.append((lease, machine))
            events.append(
                (LeaseOpened, {"lease": lease, "machine": machine, "tenant": f"0x{lease >> 20:040x}",
                 "placement": 1 << 8 + self._rng.randrange(8) | 0xFF, "revision": 1, "params": 1, "price": UNIT,
                 "duration": 3_600, "deposit": UNIT, "pulled": UNIT, "workload": bytes(32), "flags": 0,
                 "backup": bytes(32)})
            )  # fmt: skip
            events.append(
                (LeaseStarted, {"lease": lease, "machine": machine, "start": NOW, "end": NOW + 3_600,
                 "endpoint": bytes(32)})
            )  # fmt: skip
        return events

    def _closing(self, count: int) -> list[tuple[Any, dict[str, Any]]]:
        from leasehold.chain import LeaseClosed

        ending, self._live = self._live[:count], self._live[count:]
        return [
            (LeaseClosed, {"lease": lease, "machine": machine, "end": NOW + 60, "paid": UNIT // 2, "fee": 0,
             "refunded": UNIT // 2})
            for lease, machine in ending
        ]  # fmt: skip


def _documents() -> Iterator[tuple[bytes, bytes]]:
    from leasehold.market import canonical

    for model, memory in MODELS:
        for cores, country in ((16, "DE"), (32, "US"), (48, "FR"), (96, "SE")):
            hardware = {
                "version": 1, "gpus": [{"model": model, "memory_bytes": memory}] * 8, "memory_bytes": cores * 8 * 10**9,
                "cpu": {"model": "AMD EPYC", "cores": cores}, "disk": {"bytes": 4 * 10**12, "quota": True},
                "runtimes": ["runc"],
            }  # fmt: skip
            contact = {
                "version": 1, "endpoints": [], "certificate": "", "age_recipient": "age1q",
                "images": [{"id": f"sha256:{cores}", "name": "pytorch/pytorch" if cores > 16 else "ubuntu"}],
                "location": {"country": country},
            }  # fmt: skip
            yield canonical(hardware), canonical(contact)  # type: ignore[arg-type]


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


async def _throughput(callers: list[_Caller], paths: Iterator[str]) -> float:
    """Answers a second, all connections busy."""
    end, count = time.monotonic() + ROUND_SECONDS, 0

    async def call(caller: _Caller) -> None:
        nonlocal count
        while time.monotonic() < end:
            assert await caller.get(next(paths)) == 200
            count += 1

    await asyncio.gather(*map(call, callers))
    return count / ROUND_SECONDS


async def _paced(callers: list[_Caller], paths: Iterator[str]) -> list[float]:
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
    for number in range(int(RATE * SECONDS)):
        due = start + number / RATE
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        calls.append(asyncio.create_task(call(due)))
    await asyncio.gather(*calls)
    return taken


async def _listen(port: int, heard: dict[int, float], ready: asyncio.Semaphore) -> None:
    """One who hears of machines; of each block, when the last of all has heard."""
    from websockets.asyncio.client import connect

    async with connect(f"ws://127.0.0.1:{port}/api/v1/live", compression=None, ping_interval=None) as socket:
        await socket.send('{"subscribe":["machines"]}')
        ready.release()
        async for text in socket:
            if text[:19] == '{"topic":"machines"':
                number = json.loads(text)["block"]["number"]
                heard[number] = max(heard.get(number, 0.0), time.monotonic())


async def _measured(port: int, folder: Path) -> dict[str, float]:
    rng = random.Random(3)
    paths, constant = iter(lambda: search(rng), ""), iter(lambda: "/constant", "")
    callers = await _callers(port, CONNECTIONS)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        theirs.append(await _throughput(callers, constant))
        ours.append(await _throughput(callers, paths))
    heard: dict[int, float] = {}
    ready = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(_listen(port, heard, ready)) for _ in range(LISTENERS)]
    for _ in range(LISTENERS):
        await ready.acquire()
    taken = sorted(await _paced(callers, paths))
    commits = {
        int(number): float(at) for number, at in map(str.split, (folder / "commits").read_text().splitlines())
    }
    updates = [heard[number] - at for number, at in commits.items() if number in heard]
    for listener in listeners:
        listener.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    for caller in callers:
        caller.close()
    return {
        "ours": sorted(ours)[ROUNDS // 2],
        "constant": sorted(theirs)[ROUNDS // 2],
        "p50": taken[len(taken) // 2] * 1e3,
        "p99": taken[int(len(taken) * 0.99)] * 1e3,
        "update": max(updates),
    }


def _resident(pid: int) -> float:
    """MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def run() -> Iterator[dict[str, Any]]:
    """The rows of `make bench`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8_192)), hard))
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), _free_port()
        server = subprocess.Popen(
            [sys.executable, __file__, "serve", name, str(port), str(MACHINES), str(LEASES)]
        )
        try:
            _wait(server, port)
            figures = asyncio.run(_measured(port, folder))
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
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]), *map(int, sys.argv[3:6]))
    else:
        for row in run():
            print(row)
