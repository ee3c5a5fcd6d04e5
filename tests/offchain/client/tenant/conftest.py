"""A pool with one machine and somebody's running lease on it, and the library as anybody uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import leasehold
from devnet.pool import PoolChain
from leasehold.chain import LeaseRequest, Terms

UNIT = 10**18
PROVIDER, RENTER, OTHER, OPERATOR = 1, 2, 3, 4


@dataclass
class World:
    """Anvil's accounts, each with a home of its own. lease: of RENTER on machine 1, one GPU of two for two hours."""

    chain: PoolChain
    folder: Path
    machine: int
    lease: int

    @asynccontextmanager
    async def acting(self, who: int, **options: Any) -> AsyncIterator[leasehold.PoolClient]:
        """The library with that account's key."""
        opening = leasehold.connect(
            self.chain.deployment,
            wallet=self.chain.signer(who),
            rpc=self.chain.anvil.url,
            home=self.folder / str(who),
            **options,
        )
        async with opening as client:
            yield client

    def address(self, account: int) -> str:
        return self.chain.address(account)

    def advance(self, seconds: int) -> None:
        self.chain.anvil.advance(seconds)


@pytest.fixture
async def world(chain: PoolChain, tmp_path: Path) -> World:
    for account in (PROVIDER, RENTER):
        await chain.token(account).approve(chain.deployment.controller)
    terms = Terms(2 * UNIT, 0, 60, 30 * 86_400, 300, 60_000)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        terms, 2, 2, b"h" * 32, b"c" * 32, chain.address(OPERATOR), consent
    )
    wanted = LeaseRequest(
        machine=machine,
        revision=1,
        share=8,
        duration=7_200,
        max_price=2 * UNIT,
        workload=b"w" * 32,
        allow_unverified=True,
    )
    lease, _ = await chain.pool(RENTER).open(wanted)
    await chain.pool(OPERATOR).start(lease, bytes(32))
    return World(chain, tmp_path, machine, lease)
