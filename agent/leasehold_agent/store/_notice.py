"""Notice: how a container hears that its lease will end early, and when.

A folder of the lease's own is mounted at `/run/leasehold`, read-only. A lease that was given notice has a file
`notice.json` in it, `{"ends_at": unix seconds, "reason": "spot" | "terminated"}`, which appears whole. A program
that knows nothing of it meets what it meets at the end of any lease: SIGTERM, and SIGKILL after its grace. No
other signal is sent, since most of them end a program that does not expect them.

What the file should say follows from the chain alone, so that it is written again wherever it differs: after a
crash, when a notice is reorganised away, and in the container of another workload.

A lease that reaches into maintenance that the host's owner has announced has a file `maintenance.json` beside it,
`{"begins_at", "ends_at"}`: its lease does not end by that, and its machine may not be there in that time.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from leasehold.chain import LeaseState
from leasehold.files import replace_file
from leasehold_agent.chain import Desired
from leasehold_agent.host import MaintenanceWindow
from leasehold_agent.store._last_read import LastRead

NOTICE_MOUNT = "/run/leasehold"
_NAME, _WARNING = "notice.json", "maintenance.json"


@dataclass(frozen=True)
class EarlyEnd:
    """`ends_at`: unix seconds. reason: `spot` leases may be ended for nothing, others (`terminated`) for a penalty."""

    ends_at: int
    reason: Literal["spot", "terminated"]


def notice_of(desired: Desired) -> EarlyEnd | None:
    """What the container should hear."""
    if desired.state is not LeaseState.ACTIVE or not desired.noticed:
        return None
    return EarlyEnd(desired.end, "spot" if desired.spot else "terminated")


def readable_folder(folder: Path) -> Path:
    """Make the folder that is mounted, for every user of the container to read."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def read_notice(folder: Path) -> EarlyEnd | None:
    """What the container has been told. What cannot be read is as good as nothing, and is written anew."""
    return _notices.of(f"{folder}/{_NAME}")


def write_notice(folder: Path, notice: EarlyEnd | None) -> None:
    """Tell the container, or take back what it was told. The file is there whole or not at all."""
    _write(folder, _NAME, notice)


def read_warning(folder: Path) -> MaintenanceWindow | None:
    """The maintenance that the container has been told of. What cannot be read is written anew."""
    return _warnings.of(f"{folder}/{_WARNING}")


def write_warning(folder: Path, window: MaintenanceWindow | None) -> None:
    """The same for maintenance."""
    _write(folder, _WARNING, window)


def _read_notice(file: Path) -> EarlyEnd | None:
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return EarlyEnd(**json.loads(file.read_text()))
    return None


def _read_warning(file: Path) -> MaintenanceWindow | None:
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return MaintenanceWindow(**json.loads(file.read_text()))
    return None


_notices, _warnings = LastRead(_read_notice), LastRead(_read_warning)


def _write(folder: Path, name: str, told: EarlyEnd | MaintenanceWindow | None) -> None:
    if told is None:
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
        return
    replace_file(readable_folder(folder) / name, json.dumps(asdict(told)).encode() + b"\n", mode=0o644)
