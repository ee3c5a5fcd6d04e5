"""A gateway in process, over a real index that was filled from a short story of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from devnet.postgres import Postgres
from leasehold.chain import (
    Applied,
    Block,
    Companions,
    ContactSet,
    Deployment,
    Event,
    HardwareSet,
    Indexer,
    Item,
    LeaseClosed,
    LeaseOpened,
    LeaseStarted,
    LogMeta,
    MachineRegistered,
    Params,
    ParamsProposed,
    PoolView,
    RolledBack,
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
from leasehold.gateway._market import Market
from leasehold.gateway._places import Places
from leasehold.gateway._serving import loop_factory
from leasehold.market import Money, canonical

ON_BOTH_LOOPS = frozenset(("test_protocol", "test_outlets"))
UNIT = 10**6
HOUR = 3_600
NOW = 1_800_000_000
FACTORY, ACCOUNTS, CONTROLLER, TOKEN = ("0x" + f"{n}" * 40 for n in range(1, 5))
PROVIDER, TENANT, OTHER, OPERATOR = ("0x" + "0" * 38 + f"{n}{n}" for n in range(1, 5))
DEPLOYMENT = Deployment(31337, "0x" + "ab" * 32, FACTORY, ACCOUNTS, CONTROLLER, TOKEN, 1, "TUSD", 6)
PARAMS = Params(
    **{
        name: {"arbiter": OTHER, "sink": OTHER}.get(
            name, 600 if "window" in name or "seconds" in name else 100
        )
        for name in Params.__dataclass_fields__
    }
)
TERMS = Terms(2 * UNIT, UNIT, 60, 30 * 86_400, 300, NOW // 86_400 + 300)


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What is tried over sockets is tried on the loop that a gateway has, and on the one that it has elsewhere."""
    ours = loop_factory() if item.path.stem in ON_BOTH_LOOPS else None
    return {"asyncio": asyncio.new_event_loop} | ({} if ours is None else {"uvloop": ours})


def hardware(model: str = "NVIDIA H100 80GB HBM3", memory: int = 85_520_809_984, gpus: int = 2) -> bytes:
    return canonical(
        {
            "version": 1,
            "gpus": [{"model": model, "memory_bytes": memory}] * gpus,
            "cpu": {"model": "AMD EPYC 9454", "cores": 48},
            "memory_bytes": 10**12,
            "disk": {"bytes": 4 * 10**12, "quota": True},
            "runtimes": ["runc"],
        }
    )


def contact(country: str = "DE", images: Iterable[str] = ("pytorch/pytorch",)) -> bytes:
    return canonical(
        {
            "version": 1,
            "endpoints": ["https://203.0.113.7:8443"],
            "certificate": "",
            "age_recipient": "age1q",
            "images": [{"id": f"sha256:{name}", "name": name} for name in images],
            "location": {"country": country},
            "issued_at": NOW - 60,
        }
    )


class Blocks:
    """Stands for the gateway's own IPFS node."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def keep(self, data: bytes) -> bytes:
        digest = sha256(data).digest()
        self.kept[cid_of_digest(digest)] = data
        return digest

    async def put_block(self, data: bytes) -> str:
        return cid_of_digest(self.keep(data))

    async def get_block(self, cid: str, timeout: float) -> bytes:  # noqa: ASYNC109
        if cid not in self.kept:
            raise DatasetUnavailable(cid)
        return self.kept[cid]


class Chain:
    """Stands for what a node answers of the pool beside its events."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    async def pool(self) -> PoolFacts:
        view = PoolView(
            token=TOKEN, accounts=ACCOUNTS, owner=OTHER, pending_owner="0x" + "0" * 40, treasury=OTHER,
            companions=Companions(FACTORY, FACTORY, FACTORY, FACTORY), paused=False, gated=False, machine_count=2,
            slot_count=1, seat_count=0, matured_seats=0, params_version=1, params=PARAMS, proposed_version=0,
            in_force_at=0, proposed=None,
        )  # fmt: skip
        return PoolFacts(view, {"Controller": CONTROLLER}, {"Controller": "0x" + "11" * 32})

    async def scores(self, providers: Iterable[str]) -> dict[str, int]:
        return {provider: self.of[provider] for provider in providers if provider in self.of}


