"""The gateway on a port: uvicorn, bounded against clients that send much, slowly or nothing."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn

from leasehold.errors import SettingsError
from leasehold.gateway._app import create_app
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._opening import opened
from leasehold.gateway._outlets import OutletSocket
from leasehold.gateway._protocol import bounded
from leasehold.gateway._settings import GatewaySettings
from leasehold.market.wire import CHUNK

MOST_HEADER: Final = 32 * 1024
MOST_FRAME: Final = CHUNK + 1024
BACKLOG: Final = 2_048
TURN_SECONDS: Final = 0.0005
"""For which a thread that works keeps the interpreter while another wants it."""


def server_of(settings: GatewaySettings, gateway: Gateway) -> uvicorn.Server:
    """A server of a gateway that is open already, not started."""

    @asynccontextmanager
    async def opening(_: GatewaySettings) -> AsyncIterator[Gateway]:
        with short_turns():
            yield gateway

    config = uvicorn.Config(
        create_app(settings, opening=opening),
        http=bounded(settings.proxies),
        ws=OutletSocket,
        ws_max_size=MOST_FRAME,
        ws_max_queue=16,
        ws_per_message_deflate=False,
        h11_max_incomplete_event_size=MOST_HEADER,
        backlog=BACKLOG,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=3,
        # Who calls is worked out by the gateway, which believes proxies that it knows and nobody else.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        log_level="error",
        lifespan="on",
    )
    return uvicorn.Server(config)


@contextmanager
def short_turns() -> Iterator[None]:
    """Threads take shorter turns. Who answers gives the interpreter away with each read and write of a socket, and has
    it back when the turn of the thread is over that commits a block or reads rows: Python's 5 ms, several times a
    search, would be all of the time that a search may take.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop on which a gateway costs least: uvloop's; `None`, which is asyncio's own, where the
    platform has none. `asyncio.Runner` takes either.
    """
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


async def serve(
    settings: GatewaySettings, host: str, port: int, listening: Callable[[int], None] = lambda port: None
) -> None:
    """Serves until a signal ends it. listening: told the port, of which 0 means any; who connects from then on is
    answered once the gateway has opened what it needs.

    Raises:
        SettingsError: it cannot listen there. WrongChain, RpcUnavailable.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        place = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or "it cannot be used"
        raise SettingsError(f"{host}:{port}: {reason}", "name another place to listen at.") from error
    with place:
        async with opened(settings) as gateway:
            listening(place.getsockname()[1])
            await server_of(settings, gateway).serve(sockets=[place])
