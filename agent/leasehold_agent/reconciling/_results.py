"""What a lease leaves: its outputs, taken out of the container, packed, and their CID on the chain."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Collection
from dataclasses import dataclass

import structlog

from leasehold.chain import LeaseState, cid_to_bytes, format_lease
from leasehold.errors import DatasetError
from leasehold.workload import Workload
from leasehold_agent.cards import LeaseShare
from leasehold_agent.chain import ChainGate, Desired
from leasehold_agent.host import remove_tree
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._host_facts import HostFacts
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.reconciling._supplies import Supplies
from leasehold_agent.store import LeaseDir, Notes, collect

_log = structlog.get_logger("leasehold_agent")


@dataclass(frozen=True)
class Publishing:
    chain: ChainGate
    containers: Containers
    leases: LeaseBook
    supplies: Supplies
    facts: HostFacts

    async def publish(self, desired: Desired, share: LeaseShare) -> None:
        """Pack what the workload calls its outputs and publish their CID. Without any there is nothing to publish."""
        if desired.state is LeaseState.ACTIVE:
            self.leases.note_end(desired.lease)
        folder = self.leases.folder(desired.lease)
        notes, workload = folder.load(), self.leases.workload(desired.lease)
        mine = (
            desired.author == desired.tenant
        )  # or they would be sealed to somebody whose lease it is no more
        unpacked = not notes.outputs_packed or notes.lacked is not None
        if workload is not None and workload.outputs and mine and unpacked:
            await self._pack(desired, workload, notes, share)
        await self._say(desired, notes)
        notes.published = True
        folder.save(notes)
        if notes.lacked is None:  # IPFS has them
            await asyncio.to_thread(remove_tree, folder.outputs)

    async def _pack(self, desired: Desired, workload: Workload, notes: Notes, share: LeaseShare) -> None:
        folder, shown = self.leases.folder(desired.lease), format_lease(desired.lease)
        log_step(desired.lease, "pack")
        left = await self._collect(desired, workload, notes, self.facts.most_outputs(share))
        if left:
            _log.warning("outputs", lease=shown, left=left)
        notes.failure_detail = " ".join(left)
        await self.keep(folder, notes, await self.supplies.pack(folder.outputs, workload.outputs, shown))

    async def keep(self, folder: LeaseDir, notes: Notes, cid: str) -> None:
        """Note a result, and have the host's IPFS node keep it: one that is not noted would be kept for ever.

        Raises DatasetError, OSError.
        """
        notes.keep(cid)
        folder.save(notes)
        await self.supplies.ipfs.pin(cid)
        notes.result, notes.outputs_packed = cid, True
        folder.save(notes)

    async def _say(self, desired: Desired, notes: Notes) -> None:
        """The CID on the chain, where it does not stand there and nobody else's does."""
        own = {cid_to_bytes(cid) for cid in (*notes.results, notes.result) if cid is not None}
        if desired.result is not None and desired.result not in own:
            # Not from here: what another host or a former state of this one has published is not overwritten.
            _log.warning(
                "outputs", lease=format_lease(desired.lease), problem="a result stands that is not ours"
            )
        elif notes.result is not None and desired.result != cid_to_bytes(notes.result):
            log_step(desired.lease, "publish")
            forgotten = notes.remember(notes.result)
            self.leases.folder(desired.lease).save(notes)
            try:
                await self.unpin(desired.lease, forgotten)
            except (DatasetError, TimeoutError) as error:  # no reason not to publish the next
                _log.warning("unpin", lease=format_lease(desired.lease), cids=forgotten, problem=str(error))
            notes.published_at = await self.chain.publish(desired, cid_to_bytes(notes.result))

    async def _collect(self, desired: Desired, workload: Workload, notes: Notes, limit: int) -> list[str]:
        """Take the outputs out of the container; a sentence for each that is left behind.

        One lease at a time, so that what is free on the disk counts once. What this host has no room for is left as
        what is larger than it packs, until there is much more of it: copying it again and again would publish nothing,
        and keep the small from being published.
        """
        name = self.containers.names.container(desired.lease)
        target, reserve = self.leases.folder(desired.lease).outputs, self.facts.settings.disk_reserve
        async with self.supplies.packing:
            room, notes.lacked = self.facts.room_for_outputs(), None
            try:
                return await collect(self.containers.engine, name, workload.outputs, target, limit, reserve)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                notes.lacked = room
                return [error.strerror or "This host's disk is full."]

    async def unpin(self, lease: int, results: Collection[str]) -> None:
        """Let the host's IPFS node drop what nothing here needs: it would keep the results of every lease for ever.

        Raises DatasetError, TimeoutError.
        """
        others = (folder.load() for number, folder in self.leases.folders().items() if number != lease)
        for cid in set(results).difference(*(notes.published_here for notes in others)):
            await self.supplies.ipfs.unpin(cid)
