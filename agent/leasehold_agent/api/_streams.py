"""Streams that outlive their request's check: held to a slot, and cut when the lease changes hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import ExitStack

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class HeldResponse(StreamingResponse):
    """A stream that holds `held` while it lasts: what was taken for it is given back whichever way it ends."""

    def __init__(
        self, chunks: AsyncIterator[bytes], held: ExitStack, *, media_type: str, headers: dict[str, str]
    ) -> None:
        super().__init__(chunks, media_type=media_type, headers=headers)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)


async def until(
    ended: Callable[[], Awaitable[None]],
    chunks: AsyncIterator[bytes],
    carried: Callable[[int], Awaitable[None]],
) -> AsyncIterator[bytes]:
    """`chunks`, until there are no more or `ended` returns. Quiet times have no limit. `carried` may slow it down."""
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
            await carried(len(data))
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
