"""What this host has to sell: GPUs, processors, memory, disk, network. A host without a GPU is normal."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import socket
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from leasehold_agent.host._card import Card, SilentCard
from leasehold_agent.host._pci import DEVICES
from leasehold_agent.host._vendors import find_cards

MAX_GPUS = 8
_RDMA = Path("/sys/class/infiniband")
_PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Interface:
    """A network interface that is up; `mbits` is its link speed, 0 where the driver does not say."""

    name: str
    mbits: int


@dataclass(frozen=True)
class RdmaDevice:
    """An InfiniBand or RoCE device that has a port which is up; `gbits` is the fastest port's rate."""

    name: str
    gbits: float


@dataclass(frozen=True)
class Inventory:
    """`silent` are cards that are there and do not answer. Sentences: `problems` on what keeps cards from being sold,
    `refused` on those of unknown vendors.
    """

    gpus: tuple[Card, ...]
    driver: str | None
    cpu_model: str
    cores: int
    memory_bytes: int
    interfaces: tuple[Interface, ...]
    kernel: str
    cuda: str | None = None
    rdma: tuple[RdmaDevice, ...] = ()
    silent: tuple[SilentCard, ...] = ()
    problems: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    architecture: str = ""

    def units(self, asked: int | None) -> int:
        """How many GPUs, or equal units of a host without one, a machine of this host sells."""
        if self.gpus:
            return min(len(self.gpus), MAX_GPUS)
        return asked or max(1, min(MAX_GPUS, self.cores // 2))

    @property
    def needs_toolkit(self) -> bool:
        """Whether containers get its cards by NVIDIA's toolkit."""
        return any(card.vendor == "nvidia" for card in self.gpus)

    def devices_of(self, uuids: Collection[str]) -> tuple[str, ...]:
        """The device files of these cards that a container has to be given: none where a runtime adds them."""
        return tuple(dict.fromkeys(path for card in self.gpus if card.uuid in uuids for path in card.devices))

    def document(
        self, *, cpu_units: int | None, disk_bytes: int, quota: bool, runtimes: tuple[str, ...]
    ) -> dict[str, object]:
        """hardware.json, version 1."""
        return {
            "version": 1,
            "gpus": [card.document() for card in self.gpus],
            "cpu_units": 0 if self.gpus else self.units(cpu_units),
            "cpu": {"model": self.cpu_model, "cores": self.cores},
            "memory_bytes": self.memory_bytes,
            "disk": {"bytes": disk_bytes, "quota": quota},
            "network": {"interfaces": [{"name": i.name, "mbits": i.mbits} for i in self.interfaces]},
            "runtimes": list(runtimes),
            "driver": self.driver,
            "cuda": self.cuda,
            "rdma": [{"name": device.name, "gbits": device.gbits} for device in self.rdma],
            "kernel": self.kernel,
            "architecture": self.architecture,
        }


def take_inventory(devices: Path = DEVICES, rdma: Path = _RDMA) -> Inventory:
    """Look at the host. Never fails for the lack of a GPU, and waits for no card that is dead. devices, rdma: where the
    kernel lists what is on the PCI bus, and its RDMA devices.
    """
    cards = find_cards(devices)
    return Inventory(
        gpus=cards.cards,
        driver=cards.driver,
        cpu_model=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=int(psutil.virtual_memory().total),
        interfaces=tuple(_interfaces()),
        kernel=platform.release(),
        cuda=cards.cuda,
        rdma=tuple(_rdma(rdma)),
        silent=cards.silent,
        problems=(*cards.problems, *(_silent(card) for card in cards.silent)),
        refused=cards.refused,
        architecture=architecture(),
    )


def default_address() -> str:
    """The address that this host sends from; nothing is sent to find it."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def architecture() -> str:
    """The host's processors, as images name them."""
    return _PROCESSORS.get(platform.machine(), platform.machine())


def runtimes() -> tuple[str, ...]:
    return ("runc", "runsc") if shutil.which("runsc") else ("runc",)


def _silent(card: SilentCard) -> str:
    return f"Not sold, and missing from the machine that it was described for, is {card}."


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


def _rdma(devices: Path) -> Iterator[RdmaDevice]:
    """A port's rate reads as in "100 Gb/sec (4X EDR)"."""
    for folder in sorted(devices.glob("*")):
        rates = [0.0]
        for port in folder.glob("ports/*"):
            with contextlib.suppress(OSError, ValueError):
                if "ACTIVE" in (port / "state").read_text():
                    rates.append(float((port / "rate").read_text().split()[0]))
        if max(rates):
            yield RdmaDevice(folder.name, max(rates))
