"""Cards for machines that have none: a library beneath the real pynvml, which answers live from a file.

In a test, the fixture `nvml` (`tests/agent/conftest.py`) is all: cards that this process and those that it starts see.
Elsewhere, `StandIn(file)` changes the cards of whoever has `LEASEHOLD_NVML` set to that file: each change is read by
the next call, and by one that hangs. `nvml.c` lists the keys.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.shared_library import built

SOURCE = Path(__file__).with_name("nvml.c")
VARIABLE = "LEASEHOLD_NVML"
"""Names the file that the library reads; without it, the library says that it is not there."""
GPU_IS_LOST, DRIVER_MISMATCH, NO_DRIVER = 15, 18, 9
XID = 8
"""The type of event that an XID is (`nvmlEventTypeXidCriticalError`)."""
GIB = 1 << 30

H100: dict[str, object] = {
    "name": "NVIDIA H100 80GB HBM3",
    "memory": 85_520_809_984,
    "memory_used": 0,
    "capability": "9 0",
    "pcie": 5,
    "pcie_max": 5,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "numa": 0,
    "ecc": 1,
    "ecc.uncorrected.volatile": 0,
    "remapped": "0 0 0 0",
    "power": 72_000,
    "power_limit": 700_000,
    "power_default": 700_000,
    "power_min": 200_000,
    "power_max": 700_000,
    "temperature": 34,
    "threshold.0": 92,
    "threshold.1": 89,
    "clock.graphics": 345,
    "clock.sm": 345,
    "clock.mem": 2619,
    "clock_max.graphics": 1980,
    "clock_max.sm": 1980,
    "clock_max.mem": 2619,
    "throttle": 1,
    "gpu_use": 0,
    "memory_use": 0,
    "pstate": 0,
    "compute_mode": 0,
    "persistence": 1,
    "mig": 0,
    "mig_most": 7,
}
RTX_4090: dict[str, object] = {
    "name": "NVIDIA GeForce RTX 4090",
    "memory": 25_757_220_864,
    "memory_used": 0,
    "capability": "8 9",
    "pcie": 4,
    "pcie_max": 4,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "power": 21_000,
    "power_limit": 450_000,
    "temperature": 41,
    "threshold.0": 100,
    "threshold.1": 97,
    "clock.sm": 210,
    "clock.mem": 405,
    "clock_max.sm": 3105,
    "clock_max.mem": 10_501,
    "throttle": 1,
    "gpu_use": 0,
    "memory_use": 0,
    "fan": 0,
}
"""No ECC, no MIG, no NVLink: what a card has no key for, it answers as not supported."""


@functools.cache
def library() -> Path:
    """The folder of `libnvidia-ml.so.1`, for `LD_LIBRARY_PATH`."""
    return built(SOURCE, "libnvidia-ml.so.1").parent


def load() -> None:
    """Have the library in this process: a loaded one answers to its name, and pynvml opens it by name. It stays, and
    says that it is not there while `LEASEHOLD_NVML` is not set.
    """
    ctypes.CDLL(str(library() / "libnvidia-ml.so.1"))


def environment(file: Path) -> dict[str, str]:
    """What a process must be given, beside its other variables, to see the cards of `file`. The linker reads it when a
    program begins: a child that was only forked has to `load()`.
    """
    return {VARIABLE: str(file), "LD_LIBRARY_PATH": str(library())}


class StandIn:
    """The cards of one host. Any process may change them; a reader sees a change whole."""

    def __init__(self, file: Path) -> None:
        self.file = file
        if not file.exists():
            self.set(driver="615.71.05", nvml="13.615.71.05", cuda=13_040, cards=0)

    def set(self, values: dict[str, object] | None = None, **named: object) -> None:
        """Change keys; a value of None takes its key away."""
        with self._changing() as state:
            for key, value in {**(values or {}), **named}.items():
                state.pop(key, None)
                if value is not None:
                    state[key] = str(value)

    def get(self, key: str) -> str | None:
        return self._read().get(key)

    def add(self, model: dict[str, object] = H100, **facts: object) -> Card:
        """Another card, with a UUID and a PCI id of its own where none is given."""
        with self._changing() as state:
            index = int(state["cards"])
            state["cards"] = str(index + 1)
            own = {
                "uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, f'{self.file}#{index}')}",
                "pci": f"00000000:{0x10 + index:02X}:00.0",
                "serial": f"165{index:07}",
            }
            for key, value in {**own, **model, **facts}.items():
                if value is not None:
                    state[f"{index}.{key}"] = str(value)
        return Card(self, index)

    def card(self, index: int) -> Card:
        return Card(self, index)

    def event(self, card: int, kind: int, data: int = 0) -> None:
        """Something happens, and whoever waits for events of that card and kind is told."""
        with self._changing() as state:
            number = sum(key.startswith("event.") for key in state)
            state[f"event.{number}"] = f"{card} {kind} {data}"

    def join(self, *cards: Card, links: int = 18) -> None:
        """NVLinks from each of the cards to every other, `links` in all from each."""
        for card in cards:
            others = [other for other in cards if other.index != card.index]
            ends = {f"nvlink.{link}": others[link % len(others)].get("pci") for link in range(links)}
            card.set({"nvlinks": links, **ends})

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """What it says, to be changed: one after the other, and put in place in one step."""
        with open(self.file.with_name(f"{self.file.name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            yield state
            made = self.file.with_name(f"{self.file.name}.new")
            made.write_text("".join(f"{key} {value}\n" for key, value in state.items()))
            os.replace(made, self.file)

    def _read(self) -> dict[str, str]:
        try:
            lines = self.file.read_text().splitlines()
        except FileNotFoundError:
            return {}
        return dict(line.split(" ", 1) for line in lines)


class Card:
    """One of them, by its index."""

    def __init__(self, host: StandIn, index: int) -> None:
        self.host = host
        self.index = index

    @property
    def uuid(self) -> str:
        return str(self.get("uuid"))

    def get(self, key: str) -> str | None:
        return self.host.get(f"{self.index}.{key}")

    def set(self, values: dict[str, object] | None = None, **named: object) -> None:
        """Change keys of this card, without its index."""
        self.host.set({f"{self.index}.{key}": value for key, value in {**(values or {}), **named}.items()})

    def fail(self, code: int | None, key: str | None = None) -> None:
        """Answer so to all calls, or to those that read `key`; None: well again."""
        self.set({f"error.{key}" if key else "error": code})

    def lose(self) -> None:
        """It falls off the bus."""
        self.fail(GPU_IS_LOST)

    def hang(self, hangs: bool = True) -> None:
        """Calls do not come back until it hangs no more."""
        self.set(hang=1 if hangs else None)

    def xid(self, number: int) -> None:
        self.host.event(self.index, XID, number)

    def run(self, *processes: tuple[int, ...], kind: str = "process") -> None:
        """What runs on it now: (pid, bytes), or (pid, bytes, GPU instance, compute instance)."""
        with self.host._changing() as state:
            for key in [key for key in state if key.startswith(f"{self.index}.{kind}.")]:
                del state[key]
            for number, process in enumerate(processes):
                state[f"{self.index}.{kind}.{number}"] = " ".join(map(str, process))

    def partition(self, devices: Sequence[MigDevice] | None) -> None:
        """Its MIG devices from now on; None: MIG is off."""
        with self.host._changing() as state:
            for key in [key for key in state if key.startswith(f"{self.index}.mig.")]:
                del state[key]
            state[f"{self.index}.mig"] = "0" if devices is None else "1"
            for number, device in enumerate(devices or ()):
                for key, value in device.items():
                    state[f"{self.index}.mig.{number}.{key}"] = value


class MigDevice:
    """A MIG device of a card: its UUID, GPU and compute instance, slices of compute, and memory in MiB."""

    def __init__(
        self,
        uuid: str,
        *,
        ids: tuple[int, int],
        slices: int = 1,
        mib: int = 9_856,
        sms: int = 16,
        name: str = "",
    ) -> None:
        self.uuid, self.ids, self.slices, self.mib, self.sms = uuid, ids, slices, mib, sms
        self.name = name or f"NVIDIA H100 80GB HBM3 MIG {slices}g.{round(mib / 1_000)}gb"

    def items(self) -> Iterator[tuple[str, str]]:
        """What the library's file says of it."""
        yield "uuid", self.uuid
        yield "name", self.name
        yield "memory", str(self.mib << 20)
        yield "ids", f"{self.ids[0]} {self.ids[1]}"
        yield "shape", f"{self.sms} {self.slices} {self.slices} {self.mib}"
