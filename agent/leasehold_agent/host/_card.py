"""What is known of a card. What a vendor's library does not say of it is None."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_HOPPER = 9
"""The first part of its compute capability."""


def hash_of(uuid: str) -> str:
    """What a card is called in public: SHA-256 of its UUID, in hex."""
    return hashlib.sha256(uuid.encode()).hexdigest()


@dataclass(frozen=True)
class CardLink:
    """A card that is reached by links of the cards' own: its UUID, and how many (NVLink; 1 for AMD's xGMI)."""

    uuid: str
    links: int


@dataclass(frozen=True)
class Card:
    """A card. `uuid` names it to the container runtime and is shown to nobody; its hash is measured.

    `vendor` is "nvidia" or "amd", `index` its vendor's, `pci` its address as the kernel writes it. Clocks are the
    highest, in MHz; `pcie` and `lanes` the most that card and slot can do together, `lanes_now` what they do; `numa`
    the host's node that is nearest; `mig` whether it is cut up, None where it cannot be; `power_watts` the limit that
    is set; `capability` CUDA's, `devices` the device files that a container needs where a runtime does not add them.
    """

    model: str
    memory_bytes: int
    uuid: str
    vendor: str = "nvidia"
    index: int = 0
    pci: str = ""
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    pcie: int | None = None
    lanes: int | None = None
    lanes_now: int | None = None
    numa: int | None = None
    links: tuple[CardLink, ...] = ()
    mig: bool | None = None
    ecc: bool | None = None
    power_watts: int | None = None
    capability: str | None = None
    devices: tuple[str, ...] = ()

    @property
    def uuid_hash(self) -> str:
        return hash_of(self.uuid)

    @property
    def recuts(self) -> bool:
        """Whether it can be cut, or left whole again, without a reset: since Hopper."""
        generation = (self.capability or "").partition(".")[0]
        return self.mig is not None and generation.isdigit() and int(generation) >= _HOPPER

    def document(self) -> dict[str, object]:
        """What hardware.json says of it."""
        clocks: dict[str, object] = {"compute": self.clock_mhz, "memory": self.memory_clock_mhz}
        pcie: dict[str, object] = {"generation": self.pcie, "lanes": self.lanes}
        facts: dict[str, object] = {
            "model": self.model,
            "memory_bytes": self.memory_bytes,
            "uuid_hash": self.uuid_hash,
            "clock_mhz": _known(clocks) or None,
            "pcie": _known(pcie) or None,
            "numa": self.numa,
            "peers": [{"uuid_hash": hash_of(link.uuid), "links": link.links} for link in self.links],
            "mig": {"capable": self.mig is not None, "enabled": bool(self.mig)},
            "ecc": self.ecc,
            "power_watts": self.power_watts,
            "capability": self.capability,
        }
        return _known(facts)


@dataclass(frozen=True)
class SilentCard:
    """A card that is there and does not answer: it is not sold, and no other takes its place. What is known of it."""

    vendor: str
    why: str
    index: int | None = None
    pci: str = ""

    def __str__(self) -> str:
        known = [f"index {self.index}"] if self.index is not None else []
        known += [self.pci] if self.pci else []
        return f"{self.vendor} card {' at '.join(known)}: {self.why}"


@dataclass(frozen=True)
class VendorCards:
    """What a vendor's library says: cards, those that are there and do not answer, and versions. problems: sentences on
    what keeps cards from being sold. refused: on those of vendors whom nobody here knows.
    """

    cards: tuple[Card, ...] = ()
    silent: tuple[SilentCard, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    problems: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def _known(facts: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in facts.items() if value is not None}
