"""Verifications as people read them, and whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import RoundDuty
from leasehold.validator import RoundState

if TYPE_CHECKING:
    from leasehold.chain import Round, RoundRecord

ROUNDS = {
    RoundState.NONE: "none",
    RoundState.REQUESTED: "requested",
    RoundState.DRAWN: "drawn",
    RoundState.PASSED: "passed",
    RoundState.FAILED: "failed",
    RoundState.INCONCLUSIVE: "inconclusive",
}


def duty_said(round_: RoundRecord, duty: RoundDuty) -> str:
    """What is to be done next about a verification, for people."""
    if duty.what is None:
        waits = round_.state is RoundState.REQUESTED
        return f"wait for block {round_.block}" if waits else "nothing more"
    command = f"`leasehold validator {duty.what} {round_.round}`"
    if duty.until is None:
        return f"{command}, for a reward" if duty.what == "draw" else command
    measure = "measure it, and " if duty.what == "commit" else ""
    return f"{measure}{command} until {utc(duty.until)}"


def outcome_json(round_: Round) -> dict[str, Json]:
    """How a verification stands, in JSON."""
    return {
        "round": round_.id,
        "machine": round_.machine,
        "revision": round_.revision,
        "state": ROUNDS[round_.state],
        "score": round_.score,
        "spec": round_.spec.hex() if any(round_.spec) else None,
        "commit_until": round_.commit_until or None,
        "reveal_until": round_.reveal_until or None,
    }
