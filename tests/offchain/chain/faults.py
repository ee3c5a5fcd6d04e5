"""Faults between a client and a real node."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit

import orjson

from leasehold.chain import Rpc
from leasehold.chain._wire import HttpWire, WireAnswer


class Gate:
    """Passes requests on to a node, and bends what it is told to bend.

    before: what to do just before a request of that method (of a batch, its first) goes through, once each.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._inner = HttpWire(lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self._heads = 0
        self._asked = asyncio.Condition()
        self.refuse_ranges_over: int | None = None
        self.spans: list[int] = []
        self.head: int | None = None
        self.hide_timestamps = False
        self.before: dict[str, list[Callable[[], object]]] = {}

    def rpc(self) -> Rpc:
        return Rpc([self._url], wire=self)

    async def asked(self, more: int) -> None:
        """Until the head has been asked for so many times more."""
        target = self._heads + more
        async with self._asked:
            await self._asked.wait_for(lambda: self._heads >= target)

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        call = orjson.loads(body)
        method = call[0]["method"] if isinstance(call, list) else call["method"]
        if self.before.get(method):
            await asyncio.to_thread(self.before[method].pop(0))
        if isinstance(call, dict):
            refused = await self._look(call)
            if refused is not None:
                return WireAnswer(200, {}, orjson.dumps({"id": call["id"], "error": refused}))
            body = orjson.dumps(call)
        answer = await self._inner.post(url, body, most)
        if not self.hide_timestamps:
            return answer
        said = orjson.loads(answer.body)
        for part in said if isinstance(said, list) else [said]:
            if isinstance(part.get("result"), list):
                for log in part["result"]:
                    log.pop("blockTimestamp", None)
        return WireAnswer(200, {}, orjson.dumps(said))

    async def _look(self, call: dict[str, object]) -> dict[str, object] | None:
        params = call["params"]
        assert isinstance(params, list)
        if call["method"] == "eth_getBlockByNumber" and params[0] == "latest":
            async with self._asked:
                self._heads += 1
                self._asked.notify_all()
            if self.head is not None:
                params[0] = hex(self.head)
        if call["method"] == "eth_getLogs" and "fromBlock" in params[0]:
            span = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
            self.spans.append(span)
            if self.refuse_ranges_over is not None and span > self.refuse_ranges_over:
                return {"code": -32000, "message": "query returned more than 10000 results"}
        return None

    async def aclose(self) -> None:
        await self._inner.aclose()


class RedirectingProxy:
    """A TCP proxy in front of a node that can fall silent: connections stay open and nothing comes through."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.silent = False

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> "RedirectingProxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_connection(*self._target)
            try:
                await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
            finally:
                for stream in (back, writer):
                    stream.close()
                    with contextlib.suppress(OSError):
                        await stream.wait_closed()
        self._tasks.discard(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            if self.silent:
                continue
            sink.write(data)
            await sink.drain()
        sink.close()
