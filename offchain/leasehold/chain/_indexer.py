"""The index: events in, tables out. The questions that people and programs ask of them stand in `_queries`.

Rows and cursor are committed together, so that the index is at every moment what the chain was at some block. One
process writes a pool's index at a time; a second one finds the cursor moved and stops (`IndexConflict`). The
database is used synchronously in threads: SQLite is, and a batch is one call.
"""

import asyncio
import itertools
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sa

from leasehold.chain import _tables as tables
from leasehold.chain._deployment import Deployment
from leasehold.chain._index_errors import IndexBroken, IndexConflict, IndexTorn
from leasehold.chain._ordered import Applied, Block
from leasehold.chain._projection import Projection
from leasehold.chain._queries import Queries
from leasehold.chain._records import PoolRecord
from leasehold.chain._rows import only
from leasehold.chain._tables import Amount
from leasehold.chain._versions import LeaseVersion, MachineVersion
from leasehold.chain._watcher import EventWatcher, Item
from leasehold.errors import SettingsError

T = TypeVar("T")
_KNOWN_BLOCKS = 4_000
_BUSY_SECONDS = 30
_ROWS_A_STATEMENT = 250  # 3,000 parameters; SQLite takes 32,766
_WRITES = "leasehold_writes"


class Indexer(Queries):
    """A pool's index.

        async with Indexer("sqlite:///index.db", deployment) as index:
            sources = await Pool(rpc, deployment).event_sources()
            async with EventWatcher(rpc, ws_url, sources, deployment.block) as watcher:
                await index.run(watcher)

    database_url: SQLAlchemy's; `sqlite:///path`, `sqlite://` in memory is not served, since threads share it.
    """

    def __init__(self, database_url: str, deployment: Deployment) -> None:
        try:
            url = sa.make_url(database_url)
        except sa.exc.ArgumentError as error:
            raise SettingsError(f"`{database_url}` is not a database URL", "use sqlite:///path.") from error
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            raise SettingsError("The index needs a file", "use sqlite:///path.")
        self._deployment = deployment
        super().__init__(sa.create_engine(url, **_engine_options(url)), deployment)
        if url.get_backend_name() == "sqlite":
            _prepare_sqlite(self._engine)
        self._writer = self._engine.execution_options(**{_WRITES: True})
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="leasehold-index")
        self._cursor: Block | None = None
        self._projection: Projection | None = None
        self._committed = asyncio.Condition()

    async def __aenter__(self) -> "Indexer":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def open(self) -> None:
        """Makes the tables where they are missing, or of another form, and finds the cursor."""
        await self._in_thread(self._open)

    async def refresh(self) -> None:
        """Goes on from where another process has come meanwhile, for who takes turns with it. Raises IndexBroken."""
        await self._in_thread(self._refresh)

    async def aclose(self) -> None:
        """Closes the database."""
        await self._in_thread(self._engine.dispose)
        self._thread.shutdown(wait=False)

    async def run(
        self, watcher: EventWatcher, on_commit: Callable[[Sequence[Item]], Awaitable[None]] | None = None
    ) -> None:
        """Indexes for ever what the watcher hands out, from the cursor on.

        on_commit: is told what has just been committed. Raises IndexConflict, IndexBroken, IndexTorn.
        """
        known = await self.known_blocks()
        watcher.resume(known, complete=len(known) < _KNOWN_BLOCKS)
        async with aclosing(watcher.batches()) as batches:
            async for batch in batches:
                await self.apply(batch)
                if on_commit is not None:
                    await on_commit(batch)

    async def apply(self, items: Sequence[Item]) -> None:
        """Commits some of a watcher's items together with the cursor."""
        await self._in_thread(partial(self._apply, items))
        async with self._committed:
            self._committed.notify_all()

    async def clear(self) -> None:
        """Forgets everything, so that the next `run` builds it anew from the chain."""
        await self._in_thread(self._clear)

    async def reached(self, block: int) -> Block:
        """Waits until block `block` has been indexed, and returns the head."""
        async with self._committed:
            await self._committed.wait_for(lambda: self._cursor is not None and self._cursor.number >= block)
        assert self._cursor is not None
        return self._cursor

    async def head(self) -> Block | None:
        """The last block that was indexed."""
        return self._cursor

    async def known_blocks(self) -> list[Block]:
        """The newest blocks with events, and the cursor, for `EventWatcher.resume`."""
        return await self._in_thread(self._known_blocks)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # -------------------------------------------------------------------- what follows runs in the writer's thread

    def _open(self) -> None:
        with self._writer.begin() as connection:
            if not tables.up_to_date(connection):
                tables.make_anew(connection)
            self._pool = self._find_pool(connection)
            self._cursor = _cursor(connection, self._pool)

    def _refresh(self) -> None:
        with self._engine.connect() as connection:
            self._recognise(connection)
            cursor = _cursor(connection, self._pool)
        if cursor != self._cursor:
            self._projection, self._cursor = None, cursor

    def _find_pool(self, connection: sa.Connection) -> int:
        table = tables.pools
        query = sa.select(table.c.id).where(*(table.c[name] == value for name, value in self._named.items()))
        found = connection.execute(query).scalar_one_or_none()
        if found is None:
            found = connection.execute(
                table.insert().values(**self._named).returning(table.c.id)
            ).scalar_one()
        return int(found)

    def _known_blocks(self) -> list[Block]:
        if self._cursor is None:
            return []
        table = tables.blocks
        query = (
            sa.select(table.c.number, table.c.hash, table.c.timestamp)
            .where(table.c.pool == self._pool, table.c.number < self._cursor.number)
            .order_by(table.c.number.desc())
            .limit(_KNOWN_BLOCKS - 1)
        )
        with self._engine.connect() as connection:
            self._recognise(connection)
            rows = connection.execute(query).all()
        return [*(Block(number, hash_, time) for number, hash_, time in reversed(rows)), self._cursor]

    def _apply(self, items: Sequence[Item]) -> None:
        cursor = self._cursor
        try:
            with self._writer.begin() as connection:
                self._recognise(connection)
                connection.execute(
                    sa.select(tables.pools.c.id).where(tables.pools.c.id == self._pool).with_for_update()
                )
                if _cursor(connection, self._pool) != cursor:
                    raise IndexConflict
                projection = self._projection_over(_Latest(connection, self._pool))
                seen: list[dict[str, Any]] = []
                for item in items:
                    if isinstance(item, Applied):
                        cursor = self._gather(item, projection, seen)
                    else:
                        self._flush(connection, projection, seen)
                        cursor = self._undo(connection, projection, item.block.number)
                self._flush(connection, projection, seen)
                _set_cursor(connection, self._pool, cursor)
        except BaseException as error:
            self._projection = None  # it remembers what was not committed
            if isinstance(error, sa.exc.IntegrityError):
                raise IndexTorn from error
            raise
        self._projection = projection
        self._cursor = cursor

    def _clear(self) -> None:
        with self._writer.begin() as connection:
            self._recognise(connection)
            self._undo(connection, self._projection_over(_Latest(connection, self._pool)), 0)
            _set_cursor(connection, self._pool, None)
        self._projection, self._cursor = None, None

    def _projection_over(self, latest: "_Latest") -> Projection:
        if self._projection is None:
            return Projection(self._pool, self._deployment.controller, latest)
        self._projection.look_up_in(latest)
        return self._projection

    def _gather(self, item: Applied, projection: Projection, seen: list[dict[str, Any]]) -> Block:
        block = item.block
        if item.events:
            row = {
                "pool": self._pool,
                "number": block.number,
                "hash": block.hash,
                "timestamp": block.timestamp,
            }
            seen.append(row)
            for event in item.events:
                projection.apply(event)
        return block

    def _flush(self, connection: sa.Connection, projection: Projection, seen: list[dict[str, Any]]) -> None:
        if seen:
            connection.execute(tables.blocks.insert(), seen)
            seen.clear()
        for name, rows in projection.rows.items():
            if rows:
                connection.execute(tables.metadata.tables[name].insert(), rows)
        if projection.ledger:
            _insert_ledger(connection, projection.ledger)
        projection.drop_rows()

    def _undo(self, connection: sa.Connection, projection: Projection, block: int) -> Block | None:
        """Deletes every version from `block` on; returns the last block with events before it."""
        place = tables.place_of(block)
        for table in tables.VERSIONED:
            connection.execute(table.delete().where(table.c.pool == self._pool, table.c.place >= place))
        table = tables.blocks
        connection.execute(table.delete().where(table.c.pool == self._pool, table.c.number >= block))
        projection.forget()
        query = (
            sa.select(table.c.number, table.c.hash, table.c.timestamp)
            .where(table.c.pool == self._pool)
            .order_by(table.c.number.desc())
            .limit(1)
        )
        row = connection.execute(query).one_or_none()
        return None if row is None else Block(*row)


