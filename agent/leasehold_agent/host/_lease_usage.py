"""What a container uses, by the kernel's own counters: its control group (version 1 or 2), and its network interfaces.

The engine's own statistics take a second for each container. What a tenant's processes are called, or say of
themselves, is not read: a process belongs to the container in whose group the kernel has it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_PROCESSES: Final = 4_096
"""No more are looked up at once."""
_PROC, _GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class LeaseUsage:
    """Bytes, but for `processes` and `cpu_seconds`; None is what this kernel does not count. `memory` is what counts
    against the limit, and the rest is since the container was started.
    """

    cpu_seconds: float | None = None
    memory: int | None = None
    processes: int | None = None
    read: int | None = None
    written: int | None = None
    received: int | None = None
    sent: int | None = None


def usage_of(container: str, pid: int, proc: Path = _PROC, groups: Path = _GROUPS) -> LeaseUsage | None:
    """What the container of that full id uses, whose first process is `pid`; None where it has just ended."""
    folders = _folders(container, pid, proc, groups)
    if folders is None:
        return None
    read, written = _disk(folders)
    received, sent = _network(f"{proc}/{pid}/net/dev")
    if _folders(container, pid, proc, groups) is None:  # the number may be another's by now
        return None
    return LeaseUsage(
        cpu_seconds=_cpu(folders),
        memory=_number(folders, ("", "memory.current"), ("memory", "memory.usage_in_bytes")),
        processes=_number(folders, ("", "pids.current"), ("pids", "pids.current")),
        read=read,
        written=written,
        received=received,
        sent=sent,
    )


def containers_of(pids: Iterable[int], containers: Collection[str], proc: Path = _PROC) -> dict[int, str]:
    """Which of these containers, by their full ids, each process is in. Others are left out."""
    places = {}
    for pid, _ in zip(pids, range(MOST_PROCESSES), strict=False):
        for _, path in _lines(f"{proc}/{pid}/cgroup"):
            if (container := _container_in(path, containers)) is not None:
                places[pid] = container
                break
    return places


def _container_in(path: str, containers: Collection[str]) -> str | None:
    """The outermost: within its own group a tenant may make others, and call them as he likes."""
    names = (part.removeprefix("docker-").removesuffix(".scope") for part in path.split("/"))
    return next((name for name in names if name in containers), None)


def _folders(container: str, pid: int, proc: Path, groups: Path) -> Mapping[str, str] | None:
    """The container's group, by controller; "" is that of version 2."""
    folders, mine = dict[str, str](), dict[str, bool]()
    for controllers, path in _lines(f"{proc}/{pid}/cgroup"):
        if path not in mine:  # version 1 has it a dozen times
            mine[path] = ".." not in path.split("/") and _container_in(path, (container,)) is not None
        if mine[path]:
            for controller in controllers.split(","):
                folders[controller] = f"{groups}/{controller}/{path.lstrip('/')}"
    return folders or None


def _lines(file: str) -> list[tuple[str, str]]:
    """Controllers and path of each line of a process's `cgroup`."""
    parts = (line.split(":", 2) for line in _text(file).splitlines())
    return [(part[1].removeprefix("name="), part[2]) for part in parts if len(part) == 3]


def _text(file: str) -> str:
    """What there is, and nothing of what has just gone. Some ten for each lease: none has a buffer of its own."""
    with contextlib.suppress(OSError):
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = b""
            while len(text) < _MOST_BYTES and (more := os.read(opened, _MOST_BYTES - len(text))):
                text += more
            return text.decode(errors="replace")
        finally:
            os.close(opened)
    return ""


def _number(folders: Mapping[str, str], *places: tuple[str, str]) -> int | None:
    """The first of these files that is there: (controller of version 1 or "", name)."""
    for controller, name in places:
        folder = folders.get(controller)
        if folder is not None and (number := _count(_text(f"{folder}/{name}"))) is not None:
            return number
    return None


def _count(text: str) -> int | None:
    """A counter of 64 bits, or nothing."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def _cpu(folders: Mapping[str, str]) -> float | None:
    if (nanoseconds := _number(folders, ("cpuacct", "cpuacct.usage"))) is not None:
        return nanoseconds / 1e9
    for line in _text(f"{folders['']}/cpu.stat").splitlines() if "" in folders else ():
        name, _, value = line.partition(" ")
        if name == "usage_usec" and (microseconds := _count(value)) is not None:
            return microseconds / 1e6
    return None


def _disk(folders: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Bytes read and written: `8:0 rbytes=1 wbytes=2 …`, or in version 1 `8:0 Read 1`."""
    if "" in folders:
        fields = [part.split("=", 1) for part in _text(f"{folders['']}/io.stat").split() if "=" in part]
        if fields:
            return _sum(fields, "rbytes"), _sum(fields, "wbytes")
    if "blkio" in folders:
        lines = _text(f"{folders['blkio']}/blkio.throttle.io_service_bytes").splitlines()
        parts = [line.split()[1:] for line in lines if len(line.split()) == 3]
        if lines:
            return _sum(parts, "Read"), _sum(parts, "Write")
    return None, None


def _sum(fields: Iterable[list[str]], wanted: str) -> int:
    return sum(_count(value) or 0 for name, value in fields if name == wanted)


def _network(file: str) -> tuple[int | None, int | None]:
    """Bytes received and sent, over all interfaces but the loopback: columns 1 and 9 of each."""
    received = sent = None
    for line in _text(file).splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        numbers = [_count(number) or 0 for number in rest.split()]
        if name.strip() != "lo" and len(numbers) >= 9:
            received, sent = (received or 0) + numbers[0], (sent or 0) + numbers[8]
    return received, sent
