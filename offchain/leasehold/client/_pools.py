"""The pools of a factory: there may be many, each with its own token, owner and rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from leasehold.chain import FactoryContract, Pool
from leasehold.market import Json

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_PAGE: Final = 64
_AT_ONCE: Final = 8  # pools that are looked at


@dataclass(frozen=True)
class PoolLook:
    """One pool at the head of the chain. machines, slots: how many it ever had. own: the client's."""

    controller: str
    token: str
    owner: str
    machines: int
    slots: int
    version: int
    gated: bool
    paused: bool
    own: bool

    def to_json(self) -> dict[str, Json]:
        """For a program."""
        return {
            "controller": self.controller,
            "token": self.token,
            "owner": self.owner,
            "machines": self.machines,
            "slots": self.slots,
            "params_version": self.version,
            "gated": self.gated,
            "paused": self.paused,
            "own": self.own,
        }


async def pools_of(client: PoolClient, *, offset: int = 0, limit: int | None = None) -> list[PoolLook]:
    """The pools that the client's factory has made, oldest first. Anybody makes one there: it says nothing for them."""
    factory = FactoryContract(client.rpc, client.deployment.factory)
    end = await factory.pool_count()
    end = end if limit is None else min(end, offset + limit)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def look(controller: str) -> PoolLook:
        async with gate:
            return await _look(client, controller)

    controllers: list[str] = []
    for begin in range(offset, end, _PAGE):
        controllers += await factory.pools(begin, min(_PAGE, end - begin))
    return await asyncio.gather(*map(look, controllers))


async def _look(client: PoolClient, controller: str) -> PoolLook:
    pool = Pool(client.rpc, replace(client.deployment, controller=controller))
    token, owner, machines, slots = await asyncio.gather(
        pool.token(), pool.owner(), pool.machine_count(), pool.slot_count()
    )
    version, gated, paused = await asyncio.gather(pool.params_version(), pool.gated(), pool.paused())
    own = controller.lower() == client.pool.address.lower()
    return PoolLook(controller, token, owner, machines, slots, version, gated, paused, own)
