"""Back doors: the host's IPFS node leads whoever speaks an agent's protocol to one port of the loopback.

The ports are settings, not the kernel's choice: a node remembers where it leads to longer than an agent that was killed
lives, and what else were given such a port would be open to the world.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from leasehold.datasets import Streams
from leasehold.errors import DatasetError

_log = structlog.get_logger("leasehold_agent.mounts")

LOOK_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 5.0
"""The longest that the node is waited for, at the agent's end too."""


class Mounts:
    """Keeps what the node of `streams` leads here. doors: by protocol, what listens on a port and returns that; called
    once, when the node is first known to carry streams. `start`, then `close`.
    """

    def __init__(
        self,
        streams: Streams,
        doors: Mapping[str, Callable[[], int]],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._streams = streams
        self._doors = doors
        self._sleep = sleep
        self._ports: dict[str, int] = {}
        self._mounted: set[str] = set()
        self._keeping: asyncio.Task[None] | None = None
        self.problem: str | None = "The IPFS node has not been asked yet."

    def start(self) -> None:
        self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Nobody new is led here: the ports may be another's soon."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        for protocol in self._mounted:
            with contextlib.suppress(DatasetError):  # a node that is gone leads nowhere
                await self._streams.unmount(protocol)
        self._mounted.clear()

    async def _keep(self) -> None:
        while True:
            problem = await self.look()
            if problem != self.problem:
                (_log.warning if problem else _log.info)(
                    "mounts", problem=problem, protocols=sorted(self._doors)
                )
            self.problem = problem
            await self._sleep(LOOK_SECONDS)

    async def look(self) -> str | None:
        """Mount what is not; a node that was started anew has forgotten. Why it could not be done, or None."""
        try:
            mounted = await self._streams.mounted()
            for protocol in self._doors:
                await self._lead(protocol, mounted.get(protocol))
        except (DatasetError, OSError) as error:
            return str(error)
        return None

    async def _lead(self, protocol: str, target: str | None) -> None:
        if protocol not in self._ports:
            self._ports[protocol] = self._doors[protocol]()
        port = self._ports[protocol]
        # What an agent before this one has mounted may lead elsewhere, or without a word about who calls.
        if protocol not in self._mounted or target != f"/ip4/127.0.0.1/tcp/{port}":
            await self._streams.mount(protocol, port)
            self._mounted.add(protocol)
