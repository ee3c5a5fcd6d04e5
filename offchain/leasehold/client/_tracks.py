"""What the chain remembers of machines, worked out of the index and of the scores at its head."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.chain import FaultRecord, LeaseRecord, RatingRecord
from leasehold.market import Listing, track_of

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_AT_ONCE = 32  # scores that a node is asked for


async def with_tracks(client: PoolClient, listings: Sequence[Listing]) -> list[Listing]:
    """The same, each with its track. Raises ChainError."""
    index, now = await client.index(), await client.now()
    leases: dict[int, list[LeaseRecord]] = defaultdict(list)
    faults: dict[int, list[FaultRecord]] = defaultdict(list)
    ratings: dict[int, list[RatingRecord]] = defaultdict(list)
    on = {}
    for lease in await index.leases():
        leases[lease.lease.machine].append(lease)
        on[lease.lease.id] = lease.lease.machine
    for fault in await index.faults():
        faults[fault.machine].append(fault)
    for rating in await index.ratings():
        ratings[on.get(rating.lease, 0)].append(rating)
    scores = await _scores(client, {listing.machine.provider for listing in listings})
    return [
        replace(
            listing,
            track=track_of(
                leases[listing.id],
                faults[listing.id],
                ratings[listing.id],
                now,
                score=scores[listing.machine.provider],
            ),
        )
        for listing in listings
    ]


async def _scores(client: PoolClient, providers: set[str]) -> dict[str, int]:
    reputation, gate = await client.pool.reputation(), asyncio.Semaphore(_AT_ONCE)

    async def ask(provider: str) -> tuple[str, int]:
        async with gate:
            return provider, await reputation.score_of(provider)

    return dict(await asyncio.gather(*map(ask, sorted(providers))))
