"""Engines for a PostgreSQL server: one that is away is said to be away, and one that is silent is not waited for.

A server that was stopped, or whose disk stands still, keeps its connections and says nothing. No keepalive finds that,
since its kernel answers for it. So every wait for it has an end: the connection is closed, whoever waited is told, and
the thread or task that it held does something else.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from leasehold.errors import SettingsError

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

READ_SECONDS: Final = 10.0
"""For which somebody who reads waits for an answer."""
WRITE_SECONDS: Final = 300.0
"""For which who writes does: forgetting an index of millions of rows is one statement."""
CONNECT_SECONDS: Final = 5
_PATIENCE: Final = "patience"
_SILENT: Final = "the server has said nothing for {:g} s"
_KEEPALIVES: Final = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_POOL: Final[dict[str, Any]] = {
    "pool_pre_ping": True,  # what a restarted server has forgotten is not taken for a connection
    "pool_timeout": CONNECT_SECONDS,
}


def postgres_url(text: str) -> sa.URL | None:
    """The URL as SQLAlchemy takes it; `None` for another database's. Raises ArgumentError for what is none."""
    if text.startswith("postgres://"):  # as many hosts of databases write it
        text = text.replace("postgres", "postgresql", 1)
    url = sa.make_url(text)
    return url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else None


def postgres_engine(url: sa.URL) -> sa.Engine:
    """For threads. Raises SettingsError without the driver."""
    try:
        engine = sa.create_engine(url, connect_args=dict(_KEEPALIVES), **_POOL)
        patient = patient_connection()
    except ModuleNotFoundError as error:
        raise SettingsError("PostgreSQL's driver is missing", "install leasehold[postgres].") from error

    def connect(dialect: object, record: object, words: Any, named: Any) -> Connection[Any]:
        return patient.connect(*words, **named)

    def returned(connection: Any, record: object) -> None:
        if connection is not None:
            be_patient(connection, READ_SECONDS)  # the next one is tried before it is given out

    sa.event.listen(engine, "do_connect", connect)
    sa.event.listen(engine, "checkin", returned)
    return engine


def async_postgres_engine(url: sa.URL) -> AsyncEngine:
    """For tasks. Raises SettingsError without the driver."""
    # It brings the mapper along, and an index in threads needs neither.
    from sqlalchemy.ext.asyncio import create_async_engine

    try:
        arguments = {**_KEEPALIVES, "async_creator_fn": patient_async_connection().connect}
        return create_async_engine(url, connect_args=arguments, **_POOL)
    except ModuleNotFoundError as error:
        raise SettingsError("PostgreSQL's driver is missing", "install leasehold[postgres].") from error


def be_patient(connection: Any, seconds: float) -> None:
    """For how long the driver's connection is waited for from now on."""
    setattr(connection, _PATIENCE, seconds)


@cache
def patient_connection() -> type[Connection[Any]]:
    """The driver's connection, whose waits end."""
    from psycopg import Connection, OperationalError
    from psycopg.errors import _WaitTimeout

    class PatientConnection(Connection[Any]):
        patience = READ_SECONDS

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            if timeout is not None:
                return super().wait(gen, interval, timeout)
            try:
                return super().wait(gen, interval, self.patience)
            except _WaitTimeout as error:
                self.pgconn.finish()  # it is in the middle of something, and of use to nobody
                raise OperationalError(_SILENT.format(self.patience)) from error

    return PatientConnection


@cache
def patient_async_connection() -> type[AsyncConnection[Any]]:
    """The same for tasks."""
    from psycopg import AsyncConnection, OperationalError
    from psycopg.errors import _WaitTimeout

    class PatientAsyncConnection(AsyncConnection[Any]):
        patience = READ_SECONDS

        async def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:  # noqa: ASYNC109
            if timeout is not None:
                return await super().wait(gen, interval, timeout)
            try:
                return await super().wait(gen, interval, self.patience)
            except _WaitTimeout as error:
                self.pgconn.finish()  # it is in the middle of something, and of use to nobody
                raise OperationalError(_SILENT.format(self.patience)) from error

    return PatientAsyncConnection
