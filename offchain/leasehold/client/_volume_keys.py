"""A workload as its tenant's own: for the account's leases alone, with the keys of the volumes that it names.

A volume's key is made of the wallet's signature of the volume's name, which is the same each time: on another computer
the same wallet opens the same volume, and nothing has to be kept. A group's members each have another signature: who is
to open one volume together writes one key into the workload.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.chain.typed import VolumeKey
from leasehold.workload import VolumeMount, Workload, volume_key

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def own_workload(client: PoolClient, workload: Workload) -> Workload:
    """The workload for the account's leases only. The wallet signs once for each volume without a key, and for the
    checkpoint.

    Raises:
        WalletError: the wallet refuses, or there is none.
    """
    own = workload.for_tenant(client.account)
    if own.volumes is not None:
        mounts = tuple([await _keyed(client, mount) for mount in own.volumes])
        own = own.model_copy(update={"volumes": mounts})
    if own.checkpoint is not None and own.checkpoint.key is None:
        key = await key_of_checkpoints(client, own.checkpoint.name)
        own = own.model_copy(update={"checkpoint": own.checkpoint.model_copy(update={"key": key})})
    return own


async def _keyed(client: PoolClient, mount: VolumeMount) -> VolumeMount:
    if mount.key is not None:
        return mount
    return mount.model_copy(update={"key": await key_of_volume(client, mount.name)})


async def key_of_checkpoints(client: PoolClient, name: str) -> str:
    """The key of the account's checkpoints of that name, as `key_of_volume` has it: no volume's. Raises WalletError."""
    return await key_of_volume(client, f"checkpoint/{name}")


async def key_of_volume(client: PoolClient, name: str) -> str:
    """The key of the account's volume of that name, by the wallet: 32 bytes in hex. Raises WalletError."""
    domain = client.domain
    message = VolumeKey(client.account, domain.chain_id, domain.verifying_contract, name)
    return volume_key(await client.wallet.sign_typed_data(message.typed_data(domain)))
