"""Whether what a container runs answers yet, as its workload wants to be asked."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from leasehold.workload import HttpProbe, Readiness
from leasehold_agent._errors import CommandEnded, Declined, NoContainer
from leasehold_agent.engine import ContainerFacts, Engine, how_it_ended
from leasehold_agent.host import connect

_PROBE_SECONDS = 10.0
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])[ \r]")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


@dataclass(frozen=True)
class Prober:
    """`netns` is the engine's network namespace, `clock` monotonic seconds; `sleep` waits that long."""

    engine: Engine
    netns: Path | None
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]

    async def until_ready(self, container: ContainerFacts, readiness: Readiness) -> None:
        """Raises Declined("not-ready") after the workload's own limit, CommandEnded once the command has ended."""
        deadline, pause = self.clock() + readiness.timeout, _FIRST_PAUSE
        while not await self._is_ready(container, readiness):
            current = await self.engine.inspect(container.name)
            if current is None:
                raise NoContainer("The container is gone.")
            if current.exited:
                raise CommandEnded(f"The command ended before it was ready, {how_it_ended(current)}.")
            if self.clock() >= deadline:
                raise Declined("not-ready", f"It was not ready within {readiness.timeout} s.")
            await self.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    async def _is_ready(self, container: ContainerFacts, readiness: Readiness) -> bool:
        with contextlib.suppress(TimeoutError, NoContainer):
            async with asyncio.timeout(min(_PROBE_SECONDS, readiness.timeout)):
                if readiness.http is not None:
                    return await self._answers(container, readiness.http)
                async with self._exit_code(container.id, readiness.command or ()) as code:
                    return code == 0
        return False

    @contextlib.asynccontextmanager
    async def _exit_code(self, container: str, command: tuple[str, ...]) -> AsyncIterator[int]:
        stream = await self.engine.streams.exec(container, command, tty=False, env={}, size=None)
        try:
            async for _ in stream:
                pass
            yield await stream.wait()
        finally:
            await stream.close()

    async def _answers(self, container: ContainerFacts, probe: HttpProbe) -> bool:
        """Whether `GET` is answered with a status under 400. One line of the answer is enough to know."""
        if container.address is None:
            return False
        try:
            reader, writer = await connect(
                container.address, probe.port, netns=self.netns, seconds=_PROBE_SECONDS
            )
        except OSError:
            return False
        try:
            authority = f"{container.address}:{probe.port}"
            request = f"GET {probe.path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
            writer.write(request.encode("ascii"))
            status = _STATUS.match(await reader.readline())
            return status is not None and int(status[1]) < 400
        except (OSError, ValueError):  # reset, or a line without end
            return False
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
