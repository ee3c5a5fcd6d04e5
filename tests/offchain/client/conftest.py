"""The library over a real chain: Anvil with a pool, a host that was described, and blocks kept in a dictionary."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import leasehold
from devnet.pool import PoolChain, consent_of
from leasehold.chain import LocalSigner, cid_of_digest
from leasehold.client import PoolClient
from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import DatasetUnavailable

Opening = Callable[[int], Awaitable[PoolClient]]

HARDWARE = {
    "version": 1,
    "gpus": [{"model": "NVIDIA H100 80GB HBM3", "memory_bytes": 85_520_809_984, "uuid_hash": "ab" * 32}] * 2,
    "cpu_units": 0,
    "cpu": {"model": "AMD EPYC 9454", "cores": 48},
    "memory_bytes": 1_080_000_000_000,
    "disk": {"bytes": 3_800_000_000_000, "quota": True},
    "runtimes": ["runc"],
    "driver": "570.86",
    "kernel": "6.12",
}


class Blocks:
    """Stands for one's own IPFS node."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    async def put_block(self, data: bytes) -> None:
        self.kept.append(data)

    async def get_block(self, cid: str, seconds: float) -> bytes:
        for data in self.kept:
            if cid_of_digest(sha256(data).digest()) == cid:
                return data
        raise DatasetUnavailable(cid)


@pytest.fixture
async def opened(chain: PoolChain, tmp_path: Path) -> AsyncIterator[Opening]:
    """Opens the pool for one of Anvil's accounts, with a home of its own."""
    async with AsyncExitStack() as stack:

        async def opened(account: int) -> PoolClient:
            pool = await stack.enter_async_context(
                leasehold.connect(
                    chain.deployment,
                    wallet=chain.signer(account),
                    rpc=chain.anvil.url,
                    home=tmp_path / f"home-{account}",
                )
            )
            pool._ipfs = Blocks()  # type: ignore[assignment]  # as far as it is used
            return pool

        yield opened


async def described(
    chain: PoolChain,
    path: Path,
    *,
    provider: int = 2,
    operator: LocalSigner | None = None,
    hardware: Mapping[str, Any] | None = None,
) -> Path:
    """What an agent with that key writes of its host, for one of Anvil's accounts. hardware: what is another there."""
    key = operator or chain.signer(3)
    consent = await consent_of(chain.deployment, chain.address(provider), key)
    contact: dict[str, Any] = {
        "version": 1,
        "endpoints": ["https://127.0.0.1:1"],
        "certificate": "none",
        "age_recipient": recipient_of(new_identity()),
        "operator": key.address,
        "issued_at": 1,
    }
    document = {
        "hardware": HARDWARE | dict(hardware or {}),
        "contact": contact,
        "operator": key.address,
        "suggested": {"gpus": 2, "smallest_share": 2},
        "consent": {
            "provider": chain.address(provider),
            "controller": chain.deployment.controller,
            "chain": chain.deployment.chain_id,
            "deadline": consent.deadline,
            "proof": "0x" + consent.proof.hex(),
        },
    }
    await asyncio.to_thread(path.write_text, json.dumps(document))
    return path


@pytest.fixture
async def machine_file(chain: PoolChain, tmp_path: Path) -> Path:
    """A host of account 2's with two GPUs, whose agent has the key of account 3."""
    return await described(chain, tmp_path / "machine.json")
