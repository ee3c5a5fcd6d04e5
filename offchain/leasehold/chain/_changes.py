"""What the index has beyond what somebody read of it, for who keeps a picture of it and wants no more than that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from leasehold.chain import _tables as tables
from leasehold.chain._ordered import Block

_AT_ONCE: Final = 1_000  # leases of one statement


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """head: what the index has come to; `None` while it is empty. last: its newest block with events. since: the newest
    of the blocks that were asked about that is still on the chain, from which on this counts; `None` where none is, and
    everything is new. leases: those with events or ratings. machines: those with events, faults, or such leases.
    """

    head: Block | None
    last: Block | None
    since: Block | None
    machines: frozenset[int]
    leases: frozenset[int]


def changes_since(connection: sa.Connection, pool: int, known: Sequence[Block]) -> IndexChanges:
    """What has come since the newest of the known blocks, all of which had events, that is still there."""
    head = _newest(connection, pool, tables.cursors)
    last = _newest(connection, pool, tables.blocks)
    since = _still_there(connection, pool, known)
    if since is None or since == last:
        return IndexChanges(head, last, since, frozenset(), frozenset())
    place = tables.place_of(since.number + 1)

    def changed(table: sa.Table, column: str) -> frozenset[int]:
        # Not `DISTINCT`: for that SQLite would read an index of all versions instead of the few that are new.
        query = sa.select(table.c[column]).where(table.c.pool == pool, table.c.place >= place)
        return frozenset(connection.scalars(query))

    leases = changed(tables.leases, "lease") | changed(tables.ratings, "lease")
    machines = changed(tables.machines, "machine") | changed(tables.faults, "machine")
    return IndexChanges(head, last, since, machines | _machines_of(connection, pool, leases), leases)


def _machines_of(connection: sa.Connection, pool: int, leases: frozenset[int]) -> frozenset[int]:
    table, machines, wanted = tables.leases, set[int](), sorted(leases)
    for at in range(0, len(wanted), _AT_ONCE):
        query = sa.select(table.c.machine).where(
            table.c.pool == pool, table.c.lease.in_(wanted[at : at + _AT_ONCE])
        )
        machines.update(connection.scalars(query.distinct()))
    return frozenset(machines)


def _newest(connection: sa.Connection, pool: int, table: sa.Table) -> Block | None:
    query = sa.select(table.c.number, table.c.hash, table.c.timestamp).where(table.c.pool == pool)
    row = connection.execute(query.order_by(table.c.number.desc()).limit(1)).one_or_none()
    return None if row is None else Block(*row)


def _still_there(connection: sa.Connection, pool: int, known: Sequence[Block]) -> Block | None:
    table = tables.blocks
    query = sa.select(table.c.number, table.c.hash).where(
        table.c.pool == pool, table.c.number.in_([block.number for block in known])
    )
    there = {(number, hash_) for number, hash_ in connection.execute(query)}
    return max(
        (block for block in known if (block.number, block.hash) in there),
        key=lambda block: block.number,
        default=None,
    )
