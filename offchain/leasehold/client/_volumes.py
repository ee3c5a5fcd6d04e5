"""What a tenant keeps on machines: his volumes looked at, exported, made of a folder, and removed.

An export is one CID, sealed under the volume's own key; a lease on another machine that names it as the volume's
`source` begins with what it holds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import LeaseRecord, format_lease
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.client._volume_keys import key_of_volume
from leasehold.datasets import TreePack
from leasehold.errors import AgentError, LeaseholdError
from leasehold.market import InvalidInput, Json, MarketError, Money
from leasehold.market.wire import LeaseVolume, VolumeExportStatus
from leasehold.workload import VolumeMount

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_EVERY = 1.0  # seconds between looks at an export
_MOST_LEASES = 64
_ASKED_AT_ONCE = 8


@dataclass(frozen=True)
class VolumeSeen:
    """A volume, as the agent of a machine tells of it. lease: one that names it."""

    lease: int
    machine: int
    volume: LeaseVolume

    def to_json(self) -> dict[str, Json]:
        told: dict[str, Json] = self.volume.model_dump(mode="json")
        return {"lease": format_lease(self.lease), "machine": self.machine, **told}


@dataclass(frozen=True)
class VolumesView:
    """seen: by machine and name. silent: the leases whose agents did not answer, and why."""

    seen: tuple[VolumeSeen, ...]
    silent: tuple[tuple[int, str], ...]

    def to_json(self) -> list[Json]:
        return [volume.to_json() for volume in self.seen]


async def volumes_of(client: PoolClient) -> VolumesView:
    """The account's volumes, as the agents of its latest leases tell; of several that name one, the latest tells.

    Raises:
        ChainError, WalletError.
    """
    records = await (await client.index(again=True)).leases(tenant=client.account)
    latest = sorted(records, key=lambda record: record.lease.start, reverse=True)[:_MOST_LEASES]
    turns = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def asked(record: LeaseRecord) -> list[VolumeSeen] | str:
        async with turns:
            try:
                async with client.agent_of(record.lease.id) as agent:
                    told = await agent.volumes(record.lease.id)
            except (AgentError, MarketError) as error:
                return str(error)
        return [VolumeSeen(record.lease.id, record.lease.machine, volume) for volume in told.volumes]

    answers = await asyncio.gather(*(asked(record) for record in latest))
    silent, seen = [], dict[tuple[int, str], VolumeSeen]()
    for record, answer in zip(latest, answers, strict=True):
        if isinstance(answer, str):
            if record.lease.state.live:  # of one that is over nothing may be left
                silent.append((record.lease.id, answer))
            continue
        for volume in answer:
            seen.setdefault((volume.machine, volume.volume.name), volume)
    here = [volume for _, volume in sorted(seen.items()) if volume.volume.size is not None]
    return VolumesView(tuple(here), tuple(silent))


async def _own_lease(client: PoolClient, number: int) -> None:
    lease = await client.known_lease(number)
    if lease.tenant != client.account:
        raise NotTheTenant(lease.id, lease.tenant)


# ------------------------------------------------------------------------------------------------------------ export


@dataclass(frozen=True)
class ExportVolume(Request["VolumeExported"]):
    """Put what a volume holds on IPFS, sealed under its key, from the machine of a lease that has it attached. What the
    machine's node has of an earlier export is not added again. keep: have one's own node fetch and keep it, too.
    """

    lease: int
    name: str
    keep: bool = True

    async def plan(self, client: PoolClient) -> ExportPlan:
        await _own_lease(client, self.lease)
        return ExportPlan(client, self.lease, self.name, self.keep)


@dataclass(frozen=True)
class ExportPlan(Plan["VolumeExported"]):
    """A volume that would be exported."""

    client: PoolClient
    lease: int
    name: str
    keep: bool

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease), "volume": self.name}

    async def steps(self) -> AsyncIterator[Step]:
        with self.client.observer.working(f"Exporting volume {self.name}"):
            async with self.client.agent_of(self.lease) as agent:
                told = await agent.export_volume(self.lease, self.name)
                while (export := _export_in(told.volumes, self.name)).state == "running":
                    await asyncio.sleep(_EVERY)
                    told = await agent.volumes(self.lease)
        if export.cid is None:
            raise AgentError(f"The export of volume {self.name} failed: {export.detail}", "ask for it again.")
        if self.keep:
            with self.client.observer.working("Fetching it to your own IPFS node"):
                await self.client.ipfs.pin(export.cid)
        yield VolumeExported(self.name, export.cid, self.keep)


def _export_in(volumes: list[LeaseVolume], name: str) -> VolumeExportStatus:
    for volume in volumes:
        if volume.name == name and volume.export is not None:
            return volume.export
    raise AgentError(f"The agent knows of no export of volume {name}", "ask for it again.")


@dataclass(frozen=True)
class VolumeExported(Step):
    """It lies on IPFS. kept: on one's own node, too."""

    name: str
    cid: str
    kept: bool

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"cid": self.cid, "kept": self.kept}


# ------------------------------------------------------------------------------------------------------------ import


@dataclass(frozen=True)
class ImportVolume(Request["VolumeExported"]):
    """Make an export of a folder of one's own, on one's own IPFS node: a volume of that name can be filled of it."""

    name: str
    folder: Path

    async def plan(self, client: PoolClient) -> ImportPlan:
        if not self.folder.is_dir():
            raise InvalidInput(f"{self.folder} is no folder", "name the one that the volume is to hold.")
        try:
            VolumeMount(name=self.name, path="/data")
        except ValueError:
            raise InvalidInput(
                f"'{self.name}' is no volume's name", "use small letters, digits, `.`, `_` and `-`."
            ) from None
        return ImportPlan(client, self.name, self.folder)


@dataclass(frozen=True)
class ImportPlan(Plan["VolumeExported"]):
    """A folder that would be sealed and added."""

    client: PoolClient
    name: str
    folder: Path

    def to_json(self) -> dict[str, Json]:
        return {"volume": self.name, "folder": str(self.folder)}

    async def steps(self) -> AsyncIterator[Step]:
        key = bytes.fromhex(await key_of_volume(self.client, self.name))
        with self.client.observer.working(f"Sealing {self.folder}"):
            root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                cid = await self.client.ipfs.add_stream(TreePack(key).parts(root))
            except OSError as error:
                raise InvalidInput(
                    f"{error.filename or self.folder} cannot be read ({error.strerror})"
                ) from error
            finally:
                os.close(root)
        yield VolumeExported(self.name, cid, True)


# ----------------------------------------------------------------------------------------------------------- discard


@dataclass(frozen=True)
class DiscardVolume(Request["VolumeDiscarded"]):
    """Remove a volume from the machine of a lease that names it, or has named it. No lease may have it attached."""

    lease: int
    name: str

    async def plan(self, client: PoolClient) -> DiscardPlan:
        await _own_lease(client, self.lease)
        return DiscardPlan(client, self.lease, self.name)


@dataclass(frozen=True)
class DiscardPlan(Plan["VolumeDiscarded"]):
    """A volume that would be gone for good."""

    client: PoolClient
    lease: int
    name: str

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease), "volume": self.name}

    async def steps(self) -> AsyncIterator[Step]:
        async with self.client.agent_of(self.lease) as agent:
            told = await agent.discard_volume(self.lease, self.name)
        if any(volume.name == self.name and volume.size is not None for volume in told.volumes):
            raise LeaseholdError(f"Volume {self.name} is still there", "try again in a moment.")
        yield VolumeDiscarded(self.name)


@dataclass(frozen=True)
class VolumeDiscarded(Step):
    """It is gone."""

    name: str
