"""Standbys: what leases of other machines would run here, should their machine go down.

A lease names its standby by `keccak256(abi.encode(machine, revision, placement, workload))`. Whoever holds a sealed
workload can tell whether it is one of a given machine: the placements that a lease can have are few.
"""

from __future__ import annotations

from collections.abc import Iterator

from leasehold.chain import CELLS_PER_GPU, backup_digest

_WHOLE = 0xFF


def placements(gpus: int) -> Iterator[int]:
    """Everywhere on a machine of so many GPUs that a lease can be, and 0, which leaves it to the contract."""
    yield 0
    for mask in range(1, 1 << gpus):
        yield mask << CELLS_PER_GPU | _WHOLE
    for gpu in range(gpus):
        for cells in (1, 2, 4):
            for first in range(0, CELLS_PER_GPU, cells):
                yield 1 << (CELLS_PER_GPU + gpu) | ((1 << cells) - 1) << first


def standby_digests(machine: int, revision: int, gpus: int, workload: bytes) -> set[bytes]:
    """All that a lease may say that means `workload` on this machine, at the terms it has now."""
    return {backup_digest(machine, revision, placement, workload) for placement in placements(gpus)}
