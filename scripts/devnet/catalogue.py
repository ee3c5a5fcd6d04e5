"""What stands in a market that has been used for a month: some dozens of machines of several providers, made up.

Pure: cards, hosts and prices are such as there are, and everything is the same for the same seed. The machines' agents
do not exist. Their contact documents say where such an agent would be, a port of this computer at which nobody answers.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

DAY: Final = 86_400
_NOBODY: Final = "https://127.0.0.1:9"
"""The port of the discard protocol, at which no computer listens any more."""


@dataclass(frozen=True)
class CardOnOffer:
    """A card, and the host that it is usual in. hourly: about what it costs, hundredths of a token; cores, memory (GiB)
    and disk (GB) go to each card. isolation: by what its shares are kept apart.
    """

    model: str
    gibibytes: int
    hourly: int
    host: str
    cores: int
    memory: int
    disk: int
    capability: str
    isolation: tuple[str, ...] = ()
    pcie: int = 4


_EPYC, _GENOA, _XEON = "AMD EPYC 7763", "AMD EPYC 9354", "Intel Xeon Platinum 8480C"
_THREADRIPPER, _RYZEN = "AMD Ryzen Threadripper PRO 5975WX", "AMD Ryzen 9 7950X"
CARDS: Final = (
    CardOnOffer("NVIDIA B200", 180, 420, _XEON, 28, 256, 3_800, "10.0", ("mig",), 5),
    CardOnOffer("NVIDIA H200", 141, 310, _XEON, 24, 256, 3_800, "9.0", ("mig",), 5),
    CardOnOffer("NVIDIA H100 80GB HBM3", 80, 240, _XEON, 24, 224, 3_500, "9.0", ("mig",), 5),
    CardOnOffer("NVIDIA H100 PCIe", 80, 205, _GENOA, 16, 128, 1_900, "9.0", ("mig",), 5),
    CardOnOffer("NVIDIA A100-SXM4-80GB", 80, 132, _EPYC, 16, 120, 1_900, "8.0", ("mig",)),
    CardOnOffer("NVIDIA A100-PCIE-40GB", 40, 96, _EPYC, 16, 96, 1_900, "8.0", ("mig",)),
    CardOnOffer("NVIDIA L40S", 48, 88, _GENOA, 16, 96, 1_900, "8.9", ("mps", "time-slice")),
    CardOnOffer("NVIDIA RTX A6000", 48, 58, _THREADRIPPER, 16, 64, 1_900, "8.6"),
    CardOnOffer("NVIDIA L4", 24, 42, _EPYC, 8, 48, 900, "8.9", ("time-slice",)),
    CardOnOffer("NVIDIA GeForce RTX 5090", 32, 62, _RYZEN, 16, 96, 1_900, "12.0", (), 5),
    CardOnOffer("NVIDIA GeForce RTX 4090", 24, 41, _RYZEN, 16, 64, 1_900, "8.9", ("time-slice",)),
    CardOnOffer("NVIDIA GeForce RTX 3090", 24, 21, _RYZEN, 12, 64, 900, "8.6"),
)
IMAGES: Final = (
    "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime",
    "vllm/vllm-openai:v0.8.4",
    "nvidia/cuda:12.8.0-devel-ubuntu24.04",
    "quay.io/jupyter/pytorch-notebook:cuda12",
    "ubuntu:24.04",
    "huggingface/transformers-pytorch-gpu:4.48.0",
)
_SHARES: Final = {"mig": 1, "mps": 2, "time-slice": 4}
"""The least that is leased, cells, by how a card is divided."""


@dataclass(frozen=True)
class Tradition:
    """How a provider works: where its machines stand, which cards it has, by number of `CARDS`, what it asks of the
    usual price, how often its leases please (of 100).
    """

    country: str
    cards: tuple[int, ...]
    asks: float
    pleases: int


PROVIDERS: Final = (
    Tradition("DE", (1, 2, 2, 4, 6), 1.04, 96),
    Tradition("NL", (2, 4, 4, 6, 8), 0.97, 93),
    Tradition("US", (0, 1, 2, 3, 4, 7), 1.12, 90),
    Tradition("SE", (2, 3, 6, 6), 0.94, 97),
    Tradition("PL", (9, 10, 10, 11, 11), 0.90, 84),
    Tradition("CA", (4, 5, 7, 8), 1.00, 88),
    Tradition("JP", (3, 5, 9, 10), 1.18, 95),
    Tradition("FR", (6, 7, 8), 1.06, 91),
    Tradition("KR", (9, 10, 10, 11), 0.86, 70),
    Tradition("FI", (11, 10), 0.88, 78),
)


@dataclass(frozen=True)
class OfferedMachine:
    """A machine before it is registered. place: of its provider in `PROVIDERS`. share: the least that it leases, cells.
    hourly: hundredths of a token. joins: days after the market began. verified: it will be measured.
    """

    number: int
    place: int
    card: CardOnOffer
    gpus: int
    share: int
    hourly: int
    joins: int
    spot: bool
    verified: bool

    @property
    def provider(self) -> Tradition:
        return PROVIDERS[self.place]

    def hardware(self) -> dict[str, Any]:
        """Its hardware document."""
        card, gpus = self.card, self.gpus
        one = {
            "model": card.model,
            "memory_bytes": card.gibibytes * 1_000 << 20,
            "capability": card.capability,
            "pcie": {"generation": card.pcie, "lanes": 16},
            "ecc": "GeForce" not in card.model,
        }
        return {
            "version": 1,
            "gpus": [{**one, "uuid_hash": _digest(f"card {self.number}.{gpu}")} for gpu in range(gpus)],
            "cpu": {"model": card.host, "cores": card.cores * gpus},
            "memory_bytes": card.memory * gpus << 30,
            "disk": {"bytes": card.disk * gpus * 10**9, "quota": True},
            "runtimes": ["runc", "runsc"] if self.number % 3 else ["runc"],
            "driver": "570.86.15" if card.pcie > 4 else "550.144.03",
            "cuda": "12.8" if card.pcie > 4 else "12.4",
            "isolation": list(card.isolation) if self.share < 8 else [],
            "kernel": "6.1.0-31-amd64",
            "architecture": "amd64",
        }

    def contact(self, recipient: str, certificate: str, issued_at: int) -> dict[str, Any]:
        """Its contact document. recipient: the age key to which workloads would be sealed."""
        have = random.Random(self.number).sample(IMAGES, self.number % len(IMAGES))
        return {
            "version": 1,
            "endpoints": [_NOBODY],
            "certificate": certificate,
            "age_recipient": recipient,
            "images": [
                {"id": f"sha256:{_digest(name)}", "name": f"{name}@sha256:{_digest(name)}"} for name in have
            ],
            "location": {"country": self.provider.country},
            "operator": "made up for make demo-live: no agent answers",
            "issued_at": issued_at,
        }


def offered(seed: int = 7) -> Iterator[OfferedMachine]:
    """All machines, in the order in which they join."""
    chance, machines = random.Random(seed), []
    for place, provider in enumerate(PROVIDERS):
        for card in (CARDS[number] for number in provider.cards):
            gpus = chance.choice((1, 1, 2) if card.hourly < 60 else (1, 2, 4, 8))
            share = min((_SHARES[way] for way in card.isolation), default=8)
            joins = chance.choice((0, 0, 0, 1, 2, 5, 9, 14))
            asked = round(card.hourly * provider.asks * chance.uniform(0.92, 1.1))
            flags = chance.random() < 0.45, chance.random() < 0.6
            machines.append((joins, place, card, gpus, share, asked, *flags))
    machines.sort(key=lambda machine: (machine[0], machine[1]))
    for number, (joins, place, card, gpus, share, asked, spot, verified) in enumerate(machines, 1):
        yield OfferedMachine(number, place, card, gpus, share, asked, joins, spot, verified)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
