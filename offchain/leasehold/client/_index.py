"""The index in a home folder: caught up with the chain when it is asked for, by one process at a time.

Indexer and watcher are imported when it is, by the face of their room: most verbs ask for none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold import chain
from leasehold._locks import locked_now
from leasehold.chain import Deployment, IndexBroken, Pool, Rpc
from leasehold.client._errors import NoBlocks
from leasehold.client._observer import Observer, Update
from leasehold.errors import ChainError
from leasehold.home import Home

if TYPE_CHECKING:
    from leasehold.chain import EventWatcher, Indexer, Item

_LOOK = 1.0  # seconds
_TELL = 2.0  # seconds between words about how far it has come
_PATIENCE = 45.0
"""Seconds without anything from the nodes, after which whoever reads the chain is told so."""


class SharedIndex:
    """A pool's index that several processes of one home share. rpc: whose head it is brought to."""

    def __init__(
        self, home: Home, deployment: Deployment, rpc: Rpc, observer: Observer, stack: AsyncExitStack
    ) -> None:
        self._home = home
        self._deployment = deployment
        self._rpc = rpc
        self._observer = observer
        self._stack = stack
        self.opened: Indexer | None = None

    async def at_head(self, *, again: bool = False) -> Indexer:
        """The index at the head of the chain as it is now.

        A second call gives what the first gave, unless it asks to look `again`.

        Raises:
            ChainError: the nodes cannot be reached, or keep giving what is on no one chain.
        """
        if self.opened is not None and not again:
            return self.opened
        self._home.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with alone(
            self._home.index_lock, self._observer, "Waiting for another command that reads the chain"
        ):
            index = self.opened
            if index is None:
                index = chain.Indexer(f"sqlite:///{self._home.index}", self._deployment)
                await self._stack.enter_async_context(index)
            else:
                await index.refresh()  # another command may have read the chain since
            with self._observer.working("Reading the chain") as update:
                await self._caught_up(index, update)
        self.opened = index
        return index

    async def _caught_up(self, index: Indexer, update: Update) -> None:
        """Builds the index anew where it lacks what a node once kept back, or holds what one made up."""
        try:
            await self._catch_up(index, update)
        except IndexBroken:
            update("Reading the chain anew, since the index was broken")
            await index.clear()
            await self._catch_up(index, update)

    async def _catch_up(self, index: Indexer, update: Update) -> None:
        head = await self._rpc.header()
        cursor = await index.head()
        if head is None:
            raise NoBlocks()
        if cursor is not None and cursor.number >= head.number:
            known = await self._rpc.header(cursor.number)
            if known is None or known.hash == cursor.hash:  # a node that lags has nothing to add
                return
        caught_up = asyncio.Event()
        first, told = self._deployment.block, time.monotonic()

        async def on_commit(items: Sequence[Item]) -> None:
            nonlocal told
            blocks = [item.block.number for item in items if isinstance(item, chain.Applied)]
            reached = max(blocks, default=first)
            percent = 100 * (reached - first) // max(1, head.number - first)
            if percent < 100 and time.monotonic() - told >= _TELL:
                told = time.monotonic()
                update(f"Reading the chain: {max(0, percent)} %")
            if reached >= head.number:
                caught_up.set()

        sources = await Pool(self._rpc, self._deployment).event_sources()
        async with chain.EventWatcher(self._rpc, None, sources, first) as watcher:
            running = asyncio.create_task(index.run(watcher, on_commit))
            waiting = asyncio.create_task(caught_up.wait())
            watching = asyncio.create_task(_given_up(watcher, update))
            looking = asyncio.create_task(self._stands_at_head(index))
            try:
                await asyncio.wait((running, waiting, watching, looking), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (running, waiting, watching, looking):
                    task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await running
            if watching.done() and not watching.cancelled():
                raise watching.result()
            if looking.done() and not looking.cancelled():
                looking.result()

    async def _stands_at_head(self, index: Indexer) -> None:
        """Returns once the last block that was read is the chain's last: the head that was asked for first may be one
        that never comes, of another chain's node or of a fork that was left.
        """
        while True:
            await asyncio.sleep(_LOOK)
            with contextlib.suppress(ChainError):  # what fails is the watcher's to tell
                head, cursor = await self._rpc.header(), await index.head()
                if head and cursor and (head.number, head.hash) == (cursor.number, cursor.hash):
                    return


async def _given_up(watcher: EventWatcher, update: Update) -> ChainError:
    """What went wrong, once nothing has come for so long that nothing will; meanwhile it is shown."""
    while True:
        await asyncio.sleep(_LOOK)
        if watcher.stale_since is not None and watcher.last_error is not None:
            waited = time.time() - watcher.stale_since
            if waited >= _PATIENCE:
                return watcher.last_error
            if waited >= _LOOK:
                update(f"Reading the chain, which fails since {waited:.0f} s: {watcher.last_error}")


@asynccontextmanager
async def alone(path: Path, observer: Observer, what: str) -> AsyncIterator[None]:
    """Waits for other processes of this computer that hold the same lock file. In no thread: Ctrl-C ends it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with observer.working(what):
            while not locked_now(handle):  # noqa: ASYNC110 - another process lets it go
                await asyncio.sleep(0.02)
        yield
    finally:
        os.close(handle)
