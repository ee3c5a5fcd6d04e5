"""Streams that outlive their request's check: held to a slot, and cut when the lease changes hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from leasehold.market.wire import TooManyRequests
from leasehold_agent._slots import Slots

from ._problems import problem


class HeldResponse(StreamingResponse):
    """A stream that takes one of `key`'s slots while it lasts, and is refused if there is none."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        slots: Slots,
        key: int,
        *,
        media_type: str,
        headers: dict[str, str],
    ) -> None:
        super().__init__(chunks, media_type=media_type, headers=headers)
        self._slots = slots
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._slots.take(self._key):
                await super().__call__(scope, receive, send)
        except TooManyRequests as error:
            await problem(error)(scope, receive, send)


async def until(ended: Callable[[], Awaitable[None]], chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """`chunks`, until there are no more or `ended` returns. Quiet times have no limit."""
    watch = asyncio.ensure_future(ended())
    piece: asyncio.Future[bytes] | None = None
    try:
        while True:
            piece = asyncio.ensure_future(anext(chunks))
            await asyncio.wait({piece, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not piece.done():
                return
            try:
                data = piece.result()
            except StopAsyncIteration:
                return
            yield data
    finally:
        tasks = [task for task in (watch, piece) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def cut(ended: Callable[[], Awaitable[None]], work: Coroutine[None, None, None]) -> None:
    """Do `work`, but no longer than until `ended` returns."""
    working, watch = asyncio.create_task(work), asyncio.ensure_future(ended())
    try:
        await asyncio.wait({working, watch}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        working.cancel()
        watch.cancel()
        await asyncio.gather(working, watch, return_exceptions=True)
