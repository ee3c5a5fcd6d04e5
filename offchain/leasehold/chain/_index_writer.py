"""Rows and cursor, committed together: what of an index is done in the one thread that writes it.

Nothing here waits for anything but the database. What is raised is SQLAlchemy's, until `in_our_words` puts it so.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa

from leasehold.chain import _tables as tables
from leasehold.chain._index_changes import IndexChange, notify
from leasehold.chain._index_election import LOCKS, Election
from leasehold.chain._index_engine import for_writing, hasten, is_postgres
from leasehold.chain._index_errors import IndexConflict
from leasehold.chain._index_statistics import tell_planner
from leasehold.chain._index_writing import insert_ledger, insert_rows
from leasehold.chain._latest import StoredVersions
from leasehold.chain._ordered import Applied, Block, RolledBack
from leasehold.chain._projection import Projection
from leasehold.chain._queries import Queries
from leasehold.chain._tables import Form

KNOWN_BLOCKS = 4_000
_FLUSH_ROWS = 20_000
_MUCH = 4_000  # events at once


class IndexWriter:
    """queries: those of the same database, which know the pool's names and, once it is found, its key."""

    def __init__(self, engine: sa.Engine, queries: Queries, controller: str) -> None:
        self._engine = engine
        self._writing = for_writing(engine)
        self._queries = queries
        self._controller = controller
        self._projection: Projection | None = None
        self._unmeasured, self._much_comes = 0, False
        self.cursor: Block | None = None
        self.election = Election(self._writing)

    @property
    def _pool(self) -> int:
        return self._queries.pool_key

    # -------------------------------------------------------------------------------------------------- the tables

    def open(self) -> None:
        """Makes the tables where they are missing, or of another form, and finds the cursor."""
        with self._writing.begin() as connection:
            self._make_tables(connection, {Form.MISSING, Form.ANOTHER})
        self.refresh()

    def stand(self) -> bool:
        """Stands for election, in tables that are there again if somebody dropped them; whether it was elected.

        Raises IndexConflict: another program has given them another form.
        """
        with self._writing.begin() as connection:
            hasten(connection)
            if self._make_tables(connection, {Form.MISSING}) is Form.ANOTHER:
                raise IndexConflict
        if not self.election.won(self._pool):
            return False
        self.refresh()
        return True

    def refresh(self) -> bool:
        """Goes on from where another process has come meanwhile; whether that is elsewhere."""
        cursor = self.stored_cursor()
        moved = cursor != self.cursor
        if moved:
            self._projection, self.cursor = None, cursor
        return moved

    def stored_cursor(self) -> Block | None:
        """The last block that somebody has committed."""
        with self._engine.connect() as connection:
            self._queries.recognise(connection)
            return _cursor(connection, self._pool)

    def _make_tables(self, connection: sa.Connection, where: set[Form]) -> Form:
        """Makes those of these forms anew; says what form they had."""
        if is_postgres(self._engine):  # one process at a time: the others find what it has made
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCKS, 0)))
        form = tables.form(connection)
        if form in where:
            tables.make_anew(connection)
        if not is_postgres(self._engine):
            tell_planner(connection)
        if form is Form.OURS or form in where:
            key = self._find_pool(connection)
            if key != self._pool:
                self._queries.pool_key, self._projection, self.cursor = key, None, None
        return form

    def _find_pool(self, connection: sa.Connection) -> int:
        table, named = tables.pools, self._queries.named
        query = sa.select(table.c.id).where(*(table.c[name] == value for name, value in named.items()))
        found = connection.execute(query).scalar_one_or_none()
        if found is None:
            found = connection.execute(table.insert().values(**named).returning(table.c.id)).scalar_one()
        return int(found)

    # ------------------------------------------------------------------------------------------------- the chain

    def known_blocks(self) -> list[Block]:
        """The newest blocks with events, and the cursor."""
        if self.cursor is None:
            return []
        table = tables.blocks
        query = (
            sa.select(table.c.number, table.c.hash, table.c.timestamp)
            .where(table.c.pool == self._pool, table.c.number < self.cursor.number)
            .order_by(table.c.number.desc())
            .limit(KNOWN_BLOCKS - 1)
        )
        with self._engine.connect() as connection:
            self._queries.recognise(connection)
            rows = connection.execute(query).all()
        return [*(Block(number, hash_, time) for number, hash_, time in reversed(rows)), self.cursor]

    def apply(self, items: Sequence[Applied | RolledBack]) -> IndexChange:
        """Commits some of a watcher's items together with the cursor. Raises IndexConflict, IndexBroken."""
        cursor = self.cursor
        try:
            with self._transaction() as connection:
                self._take_turn(connection)
                projection = self._projection_over(connection)
                for applied, undone in _in_runs(items):
                    if undone is not None:
                        cursor = self._undo(connection, projection, undone)
                    for some in _in_parts(applied):
                        self._insert(connection, projection, some)
                    if applied:
                        cursor = applied[-1].block
                change = IndexChange.of(items, cursor)
                self._finish(connection, change)
        except BaseException:
            self._projection = None  # it remembers what was not committed
            raise
        self._projection, self.cursor = projection, cursor
        events = sum(len(item.events) for item in items if isinstance(item, Applied))
        self._unmeasured += events
        self._much_comes = events >= _MUCH
        return change

    @property
    def wants_statistics(self) -> bool:
        """Whether much has come of which PostgreSQL's planner knows nothing yet, and it has become less."""
        return is_postgres(self._engine) and self._unmeasured >= _MUCH and not self._much_comes

    def take_statistics(self) -> None:
        """Without them it reads all newest versions as often as there are rows; its own look comes a minute later."""
        with self._transaction() as connection:
            for table in tables.VERSIONED:
                connection.exec_driver_sql(f"ANALYZE {table.name}")
        self._unmeasured = 0

    def clear(self) -> IndexChange:
        """Forgets everything."""
        change = IndexChange.of_everything(None)
        with self._transaction() as connection:
            self._queries.recognise(connection)
            self._undo(connection, None, 0)
            self._finish(connection, change)
        self._projection, self.cursor = None, None
        return change

    def _transaction(self) -> AbstractContextManager[sa.Connection]:
        """One that writes: over the connection that holds the lock, where this process was elected."""
        return self.election.transaction() if self.election.held else self._writing.begin()

    def _take_turn(self, connection: sa.Connection) -> None:
        """No other transaction that writes the pool lies between this look at the cursor and the commit."""
        self._queries.recognise(connection)
        connection.execute(
            sa.select(tables.pools.c.id).where(tables.pools.c.id == self._pool).with_for_update()
        )
        if _cursor(connection, self._pool) != self.cursor:
            raise IndexConflict

    def _finish(self, connection: sa.Connection, change: IndexChange) -> None:
        _set_cursor(connection, self._pool, change.head)
        if is_postgres(self._engine):
            notify(connection, self._pool, change)

    def _projection_over(self, connection: sa.Connection) -> Projection:
        latest = StoredVersions(connection, self._pool)
        if self._projection is None:
            return Projection(self._pool, self._controller, latest, empty=self.cursor is None)
        self._projection.look_up_in(latest)
        return self._projection

    def _insert(self, connection: sa.Connection, projection: Projection, some: Sequence[Applied]) -> None:
        """What the blocks' events make."""
        for item in some:
            projection.apply(item.events)
        insert_rows(connection, tables.blocks, [self._block_row(item.block) for item in some if item.events])
        for name, rows in projection.rows.items():
            insert_rows(connection, tables.metadata.tables[name], rows)
        insert_ledger(connection, projection.ledger)
        projection.drop_rows()

    def _block_row(self, block: Block) -> dict[str, Any]:
        place = {"number": block.number, "hash": block.hash, "timestamp": block.timestamp}
        return {"pool": self._pool, **place}

    def _undo(self, connection: sa.Connection, projection: Projection | None, block: int) -> Block | None:
        """Deletes every version from `block` on; returns the last block with events before it."""
        place = tables.place_of(block)
        for table in tables.VERSIONED:
            connection.execute(table.delete().where(table.c.pool == self._pool, table.c.place >= place))
        table = tables.blocks
        connection.execute(table.delete().where(table.c.pool == self._pool, table.c.number >= block))
        if projection is not None:
            projection.forget()
        query = (
            sa.select(table.c.number, table.c.hash, table.c.timestamp)
            .where(table.c.pool == self._pool)
            .order_by(table.c.number.desc())
            .limit(1)
        )
        row = connection.execute(query).one_or_none()
        return None if row is None else Block(*row)


def _in_runs(items: Sequence[Applied | RolledBack]) -> Iterator[tuple[list[Applied], int | None]]:
    """The blocks that join between one rollback and the next, each with the number from which on is undone before."""
    applied: list[Applied] = []
    undone: int | None = None
    for item in items:
        if isinstance(item, Applied):
            applied.append(item)
        elif applied:
            yield applied, undone
            applied, undone = [], item.block.number
        else:
            undone = item.block.number if undone is None else min(undone, item.block.number)
    yield applied, undone


def _in_parts(applied: Sequence[Applied]) -> Iterator[Sequence[Applied]]:
    """Of so many events that their rows do not fill the memory."""
    begin, events = 0, 0
    for end, item in enumerate(applied, 1):
        events += len(item.events)
        if events >= _FLUSH_ROWS or end == len(applied):
            yield applied[begin:end]
            begin, events = end, 0


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
