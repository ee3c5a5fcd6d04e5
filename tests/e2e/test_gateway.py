"""The gateway as it is run: a chain's events, by HTTP and by WebSocket; and its index, lost and made again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import LeaseRequest, Terms

UNIT = 10**18
TERMS = Terms(2 * UNIT, 0, 60, 30 * 86_400, 300, 60_000)
PROVIDER, RENTER, OPERATOR = 1, 2, 3

pytestmark = pytest.mark.slow


@dataclass
class Running:
    """A gateway's process, and its address."""

    process: asyncio.subprocess.Process
    url: str

    async def get(self, path: str) -> Any:
        async with httpx.AsyncClient(timeout=patient(30)) as client:
            answer = await client.get(self.url + path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def at(self, block: int) -> None:
        """Until it has read so far."""
        async with self.listening() as socket:
            while (await said(socket, "block"))["block"]["number"] < block:
                pass

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[ClientConnection]:
        async with connect(self.url.replace("http", "ws") + "/api/v1/live") as socket:
            yield socket


async def said(socket: ClientConnection, topic: str) -> Any:
    """The next frame of a topic, with what it says."""
    async with asyncio.timeout(patient(60)):
        while True:
            frame = json.loads(await socket.recv())
            if frame["topic"] == topic and frame["block"] is not None:
                return frame


@asynccontextmanager
async def running(chain: PoolChain, home: Path, *more: str) -> AsyncIterator[Running]:
    """A gateway of that home, with more options. It is killed at the end, unless it has ended."""
    deployment = chain.deployment.save(home.parent / "deployment")
    command = [Path(sys.executable).with_name("leasehold"), "--home", home, "--deployment", deployment]
    command += ["--rpc", chain.anvil.url, "gateway", "run", "--listen", "127.0.0.1:0", "--json", *more]
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(patient(60)):
            written = b""
            while not (line := written.strip()) or not line.endswith(b"}"):
                written += await process.stdout.readuntil(b"\n")
        yield Running(process, json.loads(written)["listening"])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def register(chain: PoolChain) -> int:
    for account in (PROVIDER, RENTER):
        await chain.token(account).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 2, 1, b"h" * 32, b"c" * 32, chain.address(OPERATOR), consent
    )
    return machine


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the index, in order."""
    with closing(sqlite3.connect(path)) as database:
        names = [
            name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'chain_%'")
        ]
        return {name: sorted(database.execute(f"SELECT * FROM {name}"), key=repr) for name in sorted(names)}


def drop(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'chain_%'"
        ).fetchall():
            database.execute(f"DROP TABLE {name}")
        database.commit()


async def test_what_happens_on_the_chain_is_told_and_outlives_the_gateways_index(
    chain: PoolChain, tmp_path: Path
) -> None:
    machine, home = await register(chain), tmp_path / "home"
    async with running(chain, home) as gateway:
        await gateway.at(chain.anvil.block_number)
        (listed,) = (await gateway.get("/api/v1/machines"))["items"]
        assert (listed["id"], listed["free_cells"]) == (machine, 16)
        async with gateway.listening() as socket:
            await socket.send(json.dumps({"subscribe": ["machines"]}))
            await said(socket, "block")
            wish = LeaseRequest(machine, 1, 8, 7_200, 2 * UNIT, b"w" * 32, allow_unverified=True)
            lease, _ = await chain.pool(RENTER).open(wish)
            told = await said(socket, "machines")
        assert told["machines"][0]["free_cells"] == 8
        (rented,) = (await gateway.get(f"/api/v1/leases?tenant={chain.address(RENTER)}"))["items"]
        assert rented["number"] == str(lease)
        (pool,) = (await gateway.get("/api/v1/pools"))["items"]
        assert pool["contracts"]["Controller"] == chain.deployment.controller
        gateway.process.kill()
        await gateway.process.wait()
    (index,) = home.glob("gateway-[0-9]*.db")
    before = dump(index)
    drop(index)
    async with running(chain, home) as gateway:
        await gateway.at(chain.anvil.block_number)
        (listed,) = (await gateway.get("/api/v1/machines"))["items"]
        assert listed["free_cells"] == 8
        gateway.process.terminate()
        await gateway.process.wait()
    assert dump(index) == before
