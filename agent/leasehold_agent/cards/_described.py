"""What a machine was described as. Its hardware document says it, whose digest stands on the chain.

The document is kept in the state folder under its digest, and is nothing unless it has that digest: which cards a lease
has paid for follows from the chain and this file, never from how many cards there are or in which order the driver
counts them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leasehold.files import replace_file


@dataclass(frozen=True)
class Described:
    """A machine as it was sold. `cards` are SHA-256 of its cards' UUIDs in its order; one without cards sells `units`.
    `host_units`: how many units the host was divided into then, for all its machines; 0 where that was not said.
    `isolation`: by what its shares are kept apart.
    """

    cards: tuple[str, ...]
    units: int
    host_units: int = 0
    isolation: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Described:
        """Raises KeyError, TypeError, ValueError for what is no hardware document."""
        return cls(
            cards=tuple(str(gpu["uuid_hash"]) for gpu in document["gpus"]),
            units=int(document.get("cpu_units", 0)),
            host_units=int(document.get("host_units", 0)),
            isolation=tuple(map(str, document.get("isolation", ()))),
        )


class HardwareFiles:
    """The hardware documents that this host has written, each under its digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[bytes, Described] = {}

    def keep(self, document: bytes) -> bytes:
        """Write it down, so that it outlives a power cut; returns its SHA-256."""
        digest = hashlib.sha256(document).digest()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._path(digest), document)
        return digest

    def of(self, digest: bytes) -> Described | None:
        """What the document says, or None where it is not here, or is not what it was."""
        if digest not in self._read:
            try:
                document = self._path(digest).read_bytes()
                if hashlib.sha256(document).digest() != digest:
                    return None
                self._read[digest] = Described.of(json.loads(document))
            except (OSError, ValueError, KeyError, TypeError):
                return None
        return self._read[digest]

    def _path(self, digest: bytes) -> Path:
        return self._folder / f"{digest.hex()}.json"
