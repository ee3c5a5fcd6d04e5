"""What a validator's use case refuses before anything is sent.

InvalidInput
├── NoScore
├── OtherHardware
├── NotOnCommittee
├── VoteNotHere
├── BadOutage
└── NotAttested
MachineUnavailable
└── RevisionUnknown
ChainError
└── NoLogs
"""

from __future__ import annotations

from leasehold.errors import ChainError, error_type
from leasehold.market import InvalidInput, MachineUnavailable


@error_type("no-score", problem="A machine that passes has a score", advice="name one, 0 to 1000.")
class NoScore(InvalidInput):
    """A vote that a machine passes says how well."""


@error_type(
    "other-hardware",
    problem="That is other hardware than was declared, which does not pass",
    advice="let it fail.",
)
class OtherHardware(InvalidInput):
    """What was measured is not what a vote calls passed."""


@error_type(
    "not-on-committee",
    problem="You have no seat on the committee of verification {round} (seats {drawn})",
    advice="look for those that wait for you.",
)
class NotOnCommittee(InvalidInput):
    """None of the seats that were drawn is the account's."""

    round: int
    drawn: str


@error_type(
    "vote-not-here",
    problem="What seat {seat} committed to is not in {path}",
    advice="reveal it where it was committed to, from the same home.",
)
class VoteNotHere(InvalidInput):
    """The salt is in another home, or lost."""

    seat: int
    path: str


@error_type(
    "bad-outage",
    problem="An outage lies in the past and begins before it ends",
    advice="correct its times.",
)
class BadOutage(InvalidInput):
    """Times that no outage has."""


@error_type("not-attested", problem="No quorum attested fault {fault}", advice="look at the fault.")
class NotAttested(InvalidInput):
    """It stands on somebody else's word."""

    fault: int


@error_type(
    "revision-unknown",
    problem="The index does not know revision {revision} of machine {machine}",
    advice="let it fail, with what was measured or nothing.",
)
class RevisionUnknown(MachineUnavailable):
    """Nobody can say what was declared."""

    machine: int
    revision: int


@error_type("no-logs", problem="This node has no logs of that attestation", advice="use another one.")
class NoLogs(ChainError):
    """The chain keeps a digest of a quorum's signers only; who they are stands in a log."""
