"""When a checkpoint is due: pure functions of what is noted, and of what the container has been told."""

from __future__ import annotations

from typing import Final

from leasehold.workload import Checkpoint
from leasehold_agent.host import MaintenanceWindow
from leasehold_agent.store import CheckpointNotes, CheckpointWhy, EarlyEnd

_AGAIN: Final = 10
"""Seconds after an attempt before another that a notice asks for."""
_PAUSE: Final = 4
"""A host spends no more than one second in so many on one lease's checkpoints."""
_MOST_DOUBLINGS: Final = 5
_MOST_WAIT: Final = 60


def wait_before(notes: CheckpointNotes, now: int) -> int:
    """Seconds before one that its tenant asks for is begun: he may ask again and again, and reading a large folder is
    his host's work.
    """
    return min(_MOST_WAIT, max(0, notes.begun_at + _PAUSE * notes.took - now))


def warned_of(notice: EarlyEnd | None, window: MaintenanceWindow | None) -> str:
    """What the lease has ahead of it, as one word to compare; empty: nothing."""
    early = "" if notice is None else f"ends {notice.ends_at}"
    work = "" if window is None else f"maintenance {window.begins_at}"
    return " ".join(filter(None, (early, work)))


def due(
    checkpoint: Checkpoint, notes: CheckpointNotes, warned: str, since: int, now: int
) -> CheckpointWhy | None:
    """Why one is to be taken at `now`, of a container that runs since `since`; None: it is not time yet.

    Attempts that fail come less and less often. Those before an end do not, but an end may be weeks away: they too
    leave the host most of its time.
    """
    if warned and warned != notes.heard:
        return "notice" if now >= notes.begun_at + max(_AGAIN, _PAUSE * notes.took) else None
    pause = max(checkpoint.interval << min(notes.failures, _MOST_DOUBLINGS), _PAUSE * notes.took)
    return "interval" if now >= max(notes.begun_at, since) + pause else None
