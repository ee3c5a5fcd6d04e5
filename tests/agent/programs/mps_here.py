"""NVIDIA's tools without processes, for tests of milliseconds: the same stand-ins, asked in this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.nvml import smi
from tests.agent.nvml.standin import Card, StandIn
from tests.agent.programs.mps_control import Daemon, Legacy, Refused, Wrong, answer_of, commands_of, daemon_of

from leasehold_agent.cards import CardPart, MemoryGroups, Mps, MpsServers, PartsBook, ToolFailed
from leasehold_agent.cards._mps_words import names_of, server_name
from leasehold_agent.cards._tools import Tool

GIB = 1 << 30


@dataclass
class ToolsHere:
    """`asked` is all that they were. Where `dies_after` is a number, the agent is gone after so many. `hung`: folders
    of daemons that answer nobody.
    """

    nvml: StandIn
    asked: list[str] = field(default_factory=list)
    daemons: dict[Path, Daemon | Legacy] = field(default_factory=dict)
    dies_after: int | None = None
    hung: set[Path] = field(default_factory=set)

    def program(self, name: str, *, environment: Mapping[str, str] | None = None, quiet: bool = False) -> Any:
        """As `Program` is made."""

        async def call(*arguments: str, stdin: str = "") -> str:
            if self.dies_after is not None:
                self.dies_after -= 1
                if self.dies_after < 0:
                    raise AgentDied
            self.asked.append(" ".join((name, *arguments, *stdin.split())))
            try:
                return self._answer(name, list(arguments), stdin, {**os.environ, **(environment or {})})
            except (Refused, Wrong, smi.Refused) as problem:
                raise ToolFailed((name, *arguments), str(problem)) from problem
            except (KeyError, ValueError) as wrong:
                raise ToolFailed((name, *arguments), f"Invalid argument: {wrong}") from wrong

        return call

    def end_daemon(self, folder: Path) -> None:
        """It dies; its files stay, its sockets answer nobody."""
        self.daemons.pop(folder).die()

    def close(self) -> None:
        for folder in list(self.daemons):
            self.end_daemon(folder)

    def _answer(self, name: str, arguments: list[str], stdin: str, environment: Mapping[str, str]) -> str:
        if name == "nvidia-smi":
            return smi._answer(self.nvml, "mig-h100-80gb", arguments)
        if name == "unshare":
            assert arguments[:3] == ["--mount", "sh", "-c"]
            assert Path(arguments[4]).is_dir()
            assert arguments[3].endswith("exec nvidia-cuda-mps-control -d")
            arguments = ["-d"]
        if (daemon := daemon_of(arguments, environment)) is not None:
            if daemon.folder in self.daemons:
                raise Refused("An instance of this daemon is already running")
            daemon.listening = daemon.listen()
            self.daemons[daemon.folder] = daemon
            return ""
        if arguments == ["-v"]:
            return "Version 615\n"
        return "".join(
            self._tell(Path(environment["CUDA_MPS_PIPE_DIRECTORY"]), words)
            for words in commands_of(arguments, stdin)
        )

    def _tell(self, folder: Path, words: list[str]) -> str:
        if folder not in self.daemons:
            raise Refused("Cannot find MPS control daemon process")
        if folder in self.hung:
            raise Refused("it has not ended in 60 s")
        code, said = answer_of(self.daemons[folder], words)
        if code:
            raise Refused(said)
        if words == ["quit"]:
            self.daemons.pop(folder).end()
        return said


class AgentDied(Exception):
    """The agent is gone, here."""


@dataclass
class Here:
    """A host with a card, and MPS of version 3 on it."""

    nvml: StandIn
    card: Card
    folder: Path
    tools: ToolsHere
    groups: MemoryGroups

    def mps(self, **more: object) -> Mps:
        """As an agent that has just begun has it."""
        return Mps(self.service(**more), PartsBook(self.folder))

    def service(self, **more: object) -> MpsServers:
        with_tools = {"smi": self.tools.program("nvidia-smi"), "program": self.tools.program}
        return MpsServers(self.folder, self.groups, **with_tools | more)  # type: ignore[arg-type]  # as a test likes

    def ask(self, *words: str) -> str:
        return self.tools._tell(self.folder / "pipe", list(words))

    def part(self, cells: int) -> CardPart:
        return CardPart(self.card.uuid, cells, 16 * GIB)

    @property
    def server(self) -> str:
        return server_name(self.card.uuid)

    @property
    def namespaces(self) -> set[str]:
        return names_of(self.ask("namespace", "list", f"--server={self.server}")) - {"default"}

    def limit(self, lease: int) -> str | None:
        return self.card.get(f"limit.{self.groups.path(lease)}")

    def forget(self) -> None:
        """As after a reboot: all that lay in memory is gone."""
        self.tools.close()
        for left in sorted(self.folder.rglob("*"), reverse=True):
            left.rmdir() if left.is_dir() else left.unlink()
        for lease in self.groups.leases():
            self.groups.path(lease).rmdir()
        self.card.set(compute_mode=0)

    def end_daemon(self) -> None:
        self.tools.end_daemon(self.folder / "pipe")


def groups_of(tmp_path: Path, controllers: str = "cpu memory", **more: Tool) -> MemoryGroups:
    root = tmp_path / "cgroup"
    root.mkdir()
    (root / "cgroup.controllers").write_text(controllers)
    return MemoryGroups("ab", "cgroupfs", root, **more)


def read(file: Path) -> str:
    return file.read_text()


async def started(program: Path) -> asyncio.subprocess.Process:
    """A process of that name, which does nothing."""
    shutil.copy(shutil.which("sleep") or "", program)
    return await asyncio.create_subprocess_exec(str(program), "600")


def write(file: Path, text: str) -> None:
    file.write_text(text)


def kill_daemon(number: Path) -> None:
    """A process that is nobody's child here is waited for by what the kernel hands out for it."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        held = os.pidfd_open(int(number.read_text()))
        signal.pidfd_send_signal(held, signal.SIGKILL)
        select.select([held], [], [])
        os.close(held)
        number.unlink()
