"""The logs of a few rare events since a block, where there is no index to ask."""

from __future__ import annotations

from typing import Any

from leasehold.chain._rpc import Rpc
from leasehold.errors import ContractError, RpcError


async def logs_since(rpc: Rpc, first_block: int, **wanted: object) -> list[dict[str, Any]]:
    """What `eth_getLogs` gives from that block to the head, in ranges as short as the node takes them.

    wanted: its `address` and `topics`. Raises ChainError.
    """
    found: list[dict[str, Any]] = []
    first, last = first_block, await rpc.block_number()
    longest = max(1, last - first + 1)
    while first <= last:
        end = min(last, first + longest - 1)
        query = {**wanted, "fromBlock": hex(first), "toBlock": "latest" if end == last else hex(end)}
        try:
            found += await rpc.call("eth_getLogs", [query])
        except RpcError as error:
            if longest == 1 or isinstance(error, ContractError):
                raise
            longest = max(1, min(longest, end - first + 1) // 2)
            continue
        first = end + 1
    return found
