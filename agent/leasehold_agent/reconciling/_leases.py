"""What is known here of each lease: its folder and notes, its workload, and what this process has seen of it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from leasehold.chain import format_lease
from leasehold.errors import WorkloadError
from leasehold.workload import CodeTree, Workload, unseal
from leasehold_agent._backoff import Backoff
from leasehold_agent._errors import DeclineReason
from leasehold_agent.store import LeaseDir, lease_dirs

_log = structlog.get_logger("leasehold_agent")


@dataclass
class Record:
    """What this process knows of a lease beyond the notes; lost at a restart and worked out anew.

    ready: it answered. waiting: what it would be declined for now. progress: what is being waited for, for people.
    trouble: why the last attempt failed. code: the list of its folder of code, by its digest. wants: bytes that the
    disk did not have for it. ended_at: when this process first saw its last end, by the host's clock. stopping: since
    when its container is being stopped since it is over, by the same. killed: its last end was not its own, and was
    the kernel's where it has starved: the host's memory had run out.
    """

    ready: bool = False
    waiting: DeclineReason = "not-ready"
    progress: str | None = None
    trouble: str | None = None
    workload: tuple[str, Workload] | None = None
    code: tuple[str, CodeTree] | None = None
    code_came: asyncio.Event = field(default_factory=asyncio.Event)
    wants: int | None = None
    again: Backoff = field(default_factory=Backoff)
    end: tuple[str, float] | None = None
    killed: bool = False
    starved: bool = False
    ends: int = 0
    ended_at: float = 0.0
    stopping: float | None = None


@dataclass
class LeaseBook:
    """The leases that have a folder below `root`. `age_identity` opens their workloads."""

    root: Path
    age_identity: str = field(repr=False)
    records: dict[int, Record] = field(default_factory=dict)
    _folders: dict[int, LeaseDir] = field(default_factory=dict)

    def folder(self, lease: int) -> LeaseDir:
        return self._folders.get(lease) or LeaseDir(self.root, lease)

    def folders(self) -> dict[int, LeaseDir]:
        """Those that are there."""
        self._folders = lease_dirs(self.root, self._folders)
        return dict(self._folders)

    def record(self, lease: int) -> Record:
        known = self.records.get(lease)
        return known if known is not None else self.records.setdefault(lease, Record())

    def workload(self, lease: int) -> Workload | None:
        """The workload in the lease's folder, or None if there is none that can be read. Opened once."""
        folder, record = self.folder(lease), self.record(lease)
        digest = folder.load().workload
        if record.workload is not None and record.workload[0] == digest:
            return record.workload[1]
        try:
            sealed = folder.sealed.read_bytes()
            if hashlib.sha256(sealed).hexdigest() != digest:
                return None
            opened = unseal(sealed, self.age_identity)
        except (FileNotFoundError, WorkloadError):
            return None
        record.workload = (digest, opened)
        return opened

    def grace(self, lease: int) -> int | None:
        """Seconds that its tenant wants between SIGTERM and SIGKILL, if that can be read."""
        workload = self.workload(lease)
        return None if workload is None else workload.grace

    def note_end(self, lease: int) -> None:
        """Its command has ended by itself: an engine that restarts later does not make it run again."""
        folder = self.folder(lease)
        notes = folder.load()
        if not (notes.ended or notes.stopped):
            notes.ended = True
            folder.save(notes)

    def volumes_named(self) -> set[str]:
        """Those of all leases that are kept here, by their ids."""
        return {volume for folder in self.folders().values() for volume in folder.load().volumes}

    def datasets_in_use(self, final: int) -> set[str]:
        """Those of leases that run, or that a reorganisation may bring back: others are kept while there is room.

        final: the last block that no reorganisation takes away any more.
        """
        noted = (folder.load() for folder in self.folders().values())
        back = (notes for notes in noted if notes.gone_block is None or notes.gone_block > final)
        return {name for notes in back for name in notes.datasets}


def log_step(lease: int, step: str) -> None:
    """One line before each step; tests kill the agent right here."""
    _log.info("step", lease=format_lease(lease), step=step)
