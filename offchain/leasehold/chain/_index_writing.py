"""Rows into the index, past SQLAlchemy's handling of each parameter where there are many.

PostgreSQL takes them by COPY, as text that is made column by column: what repeats in a column is written once.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from leasehold.chain import _tables as tables
from leasehold.chain._tables import Amount

_ROWS_A_STATEMENT = 250  # some thousand parameters; SQLite takes 32,766
_ROWS_AT_ONCE = 1_000  # the server takes these while the next are written
_FEW = 3  # rows that statements bring sooner than COPY

Row = Mapping[str, Any]
Column = Sequence[Any]


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Rows by their columns' names."""
    if not rows:
        return
    if len(rows) <= _FEW:
        connection.execute(table.insert(), rows)
        return
    names = list(rows[0])
    _insert(connection, table, names, list(zip(*map(itemgetter(*names), rows), strict=True)))


def insert_ledger(connection: sa.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of the ledger, in the order of its columns; the last one is a transaction's hash, as a log has it."""
    if rows:
        names = [column.name for column in tables.ledger.c]
        *columns, hashes = zip(*rows, strict=True)
        read = {text: bytes.fromhex(text[2:]) for text in set(hashes)}
        _insert(connection, tables.ledger, names, [*columns, list(map(read.__getitem__, hashes))])


def _insert(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], columns: Sequence[Column]
) -> None:
    if connection.dialect.name == "postgresql":
        _copy(connection, table, names, columns)
        return
    for at in range(0, len(columns[0]), _ROWS_A_STATEMENT):
        some = {
            name: column[at : at + _ROWS_A_STATEMENT] for name, column in zip(names, columns, strict=True)
        }
        _insert_at_once(connection, table, some)


def _insert_at_once(connection: sa.Connection, table: sa.Table, columns: Mapping[str, Column]) -> None:
    """Into SQLite many rows a statement: four times as fast.

    Also, the driver lets go of the interpreter's lock once a statement, and gets it back late while the event loop
    is busy: the fewer, the better.
    """
    # Nothing takes the driver longer than to be told that there is nothing.
    told = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    for name, column in told.items():
        if isinstance(table.c[name].type, Amount):
            told[name] = [None if value is None else str(value) for value in column]
    values = tuple(itertools.chain.from_iterable(zip(*told.values(), strict=True)))
    one = f"({', '.join('?' * len(told))})"
    every = ", ".join([one] * (len(values) // len(told)))
    named = ", ".join(map(_quoted, told))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({named}) VALUES {every}", values)


# ------------------------------------------------------------------------------------------------------------- COPY


def _copy(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], columns: Sequence[Column]
) -> None:
    """One COPY, in the transaction of the connection."""
    kinds = [table.c[name].type for name in names]
    statement = f"COPY {table.name} ({', '.join(map(_quoted, names))}) FROM STDIN"
    driver: Any = connection.connection.dbapi_connection
    errors = connection.dialect.loaded_dbapi.Error
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for at in range(0, len(columns[0]), _ROWS_AT_ONCE):
                copy.write(_text_of(kinds, [column[at : at + _ROWS_AT_ONCE] for column in columns]))
    except errors as error:  # as SQLAlchemy raises what its own statements bring about
        raise sa.exc.DBAPIError.instance(
            statement, None, error, errors, dialect=connection.dialect
        ) from error


def _text_of(kinds: Sequence[sa.types.TypeEngine[Any]], columns: Sequence[Column]) -> bytes:
    written = [_written(kind, column) for kind, column in zip(kinds, columns, strict=True)]
    return ("\n".join(map("\t".join, zip(*written, strict=True))) + "\n").encode()


def _quoted(name: str) -> str:
    return f'"{name}"'


def _written(kind: sa.types.TypeEngine[Any], column: Column) -> Iterable[str]:
    """The values as COPY's text has them; of those that repeat, each is written once."""
    write = next(write for types, write in _WRITERS if isinstance(kind, types))
    distinct = set(column)
    absent = None in distinct
    if len(distinct) > len(column) // 2 and not absent:
        return map(write, column)
    texts = {value: write(value) for value in distinct if value is not None}
    if absent:
        texts[None] = "\\N"
    if len(texts) == 1:
        return itertools.repeat(texts[column[0]], len(column))
    return map(texts.__getitem__, column)


def _bytes(value: bytes) -> str:
    return f"\\\\x{value.hex()}"


def _text(value: str) -> str:
    return value.translate(_ESCAPES)


_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_WRITERS: Sequence[tuple[tuple[type, ...], Callable[[Any], str]]] = (
    ((sa.Boolean,), lambda value: "t" if value else "f"),
    ((sa.Integer, Amount), str),
    ((sa.LargeBinary,), _bytes),
    ((sa.String,), _text),
)
