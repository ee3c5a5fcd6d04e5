"""What the chain remembers of tenants, worked out of the index when a provider asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leasehold.chain import LeaseRecord
from leasehold.market import TenantRecord, parse_tenants, sort_tenants, tenant_record

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def tenants_of(client: PoolClient, query: str = "", *, by: str = "-paid") -> Sequence[TenantRecord]:
    """The tenants of whom all terms of `query` hold, such as ``ended>=3 rejected<5``, in order of a field.

    Raises:
        QueryError, InvalidInput, ChainError.
    """
    wanted, index, now = parse_tenants(query), await client.index(), await client.now()
    leases: dict[str, list[LeaseRecord]] = defaultdict(list)
    own: dict[str, set[int]] = defaultdict(set)
    for record in await index.leases():
        leases[record.lease.tenant].append(record)
    for machine in await index.machines():
        own[machine.machine.provider].add(machine.machine.id)
    known = [
        tenant_record(account, records, own[account], now, client.money)
        for account, records in leases.items()
    ]
    return sort_tenants((record for record in known if wanted.matches(record)), by)
