"""A search for machines that needs no connection, where all of its answer lies in the home already."""

from __future__ import annotations

import asyncio

from leasehold.chain import Deployment, MachineRecord, MachineStatus, head_at_a_glance, read_machines
from leasehold.home import Home
from leasehold.market import (
    AT_HAND,
    TRACKED,
    Listing,
    Money,
    digests_of,
    joined,
    kept_document,
    parse_search,
    sort,
)


async def search_at_a_glance(
    home: Home,
    deployment: Deployment,
    node: str,
    query: str = "",
    *,
    by: str = "price",
    retired: bool = False,
) -> list[Listing] | None:
    """What `PoolClient.search` gives, if the home's index is at the head of the chain, as `node` tells it, and the
    machines' documents are there too. Else None: then a `PoolClient` brings both up to date.

    Raises:
        QueryError: the search cannot be understood.
    """
    wanted = parse_search(query)
    if wanted.asks(*AT_HAND, *TRACKED) or by.removeprefix("-") in TRACKED:
        return None  # that is asked of the agents, or worked out of all leases
    head, known = await asyncio.gather(
        head_at_a_glance(node, deployment), asyncio.to_thread(read_machines, home.index, deployment)
    )
    if head is None or known is None or known.block != head:
        return None
    records = [
        record for record in known.machines if retired or record.machine.status is not MachineStatus.RETIRED
    ]
    documents = await asyncio.to_thread(_documents, home, records)
    if documents is None:
        return None
    return sort(joined(records, documents, Money.of(deployment), wanted.matches), by)


def _documents(home: Home, records: list[MachineRecord]) -> list[bytes] | None:
    """All documents of the records, unless one is missing."""
    kept = []
    for digest in digests_of(records):
        document = kept_document(home.documents, digest)
        if document is None:
            return None
        kept.append(document)
    return kept
