"""What this host has to sell: GPUs by NVML, processors, memory, disk, network. A host without NVML is normal."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pynvml

MAX_GPUS = 8


@dataclass(frozen=True)
class Card:
    """A card. `uuid` names it to the container runtime and is shown to nobody; its hash is measured."""

    model: str
    memory_bytes: int
    uuid: str

    @property
    def uuid_hash(self) -> str:
        return hashlib.sha256(self.uuid.encode()).hexdigest()


@dataclass(frozen=True)
class Interface:
    """A network interface that is up; `mbits` is its link speed, 0 where the driver does not say."""

    name: str
    mbits: int


@dataclass(frozen=True)
class Inventory:
    gpus: tuple[Card, ...]
    driver: str | None
    cpu_model: str
    cores: int
    memory_bytes: int
    interfaces: tuple[Interface, ...]
    kernel: str

    def units(self, asked: int | None) -> int:
        """How many GPUs, or equal units of a host without one, a machine of this host sells."""
        if self.gpus:
            return min(len(self.gpus), MAX_GPUS)
        return asked or max(1, min(MAX_GPUS, self.cores // 2))

    def document(
        self, *, cpu_units: int | None, disk_bytes: int, quota: bool, runtimes: tuple[str, ...]
    ) -> dict[str, object]:
        """hardware.json, version 1."""
        return {
            "version": 1,
            "gpus": [
                {"model": g.model, "memory_bytes": g.memory_bytes, "uuid_hash": g.uuid_hash}
                for g in self.gpus
            ],
            "cpu_units": 0 if self.gpus else self.units(cpu_units),
            "cpu": {"model": self.cpu_model, "cores": self.cores},
            "memory_bytes": self.memory_bytes,
            "disk": {"bytes": disk_bytes, "quota": quota},
            "network": {"interfaces": [{"name": i.name, "mbits": i.mbits} for i in self.interfaces]},
            "runtimes": list(runtimes),
            "driver": self.driver,
            "kernel": self.kernel,
        }


def take_inventory() -> Inventory:
    """Look at the host. Never fails for the lack of a GPU."""
    gpus, driver = _nvidia()
    return Inventory(
        gpus=gpus,
        driver=driver,
        cpu_model=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=int(psutil.virtual_memory().total),
        interfaces=tuple(_interfaces()),
        kernel=platform.release(),
    )


def default_address() -> str:
    """The address that this host sends from; nothing is sent to find it."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def runtimes() -> tuple[str, ...]:
    return ("runc", "runsc") if shutil.which("runsc") else ("runc",)


def _nvidia() -> tuple[tuple[Card, ...], str | None]:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return (), None
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        return tuple(_cards()), driver
    finally:
        pynvml.nvmlShutdown()


def _cards() -> Iterator[Card]:
    """Cards that answer. One that has fallen off the bus is left out: it could not be sold."""
    for index in range(pynvml.nvmlDeviceGetCount()):
        with contextlib.suppress(pynvml.NVMLError):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            yield Card(
                model=_text(pynvml.nvmlDeviceGetName(handle)),
                memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
                uuid=_text(pynvml.nvmlDeviceGetUUID(handle)),
            )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model"):
                return value.strip()
    return platform.machine()


def _interfaces() -> Iterator[Interface]:
    for name, state in sorted(psutil.net_if_stats().items()):
        physical = Path("/sys/class/net", name, "device").exists()
        if state.isup and physical:
            yield Interface(name, max(0, state.speed))
