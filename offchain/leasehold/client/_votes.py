"""What a committee's seats found: committed to, revealed, and filed where it is other hardware."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.chain import ZERO_DIGEST, Receipt, Round, RoundState
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._rounds import round_at
from leasehold.client._validator_errors import (
    NoScore,
    NotOnCommittee,
    OtherHardware,
    RevisionUnknown,
    VoteNotHere,
)
from leasehold.errors import CommitOver, RevealNotOpen, RevealOver, WrongRoundState
from leasehold.home import Vote, revealable
from leasehold.market import InvalidInput, Json, MachineFile, Money, canonical, format_time

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


_DIGEST: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")


async def _own_seats(client: PoolClient, round_: Round) -> tuple[int, ...]:
    """The account's seats on the committee. Raises NotOnCommittee."""
    committee, account = await client.pool.committee(), client.account.lower()
    drawn = await committee.drawn_for(round_.id)
    mine = [seat for seat in drawn if (await committee.seat_of(seat)).validator.lower() == account]
    if not mine:
        raise NotOnCommittee(round_.id, ", ".join(map(str, drawn)))
    return tuple(sorted(mine))


# ----------------------------------------------------------------------------------------------------------- commit


def measured_digest(text: str) -> bytes:
    """SHA-256 of the hardware that was measured: written in hex, or of what a machine.json describes. Raises
    DocumentInvalid.
    """
    if digest := _DIGEST.fullmatch(text):
        return bytes.fromhex(digest[1])
    return sha256(canonical(MachineFile.load(Path(text)).hardware)).digest()


@dataclass(frozen=True)
class CommitVotes(Request["VoteCommitted"]):
    """Commit to what was found, for all of the account's seats on the committee, without showing it yet.

    Votes and their salts are written under the home folder before anything is sent: `RevealVotes` needs them.

    score: 0 to 1000, where it passes. spec: SHA-256 of the hardware that was measured; by default what was declared
    where it passes, and else that it could not be measured.
    """

    round: int
    passed: bool
    score: int | None = None
    spec: bytes | None = None

    async def plan(self, client: PoolClient) -> CommitPlan:
        """Raises NoScore, UnknownRound, WrongRoundState, CommitOver, OtherHardware, NotOnCommittee."""
        if self.passed and self.score is None:
            raise NoScore()
        round_ = await round_at(client, self.round)
        if round_.state is not RoundState.DRAWN:
            raise WrongRoundState(round=round_.id, state=round_.state)
        if await client.now() >= round_.commit_until:
            raise CommitOver(round=round_.id, until=round_.commit_until)
        declared = await _declared(client, round_) if self.passed else ZERO_DIGEST
        spec = declared if self.spec is None else self.spec
        if self.passed and spec != declared:
            raise OtherHardware()
        kept = client.home.votes(client.deployment)
        votes = [
            kept.known(Vote(round_.id, seat, self.passed, spec, self.score or 0, secrets.token_bytes(32)))
            for seat in await _own_seats(client, round_)
        ]
        slashes = not self.passed and any(spec)
        return CommitPlan(client, round_, tuple(votes), (_SLASHES,) if slashes else ())


_SLASHES = "A majority that says the same makes this false hardware: all that may be slashed is."


async def _declared(client: PoolClient, round_: Round) -> bytes:
    """What the revision said that the round was asked for: whatever its provider has set since, a round judges that."""
    declared = await (await client.index(again=True)).hardware_of(round_.machine, round_.revision)
    if declared is None:
        raise RevisionUnknown(round_.machine, round_.revision)
    return declared


