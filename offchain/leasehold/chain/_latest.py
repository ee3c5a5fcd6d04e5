"""The newest versions, as the database has them: what `Projection` asks for when it has not met a row yet."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa

from leasehold.chain import _tables as tables
from leasehold.chain._index_errors import IndexBroken
from leasehold.chain._records import PoolRecord
from leasehold.chain._rows import only
from leasehold.chain._versions import LeaseVersion, MachineVersion


class StoredVersions:
    """`Latest` over a connection."""

    def __init__(self, connection: sa.Connection, pool: int) -> None:
        self._connection = connection
        self._pool = pool

    def machine(self, machine: int) -> MachineVersion:
        row = self._newest(tables.machines, machine=machine)
        if row is None:
            raise IndexBroken(f"machine {machine}")
        return MachineVersion(**only(MachineVersion, row))

    def lease(self, lease: int) -> LeaseVersion:
        row = self._newest(tables.leases, lease=lease)
        if row is None:
            raise IndexBroken(f"lease {lease}")
        return LeaseVersion(**only(LeaseVersion, row))

    def balance(self, account: str) -> int:
        debit = self._newest(tables.ledger, debit=account)
        credit = self._newest(tables.ledger, credit=account)
        if credit is None:
            return 0 if debit is None else int(debit["debit_balance"])
        if debit is None or _order(debit) <= _order(credit):
            return int(credit["credit_balance"])
        return int(debit["debit_balance"])

    def pool(self) -> PoolRecord | None:
        row = self._newest(tables.states)
        return None if row is None else PoolRecord(**only(PoolRecord, row))

    def params(self, version: int) -> Mapping[str, Any]:
        row = self._newest(tables.params, version=version)
        if row is None:
            raise IndexBroken(f"parameters {version}")
        return row

    def version(self, table: sa.Table, subject: Mapping[str, object]) -> Mapping[str, Any] | None:
        return self._newest(table, **subject)

    def _newest(self, table: sa.Table, **subject: object) -> Mapping[str, Any] | None:
        values = {f"of_{name}": value for name, value in subject.items()}
        query = _newest_of(table, tuple(subject))
        row = self._connection.execute(query, {"of_pool": self._pool, **values}).mappings().one_or_none()
        return None if row is None else dict(row)


@cache
def _newest_of(table: sa.Table, names: tuple[str, ...]) -> sa.Select[Any]:
    """Written once for each table: to write it takes longer than to ask."""
    order = [table.c[name].desc() for name in ("place", "entry") if name in table.c]
    where = [table.c[name] == sa.bindparam(f"of_{name}") for name in ("pool", *names)]
    return sa.select(table).where(*where).order_by(*order).limit(1)


def _order(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["place"], row["entry"]
