"""The gateway on a port: uvicorn, bounded against clients that send much, slowly or nothing."""

from __future__ import annotations

from typing import Final

import uvicorn

from leasehold.gateway._app import create_app
from leasehold.gateway._settings import GatewaySettings
from leasehold.market.wire import CHUNK

MOST_HEADER: Final = 32 * 1024
MOST_FRAME: Final = CHUNK + 1024
MOST_CONNECTIONS: Final = 4_096


def server_of(settings: GatewaySettings, host: str, port: int) -> uvicorn.Server:
    """A server that is not started."""
    config = uvicorn.Config(
        create_app(settings),
        host=host,
        port=port,
        ws_max_size=MOST_FRAME,
        ws_max_queue=16,
        ws_per_message_deflate=False,
        h11_max_incomplete_event_size=MOST_HEADER,
        limit_concurrency=MOST_CONNECTIONS,
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


async def serve(settings: GatewaySettings, host: str, port: int) -> None:
    """Serves until a signal ends it."""
    await server_of(settings, host, port).serve()
