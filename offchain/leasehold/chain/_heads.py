"""New heads as WebSocket endpoints announce them: hints that something may have happened, never more."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Sequence

import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from leasehold.chain._rpc import BlockHeader
from leasehold.chain._shapes import Misshapen

_SUBSCRIBE = orjson.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
).decode()
_ANSWER_SECONDS = 10.0
_PING_SECONDS = 15.0
_RETRY_SECONDS = 1.0


class HeadListener:
    """Keeps a subscription open on the first endpoint that gives one, and remembers the newest head."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = tuple(urls)
        self._news = asyncio.Event()
        self._head: BlockHeader | None = None
        self.live = False

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncGenerator[None, None]:
        """Listens in the background."""
        if not self._urls:
            yield
            return
        task = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def wait(self, seconds: float) -> None:
        """Returns at the next announcement or `wake`, after `seconds` at the latest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def wake(self) -> None:
        self._news.set()

    def take(self) -> BlockHeader | None:
        """The newest head that was announced since the last call."""
        head, self._head = self._head, None
        return head

    async def _listen(self) -> None:
        for url in itertools.cycle(self._urls):
            try:
                await self._subscribed(url)
            except (OSError, TimeoutError, WebSocketException, ValueError, KeyError, TypeError, Misshapen):
                pass  # closed, refused, silent, or no node at all: the next one, and polling meanwhile
            finally:
                self.live = False
            await asyncio.sleep(_RETRY_SECONDS)

    async def _subscribed(self, url: str) -> None:
        async with connect(
            url,
            open_timeout=_ANSWER_SECONDS,
            ping_interval=_PING_SECONDS,
            ping_timeout=_PING_SECONDS,
            close_timeout=1,
        ) as socket:
            await socket.send(_SUBSCRIBE)
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = orjson.loads(await socket.recv())
            if "result" not in answer:
                raise ValueError("the endpoint gives no subscriptions")
            self.live = True
            self.wake()  # what came before the subscription is looked up now
            async for frame in socket:
                self._head = BlockHeader.announced(orjson.loads(frame)["params"]["result"])
                self._news.set()
