"""The gateway as an ASGI application: every route, and what opens and ends with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import Lifespan

from leasehold.gateway._committee_routes import router as committee
from leasehold.gateway._compressing import CompressedAnswers
from leasehold.gateway._describing import put_right
from leasehold.gateway._document_routes import router as documents
from leasehold.gateway._figure_routes import router as figures
from leasehold.gateway._front import Front
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._group_routes import router as groups
from leasehold.gateway._health_routes import router as health
from leasehold.gateway._lease_routes import router as leases
from leasehold.gateway._live_routes import router as live
from leasehold.gateway._machine_routes import router as machines
from leasehold.gateway._opened_parts import parts_of, routers_of_parts
from leasehold.gateway._opening import opened
from leasehold.gateway._pool_routes import router as pools
from leasehold.gateway._problems import MEDIA_TYPE, ProblemDocument, answer_problems
from leasehold.gateway._provider_routes import router as providers
from leasehold.gateway._searching import PlainSearches
from leasehold.gateway._settings import GatewaySettings
from leasehold.gateway._site import serve_site

_ROUTERS = (
    health,
    pools,
    machines,
    leases,
    figures,
    providers,
    committee,
    groups,
    documents,
    live,
    *routers_of_parts,
)

Opening = Callable[[GatewaySettings], AbstractAsyncContextManager[Gateway]]

_DESCRIPTION = """\
A pool of the marketplace for GPU time, as its chain has it.

Whoever reads it need not trust it: prices, leases and powers are the chain's, documents are named by their hashes.
Amounts are token units as texts, times unix seconds. Every answer about the chain says at which `block` it holds. A
list is `{"items": […], "total": n, "next": …}`; what `next` is, `after` takes. Errors are problem documents (RFC 9457).
"""


def create_app(settings: GatewaySettings, *, opening: Opening = opened) -> FastAPI:
    """The application. opening: what it opens when it begins to serve, and closes at its end."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opening(settings) as gateway, parts_of(gateway) as parts:
            app.state.gateway, app.state.parts = gateway, parts
            yield

    app = _empty(lifespan)
    app.openapi = _described  # type: ignore[method-assign]  # as FastAPI's own guide does it
    app.state.counted = Counter[int]()
    app.add_middleware(PlainSearches)
    app.add_middleware(CompressedAnswers)
    app.add_middleware(Front, settings=settings, counted=app.state.counted)
    answer_problems(app)
    # The routers' own routes: to include them takes each function apart once more, most of what an application costs.
    app.router.routes.extend(route for router in _ROUTERS for route in router.routes)

    @app.get("/openapi.json", include_in_schema=False)
    async def described() -> Response:
        return Response(openapi(app), media_type="application/json")

    if settings.dapp is not None:
        serve_site(app, settings.dapp)
    return app


def openapi(app: FastAPI) -> bytes:
    """The API's description as committed in docs/reference/gateway-api.json."""
    return orjson.dumps(put_right(app.openapi()), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


@cache
def _described() -> dict[str, Any]:
    app = _empty()
    for router in _ROUTERS:
        app.include_router(router)  # so that each operation says how it refuses
    return app.openapi()


def _empty(lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    return FastAPI(
        title="Leasehold gateway",
        version="1",
        description=_DESCRIPTION,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would name the host that the caller made up
        responses={
            "default": {
                "model": ProblemDocument,
                "content": {MEDIA_TYPE: {}},
                "description": "Refused, and why",
            }
        },
    )
