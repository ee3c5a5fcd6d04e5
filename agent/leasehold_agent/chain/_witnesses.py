"""What several nodes say of a lease, each asked by itself.

One node that lies could name itself the tenant of any lease, or say that a lease is over, and have a container stopped
and its data deleted. Where the settings name a second node, what cannot be undone waits until two agree about it; those
that do not answer agree with nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from leasehold.chain import Deployment, Lease, LeaseState, Pool, Rpc
from leasehold.errors import ChainError

_CLOCKS_APART = 900
"""Seconds by which two nodes' newest blocks may differ."""
_ANSWER_SECONDS = 10.0
_NEEDED = 2


@dataclass(frozen=True)
class Look:
    """One node's word: the lease, until when it may be started, and the newest block's time; unix seconds."""

    lease: Lease
    window_ends: int
    now: int


class Witnesses:
    """The nodes of the settings, one by one. With fewer than two of them there is nobody to ask."""

    def __init__(self, nodes: Sequence[Rpc], deployment: Deployment) -> None:
        self._nodes = nodes
        self._deployment = deployment

    @classmethod
    @asynccontextmanager
    async def of(cls, urls: Sequence[str], deployment: Deployment) -> AsyncIterator[Witnesses]:
        """Of the settings' addresses; the same one twice counts once."""
        async with AsyncExitStack() as stack:
            different = list(dict.fromkeys(urls))
            nodes = [
                await stack.enter_async_context(Rpc([url], timeout=_ANSWER_SECONDS, patience=0))
                for url in different
            ]
            yield cls(nodes, deployment)

    @property
    def enough(self) -> bool:
        return len(self._nodes) >= _NEEDED

    async def agree(self, lease: int, so: Callable[[Look], bool], at: int) -> bool:
        """Whether two nodes, whose newest blocks are of about the time `at`, say that it is so."""
        looks = await asyncio.gather(*(self._look(node, lease) for node in self._nodes))
        said = [look for look in looks if look is not None and abs(look.now - at) <= _CLOCKS_APART]
        return sum(so(look) for look in said) >= _NEEDED

    async def agree_on_workload(self, lease: int, workload: bytes, since: int, at: int) -> bool:
        """Whether two nodes say that it was set last, by what has happened since that block."""
        said = await asyncio.gather(*(self._workload(node, lease, since) for node in self._nodes))
        so = [answer for answer in said if answer is not None and abs(answer[1] - at) <= _CLOCKS_APART]
        return sum(last == workload for last, _ in so) >= _NEEDED

    async def _workload(self, node: Rpc, lease: int, since: int) -> tuple[bytes | None, int] | None:
        try:
            await node.check_chain(self._deployment)
            last = await Pool(node, self._deployment).workload_of(lease, since)
            head = await node.header("latest")
        except ChainError:
            return None
        return None if head is None else (last, head.timestamp)

    async def _look(self, node: Rpc, lease: int) -> Look | None:
        try:
            await node.check_chain(self._deployment)
            pool = Pool(node, self._deployment)
            record, window = await pool.lease_of(lease), 0
            if record.state is LeaseState.OPENED:  # by this node's own word, too
                window = (await pool.params(record.params)).start_window
            head = await node.header("latest")
        except ChainError:
            return None
        return None if head is None else Look(record, record.start + window, head.timestamp)
