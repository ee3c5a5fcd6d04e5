"""Where an index lies: a database by its URL, made ready for one writer beside many readers.

On SQLite the driver's errors are left as they are: they are of the own disk, and whoever keeps room on it must see
which. A server may be away and come back, so its errors become `IndexUnavailable`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from leasehold._postgres import (
    CONNECT_SECONDS,
    READ_SECONDS,
    WRITE_SECONDS,
    be_patient,
    postgres_engine,
    postgres_url,
)
from leasehold.chain._index_errors import IndexTorn, IndexUnavailable
from leasehold.errors import SettingsError

_BUSY_SECONDS = 30
_WRITES = "leasehold_writes"
_ADVICE = "use sqlite:///path or postgresql://user@host/database."


def engine_of(database_url: str) -> sa.Engine:
    """Raises SettingsError for an address that is none, or whose driver is not installed."""
    try:
        url, of_server = sa.make_url(database_url), postgres_url(database_url)
    except sa.exc.ArgumentError as error:
        raise SettingsError("What is given as the index's database is no URL", _ADVICE) from error
    if of_server is not None:
        engine = postgres_engine(of_server)
        sa.event.listen(engine, "begin", _begun_on_server)
        return engine
    if url.get_backend_name() != "sqlite":
        raise SettingsError(f"The index cannot lie in {url.get_backend_name()}", _ADVICE)
    if url.database in (None, "", ":memory:"):
        raise SettingsError("The index needs a file", _ADVICE)
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    _prepare_sqlite(engine)
    return engine


def is_postgres(engine: sa.Engine) -> bool:
    return engine.dialect.name == "postgresql"


def for_writing(engine: sa.Engine) -> sa.Engine:
    """The same database; transactions of what this gives take the writer's place as they begin."""
    return engine.execution_options(**{_WRITES: True})


@contextmanager
def in_our_words(engine: sa.Engine) -> Iterator[None]:
    """Raises what a database server's driver raises as IndexUnavailable, or as IndexTorn where rows clash."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        raise IndexTorn from error
    except sa.exc.SQLAlchemyError as error:
        if not is_postgres(engine):
            raise
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise IndexUnavailable(reason) from error


def hasten(connection: sa.Connection) -> None:
    """Has a transaction that writes little end as soon as one that reads, where the server is silent."""
    if connection.dialect.name == "postgresql":
        be_patient(connection.connection.dbapi_connection, READ_SECONDS)


def _begun_on_server(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    be_patient(connection.connection.dbapi_connection, WRITE_SECONDS if writes else READ_SECONDS)


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


def connect_arguments(engine: sa.Engine) -> dict[str, Any]:
    """What the driver's own `connect` takes, for the one connection that listens."""
    _, arguments = engine.dialect.create_connect_args(engine.url)
    return {**arguments, "connect_timeout": CONNECT_SECONDS}
