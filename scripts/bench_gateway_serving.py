"""A gateway of a large market for its benchmark: index, board and routes as they are; documents from memory, no chain.

    python scripts/bench_gateway_serving.py FOLDER MACHINES LEASES

Prints its port when it stands. Once told `go` on standard input it adds a block every second, whose hash is the moment
at which it was given to the index (CLOCK_MONOTONIC, ns): so whoever is told of it knows how long that took.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.responses import Response

from leasehold.chain import (
    Applied,
    Block,
    Deployment,
    Event,
    Indexer,
    LogMeta,
    Terms,
    TermsSet,
    cid_of_digest,
)
from leasehold.errors import DatasetUnavailable
from leasehold.gateway import GatewaySettings, create_app
from leasehold.gateway._documents import Documents
from leasehold.gateway._facts import PoolFacts
from leasehold.gateway._figures import Figures
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._hub import Hub
from leasehold.gateway._limits import Places
from leasehold.gateway._market import Market
from leasehold.market import Money
from market_of_size import fill

DEPLOYMENT = Deployment(31337, "0x" + "ab" * 32, *("0x" + f"{n}" * 40 for n in range(1, 5)), 1, "TUSD", 6)
CONSTANT = b'{"status":"ok"}'
CLIENTS = 4_000
EVERY = 1.0
"""Seconds between two blocks."""
CHANGED = 8
"""Machines of which each block changes the terms."""


class Blocks:
    """Stands for the gateway's own IPFS node, which has everything."""

    def __init__(self, kept: dict[bytes, bytes]) -> None:
        self._kept = {cid_of_digest(digest): document for digest, document in kept.items()}

    async def put_block(self, data: bytes) -> str:
        raise NotImplementedError

    async def get_block(self, cid: str, timeout: float) -> bytes:  # noqa: ASYNC109
        if cid not in self._kept:
            raise DatasetUnavailable(cid)
        return self._kept[cid]


class NoChain:
    """Stands for what a node answers beside events: nothing that is searched."""

    async def pool(self) -> PoolFacts:
        raise NotImplementedError

    async def scores(self, providers: Iterable[str]) -> dict[str, int]:
        return {}


async def serve(folder: Path, machines: int, leases: int) -> None:
    settings = GatewaySettings(
        DEPLOYMENT, folder, most_live=CLIENTS, most_live_each=CLIENTS, calls=10_000_000
    )
    go = asyncio.Event()

    @asynccontextmanager
    async def opening(_: GatewaySettings) -> AsyncIterator[Gateway]:
        async with Indexer(settings.database_url, DEPLOYMENT) as index:
            kept = await fill(index, DEPLOYMENT, machines=machines, leases=leases)
            documents = Documents(folder / "documents", Blocks(kept), Money.of(DEPLOYMENT), 10.0)
            facts, hub = NoChain(), Hub()
            market = Market(index, documents, facts, hub)
            await market.refresh()
            await documents._round(market.came)
            gateway = Gateway(
                settings, index, market, documents, facts, hub, Figures(index), Places(CLIENTS, CLIENTS)
            )
            gateway.frames = type(gateway.frames)(
                10_000_000, 60.0, time.monotonic
            )  # all come from one address
            telling = asyncio.create_task(_blocks(gateway, machines, go))
            yield gateway
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling

    app = create_app(settings, opening=opening)
    app.add_api_route("/constant", _constant)
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_level="error", access_log=False, ws_per_message_deflate=False)
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.1)
        if serving.done():
            await serving
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    go.set()
    await asyncio.to_thread(sys.stdin.read)  # its end is the benchmark's
    server.should_exit = server.force_exit = True
    await serving


def _changed(block: Block, machines: int) -> Applied:
    """A block in which some machines have other terms."""
    events: list[Event] = []
    for place in range(CHANGED):
        at = LogMeta(block.number, block.hash, block.hash, place, DEPLOYMENT.controller, block.timestamp)
        machine, price = 1 + (block.number * CHANGED + place) % machines, 10**6 + block.number
        terms = Terms(price, price // 2, 60, 30 * 86_400, 300, 60_000)
        events.append(TermsSet(at, machine=machine, revision=2 + block.number, params=1, terms=terms))
    return Applied(block, tuple(events))


async def _constant() -> Response:
    return Response(CONSTANT, media_type="application/json")


async def _blocks(gateway: Gateway, machines: int, go: asyncio.Event) -> None:
    await go.wait()
    number = gateway.market.at().number
    while True:
        number += 1
        given = time.monotonic_ns()
        block = Block(number, f"0x{given:064x}", gateway.market.at().timestamp + 1)
        await gateway.index.apply([_changed(block, machines)])
        await gateway.market.refresh()
        await asyncio.sleep(EVERY)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
