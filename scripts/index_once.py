"""Indexes a chain of the benchmark's up to a block, in a process of its own, and says how long it took:

    index_once.py DATABASE_URL RPC_URL GENESIS CONTROLLER BLOCK

Prints the seconds from an empty database until the block is committed, when that was by the machine's monotonic clock,
and what the receiving account has then.
"""

import asyncio
import sys
import time

from leasehold.chain import Deployment, EventWatcher, Indexer, Rpc

RECEIVER = "0x" + "22" * 20


async def index(
    database_url: str, rpc_url: str, genesis: str, controller: str, last: int
) -> tuple[float, float, int]:
    """Seconds, when they ended, and the receiver's balance."""
    deployment = Deployment(31337, genesis, controller, controller, controller, controller, 1, "T", 18)
    async with (
        Rpc([rpc_url]) as rpc,
        Indexer(database_url, deployment) as indexer,
        EventWatcher(rpc, None, [controller], 1) as watcher,
    ):
        await rpc.check_chain(deployment)  # as every gateway and agent does first: by now all is imported
        begun = time.monotonic()
        running = asyncio.create_task(indexer.run(watcher))
        await indexer.reached(last)
        ended = time.monotonic()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return ended - begun, ended, (await indexer.balances())[RECEIVER]


if __name__ == "__main__":
    database, node, genesis_hash, emitter, block = sys.argv[1:]
    print(*asyncio.run(index(database, node, genesis_hash, emitter, int(block))))
