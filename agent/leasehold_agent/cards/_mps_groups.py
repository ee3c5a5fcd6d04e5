"""A control group for each lease that has a part of a card, in which its container is made: what it may take of the
card's memory is limited there before any process of it runs.

The container's own group is made as it starts, so that a limit on that would come too late: a process could have taken
the card's memory by then. Groups have version 2 here; who calls them how (`systemd` or `cgroupfs`) is the engine's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from leasehold_agent.cards._ending import end_process
from leasehold_agent.cards._mig import CardBusy
from leasehold_agent.cards._mps_words import MemoryLimit, limit_of
from leasehold_agent.cards._tools import Program, Tool, ToolFailed

_ROOT = Path("/sys/fs/cgroup")
_ROUNDED_MIB = 64
"""By so much more a limit may come out: for eight leases that is what no lease gets of a card (`portion_of`)."""


@dataclass
class MemoryGroups:
    """`driver` is the engine's word for whoever makes its groups; `mark` tells this agent's from others'."""

    mark: str
    driver: str = "systemd"
    root: Path = _ROOT
    proc: Path = Path("/proc")
    smi: Tool = field(default_factory=lambda: Program("nvidia-smi"))
    systemctl: Tool = field(default_factory=lambda: Program("systemctl"))

    def told(self, lease: int) -> str:
        """How the engine is told of the lease's group."""
        if self.driver == "systemd":
            return f"leasehold-{self.mark}-{lease}.slice"
        return f"/leasehold/{self.mark}/{lease}"

    def path(self, lease: int) -> Path:
        if self.driver == "systemd":
            return self._ours / self.told(lease)
        return self._ours / str(lease)

    async def limit(self, lease: int, card: str, mib: int) -> None:
        """Make the group where it is not there, and limit what it takes of the card's memory. Raises ToolFailed,
        OSError.

        No part of the limit is guaranteed: whoever is beyond what is his own may be ended for who is within it, and
        nobody is within nothing.
        """
        await self._make(lease)
        await self._set(self.path(lease), card, mib)
        said = await self._said(self.path(lease), card)
        if said.hard is None or said.hard > mib + _ROUNDED_MIB:
            raise ToolFailed(
                ("nvidia-smi", "memory-limits", "--get"), f"the limit is {said.hard} MiB, not {mib}"
            )

    async def show(self, lease: int, card: str, mib: int, container: str) -> None:
        """The container's own group says the limit too, where it has one of its own: what its programs are told of the
        card's memory comes from there. Raises ToolFailed.
        """
        for name in (f"docker-{container}.scope", container):
            if (self.path(lease) / name / "dmem.max").exists():
                await self._set(self.path(lease) / name, card, mib)

    async def remove(self, lease: int, card: str) -> None:
        """Raises CardBusy: a process of it lives, or has left memory on the card. ToolFailed, OSError."""
        path = self.path(lease)
        if not path.is_dir():
            return
        if _populated(path):
            raise CardBusy("A process of the lease before still lives.")
        if (await self._said(path, card)).used:
            raise CardBusy("The lease before still has memory on the card.")
        if self.driver == "systemd":
            await self.systemctl("stop", self.told(lease))
        with contextlib.suppress(FileNotFoundError):
            path.rmdir()

    def end(self, pid: int) -> bool:
        """SIGKILL to the process if it is in one of these groups; whether it was."""
        place = f"/{self._ours.relative_to(self.root)}/"
        return end_process(pid, lambda held: place in _text(self.proc / str(held) / "cgroup"))

    def leases(self) -> set[int]:
        """Of which there is a group."""
        ours = list(self._ours.iterdir()) if self._ours.is_dir() else []
        names = (path.name.removesuffix(".slice").rpartition("-")[2] for path in ours if path.is_dir())
        return {int(name) for name in names if name.isdigit()}

    @property
    def _ours(self) -> Path:
        if self.driver == "systemd":
            return self.root / "leasehold.slice" / f"leasehold-{self.mark}.slice"
        return self.root / "leasehold" / self.mark

    async def _make(self, lease: int) -> None:
        path = self.path(lease)
        if self.driver == "systemd":
            await self.systemctl("start", self.told(lease))
        else:
            path.mkdir(parents=True, exist_ok=True)
        if "dmem" not in _text(self.root / "cgroup.controllers").split():
            return  # the driver counts by itself
        for above in _above(path, self.root):
            (above / "cgroup.subtree_control").write_text("+dmem")

    async def _set(self, path: Path, card: str, mib: int) -> None:
        limits = ("--soft-limit", "0", "--hard-limit", str(mib))
        await self.smi("memory-limits", "--set", "-n", str(path), *limits, "-i", card)

    async def _said(self, path: Path, card: str) -> MemoryLimit:
        said = limit_of(text := await self.smi("memory-limits", "--get", "-n", str(path), "-i", card))
        if said is None:
            raise ToolFailed(("nvidia-smi", "memory-limits", "--get"), text)
        return said


def _above(path: Path, root: Path) -> Iterator[Path]:
    """From the root down to the folder that the group lies in."""
    return (folder for folder in reversed(path.parents) if folder.is_relative_to(root))


def _populated(path: Path) -> bool:
    return "populated 1" in _text(path / "cgroup.events")


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""