class _Latest:
    """The newest versions, as the database has them."""

    def __init__(self, connection: sa.Connection, pool: int) -> None:
        self._connection = connection
        self._pool = pool

    def machine(self, machine: int) -> MachineVersion:
        row = self._newest(tables.machines, tables.machines.c.machine == machine)
        if row is None:
            raise IndexBroken(f"machine {machine}")
        return MachineVersion(**only(MachineVersion, row))

    def lease(self, lease: int) -> LeaseVersion:
        row = self._newest(tables.leases, tables.leases.c.lease == lease)
        if row is None:
            raise IndexBroken(f"lease {lease}")
        return LeaseVersion(**only(LeaseVersion, row))

    def balance(self, account: str) -> int:
        debit = self._newest(tables.ledger, tables.ledger.c.debit == account)
        credit = self._newest(tables.ledger, tables.ledger.c.credit == account)
        if credit is None:
            return 0 if debit is None else int(debit["debit_balance"])
        if debit is None or _order(debit) <= _order(credit):
            return int(credit["credit_balance"])
        return int(debit["debit_balance"])

    def pool(self) -> PoolRecord | None:
        row = self._newest(tables.states, sa.true())
        return None if row is None else PoolRecord(**only(PoolRecord, row))

    def params(self, version: int) -> Mapping[str, Any]:
        row = self._newest(tables.params, tables.params.c.version == version)
        if row is None:
            raise IndexBroken(f"parameters {version}")
        return row

    def version(self, table: sa.Table, subject: Mapping[str, object]) -> Mapping[str, Any] | None:
        return self._newest(table, sa.and_(*(table.c[name] == value for name, value in subject.items())))

    def _newest(self, table: sa.Table, where: sa.ColumnElement[bool]) -> Mapping[str, Any] | None:
        order = [table.c.place.desc()]
        if "entry" in table.c:
            order.append(table.c.entry.desc())
        query = sa.select(table).where(table.c.pool == self._pool, where).order_by(*order).limit(1)
        row = self._connection.execute(query).mappings().one_or_none()
        return None if row is None else dict(row)


