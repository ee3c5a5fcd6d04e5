"""The index under the home folder: caught up with the chain at the beginning of a command, by one command at a time."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from leasehold.chain import Applied, EventWatcher, IndexBroken, Indexer, Item, Pool
from leasehold.cli._output import Output
from leasehold.cli._session import Session
from leasehold.errors import ChainError

_LOOK = 1.0  # seconds
_PATIENCE = 45.0
"""Seconds without anything from the nodes, after which a command that reads the chain ends."""


async def indexed(session: Session, out: Output, *, again: bool = False) -> Indexer:
    """The pool's index, at the head of the chain as it is now.

    A second call in the same command gives what the first gave, unless it asks to look `again`.

    Raises:
        ChainError: the nodes cannot be reached, or keep giving what is on no one chain.
    """
    if session.index is None:
        folder = session.settings.home
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with alone(folder / "index.lock", out, "Waiting for another command that reads the chain"):
            opened = Indexer(f"sqlite:///{folder / 'index.db'}", session.deployment)
            index = await session.stack.enter_async_context(opened)
            with out.working("Reading the chain") as update:
                await _caught_up(session, index, update)
        session.index = index
    elif again:
        async with alone(
            session.settings.home / "index.lock", out, "Waiting for another command that reads the chain"
        ):
            with out.working("Reading the chain") as update:
                await _caught_up(session, session.index, update)
    return session.index


async def _caught_up(session: Session, index: Indexer, update: Callable[[str], None]) -> None:
    """Builds the index anew where it lacks what a node once kept back, or holds what one made up."""
    try:
        await _catch_up(session, index, update)
    except IndexBroken:
        update("Reading the chain anew, since the index was broken")
        await index.clear()
        await _catch_up(session, index, update)


async def _catch_up(session: Session, index: Indexer, update: Callable[[str], None]) -> None:
    head = await session.rpc.header()
    cursor = await index.head()
    if head is None:
        raise ChainError("The node has no blocks yet: wait until it has, or use another with --rpc.")
    if cursor is not None and cursor.number >= head.number:
        known = await session.rpc.header(cursor.number)
        if known is None or known.hash == cursor.hash:  # a node that lags has nothing to add
            return
    caught_up = asyncio.Event()
    first = session.deployment.block

    async def on_commit(items: Sequence[Item]) -> None:
        reached = max((each.block.number for each in items if isinstance(each, Applied)), default=first)
        percent = 100 * (reached - first) // max(1, head.number - first)
        if percent < 100:
            update(f"Reading the chain: {max(0, percent)} %")
        if reached >= head.number:
            caught_up.set()

    sources = await Pool(session.rpc, session.deployment).event_sources()
    async with EventWatcher(session.rpc, None, sources, first) as watcher:
        running = asyncio.create_task(index.run(watcher, on_commit))
        waiting = asyncio.create_task(caught_up.wait())
        watching = asyncio.create_task(_given_up(watcher, update))
        try:
            await asyncio.wait((running, waiting, watching), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (running, waiting, watching):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        if watching.done() and not watching.cancelled():
            raise watching.result()


async def _given_up(watcher: EventWatcher, update: Callable[[str], None]) -> ChainError:
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
async def alone(path: Path, out: Output, what: str) -> AsyncIterator[None]:
    """Waits for other commands of this computer that hold the same lock file. In no thread: Ctrl-C ends it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with out.working(what):
            while not _locked(handle):  # noqa: ASYNC110 - another process lets it go
                await asyncio.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
