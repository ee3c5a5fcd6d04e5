"""Groups of keys that spend by several signatures: proposals, signatures, changes of keys.

    from leasehold.groups import SignProposal, make_group

A `connect(…, group=…)` sends nothing: its steps end in `leasehold.ProposalMade`.
"""

from leasehold.client import (
    AskForSession,
    ExecuteProposal,
    GroupStanding,
    HandOrder,
    ProposalExecuted,
    ProposalSigned,
    ProposedCalls,
    RenewProposal,
    RescueTokens,
    RotateGroup,
    SafeAt,
    SessionKept,
    SignProposal,
    make_group,
    read_calls,
    safe_at,
    standing_of,
    successor,
)

__all__ = [
    "AskForSession",
    "ExecuteProposal",
    "GroupStanding",
    "HandOrder",
    "ProposalExecuted",
    "ProposalSigned",
    "ProposedCalls",
    "RenewProposal",
    "RescueTokens",
    "RotateGroup",
    "SafeAt",
    "SessionKept",
    "SignProposal",
    "make_group",
    "read_calls",
    "safe_at",
    "standing_of",
    "successor",
]
