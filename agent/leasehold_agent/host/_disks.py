"""The disks of this host, as the kernel lists them, and which of them hold a folder.

Disks are what is plugged in: not their partitions, nor what is made of them (volumes, arrays, files mounted as disks),
through which a file system is traced down to them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SYS = Path("/sys")
MOUNTS = Path("/proc/self/mountinfo")
Kind = Literal["nvme", "ssd", "hdd", "virtual"]
_SECTOR = 512
_DEEPEST = 8
"""Layers between a file system and its disks: more are none that anybody has made on purpose."""
_LONGEST_MODEL = 64
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class HostDisk:
    """`name` is the kernel's, `mounts` where something of it is mounted; `virtual`: what a hypervisor gives."""

    name: str
    model: str
    bytes: int
    kind: Kind
    mounts: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """What hardware.json says of it: nothing by which its owner is known."""
        return {"model": self.model, "bytes": self.bytes, "kind": self.kind}


@dataclass(frozen=True)
class _Mount:
    at: str
    kind: str
    source: str


class Disks:
    """What `sys` and `mounts` say: where the kernel lists devices, and what is mounted."""

    def __init__(self, sys: Path = SYS, mounts: Path = MOUNTS) -> None:
        self._sys = sys
        self._mounts = list(_mounted(mounts))

    def all(self) -> tuple[HostDisk, ...]:
        """Every disk that stays in this host, by name. What can be pulled out is none of it."""
        disks = []
        for folder in sorted((self._sys / "block").glob("*")):
            with contextlib.suppress(OSError, ValueError):  # one that is just being taken away
                if (folder / "device").exists() and not int(_text(folder / "removable") or 0):
                    disks.append(self._disk(folder))
        return tuple(disk for disk in disks if disk.bytes)

    def holding(self, folder: Path) -> tuple[HostDisk, ...]:
        """Those of them on which the folder's file system lies; none where that cannot be told (a network's, ZFS)."""
        names = self._under_folder(folder, _DEEPEST)
        return tuple(disk for disk in self.all() if disk.name in names)

    def _disk(self, folder: Path) -> HostDisk:
        mounts = {
            mount.at for mount in self._mounts if folder.name in self._under(mount, _DEEPEST) and mount.at
        }
        model = _plain(_text(folder / "device" / "model"))[:_LONGEST_MODEL].strip() or "unknown"
        return HostDisk(
            folder.name,
            model,
            int(_text(folder / "size")) * _SECTOR,
            _kind(folder),
            tuple(sorted(map(_plain, mounts))),
        )

    def _under_folder(self, folder: Path, deep: int) -> set[str]:
        place = os.path.realpath(folder)
        above = [mount for mount in self._mounts if f"{place}/".startswith(f"{mount.at.rstrip('/')}/")]
        if not above or not deep:
            return set()
        longest = max(len(mount.at) for mount in above)
        nearest = [mount for mount in above if len(mount.at) == longest][-1]  # what was mounted last is seen
        return self._under(nearest, deep - 1)

    def _under(self, mount: _Mount, deep: int) -> set[str]:
        """The disks of a file system. Of btrfs, which names one of its devices, those of all."""
        if not mount.source.startswith("/dev/"):
            return set()
        name = Path(os.path.realpath(mount.source)).name
        return {disk for device in self._fellows(mount.kind, name) for disk in self._below(device, deep)}

    def _fellows(self, kind: str, name: str) -> set[str]:
        if kind == "btrfs":
            for folder in (self._sys / "fs" / "btrfs").glob("*/devices"):
                names = {device.name for device in folder.iterdir()}
                if name in names:
                    return names
        return {name}

    def _below(self, name: str, deep: int) -> set[str]:
        """The disks that a block device is, or is a part or is made of."""
        device = self._sys / "class" / "block" / name
        if not deep or not device.exists():
            return set()
        if (device / "partition").exists():
            return {device.resolve().parent.name}
        if file := _text(device / "loop" / "backing_file"):
            return self._under_folder(Path(file).parent, deep - 1)
        slaves = [slave.name for slave in (device / "slaves").glob("*")]
        return {disk for slave in slaves for disk in self._below(slave, deep - 1)} if slaves else {name}


def slow_ones(disks: Collection[HostDisk]) -> list[HostDisk]:
    """Those of them with heads that move."""
    return [disk for disk in disks if disk.kind == "hdd"]


def _kind(folder: Path) -> Kind:
    if folder.name.startswith(("vd", "xvd")):
        return "virtual"
    if folder.name.startswith("nvme"):
        return "nvme"
    return "hdd" if _text(folder / "queue" / "rotational") == "1" else "ssd"


def _mounted(mounts: Path) -> Iterator[_Mount]:
    """See proc_pid_mountinfo(5): fields, then optional ones up to a dash, then the file system and where it lies."""
    with contextlib.suppress(OSError):
        for line in mounts.read_text(errors="replace").splitlines():
            fields = line.split(" ")
            with contextlib.suppress(ValueError, IndexError):
                dash = fields.index("-")
                yield _Mount(_unescaped(fields[4]), fields[dash + 1], _unescaped(fields[dash + 2]))


def _unescaped(text: str) -> str:
    return _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), text)


def _plain(text: str) -> str:
    """What a disk's maker or a mount's made up, without what would move a cursor."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _text(path: Path) -> str:
    """What the kernel says there, or nothing."""
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace").strip()
    return ""
