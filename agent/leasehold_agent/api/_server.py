"""The API on a port: uvicorn with TLS, and limits against clients that send slowly, much or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from functools import partial
from typing import Final

import uvicorn

from leasehold.market.wire import MAX_FRAME
from leasehold_agent._runtime import ServeContext
from leasehold_agent.access import Admission, StreetDoor, Visitor
from leasehold_agent.api._app import create_app
from leasehold_agent.api._limits import UploadLimits
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._protocols import protocols
from leasehold_agent.api._shared import Api, create_authorizer
from leasehold_agent.api._withdrawn import WithdrawnSessions
from leasehold_agent.store import AuditLog

HEADER_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 5.0
MOST_HEADER: Final = 32 * 1024
NONCES: Final = "nonces.sqlite"
WITHDRAWN: Final = "withdrawn.sqlite"
AUDIT: Final = "audit.sqlite"


class ApiServer:
    """`await ApiServer.open(context)`, `start`, then `close`."""

    def __init__(self, api: Api, nonces: NonceStore) -> None:
        self.api = api
        self._nonces = nonces
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        context: ServeContext,
        *,
        admission: Admission | None = None,
        limits: UploadLimits | None = None,
    ) -> ApiServer:
        nonces = await NonceStore.open(context.state_dir / NONCES)
        withdrawn = await WithdrawnSessions.open(context.state_dir / WITHDRAWN, context.now())
        audit = await AuditLog.open(context.state_dir / AUDIT, partial(_is_here, context))
        authorizer = create_authorizer(context, nonces, withdrawn, audit)
        api = Api(context, authorizer, admission or Admission())
        api.limits = limits or api.limits
        return cls(api, nonces)

    async def start(self, host: str, port: int, *, header_seconds: float = HEADER_SECONDS) -> int:
        """Listen; returns the port. Raises `OSError` when it is taken, `ssl.SSLError` for a wrong key."""
        context, admission = self.api.context, self.api.admission
        http, websocket = protocols(header_seconds, admission.ration)
        config = uvicorn.Config(
            create_app(self.api),
            http=http,
            ws=websocket,
            ws_max_size=MAX_FRAME,
            # A client that holds its output back reads no pings; who has vanished, TCP's keep-alive finds out.
            ws_ping_interval=None,
            ws_ping_timeout=None,
            ws_per_message_deflate=False,
            ssl_certfile=str(context.tls_certificate),
            ssl_keyfile=str(context.tls_key),
            ssl_version=ssl.PROTOCOL_TLS_SERVER,
            h11_max_incomplete_event_size=MOST_HEADER,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=2,
            # A header that names another address than the connection's is not believed.
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_config=None,
            log_level="error",
            lifespan="off",
        )
        config.load()
        assert config.ssl is not None
        config.ssl.options |= ssl.OP_NO_RENEGOTIATION  # a second handshake would pass by the door
        self._server = _Server(config, self.api.door, self.api.back_door)
        listening = self._server.open(self.api.door, host, port)
        self._serving = asyncio.create_task(self._server.serve(sockets=[]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._serving, up}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._serving.done():
            self._serving.result()
        return listening

    def open_back_door(self, port: int) -> int:
        """Listen for whom the IPFS node beside introduces; returns the port. Raises `OSError` when it is taken."""
        assert self._server is not None
        return self._server.open(self.api.back_door, "127.0.0.1", port)

    @property
    def alive(self) -> bool:
        """Whether it listens."""
        return self._serving is not None and not self._serving.done()

    async def close(self) -> None:
        """Stop listening, end open streams and give the files back."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._server.hang_up()
            await self._serving
            self._server = self._serving = None
        await self._nonces.close()
        if self.api.authorizer.withdrawn is not None:
            await self.api.authorizer.withdrawn.close()
        if self.api.audit is not None:
            await self.api.audit.close(self.api.context.now())


async def _is_here(context: ServeContext, lease: int) -> bool:
    return await context.runtime.lookup(lease) is not None


class _Server(uvicorn.Server):
    """uvicorn inside somebody else's event loop, behind doors: signals are the agent's to handle."""

    def __init__(self, config: uvicorn.Config, *doors: StreetDoor) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self._doors = doors

    def open(self, door: StreetDoor, host: str, port: int) -> int:
        return door.open(host, port, self._greet, self.config.ssl)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def hang_up(self) -> None:
        """Drop every connection: streams may be quiet for days, so that there is no use in waiting for their end."""
        for door in self._doors:
            await door.close()
        if self.server_state.tasks:
            await asyncio.wait(list(self.server_state.tasks), timeout=CLOSE_SECONDS)

    async def startup(self, sockets: object = None) -> None:
        self.servers = []
        self.started = True
        self.up.set()

    def _greet(self, visitor: Visitor) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state={"visitor": visitor}
        )