def _engine_options(url: sa.URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": _BUSY_SECONDS}}
    return {"pool_pre_ping": True}


def _prepare_sqlite(engine: sa.Engine) -> None:
    """Readers beside one writer, and transactions that begin when they say so."""

    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # else the driver begins transactions of its own, and too late
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    def begun(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)


def _cursor(connection: sa.Connection, pool: int) -> Block | None:
    table = tables.cursors
    query = sa.select(table.c.number, table.c.hash, table.c.timestamp).where(table.c.pool == pool)
    row = connection.execute(query).one_or_none()
    return None if row is None else Block(*row)


def _set_cursor(connection: sa.Connection, pool: int, cursor: Block | None) -> None:
    table = tables.cursors
    connection.execute(table.delete().where(table.c.pool == pool))
    if cursor is not None:
        row = {"pool": pool, "number": cursor.number, "hash": cursor.hash, "timestamp": cursor.timestamp}
        connection.execute(table.insert(), [row])


def _insert_ledger(connection: sa.Connection, rows: list[tuple[Any, ...]]) -> None:
    """Into SQLite many rows a statement, past SQLAlchemy's handling of each parameter: four times as fast.

    Also, the driver lets go of the interpreter's lock once a statement, and gets it back late while the event loop
    is busy: the fewer, the better.
    """
    names = [column.name for column in tables.ledger.c]
    if connection.dialect.name != "sqlite":
        connection.execute(tables.ledger.insert(), [dict(zip(names, row, strict=True)) for row in rows])
        return
    amounts = {column.name for column in tables.ledger.c if isinstance(column.type, Amount)}
    for at in range(0, len(rows), _ROWS_A_STATEMENT):
        columns = dict(zip(names, zip(*rows[at : at + _ROWS_A_STATEMENT], strict=True), strict=True))
        # Nothing takes the driver longer than to be told that there is nothing.
        told = {
            name: values for name, values in columns.items() if any(value is not None for value in values)
        }
        for name in amounts & told.keys():
            told[name] = tuple([None if value is None else str(value) for value in told[name]])
        values = tuple(itertools.chain.from_iterable(zip(*told.values(), strict=True)))
        one = f"({', '.join('?' * len(told))})"
        every = ", ".join([one] * (len(values) // len(told)))
        connection.exec_driver_sql(f"INSERT INTO chain_ledger ({', '.join(told)}) VALUES {every}", values)


def _order(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["place"], row["entry"]
