"""The API on a port: uvicorn with TLS, and limits against clients that send slowly, much or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from leasehold.market.wire import MAX_FRAME
from leasehold_agent._runtime import ServeContext
from leasehold_agent._slots import Slots

from ._app import Api, create_app, create_authorizer
from ._limits import UploadLimits
from ._nonces import NonceStore

HEADER_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 5.0
MOST_HEADER: Final = 32 * 1024
MOST_CONNECTIONS: Final = 1024
NONCES: Final = "nonces.sqlite"


class ApiServer:
    """`await ApiServer.open(context)`, `start`, then `close`."""

    def __init__(self, api: Api, nonces: NonceStore) -> None:
        self.api = api
        self._nonces = nonces
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, context: ServeContext, *, slots: Slots | None = None, limits: UploadLimits | None = None
    ) -> ApiServer:
        nonces = await NonceStore.open(context.state_dir / NONCES)
        api = Api(context, create_authorizer(context, nonces))
        api.slots = slots or api.slots
        api.limits = limits or api.limits
        return cls(api, nonces)

    async def start(self, host: str, port: int, *, header_seconds: float = HEADER_SECONDS) -> int:
        """Listen; returns the port. Raises `OSError` when it is taken, `ssl.SSLError` for a wrong key."""
        listening = _listen(host, port)
        context = self.api.context
        config = uvicorn.Config(
            create_app(self.api),
            http=_protocol(header_seconds),
            ws="websockets-sansio",
            ws_max_size=MAX_FRAME,
            # A client that holds its output back reads no pings; who has vanished, TCP's keep-alive finds out.
            ws_ping_interval=None,
            ws_ping_timeout=None,
            ws_per_message_deflate=False,
            ssl_certfile=str(context.tls_certificate),
            ssl_keyfile=str(context.tls_key),
            ssl_version=ssl.PROTOCOL_TLS_SERVER,
            h11_max_incomplete_event_size=MOST_HEADER,
            limit_concurrency=MOST_CONNECTIONS,
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
        try:
            config.load()
        except BaseException:
            listening.close()
            raise
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._serving, up}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._serving.done():
            self._serving.result()
        return int(listening.getsockname()[1])

    @property
    def alive(self) -> bool:
        """Whether it listens."""
        return self._serving is not None and not self._serving.done()

    async def close(self) -> None:
        """Stop listening, end open streams and give the nonces' file back."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._server.hang_up()
            await self._serving
            self._server = self._serving = None
        await self._nonces.close()


class _Server(uvicorn.Server):
    """uvicorn inside somebody else's event loop: signals are the agent's to handle."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def hang_up(self) -> None:
        """Drop every connection: streams may be quiet for days, so that there is no use in waiting for their end."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(list(self.server_state.tasks), timeout=CLOSE_SECONDS)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket whose connections notice within minutes that the other side has vanished."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        listening.bind((host, port))
        listening.listen(256)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _protocol(header_seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's HTTP/1.1 with a deadline for each request's header, which uvicorn itself does not have."""

    class Impatient(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_header()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            # SEND_BODY and DONE mean that a whole header has come; IDLE that one is on its way.
            if self.conn.their_state is not h11.IDLE:
                self._no_deadline()
            elif self._deadline is None:
                self._expect_header()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._no_deadline()
            self._expect_header()

        def connection_lost(self, exc: Exception | None) -> None:
            self._no_deadline()
            super().connection_lost(exc)

        def _expect_header(self) -> None:
            self._deadline = self.loop.call_later(header_seconds, self._give_up)

        def _give_up(self) -> None:
            self._deadline = None
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.close()

        def _no_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Impatient
