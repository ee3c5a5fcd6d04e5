"""Graphics and compute devices on the PCI bus, as the kernel lists them, whether a driver answers or not."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

DEVICES = Path("/sys/bus/pci/devices")
_GRAPHICS, _ACCELERATOR = 0x03, 0x12
CONSOLES = frozenset((0x1A03, 0x102B, 0x1234, 0x1AF4, 0x15AD, 0x80EE, 0x1B36, 0x1414, 0x1013))
"""ASPEED, Matrox, and what virtual machines show their screen by: nobody takes these for something to rent."""


@dataclass(frozen=True)
class PciDevice:
    """`address` as in 0000:17:00.0; `vendor` its number; `driver` what holds it, `nodes` its render devices."""

    address: str
    vendor: int
    driver: str | None = None
    nodes: tuple[str, ...] = ()


def graphics(devices: Path = DEVICES) -> tuple[PciDevice, ...]:
    """Cards on the bus by address, consoles left out, and each card once: not its sound."""
    present = []
    for folder in sorted(devices.glob("*")):
        with contextlib.suppress(OSError, ValueError):  # one that is just being taken away
            kind = int((folder / "class").read_text(), 16) >> 16
            vendor = int((folder / "vendor").read_text(), 16)
            if kind in (_GRAPHICS, _ACCELERATOR) and vendor not in CONSOLES:
                present.append(PciDevice(folder.name, vendor, _driver(folder), _nodes(folder)))
    return tuple(present)


def _driver(folder: Path) -> str | None:
    link = folder / "driver"
    return link.resolve().name if link.exists() else None


def _nodes(folder: Path) -> tuple[str, ...]:
    return tuple(f"/dev/dri/{node.name}" for node in sorted(folder.glob("drm/renderD*")))


def same_address(written: str) -> str:
    """An address as the kernel writes it: NVIDIA's library writes eight digits of the domain, in upper case."""
    domain, _, rest = written.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"
