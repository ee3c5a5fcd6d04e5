"""What the host measured of itself last: kept in the state folder, and said in contact.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from leasehold.files import replace_file

NAME = "measured.json"
_MOST_BYTES = 4_096


@dataclass(frozen=True)
class Pace:
    """Bytes a second of one file on a disk, written and read in turn."""

    read: int
    write: int


@dataclass(frozen=True)
class Measurements:
    """At which unix second, and what: the disk that leases get; `down` and `up` in bits a second from and to `peer`."""

    at: int
    disk: Pace | None = None
    down: int | None = None
    up: int | None = None
    peer: str = ""

    def document(self) -> dict[str, object]:
        """What contact.json says."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


def keep_measured(state_dir: Path, measured: Measurements) -> None:
    replace_file(state_dir / NAME, json.dumps(measured.document()).encode())


def last_measured(state_dir: Path) -> dict[str, object]:
    """What was kept, as contact.json has it: no key where nothing was, or nothing that can be read. Against whom is
    nobody's business.
    """
    try:
        with (state_dir / NAME).open("rb") as file:
            measured = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return {}
    if not isinstance(measured, dict):
        return {}
    return {"measured": {name: value for name, value in measured.items() if name != "peer"}}
