"""What every test of the gateway's own routes needs: a database, a browser, and answers to refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from leasehold.gateway._gateway_tables import create_tables
from leasehold.gateway._refusals import GatewayRefusal

ORIGIN = "https://gate.example"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    made = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/gateway.db")
    await create_tables(made)
    yield made
    await made.dispose()


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, GatewayRefusal)
    return JSONResponse({"code": error.code, "detail": str(error)}, error.status)


@pytest.fixture
def app_of() -> Callable[..., FastAPI]:
    """An application of some routes."""

    def made(*routes: APIRouter) -> FastAPI:
        app = FastAPI()
        for part in routes:
            app.include_router(part)
        app.add_exception_handler(GatewayRefusal, _refused)
        return app

    return made


@pytest.fixture
def browse() -> Callable[..., httpx.AsyncClient]:
    """A browser at the gateway's page: keeps cookies, and names its page as the origin."""

    def made(app: FastAPI, origin: str | None = ORIGIN, base: str = ORIGIN) -> httpx.AsyncClient:
        headers = {} if origin is None else {"origin": origin}
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base, headers=headers)

    return made
