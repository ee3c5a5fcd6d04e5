"""What is said on the chain of a lease that has not begun: that it is ready, or why it cannot run here."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from dataclasses import dataclass

import structlog

from leasehold.chain import cid_of_digest, format_lease
from leasehold.datasets import Ipfs
from leasehold.errors import DatasetError
from leasehold_agent.chain import ChainGate, Desired
from leasehold_agent.engine import how_it_ended
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._host import Endpoint
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.reconciling._plan import Decline

_log = structlog.get_logger("leasehold_agent")
_PIN_SECONDS = 30


@dataclass(frozen=True)
class Starting:
    chain: ChainGate
    containers: Containers
    leases: LeaseBook
    ipfs: Ipfs
    endpoint: Endpoint

    async def start(self, desired: Desired) -> None:
        """Say that the lease is ready, if its container still is. The endpoint document goes to IPFS beside it."""
        container = await self.containers.inspect(desired.lease)
        if container is None or not (container.running or container.exit_code == 0):
            self.leases.record(desired.lease).ready = False
            return
        if container.exited:
            self.leases.note_end(desired.lease)
        log_step(desired.lease, "start-on-chain")
        document = self.endpoint(desired, container.ports)
        digest = hashlib.sha256(document).digest()
        await self.chain.start(desired, digest)
        _log.info("started", lease=format_lease(desired.lease))
        folder = self.leases.folder(desired.lease)
        notes = folder.load()
        notes.keep(cid_of_digest(digest))
        folder.save(notes)
        with contextlib.suppress(DatasetError, TimeoutError):  # whoever wants it can also ask the agent
            async with asyncio.timeout(_PIN_SECONDS):
                await self.ipfs.put_block(document)

    async def decline(self, desired: Desired, action: Decline) -> None:
        """Say why, and note it first where the lease has a folder."""
        folder, record = self.leases.folder(action.lease), self.leases.record(action.lease)
        if folder.exists and (notes := folder.load()).failure is None:
            detail = record.trouble or record.progress or await self._how_it_ended(action.lease)
            notes.failure, notes.failure_detail = action.reason, detail
            folder.save(notes)
        log_step(action.lease, "decline")
        await self.chain.decline(desired, action.reason)

    async def _how_it_ended(self, lease: int) -> str:
        """Of a command that still ran when it was looked at first, and has ended before that was said on the chain."""
        container = await self.containers.inspect(lease)
        ended = container is not None and container.exited
        return f"The command ended at once, {how_it_ended(container)}." if container and ended else ""
