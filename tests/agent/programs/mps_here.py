"""NVIDIA's tools without processes, for tests of milliseconds: the same stand-ins, asked in this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.nvml import smi
from tests.agent.nvml.standin import StandIn
from tests.agent.programs.mps_control import Daemon, Legacy, Refused, Wrong, answer_of, commands_of, daemon_of

from leasehold_agent.cards import ToolFailed


@dataclass
class ToolsHere:
    """`asked` is all that they were. Where `dies_after` is a number, the agent is gone after so many."""

    nvml: StandIn
    asked: list[str] = field(default_factory=list)
    daemons: dict[Path, Daemon | Legacy] = field(default_factory=dict)
    dies_after: int | None = None

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
        code, said = answer_of(self.daemons[folder], words)
        if code:
            raise Refused(said)
        if words == ["quit"]:
            self.daemons.pop(folder).end()
        return said


class AgentDied(Exception):
    """The agent is gone, here."""
