"""Slices of a card as `nvidia-smi mig` tells of them: pure functions, from what it prints.

A cell is an eighth of a card. Cards whose memory comes in eight slices have one for each cell; where it comes in four,
two cells are a slice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from leasehold_agent.cards._allocation import CELLS_PER_GPU, WHOLE

_PLACEMENTS = re.compile(r"Profile ID +(\d+) +Placements? *: *\{([\d,]+)\}:(\d+)")
_PROFILE = re.compile(r"^\|\s+\d+\s+MIG (\S+)\s+(\d+)\s+\d+/\d+\s", re.MULTILINE)
_INSTANCE = re.compile(r"^\|\s+\d+\s+MIG (\S+)\s+(\d+)\s+(\d+)\s+(\d+):(\d+)\s*\|", re.MULTILINE)
_CREATED = re.compile(r"Successfully created GPU instance ID +(\d+) ")
_COMPUTE = re.compile(r"^(\d+)g\.")
_STARTS = {1: range(7), 2: (0, 2, 4), 4: (0, 4), 8: (0,)}
"""Where the chain places a share of so many cells on a card."""


@dataclass(frozen=True)
class Profile:
    """A kind of slice: `size` memory slices, which may begin at each of `starts`."""

    id: int
    name: str
    starts: tuple[int, ...]
    size: int

    @property
    def compute(self) -> int:
        """How many compute slices it has: those of a card are one fewer than its memory's, so they decide."""
        parts = _COMPUTE.match(self.name)
        return int(parts[1]) if parts else 0

    @property
    def plain(self) -> bool:
        """Whether it has no extras, such as `+me`, of which a card has few."""
        return "+" not in self.name and "-" not in self.name


@dataclass(frozen=True)
class Instance:
    """A slice that is there: by the card's own number, at memory slices `start` to `start + size - 1`."""

    id: int
    profile: int
    start: int
    size: int

    def overlaps(self, start: int, size: int) -> bool:
        return self.start < start + size and start < self.start + self.size


@dataclass(frozen=True)
class Slot:
    """Where a slice for some cells is made."""

    profile: Profile
    start: int

    @property
    def argument(self) -> str:
        """As `-cgi` takes it: a profile and a start."""
        return f"{self.profile.id}:{self.start}"


def profiles_of(listed: str, placements: str) -> tuple[Profile, ...]:
    """From what `-lgip` and `-lgipp` print."""
    names = {int(number): name for name, number in _PROFILE.findall(listed)}
    return tuple(
        Profile(int(number), names[int(number)], tuple(map(int, starts.split(","))), int(size))
        for number, starts, size in _PLACEMENTS.findall(placements)
        if int(number) in names
    )


def instances_of(listed: str) -> tuple[Instance, ...]:
    """From what `-lgi` prints."""
    return tuple(
        Instance(int(number), int(profile), int(start), int(size))
        for _, profile, number, start, size in _INSTANCE.findall(listed)
    )


def created(said: str) -> int | None:
    """The number of the instance that `-cgi` has made."""
    match = _CREATED.search(said)
    return int(match[1]) if match else None


def slot_of(profiles: Iterable[Profile], cells: int) -> Slot | None:
    """Where a slice for these cells of a card goes, or None where the card has none such."""
    known = tuple(profiles)
    share, first = cells.bit_count(), (cells & -cells).bit_length() - 1
    profile = _profile_of(known, share)
    if profile is None or cells != ((1 << share) - 1) << first:
        return None
    start = first // _cells_a_slice(known)
    return Slot(profile, start) if start in profile.starts else None


def smallest_share_of(profiles: Iterable[Profile]) -> int:
    """The fewest cells for which, and for all larger shares, the card has a slice wherever the chain may place them."""
    known, least = tuple(profiles), CELLS_PER_GPU
    for share in sorted(_STARTS, reverse=True):
        if _profile_of(known, share) is None:
            break
        least = share
    return least


def _profile_of(profiles: tuple[Profile, ...], share: int) -> Profile | None:
    """The profile for a share wherever the chain places it. Of several the one with the most compute slices: one that
    fits at each place leaves enough of them for whatever fits beside it.
    """
    cells, starts = _cells_a_slice(profiles), _STARTS.get(share, ())
    if any(first % cells for first in (share, *starts)):
        return None
    wanted = {first // cells for first in starts}
    fitting = [p for p in profiles if p.plain and p.size == share // cells and wanted <= set(p.starts)]
    return max(fitting, key=lambda profile: profile.compute, default=None)


def _cells_a_slice(profiles: tuple[Profile, ...]) -> int:
    """How many cells are one memory slice: the largest profile has all of them."""
    most = max((profile.size for profile in profiles), default=CELLS_PER_GPU)
    return CELLS_PER_GPU // most if most and not CELLS_PER_GPU % most else WHOLE
