"""The owner's own workload for cards that nobody leases: a file as a tenant's, without what only a lease has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from leasehold.errors import LeaseholdError, SettingsError
from leasehold.workload import Restart, Share, Workload, WorkloadKind, load_workload

_OF_LEASES = ("datasets", "outputs", "ports", "readiness", "secrets", "ssh_keys")


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
    if had := [name for name in _OF_LEASES if getattr(workload, name)]:
        raise SettingsError(
            f"idle_job: a job on idle cards has no {', '.join(had)}: take that out of {path}."
        )
    if workload.share not in (None, Share.WHOLE):
        raise SettingsError(
            f"idle_job: it gets whole cards, not `{workload.share}`: take `share` out of {path}."
        )
    if workload.kind is WorkloadKind.BATCH or workload.restart is not Restart.NEVER:
        raise SettingsError(
            f"idle_job: it is begun anew whenever it ends: take `kind` and `restart` out of {path}."
        )
    return IdleJob(workload, hashlib.sha256(workload.model_dump_json().encode()).hexdigest())
