"""MPS in the words of its tools: names, shares, configuration, and what they print. Pure functions.

By NVIDIA's Multi-Process Service documentation, release 615 (docs.nvidia.com/deploy/mps/latest).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leasehold_agent.cards._allocation import CELLS_PER_GPU

_SERVERS_OWN_MIB = 512
"""What of a card's memory the server itself takes, and no lease gets."""
_MIB = {"K": 1 / 1024, "M": 1, "G": 1024}
_LEAST_DRIVER, _LEAST_CUDA = (615,), (13, 4)


@dataclass(frozen=True)
class Portion:
    """What a lease has of a card: so many of its eighths, percent of its threads, and MiB of its memory."""

    cells: int
    percent: int
    mib: int


@dataclass(frozen=True)
class Server:
    """A server as `server list` has it. `pid` is 0 while it has no process; `status` is its word."""

    pid: int
    status: str

    @property
    def faulty(self) -> bool:
        """A process has ended all work on its card: it takes nobody in before all who were there have gone."""
        return "fault" in self.status.lower()


def portion_of(cells: int, memory_bytes: int) -> Portion:
    """What a mask of cells comes to, of a card with so much memory. Rounded down: eight eighths are no more than it."""
    eighths = cells.bit_count()
    mib = max(0, (memory_bytes >> 20) - _SERVERS_OWN_MIB) * eighths // CELLS_PER_GPU
    return Portion(eighths, 100 * eighths // CELLS_PER_GPU, mib)


def server_name(card: str) -> str:
    """A server takes lowercase letters, digits and underscores for a name, of a card's UUID."""
    return re.sub(r"[^a-z0-9]", "_", card.lower())[:64]


def namespace_name(lease: int) -> str:
    return f"lease_{lease}"


def configuration(cards: Mapping[str, Mapping[int, Portion]]) -> str:
    """What a daemon begins with: a server for each card, and in it a namespace for each lease.

    A namespace without limits has the whole card, and the server's own bind nobody but who names none: that is nobody
    of ours, and gets next to nothing.
    """
    lines = ['schema_version = "1.0"']
    for card, leases in sorted(cards.items()):
        lines += [
            f"[servers.{server_name(card)}]",
            f'allowed_devices = "{card}"',
            "uid = 0",
            'pinned_memory_limit = "1M"',
            'active_thread_percentage = "1"',
        ]
        for lease, portion in sorted(leases.items()):
            lines += [
                f"[servers.{server_name(card)}.namespaces.{namespace_name(lease)}]",
                f'pinned_memory_limit = "{portion.mib}M"',
                f'active_thread_percentage = "{portion.percent}"',
            ]
    return "\n".join(lines) + "\n"


def servers_of(listed: str) -> dict[str, Server]:
    """By name, of `server list --format=csv,noheader`: name, uid, pid, status, and more. Other lines are left out."""
    rows = ([part.strip() for part in line.split(",")] for line in listed.splitlines())
    return {
        row[0]: Server(int(row[2]) if row[2].isdigit() else 0, row[3])
        for row in rows
        if len(row) > 3 and row[0]
    }


def names_of(listed: str) -> set[str]:
    """The first column of a list without a head."""
    return {line.split(",")[0].strip() for line in listed.splitlines() if "," in line}


def mib_of(text: str) -> float | None:
    """A size as MPS prints one (`4G`, `512M`, `1024K`) in MiB; None for what is none."""
    size = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG])", text.strip())
    return None if size is None else float(size[1]) * _MIB[size[2]]


def percent_of(text: str) -> float | None:
    """A share of threads as MPS prints one (`50.00`); None for what is none."""
    return float(text) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None


def pids_of(listed: str) -> list[int]:
    """Of `get_server_list`."""
    return [int(line) for line in listed.split() if line.isdigit()]


@dataclass(frozen=True)
class MemoryLimit:
    """What `nvidia-smi memory-limits --get` says of a control group, in MiB. `hard` is None where there is no limit."""

    hard: int | None
    used: int


def limit_of(said: str) -> MemoryLimit | None:
    """None where it does not say what is used."""
    hard = re.search(r"^\s*hard limit:\s*(\d+) MiB\s*$", said, re.MULTILINE)
    used = re.search(r"^\s*current used:\s*(\d+) MiB\s*$", said, re.MULTILINE)
    return None if used is None else MemoryLimit(None if hard is None else int(hard[1]), int(used[1]))


def lacks_namespaces(driver: str | None, cuda: str | None) -> str | None:
    """Why a host has no servers with namespaces, nor limits of memory by control group; None where it has."""
    if _numbers(driver) < _LEAST_DRIVER:
        return f"the driver is {driver or 'not known'}, and it takes 615 or later"
    if _numbers(cuda) < _LEAST_CUDA:
        return f"CUDA is {cuda or 'not known'}, and it takes 13.4 or later"
    return None


def keeps_addresses_apart(capabilities: Iterable[str | None]) -> bool:
    """Since Volta each process has its own addresses on a card; before, it read and wrote what others had there."""
    return all(_numbers(capability) >= (7,) for capability in capabilities)


def _numbers(version: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version or ""))
