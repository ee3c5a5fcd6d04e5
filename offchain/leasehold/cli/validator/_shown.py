"""Verifications as people read them, and whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain import Round, RoundRecord, RoundState
from leasehold.cli._output import Json
from leasehold.cli._shown import utc

ROUNDS = {
    RoundState.NONE: "none",
    RoundState.REQUESTED: "requested",
    RoundState.DRAWN: "drawn",
    RoundState.PASSED: "passed",
    RoundState.FAILED: "failed",
    RoundState.INCONCLUSIVE: "inconclusive",
}


@dataclass(frozen=True)
class Duty:
    """What is to be done next. verb: a command, or `None` if it is to wait. until: unix seconds, or `None`."""

    verb: str | None
    until: int | None
    said: str


def duty_of(round_: RoundRecord, now: int, block: int) -> Duty:
    """What is to be done next about a verification; `block` is the head's number."""
    if round_.state is RoundState.REQUESTED:
        if block < round_.block:
            return Duty(None, None, f"wait for block {round_.block}")
        return Duty("draw", None, f"`leasehold validator draw {round_.round}`, for a reward")
    if round_.state is not RoundState.DRAWN:
        return Duty(None, None, "nothing more")
    if now < round_.commit_until:
        said = f"measure it, and `leasehold validator commit {round_.round}` until {utc(round_.commit_until)}"
        return Duty("commit", round_.commit_until, said)
    if now < round_.reveal_until:
        said = f"`leasehold validator reveal {round_.round}` until {utc(round_.reveal_until)}"
        return Duty("reveal", round_.reveal_until, said)
    return Duty("finalize", None, f"`leasehold validator finalize {round_.round}`")


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
