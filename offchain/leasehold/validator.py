"""What somebody who looks after machines' honesty does: hold a seat, vote, attest, sign outages.

from leasehold.validator import StakeSeat, validator_status

await pool.carry_out(await pool.plan(StakeSeat()), approve=True)
status = await validator_status(pool)
"""

from leasehold.chain import (
    RoundState,
)
from leasehold.client import (
    Attest,
    Attestation,
    CollectReward,
    CommitVotes,
    DrawCommittee,
    Drawn,
    ExitSeat,
    FaultOpened,
    FileFalseHardware,
    Finalized,
    FinalizeRound,
    FineQuorum,
    LeaveSeat,
    OutageSigned,
    QuorumSettled,
    RevealVotes,
    RoundDuty,
    SeatChanged,
    SeatEmptied,
    SignOutage,
    StakeSeat,
    TopUpSeat,
    ValidatorStatus,
    VoteCommitted,
    VoteRevealed,
    validator_status,
)

__all__ = [
    "Attest",
    "Attestation",
    "CollectReward",
    "CommitVotes",
    "DrawCommittee",
    "Drawn",
    "ExitSeat",
    "FaultOpened",
    "FileFalseHardware",
    "FinalizeRound",
    "Finalized",
    "FineQuorum",
    "LeaveSeat",
    "OutageSigned",
    "QuorumSettled",
    "RevealVotes",
    "RoundDuty",
    "RoundState",
    "SeatChanged",
    "SeatEmptied",
    "SignOutage",
    "StakeSeat",
    "TopUpSeat",
    "ValidatorStatus",
    "VoteCommitted",
    "VoteRevealed",
    "validator_status",
]
