"""Rent GPU time from whoever has some, or offer your own: the chain keeps the accounts, and nobody operates it.

    async with leasehold.connect("pool.json", wallet="me", password="…") as pool:
        plan = await pool.plan(leasehold.Rent(pool.workload("job.toml"), seconds=3600, search="gpu:H100"))
        lease = await pool.rent(plan, approve=True)
        async for line in lease.logs():
            print(line)

A request says what is wanted, its plan what that would do and cost now, and its steps what has been done. Nothing here
prints, asks, or reads the environment. Names are loaded when they are first used. Errors: `leasehold.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.chain import (
        Deployment,
        Lease,
        LeaseState,
        Machine,
        Params,
        Receipt,
        format_lease,
        parse_lease,
    )
    from leasehold.client import (
        AddStake,
        AnswerChallenge,
        Answered,
        Appeal,
        Appealed,
        AskedTerms,
        ChangeOperator,
        Claim,
        Claimed,
        Close,
        Delist,
        Ended,
        Extend,
        Extended,
        FailedOver,
        Failover,
        GiveNotice,
        Join,
        Joined,
        LeaseResults,
        LeasesOpened,
        MachineChanged,
        Move,
        Moved,
        NoticeGiven,
        Observer,
        OperatorChanged,
        OutageReported,
        Plan,
        PoolClient,
        ProposalMade,
        ProviderDuty,
        ProviderStatus,
        PublishDocuments,
        Rate,
        Rated,
        Recover,
        Recovered,
        Reject,
        Relist,
        Rent,
        Rented,
        ReportOutage,
        Request,
        Resize,
        Resized,
        Retire,
        Sent,
        SetTerms,
        SetWorkload,
        StakeAdded,
        Started,
        Step,
        TenantLease,
        Unstake,
        Withhold,
        WorkloadChanged,
        connect,
        provider_status,
    )
    from leasehold.errors import LeaseholdError
    from leasehold.home import Home
    from leasehold.market import (
        Listing,
        Money,
        Payment,
        format_amount,
        format_duration,
        parse_amount,
        parse_duration,
        parse_share,
    )
    from leasehold.workload import Workload, load_workload

    __version__: str

_ROOMS = {
    "chain": ("Deployment", "Lease", "LeaseState", "Machine", "Params", "Receipt", "format_lease", "parse_lease"),
    "client": (
        "AddStake", "AnswerChallenge", "Answered", "Appeal", "Appealed", "AskedTerms", "ChangeOperator",
        "Claim", "Claimed", "Close", "Delist", "Ended", "Extend", "Extended", "FailedOver", "Failover",
        "GiveNotice", "Join", "Joined", "LeaseResults", "LeasesOpened", "MachineChanged", "Move", "Moved",
        "NoticeGiven", "Observer", "OperatorChanged", "OutageReported", "Plan", "PoolClient",
        "ProposalMade", "ProviderDuty", "ProviderStatus", "PublishDocuments", "Rate", "Rated", "Recover",
        "Recovered", "Reject", "Relist", "Rent", "Rented", "ReportOutage", "Request", "Resize", "Resized",
        "Retire", "Sent", "SetTerms", "SetWorkload", "StakeAdded", "Started", "Step", "TenantLease",
        "Unstake", "Withhold", "WorkloadChanged", "connect", "provider_status",
    ),
    "errors": ("LeaseholdError",),
    "home": ("Home",),
    "market": (
        "Listing", "Money", "Payment", "format_amount", "format_duration", "parse_amount", "parse_duration",
        "parse_share",
    ),
    "workload": ("Workload", "load_workload"),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AddStake",
    "AnswerChallenge",
    "Answered",
    "Appeal",
    "Appealed",
    "AskedTerms",
    "ChangeOperator",
    "Claim",
    "Claimed",
    "Close",
    "Delist",
    "Deployment",
    "Ended",
    "Extend",
    "Extended",
    "FailedOver",
    "Failover",
    "GiveNotice",
    "Home",
    "Join",
    "Joined",
    "Lease",
    "LeaseResults",
    "LeaseState",
    "LeaseholdError",
    "LeasesOpened",
    "Listing",
    "Machine",
    "MachineChanged",
    "Money",
    "Move",
    "Moved",
    "NoticeGiven",
    "Observer",
    "OperatorChanged",
    "OutageReported",
    "Params",
    "Payment",
    "Plan",
    "PoolClient",
    "ProposalMade",
    "ProviderDuty",
    "ProviderStatus",
    "PublishDocuments",
    "Rate",
    "Rated",
    "Receipt",
    "Recover",
    "Recovered",
    "Reject",
    "Relist",
    "Rent",
    "Rented",
    "ReportOutage",
    "Request",
    "Resize",
    "Resized",
    "Retire",
    "Sent",
    "SetTerms",
    "SetWorkload",
    "StakeAdded",
    "Started",
    "Step",
    "TenantLease",
    "Unstake",
    "Withhold",
    "Workload",
    "WorkloadChanged",
    "__version__",
    "connect",
    "format_amount",
    "format_duration",
    "format_lease",
    "load_workload",
    "parse_amount",
    "parse_duration",
    "parse_lease",
    "parse_share",
    "provider_status",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("leasehold")
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'leasehold' has no attribute '{name}'")
    value: object = getattr(import_module(f"leasehold.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
