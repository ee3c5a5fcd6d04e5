"""What SQLite's planner is told of an index: nearly all rows are of one pool, and few of one machine, lease or account.

Of itself it supposes that a table's key says more than an index does, and `pool` is the first of each key: so it read
all versions of all leases for one lease. PostgreSQL counts for itself (`IndexWriter.take_statistics`); here nothing is
counted, so that a plan is the same on the first day and after years.
"""

from typing import Final

import sqlalchemy as sa

from leasehold.chain import _tables as tables

_ROWS: Final = 1_000_000
_FEW: Final = 20
"""Rows of one machine, lease or account."""
_TOLD: Final = sa.table("sqlite_stat1", sa.column("tbl"), sa.column("idx"), sa.column("stat"))


def tell_planner(connection: sa.Connection) -> None:
    """Says so of tables of which nothing is said yet; connections that are made from now on know it, and this one."""
    known = set[str]()
    if sa.inspect(connection).has_table(_TOLD.name):
        known.update(connection.scalars(sa.select(_TOLD.c.tbl)))
    rows = [row for table in tables.EVERYTHING if table.name not in known for row in _said_of(table)]
    if rows:
        connection.exec_driver_sql(
            "ANALYZE sqlite_schema"
        )  # counts nothing: makes the table, where there is none
        connection.execute(_TOLD.insert(), rows)
        connection.exec_driver_sql("ANALYZE sqlite_schema")  # has this connection read what it says


def _said_of(table: sa.Table) -> list[dict[str, str]]:
    """A row for the key, where the table is one, and for each index."""
    ways = {str(index.name): len(index.columns) for index in table.indexes if "pool" in index.columns}
    if not table.dialect_options["sqlite"]["with_rowid"]:
        ways[table.name] = len(table.primary_key.columns)
    return [{"tbl": table.name, "idx": name, "stat": _stat(columns)} for name, columns in ways.items()]


def _stat(columns: int) -> str:
    """How many rows there are, how many have the first column in common, the first two, and so on."""
    return " ".join(map(str, [_ROWS, _ROWS, *[_FEW] * (columns - 2), 1]))
