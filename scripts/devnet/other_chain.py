"""A second chain for a world, whose past may be changed without anybody else's being lost."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

from devnet.anvil import Anvil
from devnet.contracts import deploy_fast
from devnet.world import World


@contextlib.contextmanager
def another_chain(world: World) -> Iterator[World]:
    """The same host and IPFS nodes with a chain of their own, on which everything has the same addresses."""
    other = copy.copy(world)
    with Anvil() as other.anvil:
        other.deployment = deploy_fast(
            other.anvil.url, world.folder / f"deployments-{other.anvil.genesis[2:10]}"
        )
        other.facts = {**world.facts, "genesis": other.anvil.genesis}
        yield other


def transactions(anvil: Anvil, since: int) -> list[tuple[str, int]]:
    """What was mined after block `since`, as it was sent, with the block it goes into of as many new ones."""
    found = []
    for number in range(since + 1, anvil.block_number + 1):
        block = anvil.request("eth_getBlockByNumber", hex(number), False)
        for hash_ in block["transactions"]:
            found.append((anvil.request("eth_getRawTransactionByHash", hash_), number - since - 1))
    return found
