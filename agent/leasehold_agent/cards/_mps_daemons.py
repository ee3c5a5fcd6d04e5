"""MPS of version 2, which is for those who keep to it: a daemon for each lease, that nobody else reaches.

Its limits are of each process and not of the lease, and bind whoever goes to it: a process that does not go there has
the whole card. So a tenant can only give up his own limits, and his own daemon; he finds nothing of another's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import structlog

from leasehold_agent.cards._mig import CardBusy
from leasehold_agent.cards._mps_book import CardPart, Doors
from leasehold_agent.cards._mps_pids import daemon_of, end_mps
from leasehold_agent.cards._mps_words import percent_of, pids_of
from leasehold_agent.cards._place import Place
from leasehold_agent.cards._tools import Program, Tool, ToolFailed
from leasehold_agent.host import remove_tree

_log = structlog.get_logger("leasehold_agent")
_SHM = Path("/dev/shm/leasehold")
_BEGIN = 'mount --bind "$0" /dev/shm && exec nvidia-cuda-mps-control -d'
"""A daemon of this version and its clients find each other's memory in /dev/shm, which is nobody else's then."""
_WAYS_IN = ("control", "log")
"""What a client needs of a daemon's folder. Beside it lie what only its owner may write to, its lock and its number."""


@dataclass
class MpsDaemons:
    """`folder` is the daemons', `shm` where the leases' shared memory lies, on file systems of this host alone."""

    folder: Path
    shm: Path = _SHM
    program: Callable[..., Tool] = Program

    def place(self, lease: int, card: str) -> Place:
        """What its container is made with."""
        inside = self.folder / "pipe" / str(lease)
        return Place(
            mounts=((self._doors.path(lease), str(inside)),),
            environment={"CUDA_MPS_PIPE_DIRECTORY": str(inside)},
            shm=self._memory(lease),
        )

    async def claim(self, card: str) -> None:
        """Others may compute on the card beside them, by whatever daemon or none."""

    async def stand(self, lease: int, part: CardPart, parts: Mapping[int, CardPart]) -> None:
        """A daemon for the lease, with its limits before the way in. Raises ToolFailed, OSError."""
        if await self._asked(lease, "get_default_active_thread_percentage") is None:
            await self._begin(lease, part.card)
        portion = part.portion
        await self._tell(lease, f"set_default_device_pinned_mem_limit {part.card} {portion.mib}M")
        await self._tell(lease, f"set_default_active_thread_percentage {portion.percent}")
        held = percent_of(await self._tell(lease, "get_default_active_thread_percentage"))
        if held is None or held > portion.percent:
            raise ToolFailed(
                ("nvidia-cuda-mps-control", "set_default_active_thread_percentage"), "it does not hold"
            )
        for server in pids_of(
            await self._tell(lease, "get_server_list")
        ):  # the next processes have grown or shrunk
            await self._tell(lease, f"set_device_pinned_mem_limit {server} {part.card} {portion.mib}M")
            await self._tell(lease, f"set_active_thread_percentage {server} {portion.percent}")
        self._doors.open(lease, self._pipes(lease), *_WAYS_IN)

    async def fall(self, lease: int, part: CardPart) -> None:
        """Its daemon and its server are gone. Raises CardBusy while they are not, ToolFailed, OSError."""
        self._doors.close(lease)
        daemon = daemon_of(self._pipes(lease))
        servers = pids_of(await self._asked(lease, "get_server_list") or "")
        await self._asked(lease, "quit")
        ended = [end_mps(pid) for pid in (daemon, *servers)]  # nobody's work is lost any more
        if any(ended):
            raise CardBusy("The server of the lease before has not ended yet.")
        for folder in (self._pipes(lease), self._logs(lease), self._memory(lease)):
            if folder.is_dir():
                await asyncio.to_thread(remove_tree, folder)

    async def leave(self, card: str) -> None:
        """Nothing of the card was changed."""

    async def mend(self, parts: Mapping[int, CardPart]) -> None:
        """A daemon that has died, by its tenant's hand or another's, begins again. Raises ToolFailed, OSError."""
        for lease, part in parts.items():
            answers = await self._asked(lease, "get_default_active_thread_percentage") is not None
            if not (answers and self._doors.leads_to(lease, self._pipes(lease))):
                await self.stand(lease, part, parts)

    async def show(self, lease: int, part: CardPart, container: str) -> None:
        """It tells its clients by itself."""

    async def _begin(self, lease: int, card: str) -> None:
        self.shm.mkdir(mode=0o700, exist_ok=True)  # what tenants put in there is for nobody else on the host
        if self.shm.is_symlink() or self.shm.stat().st_uid != os.geteuid():
            raise PermissionError(f"{self.shm} is not the agent's own")
        for folder in (self._pipes(lease), self._logs(lease), self._memory(lease)):
            folder.mkdir(parents=True, exist_ok=True)
        self._memory(lease).chmod(0o1777)
        environment = {**self._environment(lease), "CUDA_VISIBLE_DEVICES": card}
        begin = self.program("unshare", environment=environment, quiet=True)
        await begin("--mount", "sh", "-c", _BEGIN, str(self._memory(lease)))
        _log.info("mps", began="daemon")

    async def _tell(self, lease: int, command: str) -> str:
        control = self.program("nvidia-cuda-mps-control", environment=self._environment(lease))
        return await control(stdin=f"{command}\n")

    async def _asked(self, lease: int, command: str) -> str | None:
        """None where no daemon runs."""
        with contextlib.suppress(ToolFailed):
            return await self._tell(lease, command)
        return None

    def _environment(self, lease: int) -> dict[str, str]:
        return {
            "CUDA_MPS_PIPE_DIRECTORY": str(self._pipes(lease)),
            "CUDA_MPS_LOG_DIRECTORY": str(self._logs(lease)),
        }

    def _pipes(self, lease: int) -> Path:
        return self.folder / "pipe" / str(lease)

    def _logs(self, lease: int) -> Path:
        return self.folder / "log" / str(lease)

    def _memory(self, lease: int) -> Path:
        return self.shm / self.folder.name / str(lease)

    @cached_property
    def _doors(self) -> Doors:
        return Doors(self.folder / "doors")
