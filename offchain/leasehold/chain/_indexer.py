"""The index: events in, tables out. The questions that people and programs ask of them stand in `_queries`.

Rows and cursor are committed together, so that the index is at every moment what the chain was at some block. One
process writes a pool's index at a time; a second one finds the cursor moved and stops (`IndexConflict`), or stands by
until it is elected (`run_elected`). The database is used synchronously in threads: a batch is one call.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from leasehold.chain._deployment import Deployment
from leasehold.chain._index_changes import IndexChange, IndexNews, listen, read_notice
from leasehold.chain._index_election import BEAT_SECONDS
from leasehold.chain._index_engine import connect_arguments, engine_of, in_our_words, is_postgres
from leasehold.chain._index_errors import IndexBroken, IndexConflict, IndexUnavailable
from leasehold.chain._index_writer import KNOWN_BLOCKS, IndexWriter
from leasehold.chain._ordered import Block
from leasehold.chain._queries import Queries
from leasehold.chain._watcher import EventWatcher, Item
from leasehold.errors import ChainError

T = TypeVar("T")
OnCommit = Callable[[Sequence[Item]], Awaitable[None]]
_FIRST_RETRY, _LAST_RETRY = 0.1, 5.0  # seconds
_STAND_AGAIN = 1.0  # seconds until whoever was not elected stands again


class Indexer(Queries):
    """A pool's index.

        async with Indexer("sqlite:///index.db", deployment) as index:
            sources = await Pool(rpc, deployment).event_sources()
            async with EventWatcher(rpc, ws_url, sources, deployment.block) as watcher:
                await index.run(watcher)

    database_url: `sqlite:///path`, or `postgresql://user@host/database` for several processes at once (PostgreSQL 14
    or newer; a pooler in between must leave each client its connection). `sqlite://` in memory is not served, since
    threads share it. Raises SettingsError.

    Every read raises IndexUnavailable while PostgreSQL is away, and once it has said nothing for ten seconds.
    """

    def __init__(self, database_url: str, deployment: Deployment) -> None:
        super().__init__(engine_of(database_url), deployment)
        self._writer = IndexWriter(self._engine, self, deployment.controller)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="leasehold-index")
        self._changes = IndexNews()
        self.last_error: ChainError | None = None
        """Why this process does not index now, in `run_elected`."""

    async def __aenter__(self) -> "Indexer":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def open(self) -> None:
        """Makes the tables where they are missing, or of another form, and finds the cursor."""
        await self._in_thread(self._writer.open)
        self._changes.head = self._writer.cursor

    async def refresh(self) -> None:
        """Goes on from where another process has come meanwhile, for who takes turns with it. Raises IndexBroken."""
        if await self._in_thread(self._writer.refresh):
            self._changes.tell(IndexChange.of_everything(self._writer.cursor))

    async def aclose(self) -> None:
        """Closes the database."""
        await self._in_thread(self._writer.election.resign)
        await self._in_thread(self._engine.dispose)
        self._thread.shutdown(wait=False)
        if self._readers is not None:
            self._readers.shutdown(wait=False)

    async def run(self, watcher: EventWatcher, on_commit: OnCommit | None = None) -> None:
        """Indexes for ever what the watcher hands out, from the cursor on.

        on_commit: is told what has just been committed. Raises IndexConflict, IndexBroken, IndexTorn, IndexUnavailable.
        """
        known = await self.known_blocks()
        watcher.resume(known, complete=len(known) < KNOWN_BLOCKS)
        async with aclosing(watcher.batches()) as batches:
            async for batch in batches:
                await self.apply(batch)
                if on_commit is not None:
                    await on_commit(batch)

    async def run_elected(self, watcher: EventWatcher, on_commit: OnCommit | None = None) -> None:
        """As `run`, in each of several processes, of which one at a time writes; for ever.

        Those who do not write are told of what is committed (`changes`, `head`) and take over when the one who does is
        gone. A server that is away is waited for; tables that somebody dropped, or that hold what is on no one chain,
        are filled again. On SQLite there is no election: there it is `run`.

        on_commit: is told what this process has committed. Raises IndexConflict: another program gave the tables
        another form; on SQLite, it writes them.
        """
        if not is_postgres(self._engine):
            await self.run(watcher, on_commit)
            return
        await _first_of(self._listen(), self._stand(watcher, on_commit))

    async def apply(self, items: Sequence[Item]) -> None:
        """Commits some of a watcher's items together with the cursor."""
        await self._commit(partial(self._writer.apply, items))
        if self._writer.wants_statistics:
            await self._in_thread(self._writer.take_statistics)

    async def clear(self) -> None:
        """Forgets everything, so that the next `run` builds it anew from the chain."""
        await self._commit(self._writer.clear)

    async def changes(self) -> AsyncGenerator[IndexChange, None]:
        """What is committed, while `run` or `run_elected` runs here: first of all that anything may have been.

        Commits that come while the one before is looked at come as one.
        """
        with self._changes.consumer() as consumer:
            yield IndexChange.of_everything(self._changes.head)
            while True:
                yield await consumer.next()

    async def reached(self, block: int) -> Block:
        """Waits until block `block` has been indexed, and returns the head."""
        with self._changes.consumer() as consumer:
            while (head := self._changes.head) is None or head.number < block:
                await consumer.next()
        return head

    @property
    def shared(self) -> bool:
        """Whether several processes may have it, one of which is elected: it lies on PostgreSQL."""
        return self._served

    @property
    def elected(self) -> bool:
        """Whether this process is the one that `run_elected` lets write."""
        return self._writer.election.held

    async def head(self) -> Block | None:
        """The last block that was indexed."""
        return self._changes.head

    async def known_blocks(self) -> list[Block]:
        """The newest blocks with events, and the cursor, for `EventWatcher.resume`."""
        return await self._in_thread(self._writer.known_blocks)

    async def _commit(self, work: Callable[[], IndexChange]) -> None:
        """Tells what was committed also where nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        await self._in_thread(lambda: loop.call_soon_threadsafe(self._changes.tell, work()))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._done, work)

    def _done(self, work: Callable[[], T]) -> T:
        with in_our_words(self._engine):
            return work()

    # ----------------------------------------------------------------------------------------- one writer of several

    async def _stand(self, watcher: EventWatcher, on_commit: OnCommit | None) -> None:
        retry = _FIRST_RETRY
        while True:
            try:
                if not await self._in_thread(self._writer.stand):
                    self.last_error = None
                    retry = _STAND_AGAIN
                else:
                    retry = _FIRST_RETRY
                    await self._lead(watcher, on_commit)
            except IndexUnavailable as error:
                self.last_error = error
            await asyncio.sleep(retry)
            retry = min(2 * retry, _LAST_RETRY) if self.last_error else _STAND_AGAIN

    async def _lead(self, watcher: EventWatcher, on_commit: OnCommit | None) -> None:
        """Writes until something keeps it from that."""
        self.last_error = None
        self._changes.tell(IndexChange.of_everything(self._writer.cursor))
        try:
            await _first_of(self._beat(), self.run(watcher, on_commit))
        except IndexConflict as error:
            self.last_error = error  # somebody wrote who was not elected
        except IndexBroken as error:
            self.last_error = error
            await self.clear()
        finally:
            await self._in_thread(self._writer.election.resign)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self._in_thread(self._writer.election.beat)

    async def _listen(self) -> None:
        """Tells what other processes commit."""
        from psycopg import Error  # only who lives on PostgreSQL has it

        retry = _FIRST_RETRY
        while True:
            with suppress(Error, OSError, IndexUnavailable):
                async with aclosing(listen(connect_arguments(self._engine), BEAT_SECONDS)) as notices:
                    async for notice in notices:
                        retry = _FIRST_RETRY
                        await self._heard(*notice)
            await asyncio.sleep(retry)
            retry = min(2 * retry, _LAST_RETRY)

    async def _heard(self, process: int, text: str) -> None:
        """A notice; without a text, that it listens only since now."""
        if not text:
            head = await self._in_thread(self._writer.stored_cursor)
            self._changes.tell(IndexChange.of_everything(head))
        elif not self.elected or process != self._writer.election.process:
            with suppress(ValueError):
                pool, change = read_notice(text)
                if pool == self.pool_key:
                    self._changes.tell(change)


async def _first_of(*works: Coroutine[Any, Any, None]) -> None:
    """Does all of it until one ends, and raises what that one raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()
