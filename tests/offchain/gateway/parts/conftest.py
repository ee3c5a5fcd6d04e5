"""What every test of the gateway's own routes needs: a database, a browser, and answers to refusals."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import APIRouter, FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from devnet.postgres import Postgres
from leasehold.gateway._gateway_tables import create_tables, state_engine
from leasehold.gateway._problems import answer_problems

ORIGIN = "https://gate.example"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def state_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database: what a part keeps, it keeps on both."""
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        return server.make()
    return f"sqlite+aiosqlite:///{tmp_path}/gateway.db"


@pytest.fixture
async def engine(state_url: str) -> AsyncIterator[AsyncEngine]:
    made = state_engine(state_url)
    await create_tables(made)
    yield made
    await made.dispose()


@pytest.fixture
def app_of() -> Callable[..., FastAPI]:
    """An application of some routes, which have these parts."""

    def made(routes: Sequence[APIRouter], *parts: object) -> FastAPI:
        app = FastAPI()
        app.state.parts = {type(part): part for part in parts}
        for part in routes:
            app.include_router(part)
        answer_problems(app)
        return app

    return made


@pytest.fixture
def browse() -> Callable[..., httpx.AsyncClient]:
    """A browser at the gateway's page: keeps cookies, and names its page as the origin."""

    def made(app: FastAPI, origin: str | None = ORIGIN, base: str = ORIGIN) -> httpx.AsyncClient:
        headers = {} if origin is None else {"origin": origin}
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base, headers=headers)

    return made


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[FastAPI], Awaitable[str]]]:
    """Serves an application at a port of the loopback, and says at which."""
    running: list[tuple[uvicorn.Server, asyncio.Task[None]]] = []

    async def begun(app: FastAPI) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        server.capture_signals = nullcontext  # type: ignore[method-assign]  # the tests' own process keeps its signals
        running.append((server, asyncio.create_task(server.serve([listening]))))
        return f"127.0.0.1:{listening.getsockname()[1]}"

    yield begun
    for server, task in running:
        server.should_exit = True
        await task
