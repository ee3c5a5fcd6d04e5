"""A pool's powers, read from the chain: in one call where the deployment names a lens, else one by one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from leasehold.chain import Lens, PoolView

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def powers_of(client: PoolClient) -> PoolView:
    """Who has which power over the client's pool, at the head of the chain."""
    if client.deployment.lens is not None:
        return await Lens(client.rpc, client.deployment.lens).pool(client.pool.address)
    pool = client.pool
    committee = await pool.committee()
    version, proposed = await asyncio.gather(pool.params_version(), pool.proposed_params())
    token, accounts, owner, pending, treasury = await asyncio.gather(
        pool.token(), pool.accounts(), pool.owner(), pool.pending_owner(), pool.treasury()
    )
    paused, gated = await asyncio.gather(pool.paused(), pool.gated())
    machines, slots, seats, matured = await asyncio.gather(
        pool.machine_count(), pool.slot_count(), committee.seat_count(), committee.matured_seats(version)
    )
    return PoolView(
        token=token,
        accounts=accounts,
        owner=owner,
        pending_owner=pending,
        treasury=treasury,
        companions=await pool.companions(),
        paused=paused,
        gated=gated,
        machine_count=machines,
        slot_count=slots,
        seat_count=seats,
        matured_seats=matured,
        params_version=version,
        params=await pool.params(version),
        proposed_version=proposed.version,
        in_force_at=proposed.in_force_at,
        proposed=await pool.params(proposed.version) if proposed.version else None,
    )
