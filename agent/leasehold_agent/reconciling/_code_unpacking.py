"""A folder of code on its way into a container that has never run: written there by this host, or unpacked by the
engine.

By the host it is half the work and more. The engine's word counts wherever the host's program gives up: it begins with
the same part anew, and what is there already is written over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from leasehold.chain import format_lease
from leasehold.workload import Code
from leasehold_agent._errors import CodeNotWritten, NoContainer
from leasehold_agent.chain import Desired
from leasehold_agent.engine import (
    CodePart,
    ContainerFacts,
    code_records,
    code_tar,
    folder_mode,
    owner_of,
)
from leasehold_agent.host import CodeTarget, CodeWriter
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import log_step

_log = structlog.get_logger("leasehold_agent")


@dataclass
class CodeUnpacking:
    """Of one folder into one lease's container."""

    host: Host
    desired: Desired
    code: Code
    _writer: CodeWriter | None = None
    _straight: bool = True

    async def put(self, part: CodePart) -> None:
        """Raises EngineRefused, CodeLost, NoContainer."""
        name = self.host.containers.names.container(self.desired.lease)
        container = await self.host.containers.engine.inspect(name)
        if container is None:
            raise NoContainer("The container is gone.")
        log_step(self.desired.lease, "put-code")
        if self._straight:
            try:
                await self._write(container, part)
                return
            except CodeNotWritten as error:
                lease = format_lease(self.desired.lease)
                _log.info("code goes by the engine", lease=lease, problem=str(error))
                self._straight = False
                await self.close()
        await self._unpack(container, part)

    async def close(self) -> None:
        """Nobody writes there any more. Harmless when called twice."""
        if self._writer is not None:
            await self._writer.close()

    async def _write(self, container: ContainerFacts, part: CodePart) -> None:
        """Raises CodeNotWritten."""
        if container.state != "created":  # somebody on this host has started it
            raise CodeNotWritten("it has run already")
        store, chunks = self.host.supplies.code, (c for e in part.entries for c in e.chunks)
        packs, places = await asyncio.to_thread(store.places, self.desired.author, chunks)
        records = await asyncio.to_thread(code_records, part, places)
        if self._writer is None:
            self._writer = await self._begun(container, packs.absolute())
        await self._writer.write(records)

    async def _begun(self, container: ContainerFacts, packs: Path) -> CodeWriter:
        space, root = self.host.volumes.space, self.host.facts.engine.root
        place = await self.host.containers.engine.layer_place(container.name, root, space.seen)
        if place is None:
            raise CodeNotWritten("it is not told where its files lie")
        user = container.user
        target = CodeTarget(
            place, self.code.path, sorted(container.mounts), owner_of(user), folder_mode(user)
        )
        return await CodeWriter.begin(space, target, packs)

    async def _unpack(self, container: ContainerFacts, part: CodePart) -> None:
        store, account = self.host.supplies.code, self.desired.author

        def stream() -> Iterator[bytes]:
            with store.reader(account) as read:
                yield from code_tar(part, self.code.path, read, container.user)

        await self.host.containers.engine.unpack(container.name, stream)


@asynccontextmanager
async def code_unpacking(host: Host, desired: Desired, code: Code) -> AsyncIterator[CodeUnpacking]:
    """Behind it nobody writes into the container any more."""
    unpacking = CodeUnpacking(host, desired, code)
    try:
        yield unpacking
    finally:
        await unpacking.close()
