"""The index as it lies on the disk, read without SQLAlchemy, whose import takes longer than all that a prompt asks.

What it says is what `Queries` says of the same index: a test holds the two equal. It only reads, and it reads only what
it knows the form of; of anything else it says that there is nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from leasehold.chain._deployment import Deployment
from leasehold.chain._records import MachineRecord
from leasehold.chain._rows import machine_record
from leasehold.chain._types import Uint256
from leasehold.chain._versions import SCHEMA, MachineVersion

_BUSY_SECONDS = 1.0
_NEWEST_MACHINES = """
    SELECT * FROM chain_machines AS machine WHERE pool = :pool AND place = (
        SELECT max(place) FROM chain_machines WHERE pool = :pool AND machine = machine.machine
    ) ORDER BY machine
"""
_CURSOR = """
    SELECT pool, hash FROM chain_cursors JOIN chain_pools ON chain_pools.id = pool
    WHERE chain_id = :chain_id AND genesis = :genesis AND controller = :controller
"""


@dataclass(frozen=True)
class MachinesAtBlock:
    """All machines of a pool, retired ones included, by id, as they were at the block with this hash."""

    block: str
    machines: list[MachineRecord]


def read_machines(path: Path, deployment: Deployment) -> MachinesAtBlock | None:
    """The pool's machines at the last block that was indexed; None where no index of this form can be read."""
    try:
        with _reading(path) as index:
            if [row[0] for row in index.execute("SELECT version_num FROM chain_version")] != [SCHEMA]:
                return None
            key = {name: getattr(deployment, name) for name in ("chain_id", "genesis", "controller")}
            found = index.execute(_CURSOR, key).fetchone()
            if found is None:
                return None
            rows = index.execute(_NEWEST_MACHINES, {"pool": found["pool"]})
            return MachinesAtBlock(found["hash"], [machine_record(_in_python(row)) for row in rows])
    except (sqlite3.Error, LookupError, ValueError):
        return None


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One moment of the index, whoever writes meanwhile."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as index:
        index.row_factory = sqlite3.Row
        index.execute("BEGIN")
        yield index


def _in_python(row: sqlite3.Row) -> Mapping[str, Any]:
    """The columns of a `MachineVersion`, with its types."""
    return {each.name: _READ.get(each.type, _as_it_is)(row[each.name]) for each in fields(MachineVersion)}


def _as_it_is(value: Any) -> Any:
    return value


_READ: Mapping[Any, Any] = {Uint256: int, bool: bool}
