"""Verifications as people read them, and whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import RoundState
from leasehold.client import RoundDuty
from leasehold.market import format_time

if TYPE_CHECKING:
    from leasehold.chain import RoundRecord


def duty_said(round_: RoundRecord, duty: RoundDuty) -> str:
    """What is to be done next about a verification, for people."""
    if duty.what is None:
        waits = round_.state is RoundState.REQUESTED
        return f"wait for block {round_.block}" if waits else "nothing more"
    command = f"`leasehold validator {duty.what} {round_.round}`"
    if duty.until is None:
        return f"{command}, for a reward" if duty.what == "draw" else command
    measure = "measure it, and " if duty.what == "commit" else ""
    return f"{measure}{command} until {format_time(duty.until)}"
