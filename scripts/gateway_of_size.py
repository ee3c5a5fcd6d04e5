"""A gateway with as many machines and leases as one wants, over a real index, in which something happens every second.

    python scripts/gateway_of_size.py fill FOLDER MACHINES LEASES
    python scripts/gateway_of_size.py serve FOLDER PORT MACHINES

The index is filled from events, as a chain's is, without the chain.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

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


# --------------------------------------------------------------------------------------------------------- the index


def fill(kept: Path, machines: int, leases: int) -> None:
    """Fills an index, and keeps it with what its pool needs to go on."""
    asyncio.run(_fill(kept, machines, leases))


async def _fill(kept: Path, machines: int, leases: int) -> None:
    from leasehold.chain import Indexer

    part = kept.with_name("filling")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    world = _World(part, machines)
    async with Indexer(f"sqlite:///{part / 'index.db'}", world.deployment) as index:
        for blocks in world.filled(leases):
            await index.apply(blocks)
    (part / "world.json").write_text(json.dumps(world.state()))
    part.rename(kept)


# ------------------------------------------------------------------------------------------------------- the server


def serve(folder: Path, port: int, machines: int) -> None:
    """Serve a filled index until killed."""
    from leasehold.gateway import loop_factory

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(folder, port, machines))


async def _serve(folder: Path, port: int, machines: int) -> None:
    import uvicorn

    from leasehold.chain import Indexer
    from leasehold.gateway import GatewaySettings
    from leasehold.gateway._documents import Documents
    from leasehold.gateway._figures import Figures
    from leasehold.gateway._following import _keep_what_stays, hear, keep_market
    from leasehold.gateway._gateway import Gateway
    from leasehold.gateway._hub import Hub
    from leasehold.gateway._market import Market
    from leasehold.gateway._places import Places
    from leasehold.gateway._serving import server_of
    from leasehold.market import Money

    world = _World(folder, machines)
    world.go_on(json.loads((folder / "world.json").read_text()))
    settings = GatewaySettings(
        world.deployment,
        folder,
        f"sqlite:///{folder / 'index.db'}",
        calls=10**9,
    )
    async with Indexer(settings.database_url, world.deployment) as index:
        hub, money = Hub(), Money.of(world.deployment)
        documents = Documents(folder / "documents", world, money, 1.0)  # type: ignore[arg-type]  # never asked
        market = Market(index, documents, world, hub)  # type: ignore[arg-type]  # nor this
        begun = time.monotonic()
        await market.refresh()
        _keep_what_stays()
        print(f"{len(market.board)} machines were read in {time.monotonic() - begun:.1f} s", file=sys.stderr)
        places = Places({"all": settings.most_live, "caller": settings.most_live_each})
        gateway = Gateway(settings, index, market, documents, world, hub, Figures(index), places)  # type: ignore[arg-type]

        async def blocks_come() -> None:
            with (folder / "commits").open("w", buffering=1) as commits:
                while True:
                    await asyncio.sleep(1)
                    block = world.block()
                    await index.apply([block])
                    commits.write(f"{block.block.number} {time.monotonic()}\n")

        working = [asyncio.create_task(work) for work in (hear(gateway), keep_market(gateway), blocks_come())]
        server = server_of(settings, gateway)
        _add_constant(server.config, market.board.page("gpu:H100", "price", 20, None))
        server.config.port = port
        assert isinstance(server, uvicorn.Server)
        await server.serve()
        for task in working:
            task.cancel()


def _add_constant(config: Any, constant: bytes) -> None:
    """What the same application answers without working anything out."""
    from starlette.responses import Response

    @config.app.get("/constant")  # type: ignore[untyped-decorator]
    async def same() -> Response:
        return Response(constant, media_type="application/json")


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

    def state(self) -> dict[str, Any]:
        """What it needs to go on from here."""
        return {"number": self._number, "next": self._next, "live": self._live}

    def go_on(self, state: dict[str, Any]) -> None:
        """Goes on from where another has come."""
        self._number, self._next = state["number"], state["next"]
        self._live = [(lease, machine) for lease, machine in state["live"]]

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
            yield canonical(hardware), canonical(contact)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fill", folder, machines, leases]:
            fill(Path(folder), int(machines), int(leases))
        case ["serve", folder, port, machines]:
            serve(Path(folder), int(port), int(machines))
        case _:
            sys.exit(__doc__)
