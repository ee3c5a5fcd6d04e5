"""What a wheel needs, at the versions of the lock: without what only the tests and Brownie need.

Nothing is resolved: what the wheel asks for is followed through what is installed here, which is what the lock pins.
"""

from __future__ import annotations

import zipfile
from email import message_from_bytes
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def asked_for(wheel: Path, extra: str) -> set[str]:
    """The distributions that the wheel requires, with that extra too, and those that they require."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        own = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    asked, followed = set[str](), set[tuple[str, str]]()
    ahead = [(Requirement(line), wanted) for line in own for wanted in {"", extra}]
    while ahead:
        requirement, extra = ahead.pop()
        key = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in {"", *requirement.extras}:
            if (key, wanted) not in followed:
                followed.add((key, wanted))
                ahead += [(Requirement(line), wanted) for line in requires(key) or []]
        asked.add(key)
    return asked


def pinned(names: set[str], lock: Path) -> list[str]:
    """The lock's lines of these distributions, sorted. Raises KeyError for one that it does not name."""
    lines = dict[str, str]()
    for line in lock.read_text().splitlines():
        if "==" in line and not line.startswith((" ", "#")):
            pin = line.split()[0]
            lines[canonicalize_name(pin.partition("==")[0])] = pin
    return [lines[name] for name in sorted(names)]
