"""The logs of several leases as one: line by line, each with whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.client._lease import TenantLease
from leasehold.errors import LeaseholdError

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_AHEAD = 256  # lines that are read before somebody takes them: an agent that writes fast waits


@dataclass(frozen=True)
class LogLine:
    """A line of a lease's log, or why there is no more of it."""

    lease: int
    text: str
    problem: LeaseholdError | None = None


async def logs_of(
    client: PoolClient,
    leases: Sequence[int],
    *,
    tail: int | None = None,
    follow: bool = False,
    since: int | None = None,
    timestamps: bool = False,
) -> AsyncIterator[LogLine]:
    """Their logs, the lines of one lease in its order, until all have ended. An agent that is silent ends its own
    lease's log, with a line that says why, and no other's. The rest: as `TenantLease.logs`.
    """
    lines: asyncio.Queue[LogLine | None] = asyncio.Queue(_AHEAD)

    async def read(lease: int) -> None:
        try:
            read_log = TenantLease(client, lease).logs(
                follow=follow, tail=tail, since=since, timestamps=timestamps
            )
            async with aclosing(read_log) as log:  # type: ignore[type-var]
                async for text in log:
                    await lines.put(LogLine(lease, text))
        except LeaseholdError as error:
            await lines.put(LogLine(lease, "", error))
        await lines.put(None)

    first, *others = leases
    async with client.agent_of(first):
        pass  # the wallet signs its session once, and is asked once
    readers = [asyncio.ensure_future(read(lease)) for lease in (first, *others)]
    try:
        left = len(readers)
        while left:
            line = await lines.get()
            if line is None:
                left -= 1
            else:
                yield line
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
