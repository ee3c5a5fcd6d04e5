"""What the gateway asks of the chain itself, since no event says it: scores, contracts, and what they are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from eth_utils.crypto import keccak

from leasehold.chain import PoolView
from leasehold.client import PoolClient, powers_of
from leasehold.errors import ChainError

_AT_ONCE: Final = 16  # questions to a node


@dataclass(frozen=True)
class PoolFacts:
    """A pool at the head of the chain. contracts: their names and addresses. code: of each name, the hash of what
    is deployed there, as the chain gives it to contracts.
    """

    view: PoolView
    contracts: dict[str, str]
    code: dict[str, str]


class Facts(Protocol):
    """The chain, as far as the gateway asks it. Raises ChainError."""

    async def pool(self) -> PoolFacts: ...

    async def scores(self, providers: Iterable[str]) -> dict[str, int]: ...

    async def now(self) -> int: ...


class ChainFacts:
    """The chain by way of its nodes."""

    def __init__(self, client: PoolClient) -> None:
        self._client = client
        self._code: dict[str, str] = {}

    async def pool(self) -> PoolFacts:
        """The pool's powers now; what code is deployed is asked once, since it never changes."""
        client = self._client
        places = {name: address for address, name in (await client.pool.contracts()).items()}
        if not self._code:
            asked = [("eth_getCode", (address, "latest")) for address in places.values()]
            codes = await client.rpc.batch(asked)
            self._code = {
                name: f"0x{keccak(hexstr=code).hex()}" for name, code in zip(places, codes, strict=True)
            }
        return PoolFacts(await powers_of(client), places, self._code)

    async def scores(self, providers: Iterable[str]) -> dict[str, int]:
        """Their scores, of those for whom a node gave an answer."""
        reputation, gate = await self._client.pool.reputation(), asyncio.Semaphore(_AT_ONCE)
        scores: dict[str, int] = {}

        async def ask(provider: str) -> None:
            async with gate:
                try:
                    scores[provider] = await reputation.score_of(provider)
                except ChainError:
                    return

        await asyncio.gather(*map(ask, providers))
        return scores

    async def now(self) -> int:
        """By which the next block will judge."""
        return await self._client.now()
