"""What was seen of containers before, where it still holds: else each look would ask the engine about every one.

A container that ran when it was inspected, that the engine lists as running, and whose first process is the one that it
had then, has neither ended nor begun anew since. Of all others the engine is asked again: of those that stand, too,
since one may have run and ended in between.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import NotFound

from leasehold_agent.engine._containers import ContainerFacts, facts_of

_PROCESSES = Path("/proc")
_MOST_BYTES = 1 << 12
_STARTED = 19
"""Where a process's start stands in its `stat`, behind its name, which may hold anything: field 22 of proc(5)."""


@dataclass(frozen=True)
class _Seen:
    """began: when its first process was started, by the kernel's clock."""

    facts: ContainerFacts
    began: str


class Sightings:
    """The last look at each container, by its id. processes: where the kernel tells of processes."""

    def __init__(self, processes: Path = _PROCESSES) -> None:
        self._processes = processes
        self._seen: dict[str, dict[str, _Seen]] = {}
        self._looking = threading.Lock()

    def of(
        self,
        listed: Sequence[Mapping[str, Any]],
        inspect: Callable[[str], Mapping[str, Any]],
        label: str = "",
    ) -> list[ContainerFacts]:
        """Facts of the containers that the engine has listed by a label. inspect: asks it about one of them.

        What is not listed any more is forgotten, of that label alone: another look is at others.
        """
        with self._looking:
            before, seen = self._seen.get(label, {}), dict[str, _Seen]()
            described = []
            for entry in listed:
                known = before.get(entry["Id"])
                if known is None or not self._holds(known, entry):
                    try:
                        known = self._looked_at(facts_of(inspect(entry["Id"])))
                    except NotFound:
                        continue
                seen[entry["Id"]] = known
                described.append(known.facts)
            self._seen[label] = seen
            return described

    def _looked_at(self, facts: ContainerFacts) -> _Seen:
        return _Seen(facts, self._began(facts.pid) if facts.state == "running" else "")

    def _holds(self, known: _Seen, entry: Mapping[str, Any]) -> bool:
        """A paused container is listed as such, and one that restarts has no process for a while."""
        if not known.began or entry["State"] != "running":
            return False
        return self._began(known.facts.pid) == known.began

    def _began(self, pid: int) -> str:
        """Nothing where there is no such process here: the engine may run elsewhere."""
        with contextlib.suppress(OSError, IndexError):
            opened = os.open(f"{self._processes}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:  # the kernel gives all of it at once, and each look asks for every container's
                stat = os.read(opened, _MOST_BYTES).decode(errors="replace")
            finally:
                os.close(opened)
            return stat.rpartition(")")[2].split()[_STARTED]
        return ""
