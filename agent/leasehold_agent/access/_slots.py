"""Who may hold how many of the descriptors that the agent can spare for its callers.

Each stream costs the agent a socket to the engine and a few hundred KiB of buffers, and each connection a
descriptor. What the agent owes the chain needs descriptors too (the node, the engine, the database, files), so a
part of the process's limit is never given away, another part is for those who have not shown who they are, and
the rest is the leases'.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from leasehold.market.wire import TooManyRequests

MOST_DESCRIPTORS: Final = 65_536
"""Enough for every door at its widest; a limit above it is left as it is."""
MOST_STRANGERS: Final = 512
MOST_FOR_LEASES: Final = 4096
PART: Final = 8
FIRST: Final = 2
STREAMS_PER_LEASE: Final = 64
CONNECTIONS_PER_LEASE: Final = 64


@dataclass(frozen=True)
class DescriptorBudget:
    """How `limit` descriptors are divided: `strangers` at each of two doors, `peers` at each of the two that an IPFS
    node leads to, `leases`, and the agent's own rest.
    """

    limit: int

    @classmethod
    def of_process(cls) -> DescriptorBudget:
        """From RLIMIT_NOFILE, whose soft limit is raised as far as the hard one lets it."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < (
            most := min(hard, MOST_DESCRIPTORS) if hard != resource.RLIM_INFINITY else MOST_DESCRIPTORS
        ):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
        return cls(soft)

    @property
    def strangers(self) -> int:
        return min(MOST_STRANGERS, self.limit * 3 // 16)

    @property
    def peers(self) -> int:
        return self.strangers // 4

    @property
    def leases(self) -> int:
        return min(MOST_FOR_LEASES, self.limit - self.limit // 4 - 2 * (self.strangers + self.peers))

    @property
    def reserve(self) -> int:
        """What nobody but the agent itself can take."""
        return self.limit - self.leases - 2 * (self.strangers + self.peers)


class Descriptors:
    """Descriptors for leases. One lease may take as many as an eighth of what the others have left.

    So there is always some left: the first that takes all it can gets a ninth, and after ten of them a third is
    free. A lease's first two are given as long as there are any.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._used: Counter[int | str] = Counter()

    @property
    def free(self) -> int:
        return self.size - self._used.total()

    def take(self, key: int | str) -> None:
        """Raises `TooManyRequests`."""
        used = self._used[key]
        if self.free <= 0 or (used >= FIRST and PART * (used + 1) > self.free):
            raise TooManyRequests(
                "The agent has no more connections to spare for this lease; close one and try again.",
                retry_after=1,
            )
        self._used[key] += 1

    def give_back(self, key: int | str) -> None:
        self._used[key] -= 1
        if self._used[key] <= 0:
            del self._used[key]


class Slots:
    """Counts what is in use by key and refuses the one too many: over `most` of one key, or more than `room` has."""

    def __init__(self, most: int, room: Descriptors | None = None) -> None:
        self._most = most
        self._room = room
        self._used: Counter[int | str] = Counter()

    def used(self, key: int | str) -> int:
        return self._used[key]

    def acquire(self, key: int | str) -> None:
        """One slot of `key`, until `release`. Raises `TooManyRequests`."""
        if self._used[key] >= self._most:
            raise TooManyRequests(
                f"There are {self._most} streams open already; close one of them and try again.",
                retry_after=1,
            )
        if self._room is not None:
            self._room.take(key)
        self._used[key] += 1

    def release(self, key: int | str) -> None:
        self._used[key] -= 1
        if self._used[key] <= 0:
            del self._used[key]
        if self._room is not None:
            self._room.give_back(key)

    @contextmanager
    def take(self, key: int | str) -> Iterator[None]:
        """Hold one slot of `key`. Raises `TooManyRequests`."""
        self.acquire(key)
        try:
            yield
        finally:
            self.release(key)
