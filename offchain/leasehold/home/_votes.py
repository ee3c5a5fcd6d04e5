"""Votes on their way: what a validator committed to, kept here until it is revealed.

A vote is on disk, with its salt, before its commitment is sent: whoever crashes in between has lost nothing. Nothing is
ever overwritten, for a commitment that was sent may be mined at any time; what is revealed is the vote whose commitment
the chain has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leasehold.chain import Deployment, commitment
from leasehold.errors import SettingsError
from leasehold.files import write_private


@dataclass(frozen=True)
class Vote:
    """What a seat found. spec: digest of the hardware that was measured. score: 0 to 1000. salt: 32 bytes."""

    round: int
    seat: int
    passed: bool
    spec: bytes
    score: int
    salt: bytes

    def commitment(self, deployment: Deployment) -> bytes:
        """What is sent first."""
        return commitment(
            deployment.chain_id, deployment.controller, self.round, self.seat, self.passed, self.spec, self.score,
            self.salt,
        )  # fmt: skip


class Votes:
    """The votes of one pool under a home folder."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        self.folder = home / "votes" / f"{deployment.chain_id}-{deployment.controller.lower()}"

    def path(self, round_: int, seat: int) -> Path:
        """Where a seat's votes in a round are."""
        return self.folder / f"{round_}-{seat}.json"

    def load(self, round_: int, seat: int) -> tuple[Vote, ...]:
        """All that the seat was about to commit in the round, the newest last.

        Raises:
            SettingsError: the file is damaged.
        """
        path = self.path(round_, seat)
        if not path.exists():
            return ()
        try:
            return tuple(
                Vote(
                    round_,
                    seat,
                    bool(row["passed"]),
                    bytes.fromhex(row["spec"]),
                    int(row["score"]),
                    bytes.fromhex(row["salt"]),
                )
                for row in json.loads(path.read_text())
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(
                f"{path} is damaged ({error}): restore it from a backup, or reveal nothing."
            ) from error

    def keep(self, vote: Vote) -> Path:
        """Adds the vote, on disk when this returns. Returns where it is."""
        rows = [
            {
                "passed": kept.passed,
                "spec": kept.spec.hex(),
                "score": kept.score,
                "salt": kept.salt.hex(),
            }
            for kept in (*self.load(vote.round, vote.seat), vote)
        ]
        path = self.path(vote.round, vote.seat)
        write_private(path, json.dumps(rows, indent=2) + "\n")
        return path

    def known(self, vote: Vote) -> Vote:
        """The same vote with the salt that it was kept with before, if it was; else itself."""
        for kept in reversed(self.load(vote.round, vote.seat)):
            if (kept.passed, kept.spec, kept.score) == (vote.passed, vote.spec, vote.score):
                return kept
        return vote


def revealable(votes: Sequence[Vote], committed: bytes, deployment: Deployment) -> Vote | None:
    """The vote whose commitment the chain has."""
    return next((vote for vote in votes if vote.commitment(deployment) == committed), None)
