"""Rent GPU time from whoever has some, or offer your own: the chain keeps the accounts, and nobody operates it.

    async with leasehold.connect("pool.json", wallet="me", password="…") as pool:
        plan = await pool.plan(leasehold.Rent(pool.workload("job.toml"), seconds=3600, search="gpu:H100"))
        lease = await pool.rent(plan, approve=True)
        async for line in lease.logs():
            print(line)

A request says what is wanted, its plan what that would do and cost now, and its steps what has been done. Nothing here
prints, asks, or reads the environment. Names are loaded when they are first used. Errors: `leasehold.errors`. What
others than renters do: `leasehold.provider`, `leasehold.validator`, `leasehold.owner`, `leasehold.groups`. More for
renters: `leasehold.runs`, `leasehold.copying`, `leasehold.volumes`, `leasehold.checkpoints`, `leasehold.commits`,
`leasehold.sharing`, `leasehold.services`, `leasehold.gasless`, `leasehold.guard`, and many leases at a glance,
`leasehold.overview`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.chain import (
        UNLIMITED,
        ZERO_ADDRESS,
        Deployment,
        FaultKind,
        FaultState,
        Lease,
        LeaseState,
        Machine,
        Params,
        Receipt,
        format_lease,
        parse_lease,
    )
    from leasehold.client import (
        AcceptLeases,
        AllowDelegate,
        Approve,
        Approved,
        ChallengeMachine,
        Close,
        CloseWhenDone,
        DelegateAllowed,
        DelegateRevoked,
        Deposit,
        Ended,
        Extend,
        Extended,
        FailedOver,
        Failover,
        FaultsSettled,
        Finish,
        KeepGoing,
        LeaseBill,
        LeaseGiven,
        LeaseKept,
        LeaseResults,
        LeasesAccepted,
        LeasesOpened,
        MachineChallenged,
        Move,
        Moved,
        Observer,
        PaidFromLedger,
        PaidToLedger,
        Plan,
        PoolClient,
        ProposalMade,
        ProveSilence,
        Rate,
        Rated,
        Reject,
        Rent,
        Rented,
        Request,
        Resize,
        Resized,
        RevokeDelegate,
        Sent,
        SettledByOthers,
        SettleFaults,
        Settlement,
        SettlementDue,
        SettlementMade,
        SetWorkload,
        SilenceProven,
        SshDoor,
        Started,
        Step,
        TenantLease,
        Transfer,
        Withdraw,
        WorkloadChanged,
        connect,
        faults_of,
        leases_of,
        quote_request,
        ssh_door,
        view_fault,
        view_lease,
    )
    from leasehold.errors import (
        LeaseholdError,
    )
    from leasehold.home import (
        Home,
    )
    from leasehold.market import (
        Listing,
        Money,
        Payment,
        format_amount,
        format_duration,
        parse_amount,
        parse_day,
        parse_duration,
        parse_share,
    )
    from leasehold.runs import (
        Run,
        RunFinished,
        RunPlan,
    )
    from leasehold.workload import (
        Workload,
        load_workload,
    )

    __version__: str

_ROOMS = {
    "chain": (
        "UNLIMITED", "ZERO_ADDRESS", "Deployment", "FaultKind", "FaultState", "Lease", "LeaseState",
        "Machine", "Params", "Receipt", "format_lease", "parse_lease",
    ),
    "client": (
        "AcceptLeases", "AllowDelegate", "Approve", "Approved", "ChallengeMachine",
        "Close", "CloseWhenDone", "DelegateAllowed", "DelegateRevoked", "Deposit", "Ended", "Extend", "Extended",
        "FailedOver", "Failover", "FaultsSettled", "Finish", "KeepGoing", "LeaseBill", "LeaseGiven",
        "LeaseKept", "LeaseResults", "LeasesAccepted", "LeasesOpened", "MachineChallenged", "Move",
        "Moved", "Observer", "PaidFromLedger", "PaidToLedger",
        "Plan", "PoolClient", "ProposalMade", "ProveSilence", "Rate", "Rated", "Reject", "Rent",
        "Rented", "Request", "Resize", "Resized", "RevokeDelegate", "Sent",
        "SetWorkload",
        "SettleFaults", "SettledByOthers", "Settlement", "SettlementDue", "SettlementMade",
        "SilenceProven", "SshDoor", "Started", "Step", "TenantLease", "Transfer",
        "Withdraw", "WorkloadChanged", "connect", "faults_of", "leases_of",
        "quote_request", "ssh_door", "view_fault", "view_lease",
    ),
    "errors": (
        "LeaseholdError",
    ),
    "home": (
        "Home",
    ),
    "market": (
        "Listing", "Money", "Payment", "format_amount", "format_duration", "parse_amount",
        "parse_day", "parse_duration", "parse_share",
    ),
    "runs": ("Run", "RunFinished", "RunPlan"),
    "workload": (
        "Workload", "load_workload",
    ),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "UNLIMITED",
    "ZERO_ADDRESS",
    "AcceptLeases",
    "AllowDelegate",
    "Approve",
    "Approved",
    "ChallengeMachine",
    "Close",
    "CloseWhenDone",
    "DelegateAllowed",
    "DelegateRevoked",
    "Deployment",
    "Deposit",
    "Ended",
    "Extend",
    "Extended",
    "FailedOver",
    "Failover",
    "FaultKind",
    "FaultState",
    "FaultsSettled",
    "Finish",
    "Home",
    "KeepGoing",
    "Lease",
    "LeaseBill",
    "LeaseGiven",
    "LeaseKept",
    "LeaseResults",
    "LeaseState",
    "LeaseholdError",
    "LeasesAccepted",
    "LeasesOpened",
    "Listing",
    "Machine",
    "MachineChallenged",
    "Money",
    "Move",
    "Moved",
    "Observer",
    "PaidFromLedger",
    "PaidToLedger",
    "Params",
    "Payment",
    "Plan",
    "PoolClient",
    "ProposalMade",
    "ProveSilence",
    "Rate",
    "Rated",
    "Receipt",
    "Reject",
    "Rent",
    "Rented",
    "Request",
    "Resize",
    "Resized",
    "RevokeDelegate",
    "Run",
    "RunFinished",
    "RunPlan",
    "Sent",
    "SetWorkload",
    "SettleFaults",
    "SettledByOthers",
    "Settlement",
    "SettlementDue",
    "SettlementMade",
    "SilenceProven",
    "SshDoor",
    "Started",
    "Step",
    "TenantLease",
    "Transfer",
    "Withdraw",
    "Workload",
    "WorkloadChanged",
    "__version__",
    "connect",
    "faults_of",
    "format_amount",
    "format_duration",
    "format_lease",
    "leases_of",
    "load_workload",
    "parse_amount",
    "parse_day",
    "parse_duration",
    "parse_lease",
    "parse_share",
    "quote_request",
    "ssh_door",
    "view_fault",
    "view_lease",
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
