"""Whose processes the kernel ended because the host itself had no memory left: what its own log says.

A container's control group is gone with its last process, and its engine says of either kind of end that memory ran
out. The kernel's log tells them apart: what a container did to its own limit names that (`oom_memcg`). No program of a
tenant writes there: what is written by anybody but the kernel bears another facility, and of the line's words a tenant
chooses only the last, his process's name.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

_log = structlog.get_logger("leasehold_agent")
SECONDS: Final = 60.0
"""So long after the kernel's word the engine may see a container end of it, on a host that has no memory."""
_LOG = Path("/dev/kmsg")
_MOST_RECORDS, _MOST_VICTIMS, _RECORD_BYTES = 4_096, 256, 8_192
_KILL = re.compile(
    # Where a tenant has bound his memory to a part of the host's that is full, the constraint says so.
    rb"([0-7]),\d+,\d+,[^;]*;oom-kill:constraint=CONSTRAINT_NONE,nodemask=[^,]*,cpuset=[^,]*,mems_allowed=[\d,-]*,"
    rb"global_oom,task_memcg=([^,]*),task=.*"
)
_ID = re.compile(r"[0-9a-f]{64}")


def taken_from(record: bytes) -> str | None:
    """The full id of the container of which a process was ended for all others' sake, if that is what it says."""
    match = _KILL.match(record)
    containers = _ID.findall(match[2].decode(errors="replace")) if match else ()
    return containers[-1] if containers else None


@dataclass
class HostMemory:
    """`log` is the kernel's; where it cannot be read, nothing is known and nothing is said."""

    log: Path = _LOG
    _open: int | None = None
    _refused: bool = False
    _when: dict[str, float] = field(default_factory=dict)

    def look(self, now: float) -> None:
        """Read on, from the first look on: a bounded part, and nothing that lasts."""
        if self._open is None and not self._refused:
            self._begin()
        if self._open is None:
            return
        for _ in range(_MOST_RECORDS):
            try:
                record = os.read(self._open, _RECORD_BYTES)
            except BrokenPipeError:  # the kernel has written over what would have come next
                continue
            except OSError:  # there is no more
                return
            if not record:
                return
            self._heed(record, now)

    def took_from(self, container: str, now: float) -> bool:
        """Whether a process of the container, by its full id, was ended so within the last minute."""
        return now - self._when.get(container, float("-inf")) <= SECONDS

    def close(self) -> None:
        if self._open is not None:
            os.close(self._open)
        self._open = None

    def _begin(self) -> None:
        try:
            self._open = os.open(self.log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self._refused = True
            _log.info("kernel's log", problem=str(error))
            return
        with contextlib.suppress(OSError):  # what is no device has no end to go to
            os.lseek(self._open, 0, os.SEEK_END)

    def _heed(self, record: bytes, now: float) -> None:
        if (container := taken_from(record)) is None:
            return
        self._when.pop(container, None)
        self._when[container] = now
        while len(self._when) > _MOST_VICTIMS:
            del self._when[next(iter(self._when))]
