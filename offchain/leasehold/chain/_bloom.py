"""A block's bloom filter: whether the block may hold events of an account. Now and then it says so wrongly."""

from collections.abc import Iterable
from functools import cache

from eth_hash.auto import keccak

_BITS = 2_048


def may_hold(bloom: str, addresses: Iterable[str]) -> bool:
    """Whether the block may have events of one of the contracts. bloom: 512 hex digits after `0x`, or nothing."""
    if len(bloom) != 2 + _BITS // 4:
        return False
    try:
        filled = int(bloom, 16)
    except ValueError:
        return False
    return any(filled & mask == mask for mask in map(_mask, addresses))


@cache
def _mask(address: str) -> int:
    """The three bits that an account sets (Ethereum's yellow paper, 4.3.1)."""
    digest = keccak(bytes.fromhex(address.removeprefix("0x")))
    mask = 0
    for at in (0, 2, 4):
        mask |= 1 << (int.from_bytes(digest[at : at + 2], "big") % _BITS)
    return mask
