"""A Safe as a tenant: its owners sign what a group's signers would, and the Safe itself says whether that is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain.typed import Group, Safe, read_safe
from leasehold.client._address import parse_address
from leasehold.client._tenant_errors import SafeChanged

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class SafeAt:
    """A Safe by its address; who owns it is read from the chain."""

    address: str


async def safe_at(client: PoolClient, address: str) -> Safe:
    """The Safe, as it stands. Raises NotASafe, InvalidInput: it is no address. ChainError."""
    return await read_safe(client.rpc, parse_address(address), client.deployment.chain_id)


async def check_safe(client: PoolClient, group: Group) -> None:
    """See that a Safe is still owned as a proposal of it says: what others sign of it would never be enough.

    Raises:
        SafeChanged, NotASafe, ChainError.
    """
    if not isinstance(group, Safe):
        return
    now = await safe_at(client, group.at)
    if (now.signers, now.threshold) != (group.signers, group.threshold):
        raise SafeChanged(group.at)
