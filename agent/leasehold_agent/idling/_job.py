"""The owner's own workload for cards that nobody leases: a file as a tenant's, without what only a lease has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from leasehold.errors import LeaseholdError, SettingsError
from leasehold.workload import Workload, load_workload

_KNOWN = frozenset(
    (
        "version", "name", "image", "registry", "command", "entrypoint", "workdir", "user", "hostname", "env", "cpu",
        "memory", "disk", "shm", "ulimits", "egress", "runtime",
    )
)  # fmt: skip
"""What a job on idle cards may say; what only a lease has, and what is new to workloads, is none of it."""


@dataclass(frozen=True)
class IdleJob:
    """`mark` is another one once anything of the workload is another."""

    workload: Workload
    mark: str


def load_job(path: Path) -> IdleJob:
    """Raises SettingsError, with what is wrong with the file."""
    try:
        workload = load_workload(path)
    except (LeaseholdError, OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"idle_job: {path} cannot be used: {error}") from error
    if had := sorted(workload.model_fields_set - _KNOWN):
        raise SettingsError(
            f"idle_job: a job on idle cards gets whole ones, and is begun anew whenever it ends; take {', '.join(had)} "
            f"out of {path}."
        )
    return IdleJob(workload, hashlib.sha256(workload.model_dump_json().encode()).hexdigest())
