"""Committees that measure the machines of a used market: asked for, drawn, sealed, shown and counted."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from devnet.burst import Burst, Sending
from devnet.crowd import Crowd, Standing
from leasehold.chain import Committee, VerificationRequested, commitment, decode_log

SECONDS: Final = 7 * 3_600
"""From a request until it is counted, and some."""
_COMMITS: Final = 4 * 3_600
_REVEALS: Final = 2 * 3_600
_NONE: Final = bytes(32)


@dataclass(frozen=True)
class _Vote:
    """What a seat says of a round."""

    round: int
    seat: int
    validator: str
    passed: bool
    score: int

    @property
    def salt(self) -> bytes:
        return hashlib.sha256(f"{self.round} {self.seat}".encode()).digest()


class Measurements:
    """Rounds of a crowd's committee. Every validator has one seat, numbered as they joined."""

    def __init__(self, crowd: Crowd, burst: Burst, chance: random.Random) -> None:
        self._crowd, self._burst, self._chance = crowd, burst, chance

    def make(self, machines: Sequence[Standing], at: int) -> None:
        """Measures those that want to be, from `at` on (unix seconds); the last of several fails."""
        wanting = [machine for machine in machines if machine.offered.verified and not machine.measured]
        asking = [self._asking(machine) for machine in wanting]
        logs = [log for some in self._burst.send(asking, at) for log in some]
        events = [decode_log(log) for log in logs]
        rounds = [event.round for event in events if isinstance(event, VerificationRequested)]
        if not rounds:
            return
        self._burst.pass_to(at + 60)  # the block whose hash draws
        drawer = self._crowd.validators[0]
        self._burst.send([self._call(drawer, "draw", number) for number in rounds], at + 120)
        votes = self._votes(rounds, failing=rounds[-1] if len(rounds) > 3 else 0)
        self._burst.send([self._commit(vote) for vote in votes], at + 600)
        shown = at + 200 + _COMMITS
        self._burst.send([self._reveal(vote) for vote in votes], shown)
        counted = [self._call(drawer, "finalize", number) for number in rounds]
        self._burst.send(counted, shown + _REVEALS + 300)
        for machine in wanting:
            machine.measured = True

    def _asking(self, machine: Standing) -> Sending:
        return self._call(machine.provider, "requestVerification", machine.number, machine.revision)

    def _votes(self, rounds: Sequence[int], failing: int) -> list[_Vote]:
        drawn = self._burst.read([(self._crowd.committee, Committee.encode("drawnFor", it)) for it in rounds])
        votes = []
        for number, answer in zip(rounds, drawn, strict=True):
            score = self._chance.randint(780, 960)
            for place in range(64, len(answer), 32):
                seat = int.from_bytes(answer[place : place + 32], "big")
                said = min(1_000, score + self._chance.randint(-15, 15))
                validator = self._crowd.validators[seat - 1]
                votes.append(
                    _Vote(number, seat, validator, number != failing, said if number != failing else 0)
                )
        return votes

    def _commit(self, vote: _Vote) -> Sending:
        chain, pool = self._crowd.deployment.chain_id, self._crowd.deployment.controller
        sealed = commitment(chain, pool, vote.round, vote.seat, vote.passed, _NONE, vote.score, vote.salt)
        return self._call(vote.validator, "commit", vote.round, vote.seat, sealed)

    def _reveal(self, vote: _Vote) -> Sending:
        said = vote.round, vote.seat, vote.passed, _NONE, vote.score, vote.salt
        return self._call(vote.validator, "reveal", *said)

    def _call(self, sender: str, function: str, *values: object) -> Sending:
        return Sending(sender, self._crowd.committee, Committee.encode(function, *values))
