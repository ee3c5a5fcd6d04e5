"""Where an index lies: a database by its URL, made ready for one writer beside many readers.

On SQLite the driver's errors are left as they are: they are of the own disk, and whoever keeps room on it must see
which. A server may be away and come back, so its errors become `IndexUnavailable`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from leasehold.chain._index_errors import IndexTorn, IndexUnavailable
from leasehold.errors import SettingsError

_BUSY_SECONDS = 30
_CONNECT_SECONDS = 5
_WRITES = "leasehold_writes"
_ADVICE = "use sqlite:///path or postgresql://user@host/database."


def engine_of(database_url: str) -> sa.Engine:
    """Raises SettingsError for an address that is none, or whose driver is not installed."""
    if database_url.startswith("postgres://"):  # as many hosts of databases write it
        database_url = database_url.replace("postgres", "postgresql", 1)
    try:
        url = sa.make_url(database_url)
    except sa.exc.ArgumentError as error:
        raise SettingsError("What is given as the index's database is no URL", _ADVICE) from error
    if url.get_backend_name() == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise SettingsError("The index needs a file", _ADVICE)
        engine = sa.create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
        _prepare_sqlite(engine)
        return engine
    if url.get_backend_name() != "postgresql":
        raise SettingsError(f"The index cannot lie in {url.get_backend_name()}", _ADVICE)
    return _postgres_engine(url)


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


def _postgres_engine(url: sa.URL) -> sa.Engine:
    patience = {
        "connect_timeout": _CONNECT_SECONDS,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }
    try:
        return sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=patience,
            pool_pre_ping=True,  # what a restarted server has forgotten is not taken for a connection
            pool_timeout=_CONNECT_SECONDS,
        )
    except ModuleNotFoundError as error:
        raise SettingsError("PostgreSQL's driver is missing", "install leasehold[postgres].") from error


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
    return {**arguments, "connect_timeout": _CONNECT_SECONDS}
