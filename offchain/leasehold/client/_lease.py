"""A lease that one has: what goes on in it, what it leaves behind, and what can be done with it."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import Lease, format_lease
from leasehold.client._closing_order import CLOSING_PATIENCE, Finish, finish_of
from leasehold.client._power import SwitchContainer
from leasehold.client._results import PATIENCE, LeaseResults, fetch_lease_results, published_results
from leasehold.client._tenancy import Close, Ended, Extend, Extended
from leasehold.errors import AgentError
from leasehold.market.wire import LeaseMetrics, LeaseStatus, PowerWish

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

MOST_OF_A_LINE = 1 << 20  # characters
MOST_OUTPUT = 16 << 20
STATUS_EVERY = 2.0  # seconds between looks at a lease that is waited for


@dataclass(frozen=True)
class TenantLease:
    """A lease of the client's account, by its id on chain."""

    client: PoolClient
    id: int

    def __str__(self) -> str:
        return format_lease(self.id)

    async def on_chain(self) -> Lease:
        """How it stands at the head of the chain. Raises UnknownLease."""
        return await self.client.lease(self.id)

    async def status(self) -> LeaseStatus:
        """What its machine's agent says of it. Raises AgentError, MarketError."""
        async with self.client.agent_of(self.id) as agent:
            return await agent.status(self.id)

    async def wait(self) -> Finish:
        """Wait until its command has ended by itself, or the lease has. Where it was ordered that the lease closes
        then, wait for that too. Raises UnknownLease, ChainError.
        """
        while True:
            finish = await finish_of(self.client, self.id, closing=CLOSING_PATIENCE)
            if finish.done:
                record = await (await self.client.index(again=True)).lease(self.id)
                over = record is not None and not record.lease.state.live
                return replace(finish, cost=record.paid + record.fee if record and over else None)
            await asyncio.sleep(STATUS_EVERY)

    async def metrics(self) -> LeaseMetrics:
        """What it has used so far, for a day at most. Raises AgentError, MarketError."""
        async with self.client.agent_of(self.id) as agent:
            return await agent.metrics(self.id)

    async def logs(
        self,
        *,
        follow: bool = True,
        tail: int | None = None,
        since: int | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[str]:
        """What the workload writes, line by line without their ends. follow: until it ends. tail: the last lines.
        since, timestamps: as `AgentClient.logs`.

        Raises:
            AgentError, MarketError: the agent does not answer, or cannot be found.
        """
        decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
        async with (
            self.client.agent_of(self.id) as agent,
            aclosing(
                agent.logs(self.id, tail=tail, follow=follow, since=since, timestamps=timestamps)
            ) as log,
        ):
            async for data in log:
                *lines, rest = (rest + decoder.decode(data)).split("\n")
                for line in lines:
                    yield line
                if len(rest) > MOST_OF_A_LINE:  # as one without end would be kept for ever
                    yield rest
                    rest = ""
        if rest := rest + decoder.decode(b"", final=True):
            yield rest

    async def run(self, command: Sequence[str]) -> tuple[int, bytes]:
        """Run a command in its container; the exit code, and what it wrote: 16 MiB at most.

        Raises:
            AgentError, MarketError: also where it writes more.
        """
        written = bytearray()
        async with self.client.agent_of(self.id) as agent, agent.exec(self.id, list(command)) as stream:
            async for _, data in stream:
                written += data
                if len(written) > MOST_OUTPUT:
                    raise AgentError("The command writes more than 16 MiB: have it write to a file instead.")
            return await stream.wait(), bytes(written)

    async def results(
        self,
        folder: str | Path,
        *,
        identity: str | None = None,
        patience: float = PATIENCE,
        only: Sequence[str] = (),
        force: bool = False,
    ) -> LeaseResults:
        """Fetch what it has left behind into a new folder. identity: the age key, if it is not the wallet's own.
        patience: seconds to wait until the results are published. only, force: as `fetch_lease_results`.

        Raises:
            NoResultsYet, NoResultsAnyMore, NoSuchResult, ResultsUnasked, ResultInGit, DestinationExists,
            WrongIdentity, DatasetError.
        """
        published = await published_results(self.client, self.id, patience=patience)
        key = identity or await self.client.age_identity()
        return await fetch_lease_results(
            self.client, self.id, published, Path(folder), key, only=only, force=force
        )

    async def switch(self, wish: PowerWish) -> LeaseStatus:
        """Have its container stand still (`stop`), run again (`start`), or both (`restart`); the lease is billed all
        the same. Raises as `PoolClient.carry_out`.
        """
        return (await self.client.carry_out(SwitchContainer(self.id, wish))).status

    async def extend(self, seconds: int, *, approve: bool = False) -> Extended:
        """Pay for more time. Raises as `PoolClient.carry_out`."""
        return await self.client.carry_out(Extend(self.id, seconds), approve=approve)

    async def close(self) -> Ended:
        """End it now: pay for the seconds used, get the rest back. Raises as `PoolClient.carry_out`."""
        return await self.client.carry_out(Close(self.id))
