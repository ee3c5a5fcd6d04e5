"""What somebody who lends machines does: join, set terms, claim pay, answer, leave.

    from leasehold.provider import AskedTerms, Join

    plan = await pool.plan(Join(machine, AskedTerms(price="0.80"), stake=stake))
    async for step in pool.steps(plan, approve=True):
        print(step)

`docs/guides/join-from-python.md` is the whole of it. What renters do as well (deposit, withdraw, settle) is in
`leasehold`.
"""

from leasehold.client import (
    AddStake,
    AnswerChallenge,
    Appeal,
    AppealFiled,
    AskedTerms,
    ChallengeAnswered,
    ChangeOperator,
    Claim,
    Claimed,
    Delist,
    GiveNotice,
    Join,
    Joined,
    MachineChanged,
    MachineStaked,
    NoticeGiven,
    OperatorChanged,
    OutageReported,
    ProviderDuty,
    ProviderStatus,
    PublishDocuments,
    ReachFound,
    Recovered,
    RecoverMachine,
    Relist,
    ReportOutage,
    RequestVerification,
    Retire,
    SetTerms,
    Unstake,
    VerificationAsked,
    Withhold,
    find_reach,
    provider_status,
)

__all__ = [
    "AddStake",
    "AnswerChallenge",
    "Appeal",
    "AppealFiled",
    "AskedTerms",
    "ChallengeAnswered",
    "ChangeOperator",
    "Claim",
    "Claimed",
    "Delist",
    "GiveNotice",
    "Join",
    "Joined",
    "MachineChanged",
    "MachineStaked",
    "NoticeGiven",
    "OperatorChanged",
    "OutageReported",
    "ProviderDuty",
    "ProviderStatus",
    "PublishDocuments",
    "ReachFound",
    "RecoverMachine",
    "Recovered",
    "Relist",
    "ReportOutage",
    "RequestVerification",
    "Retire",
    "SetTerms",
    "Unstake",
    "VerificationAsked",
    "Withhold",
    "find_reach",
    "provider_status",
]
