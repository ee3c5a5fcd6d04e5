"""What became of an index, told to those who wait for it, in this process and in others.

A writer's transaction sends the notice (PostgreSQL's `NOTIFY`), so it arrives when what it tells of has been
committed, and never otherwise.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from leasehold._postgres import patient_async_connection
from leasehold.chain._ordered import Applied, Block, RolledBack

CHANNEL = "leasehold_chain"


@dataclass(frozen=True, slots=True)
class IndexChange:
    """What was committed since the one before.

    head: the last block that is in the index. first: the lowest block that was added or taken away. undone: whether
    any was taken away, or may have been; whoever remembers something of the index reads it anew then.
    """

    head: Block | None
    first: int
    undone: bool

    @classmethod
    def of(cls, items: Sequence[Applied | RolledBack], head: Block | None) -> "IndexChange":
        """What applying a watcher's items makes."""
        first = min((item.block.number for item in items), default=0)
        return cls(head, first, any(isinstance(item, RolledBack) for item in items))

    @classmethod
    def of_everything(cls, head: Block | None) -> "IndexChange":
        return cls(head, 0, True)

    def after(self, earlier: "IndexChange") -> "IndexChange":
        """Both as one."""
        return IndexChange(self.head, min(earlier.first, self.first), earlier.undone or self.undone)


class IndexNews:
    """The newest head, and who waits for the next one. Of one event loop."""

    def __init__(self) -> None:
        self.head: Block | None = None
        self._waiting: set[Consumer] = set()

    def tell(self, change: IndexChange) -> None:
        self.head = change.head
        for consumer in self._waiting:
            consumer.tell(change)

    @contextmanager
    def consumer(self) -> "Iterator[Consumer]":
        """Somebody who is told from now on."""
        consumer = Consumer()
        self._waiting.add(consumer)
        try:
            yield consumer
        finally:
            self._waiting.discard(consumer)


class Consumer:
    def __init__(self) -> None:
        self._news = asyncio.Event()
        self._change: IndexChange | None = None

    def tell(self, change: IndexChange) -> None:
        self._change = change if self._change is None else change.after(self._change)
        self._news.set()

    async def next(self) -> IndexChange:
        """What has changed since the last call, as one; waits for it."""
        await self._news.wait()
        change, self._change = self._change, None
        self._news.clear()
        assert change is not None
        return change


def notify(connection: sa.Connection, pool: int, change: IndexChange) -> None:
    """Has the transaction tell all who listen, when it is committed."""
    head = None if change.head is None else [change.head.number, change.head.hash, change.head.timestamp]
    text = json.dumps([pool, head, change.first, change.undone])
    connection.execute(sa.select(sa.func.pg_notify(CHANNEL, text)))


def read_notice(text: str) -> tuple[int, IndexChange]:
    """The pool's key, and what became of it. Raises ValueError for what nobody of us wrote."""
    try:
        pool, head, first, undone = json.loads(text)
        number, hash_, timestamp = head or (0, "", 0)
        block = Block(int(number), str(hash_), int(timestamp)) if head else None
        return int(pool), IndexChange(block, int(first), bool(undone))
    except (TypeError, ValueError) as error:
        raise ValueError(f"no notice of an index: {text[:80]}") from error


async def listen(arguments: dict[str, Any], quiet: float) -> AsyncGenerator[tuple[int, str], None]:
    """Notices as they come, each with the server's number for who sent it; first (0, ""), once it listens.

    arguments: the driver's, of a connection. quiet: seconds without a notice, after which the server must show that it
    is there. Raises psycopg.Error when it is not.
    """
    connecting = patient_async_connection().connect(**arguments, autocommit=True)
    async with await connecting as connection:
        await connection.execute(f"LISTEN {CHANNEL}")
        yield 0, ""
        while True:
            async for notice in connection.notifies(timeout=quiet):
                yield notice.pid, notice.payload
            await connection.execute("SELECT 1")