@dataclass
class World:
    """A gateway, what it reads from, and a client of it."""

    gateway: Gateway
    app: FastAPI
    client: httpx.AsyncClient
    blocks: Blocks
    chain: Chain
    head: int = 0
    leases: int = 0
    story: list[Item] = field(default_factory=list)
    _hashes: dict[int, str] = field(default_factory=dict)

    async def tell(self, *events: tuple[type[Event], dict[str, Any]], fork: str = "") -> Block:
        """A block with these events, which the index gets and the market reads."""
        block = await self.commit(*events, fork=fork)
        await self.gateway.market.refresh()
        return block

    async def commit(self, *events: tuple[type[Event], dict[str, Any]], fork: str = "") -> Block:
        """A block with these events, which the index gets."""
        self.head += 1
        digest = sha256(f"{self.head}{fork}".encode()).hexdigest()
        block = Block(self.head, f"0x{digest}", NOW + self.head)
        told = tuple(
            kind(LogMeta(block.number, block.hash, f"0x{digest}", at, CONTROLLER, block.timestamp), **values)
            for at, (kind, values) in enumerate(events)
        )
        applied = Applied(block, told)
        self.story.append(applied)
        await self.gateway.index.apply([applied])
        return block

    async def undo(self, number: int) -> None:
        """The block of that number, and all above it, are left. Nothing is read yet."""
        block = Block(number, "0x", NOW + number)
        await self.gateway.index.apply([RolledBack(block)])
        self.head = number - 1

    async def machine(
        self,
        number: int,
        terms: Terms = TERMS,
        described: bytes | None = None,
        reached: bytes | None = None,
        provider: str = PROVIDER,
        fork: str = "",
    ) -> None:
        """A machine joins."""
        kept = self.blocks.keep(described or hardware()), self.blocks.keep(reached or contact())
        await self.tell(*joining(number, terms, *kept, provider), fork=fork)

    async def open(self, machine: int, tenant: str = TENANT, placement: int = 0x1FF) -> int:
        """A lease of a machine is opened and started; its id."""
        self.leases += 1
        lease = self.leases << 16
        await self.tell(
            (LeaseOpened, {"lease": lease, "machine": machine, "tenant": tenant, "placement": placement,
             "revision": 1, "params": 1, "price": 2 * UNIT, "duration": HOUR, "deposit": 2 * UNIT,
             "pulled": 2 * UNIT, "workload": b"w" * 32, "flags": 0, "backup": bytes(32)}),
        )  # fmt: skip
        start = NOW + self.head
        await self.tell(
            (LeaseStarted, {"lease": lease, "machine": machine, "start": start, "end": start + HOUR,
             "endpoint": b"e" * 32}),
        )  # fmt: skip
        return lease

    async def fetched(self) -> None:
        """The documents that are wanted have been asked for, once."""
        await self.gateway.documents._round(self.gateway.market.came)

    async def get(self, path: str, **params: Any) -> Any:
        """What the gateway says, as it stands in JSON."""
        answer = await self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return json.loads(answer.content)


def joining(
    number: int, terms: Terms, described: bytes, reached: bytes, provider: str
) -> tuple[tuple[type[Event], dict[str, Any]], ...]:
    return (
        (MachineRegistered, {"machine": number, "provider": provider, "operator": OPERATOR, "gpus": 2,
         "smallest_share": 1, "stake": 100 * UNIT, "pulled": 100 * UNIT}),
        (TermsSet, {"machine": number, "revision": 1, "params": 1, "terms": terms}),
        (HardwareSet, {"machine": number, "revision": 1, "digest": described}),
        (ContactSet, {"machine": number, "digest": reached}),
    )  # fmt: skip


Opening = Callable[..., Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest) -> str | None:
    """Where the index is: what a gateway says of one, it says of both."""
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        return server.make()
    return None


@pytest.fixture
async def opened(tmp_path: Path, database: str | None) -> AsyncIterator[Opening]:
    """Opens a world, with settings of the test's own."""
    async with AsyncExitStack() as stack:

        async def open_(**settings: Any) -> World:
            return await stack.enter_async_context(world_in(tmp_path, {"database": database, **settings}))

        yield open_


@pytest.fixture
async def world(opened: Opening) -> World:
    """A pool with its rules and nothing else."""
    made: World = await opened()
    return made


@asynccontextmanager
async def world_in(folder: Path, changed: Mapping[str, Any]) -> AsyncIterator[World]:
    settings = replace(GatewaySettings(DEPLOYMENT, folder / "home"), **changed)
    settings.home.mkdir(parents=True, exist_ok=True)
    blocks, chain, hub = Blocks(), Chain(), Hub()
    async with Indexer(settings.database_url, DEPLOYMENT) as index:
        documents = Documents(settings.home / "documents", blocks, Money.of(DEPLOYMENT), 1.0)
        market = Market(index, documents, chain, hub)
        places = Places({"all": settings.most_live, "caller": settings.most_live_each})
        gateway = Gateway(settings, index, market, documents, chain, hub, Figures(index), places)

        @asynccontextmanager
        async def opening(_: GatewaySettings) -> AsyncIterator[Gateway]:
            yield gateway

        app = create_app(settings, opening=opening)
        app.state.gateway = gateway
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            world = World(gateway, app, client, blocks, chain)
            await world.tell((ParamsProposed, {"version": 1, "in_force_at": NOW, "params": PARAMS}))
            yield world


__all__ = ["LeaseClosed", "World", "contact", "hardware"]
