"""Sealed workloads that were handed over from here, kept by their digest, so that they can be handed over again.

An agent drops a workload that no lease has claimed within an hour. A group may sign for days, and `rent --again` wants
what an earlier lease had. The files can be opened by the machine alone that they are sealed to.
"""

from __future__ import annotations

import os
from pathlib import Path

from leasehold.workload import MAX_SEALED_BYTES, digest

_MOST = 64  # files; the oldest go first


def remember_sealed(home: Path, sealed: bytes) -> None:
    """Keep a sealed workload, readable by its owner alone."""
    folder = home / "workloads"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / digest(sealed).hex()
    partial = folder / f".{path.name}.{os.getpid()}"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(sealed)
    partial.replace(path)
    kept = sorted(
        (each for each in folder.iterdir() if each.name[0] != "."), key=lambda each: each.stat().st_mtime
    )
    for old in kept[:-_MOST]:
        old.unlink(missing_ok=True)


def sealed_of(home: Path, wanted: bytes) -> bytes | None:
    """The sealed workload of a digest, if it was handed over from here."""
    try:
        with (home / "workloads" / wanted.hex()).open("rb") as file:
            sealed = file.read(MAX_SEALED_BYTES + 1)
    except OSError:
        return None
    return sealed if digest(sealed) == wanted else None
