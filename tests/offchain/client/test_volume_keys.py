"""The key of a volume is its tenant's wallet's: the same each time, and nobody else's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain
from leasehold.client._volume_keys import key_of_volume, own_workload
from leasehold.workload import load_workload

if TYPE_CHECKING:
    from leasehold.client import PoolClient

POOL, OTHER_POOL = "0x" + "11" * 20, "0x" + "22" * 20
GROUP = "0x" + "33" * 20


def client(secret: int = 1, *, pool: str = POOL, account: str | None = None) -> PoolClient:
    """As far as a key asks of it."""
    wallet = LocalSigner(secret.to_bytes(32))
    made = SimpleNamespace(wallet=wallet, account=account or wallet.address, domain=Domain(31337, pool))
    return cast("PoolClient", made)


async def test_it_is_made_again_anywhere() -> None:
    assert await key_of_volume(client(), "models") == await key_of_volume(client(), "models")


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (client(2), "models"),
        (client(pool=OTHER_POOL), "models"),
        (client(account=GROUP), "models"),
        (client(), "model"),
    ],
)
async def test_of_one_wallet_one_account_one_pool_and_one_name(other: PoolClient, name: str) -> None:
    assert await key_of_volume(client(), "models") != await key_of_volume(other, name)


async def test_a_workload_gets_those_that_it_lacks() -> None:
    made, given = client(), "ab" * 32
    volumes = [{"name": "models", "path": "/m"}, {"name": "own", "path": "/o", "key": given}]
    image = "sha256:" + "a" * 64
    own = await own_workload(made, load_workload({"version": 1, "image": image, "volumes": volumes}))
    assert own.tenant == made.account
    assert own.volumes is not None
    assert [volume.key for volume in own.volumes] == [await key_of_volume(made, "models"), given]
    without = await own_workload(made, load_workload({"version": 1, "image": image}))
    assert (without.volumes, without.tenant) == (None, made.account)
