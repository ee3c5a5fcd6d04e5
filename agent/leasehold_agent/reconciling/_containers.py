"""The containers of leases: by what names they go, and who keeps them within their bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leasehold.workload import Share
from leasehold_agent.cards import HeldDevices
from leasehold_agent.engine import ContainerFacts, Engine
from leasehold_agent.host import DiskLimits, Firewall
from leasehold_agent.reconciling._names import READER_LABEL, Names

_DEFAULT_GRACE = 10


@dataclass
class Containers:
    names: Names
    engine: Engine
    limits: DiskLimits
    firewall: Firewall

    async def inspect(self, lease: int) -> ContainerFacts | None:
        """The lease's container as the engine has it now."""
        return await self.engine.inspect(self.names.container(lease))

    async def end(self, container: ContainerFacts, grace: int | None) -> None:
        """Stop what runs, with the tenant's grace; what somebody has paused hears no signal before it goes on."""
        if container.paused:
            await self.engine.unpause(container.name)
        await self.engine.stop(container.name, _DEFAULT_GRACE if grace is None else grace)

    async def remove(self, lease: int) -> None:
        """The container goes, with what it had written before it was made anew, and whoever reads it."""
        await self.remove_reader(lease)  # first: it holds on to the container's volumes
        await self.engine.remove(self.names.container(lease))
        await self.engine.forget(self.names.kept(lease))

    async def read(self) -> set[str]:
        """The names of containers that there are readers of, or copies for them."""
        return await self.engine.kept_for(READER_LABEL)

    async def remove_reader(self, lease: int) -> None:
        """The container in which its files were read goes, and the copy that it was made of."""
        await self.engine.remove(self.names.reader(lease))
        await self.engine.forget(self.names.read(lease))

    async def remove_network(self, lease: int) -> None:
        """The host has so many networks, and no more."""
        await self.engine.remove_network(self.names.network(lease))

    async def devices_held(self, *, but: int) -> HeldDevices:
        """Cards and slices of cards that containers of other leases have and have not let go of."""
        others, mine = await self.engine.containers(self.names.filter), self.names.container(but)
        holding = [c for c in others if c.name != mine and (c.running or c.paused)]
        return HeldDevices(
            alone=frozenset(device for c in holding if not c.sharing for device in c.devices),
            shared=frozenset(d for c in holding if c.sharing not in ("", Share.MPS) for d in c.devices),
            parts=frozenset(device for c in holding if c.sharing == Share.MPS for device in c.devices),
        )

    async def ports_taken(self) -> set[int]:
        """The host's ports that leases have."""
        all_of_them: Iterable[ContainerFacts] = await self.engine.containers(self.names.filter)
        return {port for container in all_of_them for _, _, port in container.ports}
