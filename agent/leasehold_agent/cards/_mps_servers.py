"""MPS of version 3: one daemon, a server for each card, a namespace in it for each lease. Memory is limited by control
group, threads by namespace, and the card lets in nobody but its server.

A tenant can tell his own process to keep to no limit of the namespace's memory, which is why that is not what fences
it. A process that goes round the server is refused by the card, whose compute mode lets one process in: the server.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import structlog

from leasehold.files import replace_file
from leasehold_agent.cards._mig import CardBusy
from leasehold_agent.cards._mps_book import CardPart, Doors
from leasehold_agent.cards._mps_groups import MemoryGroups
from leasehold_agent.cards._mps_pids import daemon_of, end_mps, is_mps
from leasehold_agent.cards._mps_words import (
    Portion,
    Server,
    configuration,
    mib_of,
    names_of,
    namespace_name,
    percent_of,
    server_name,
    servers_of,
)
from leasehold_agent.cards._place import Place
from leasehold_agent.cards._tools import Program, Tool, ToolFailed
from leasehold_agent.host import processes_on, takes_many

_log = structlog.get_logger("leasehold_agent")
_BARE = "--format=csv,noheader"
_MOST_LOGGED = 1 << 20
_MOST_UNHEARD = 3
"""Looks at a daemon that lives and does not answer, each of them a minute."""


@dataclass
class MpsServers:
    """`folder` is the daemon's, on a file system of this host alone. `processes` gives those that compute on a card,
    and `takes_many` whether it lets in several; both by its UUID, and they raise OSError. `program` makes tools.
    """

    folder: Path
    groups: MemoryGroups
    smi: Tool = field(default_factory=lambda: Program("nvidia-smi"))
    processes: Callable[[str], Collection[int]] = processes_on
    takes_many: Callable[[str], bool] = takes_many
    program: Callable[..., Tool] = Program
    _faulty: set[str] = field(default_factory=set)
    _unheard: int = 0

    def place(self, lease: int, card: str) -> Place:
        """What its container is made with."""
        inside = self._way_in(lease, card)
        return Place(
            mounts=((self._doors.path(lease), str(inside)),),
            environment={"CUDA_MPS_PIPE_DIRECTORY": str(inside)},
            group=self.groups.told(lease),
        )

    async def claim(self, card: str) -> None:
        """The card is nobody's, and from now on its server's alone. Raises CardBusy, ToolFailed, OSError."""
        server = (await self._servers()).get(server_name(card))
        others = set(await asyncio.to_thread(self.processes, card)) - {server.pid if server else -1}
        if others:
            raise CardBusy("A process still computes on the card.")
        await self._mode(card, "EXCLUSIVE_PROCESS")

    async def stand(self, lease: int, part: CardPart, parts: Mapping[int, CardPart]) -> None:
        """All that the lease's processes need, with their limits before their way in. parts: what there is to be, of
        all leases. Raises ToolFailed, OSError.
        """
        await self.groups.limit(lease, part.card, part.portion.mib)
        server = server_name(part.card)
        if server not in await self._running(parts):
            await self._create(part.card)
        await self._limit(lease, server, part.portion)
        pipes = await self._control("namespace", "get", namespace_name(lease), server, "pipe-directory")
        self._doors.open(lease, Path(pipes.strip()))

    async def fall(self, lease: int, part: CardPart) -> None:
        """Nothing is left of it. Raises CardBusy while a process of it lives, or its memory is not free; ToolFailed,
        OSError.
        """
        self._doors.close(lease)
        await self.groups.remove(lease, part.card)
        server = server_name(part.card)
        if server in await self._servers() and namespace_name(lease) in await self._namespaces(server):
            # No process of the lease lives: whom the server still counts is not there.
            await self._control("namespace", "delete", namespace_name(lease), f"--server={server}", "--force")

    async def leave(self, card: str) -> None:
        """The card has no server any more, and lets in several, as any card. Raises ToolFailed, OSError."""
        if server_name(card) in await self._servers():
            await self._control("server", "delete", server_name(card), "--force")
        await self._mode(card, "DEFAULT")

    async def mend(self, parts: Mapping[int, CardPart]) -> None:
        """What there is to be, is again: a daemon that has died, a server, a way in. Raises ToolFailed, OSError."""
        self._bound_logs()
        if not parts:
            return
        try:
            servers = await self._running(parts)
        except ToolFailed:
            self._end_hung()
            raise
        self._unheard = 0
        problems = []
        for card in sorted({part.card for part in parts.values()}):
            try:
                await self._mend(card, servers.get(server_name(card)), parts)
            except (ToolFailed, OSError) as problem:  # the other cards have nothing to do with it
                problems.append(problem)
        if problems:
            raise problems[0]

    async def _mend(self, card: str, server: Server | None, parts: Mapping[int, CardPart]) -> None:
        stands = await self._stands(card, server)
        if server is not None and not server.pid:  # it would come, and whoever is on the card keeps it out
            await self._empty(card)
        await self._mode(card, "EXCLUSIVE_PROCESS")  # a driver that was loaded anew has forgotten it
        for lease, part in parts.items():
            if part.card == card and not (namespace_name(lease) in stands and self._reached(lease, card)):
                await self.stand(lease, part, parts)

    async def show(self, lease: int, part: CardPart, container: str) -> None:
        """The lease's programs are told what they have of the card's memory. Raises ToolFailed."""
        await self.groups.show(lease, part.card, part.portion.mib, container)

    # ---------------------------------------------------------------------------------------------- the daemon

    async def _running(self, parts: Mapping[int, CardPart]) -> dict[str, Server]:
        """Its servers, once it runs: where it does not, it begins with all that there is to be."""
        try:
            return servers_of(await self._control("server", "list", _BARE))
        except ToolFailed:
            await self._begin(parts)
        return servers_of(await self._control("server", "list", _BARE))

    def _end_hung(self) -> None:
        """One that lives and answers nobody, look after look, is ended: a tenant may have brought it to that, and his
        neighbours' processes do not get to the card.
        """
        daemon = daemon_of(self._pipes)
        self._unheard = self._unheard + 1 if is_mps(daemon) else 0
        if self._unheard > _MOST_UNHEARD and end_mps(daemon):
            _log.warning("mps", ended="daemon", why="it does not answer")

    async def _begin(self, parts: Mapping[int, CardPart]) -> None:
        """Raises ToolFailed: one lives, and only has not answered; its servers have leases' work."""
        if is_mps(daemon_of(self._pipes)):
            raise ToolFailed(("nvidia-cuda-mps-control", "server", "list"), "the daemon does not answer")
        cards: dict[str, dict[int, Portion]] = {}
        for lease, part in parts.items():
            cards.setdefault(part.card, {})[lease] = part.portion
        for folder in (self.folder, self._pipes, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        for card in cards:
            with contextlib.suppress(OSError):  # a card that is lost
                await self._empty(card)
        written = self.folder / "mps.toml"
        replace_file(written, configuration(cards).encode())
        _log.warning("mps", began="daemon", leases=len(parts))
        daemon = self.program("nvidia-cuda-mps-control", environment=self._environment, quiet=True)
        await daemon("-d", "-m", "-p", "3", "-a", str(written))

    async def _servers(self) -> dict[str, Server]:
        """None, where no daemon runs."""
        with contextlib.suppress(ToolFailed):
            return servers_of(await self._control("server", "list", _BARE))
        return {}

    async def _namespaces(self, server: str) -> set[str]:
        return names_of(await self._control("namespace", "list", f"--server={server}", _BARE))

    # ---------------------------------------------------------------------------------------- a card's server

    async def _create(self, card: str) -> None:
        """A server takes what it is told and may end at once: it is looked for."""
        name = server_name(card)
        await self._empty(card)
        await self._control("server", "create", name, "--uid=0", f"--allowed-devices={card}")
        await self._control("server", "set", name, "--pinned-memory-limit=1M", "--active-thread-percentage=1")
        if name not in await self._servers():
            raise ToolFailed(("nvidia-cuda-mps-control", "server", "create", name), "it has ended at once")
        _log.info("mps", made="server")

    async def _empty(self, card: str) -> None:
        """The card lets in one process, and that is to be the server that comes. One whose daemon has died would keep
        it out, and so would a tenant's that has waited for the server's end and was quicker than the next.
        """
        for pid in await asyncio.to_thread(self.processes, card):
            if end_mps(pid) or self.groups.end(pid):
                _log.warning("mps", ended="process", why="the card had no server")

    async def _stands(self, card: str, server: Server | None) -> set[str]:
        """The namespaces of the card's server; none where it is not there, or had to go.

        After a fault it takes nobody in before all have gone that were there, and whoever does not go would keep the
        others out for ever. What they had on the card is lost in any case: they are ended at the second look.
        """
        if server is None:
            return set()
        again = card in self._faulty
        self._faulty.discard(card)
        if server.faulty and not again:
            self._faulty.add(card)
        elif server.faulty:
            _log.warning("mps", ended="server", why=server.status)
            await self._control("server", "delete", server_name(card), "--force")
            return set()
        return await self._namespaces(server_name(card))

    def _reached(self, lease: int, card: str) -> bool:
        """Whether its processes get to the server, and stay within its group."""
        return self._doors.leads_to(lease, self._way_in(lease, card)) and self.groups.path(lease).is_dir()

    async def _limit(self, lease: int, server: str, portion: Portion) -> None:
        """The lease's namespace, with limits that are read again: one without has the whole card."""
        name = namespace_name(lease)
        if name not in await self._namespaces(server):
            await self._control("namespace", "create", name, f"--server={server}")
        limits = (
            f"--pinned-memory-limit={portion.mib}M",
            f"--active-thread-percentage={portion.percent}",
        )
        await self._control("namespace", "set", name, f"--server={server}", *limits)
        memory = mib_of(await self._control("namespace", "get", name, server, "pinned-memory-limit"))
        percent = percent_of(
            await self._control("namespace", "get", name, server, "active-thread-percentage")
        )
        if memory is None or percent is None or memory > portion.mib or percent > portion.percent:
            raise ToolFailed(("nvidia-cuda-mps-control", "namespace", "set", name), "it does not hold")

    async def _mode(self, card: str, mode: str) -> None:
        """By the driver's own word, or it is not so."""
        several = mode == "DEFAULT"
        if await asyncio.to_thread(self.takes_many, card) == several:
            return
        await self.smi("-i", card, "-c", mode)
        if await asyncio.to_thread(self.takes_many, card) != several:
            raise ToolFailed(
                ("nvidia-smi", "-i", card, "-c", mode), "the card's compute mode stays as it was"
            )

    # --------------------------------------------------------------------------------------------------- files

    @cached_property
    def _doors(self) -> Doors:
        return Doors(self.folder / "doors")

    def _way_in(self, lease: int, card: str) -> Path:
        """The namespace's own folder, on the host and in the container alike."""
        return self._pipes / server_name(card) / namespace_name(lease)

    @property
    def _pipes(self) -> Path:
        return self.folder / "pipe"

    @property
    def _logs(self) -> Path:
        return self.folder / "log"

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "CUDA_MPS_PIPE_DIRECTORY": str(self._pipes),
            "CUDA_MPS_LOG_DIRECTORY": str(self._logs),
            "CUDA_MPS_PROTOCOL_VERSION": "3",
        }

    async def _control(self, *arguments: str) -> str:
        return await self.program("nvidia-cuda-mps-control", environment=self._environment)(*arguments)

    def _bound_logs(self) -> None:
        """A tenant whose processes come and go writes them without end, into the host's memory."""
        for log in self._logs.rglob("*.log") if self._logs.is_dir() else ():
            if log.stat().st_size > _MOST_LOGGED:
                with open(log, "r+b") as file:
                    file.truncate()
