"""What a container is made with for its part of a card, beside the card itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """`mounts` are read-only. `group`: the control group that the engine makes it in, in the engine's words. `shm`: the
    host's folder that is its /dev/shm.
    """

    mounts: tuple[tuple[Path, str], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    shm: Path | None = None