@dataclass(frozen=True)
class CommitPlan(Plan["VoteCommitted"]):
    """Votes that would be committed to, one a seat."""

    client: PoolClient
    round: Round
    votes: tuple[Vote, ...]
    cautions: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the votes and their salts are kept until they are revealed."""
        return self.client.home.votes(self.client.deployment).folder

    def said(self) -> str:
        """What is committed to and when it is shown, in a sentence for people."""
        vote, seats = self.votes[0], ", ".join(str(kept.seat) for kept in self.votes)
        begin, end = format_time(self.round.commit_until), format_time(self.round.reveal_until)
        return (
            f"Machine {self.round.machine} {'passes' if vote.passed else 'fails'} with a score of {vote.score}, "
            f"from seats {seats}; to be revealed from {begin} to {end}."
        )

    def to_json(self) -> dict[str, Json]:
        vote = self.votes[0]
        return {
            "round": self.round.id,
            "machine": self.round.machine,
            "seats": [kept.seat for kept in self.votes],
            "passed": vote.passed,
            "score": vote.score,
            "spec": vote.spec.hex() if any(vote.spec) else None,
            "reveal_from": self.round.commit_until,
            "reveal_until": self.round.reveal_until,
            "folder": str(self.folder),
        }

    async def steps(self) -> AsyncIterator[Step]:
        committee, kept = await self.client.pool.committee(), self.client.home.votes(self.client.deployment)
        for vote in self.votes:
            if vote not in kept.load(self.round.id, vote.seat):
                kept.keep(vote)
            sealed = vote.commitment(self.client.deployment)
            yield VoteCommitted(await committee.commit(self.round.id, vote.seat, sealed), vote)


@dataclass(frozen=True)
class VoteCommitted(Sent):
    """A seat has committed. Nobody else knows the salt, which is in the home folder."""

    vote: Vote


# ----------------------------------------------------------------------------------------------------------- reveal


@dataclass(frozen=True)
class RevealVotes(Request["VoteRevealed"]):
    """Show what one's seats committed to. Whoever does not, loses a tenth of a stake if the others agree."""

    round: int

    async def plan(self, client: PoolClient) -> RevealPlan:
        """Raises UnknownRound, WrongRoundState, RevealNotOpen, RevealOver, VoteNotHere, InvalidInput: there is none."""
        round_, now = await round_at(client, self.round), await client.now()
        if round_.state is not RoundState.DRAWN:
            raise WrongRoundState(round=round_.id, state=round_.state)
        if now < round_.commit_until:
            raise RevealNotOpen(round=round_.id, from_=round_.commit_until)
        if now >= round_.reveal_until:
            raise RevealOver(round=round_.id, until=round_.reveal_until)
        index, kept = await client.index(again=True), client.home.votes(client.deployment)
        committed = {record.seat: record for record in await index.votes(round_.id)}
        votes, cautions = [], []
        for seat in await _own_seats(client, round_):
            if (record := committed.get(seat)) is None:
                cautions.append(f"Seat {seat} has committed to nothing, and it is too late for that.")
                continue
            if record.revealed:
                cautions.append(f"Seat {seat} has revealed already.")
                continue
            vote = revealable(kept.load(round_.id, seat), record.commitment, client.deployment)
            if vote is None:
                raise VoteNotHere(seat, str(kept.path(round_.id, seat)))
            votes.append(vote)
        if not votes:
            raise InvalidInput(f"There is nothing of yours to reveal in verification {round_.id}.")
        return RevealPlan(client, round_, tuple(votes), tuple(cautions))


@dataclass(frozen=True)
class RevealPlan(Plan["VoteRevealed"]):
    """Votes that would be shown, one a seat."""

    client: PoolClient
    round: Round
    votes: tuple[Vote, ...]
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "round": self.round.id,
            "machine": self.round.machine,
            "votes": [{"seat": vote.seat, "passed": vote.passed, "score": vote.score} for vote in self.votes],
        }

    async def steps(self) -> AsyncIterator[Step]:
        committee = await self.client.pool.committee()
        for vote in self.votes:
            receipt: Receipt = await committee.reveal(
                self.round.id, vote.seat, vote.passed, vote.spec, vote.score, vote.salt
            )
            yield VoteRevealed(receipt, vote)


@dataclass(frozen=True)
class VoteRevealed(Sent):
    """A seat's vote is there for everybody to see."""

    vote: Vote


# --------------------------------------------------------------------------------------------------- false hardware


@dataclass(frozen=True)
class FileFalseHardware(Request["FaultOpened"]):
    """File a fault for a machine on which a committee found other hardware than was declared. Anyone may, once."""

    round: int

    async def plan(self, client: PoolClient) -> FalseHardwarePlan:
        """Raises UnknownRound, InvalidInput: its committee found nothing of the kind."""
        round_ = await round_at(client, self.round)
        if round_.state is not RoundState.FAILED or not any(round_.spec):
            raise InvalidInput(
                f"Verification {round_.id} did not end with other hardware", "there is nothing to file."
            )
        return FalseHardwarePlan(client, round_)


@dataclass(frozen=True)
class FalseHardwarePlan(Plan["FaultOpened"]):
    """A fault that would be filed. round: what was found."""

    client: PoolClient
    round: Round

    def to_json(self) -> dict[str, Json]:
        return {"round": self.round.id, "machine": self.round.machine, "spec": self.round.spec.hex()}

    async def steps(self) -> AsyncIterator[Step]:
        fault, receipt = await (await self.client.pool.faults()).report_false_hardware(self.round.id)
        yield FaultOpened(receipt, fault)


@dataclass(frozen=True)
class FaultOpened(Sent):
    """The machine has a fault."""

    fault: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"fault": self.fault}
