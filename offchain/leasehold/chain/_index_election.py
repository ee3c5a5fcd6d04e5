"""One writer among several processes: the one whose connection to PostgreSQL holds the pool's lock.

It writes over that very connection and no other. So whoever loses the lock has lost the transaction with it, and
nobody who was elected earlier can write beside who is elected now; that the cursor is compared before every commit
(`IndexConflict`) holds besides. A process that stands still loses its connection after `_IDLE`, unless it lets hear of
itself every `BEAT_SECONDS`: the server ends it, and the lock is free.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from leasehold.chain._index_engine import hasten
from leasehold.chain._index_errors import IndexUnavailable

BEAT_SECONDS = 5.0
_IDLE = "30s"
LOCKS = 0x6C656173
"""The class of advisory locks that are ours ("leas"); each pool's is its key, and 0 is for making the tables."""

_SESSION = {
    "idle_session_timeout": _IDLE,
    "idle_in_transaction_session_timeout": _IDLE,
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # A server that fails may forget the last commits, whole. The chain has them still.
    "synchronous_commit": "off",
}


class Election:
    """A process's part in it. All of it is done in the thread that writes."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._session: sa.Connection | None = None
        self.process = 0
        """The server's number for the connection that writes, which says from whom a notice comes."""

    @property
    def held(self) -> bool:
        """Whether this process was elected, and has not heard since that it is no longer."""
        return self._session is not None

    def won(self, pool: int) -> bool:
        """Stands for election to write the pool. Raises SQLAlchemy's errors."""
        session = self._engine.connect()
        session.detach()  # it is no one else's when this is over
        try:
            session.begin()
            hasten(session)
            for name, value in _SESSION.items():
                session.exec_driver_sql(f"SET {name} = '{value}'")
            lock = sa.select(sa.func.pg_try_advisory_lock(LOCKS, pool), sa.func.pg_backend_pid())
            elected, process = session.execute(lock).one()
            session.commit()
        except BaseException:
            session.close()
            raise
        if not elected:
            session.close()
            return False
        self._session, self.process = session, process
        return True

    def resign(self) -> None:
        """Lets another be elected."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Over the connection that holds the lock. Raises IndexUnavailable: it is lost."""
        if self._session is None or self._session.invalidated:
            raise IndexUnavailable("the connection of the process that was elected to write is lost")
        with self._session.begin():
            yield self._session

    def beat(self) -> None:
        """Lets the server hear of this process. Raises as `transaction`, and SQLAlchemy's errors."""
        with self.transaction() as connection:
            hasten(connection)
            connection.exec_driver_sql("SELECT 1")
