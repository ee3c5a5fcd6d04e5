"""What people want done with a pool: a request in, a plan to look at, steps out.

async with connect("pool.json", wallet="me", password="…") as pool:
    plan = await pool.plan(Extend(lease=12, seconds=3600))
    extended = await pool.carry_out(plan, approve=True)

Nothing here prints, asks, or reads the environment: the command line is one face of it.
"""

from leasehold.client._address import parse_address
from leasehold.client._client import PoolClient, ProposalMade
from leasehold.client._connect import (
    DEFAULT_HOME,
    DEFAULT_IPFS,
    DEFAULT_RPC,
    Connecting,
    connect,
)
from leasehold.client._delegates import (
    AllowDelegate,
    AllowDelegatePlan,
    DelegateAllowed,
    DelegateRevoked,
    RevokeDelegate,
    RevokeDelegatePlan,
    delegates_of,
)
from leasehold.client._errors import CannotAct, NoDelegate, PlanUsed
from leasehold.client._faults import (
    PROVE_TIME,
    ROLL_AFTER,
    answer_until,
    applicable,
    arbiter_of,
    current,
    executable,
)
from leasehold.client._index import alone
from leasehold.client._lease import TenantLease
from leasehold.client._locked_wallet import LockedWallet, Password
from leasehold.client._moving import FailedOver, Failover, FailoverPlan, Move, Moved, MovePlan, workloads_of
from leasehold.client._observer import Observer, Update
from leasehold.client._offers import (
    CancelOffers,
    CancelOffersPlan,
    OfferSigned,
    OffersTakenBack,
    SignOffer,
    SignOfferPlan,
    quote_request,
    signed_offers,
)
from leasehold.client._on_behalf import AsDelegate, Proposed, Proposing
from leasehold.client._outages import Outages, outages_of, take_off
from leasehold.client._outflow import Outflow, outflow
from leasehold.client._plan import Approved, Plan, Request, Sent, Step
from leasehold.client._powers import QUORUM_VALIDATORS, powers_of, quorum_of
from leasehold.client._rent import HandedOver, LeasesOpened, Rent, Rented, RentPlan, Started, hand_over
from leasehold.client._results import (
    LeaseResults,
    NoResultsAnyMore,
    NoResultsYet,
    PublishedResults,
    fetch_lease_results,
    published_results,
)
from leasehold.client._tenancy import (
    Close,
    ClosePlan,
    Delivered,
    Ended,
    Extend,
    Extended,
    ExtendPlan,
    Rate,
    Rated,
    RatePlan,
    Reject,
    RejectPlan,
    Resize,
    Resized,
    ResizePlan,
    SetWorkload,
    SetWorkloadPlan,
    Trial,
    Unfetched,
    WorkloadChanged,
    agents_word,
    live_lease,
    unfetched_results,
)
from leasehold.client._tenant_errors import NotADelegate, NotTheTenant
from leasehold.client._transfer import (
    AcceptLeases,
    AcceptLeasesPlan,
    LeaseGiven,
    LeasesAccepted,
    Transfer,
    TransferPlan,
)

__all__ = [
    "DEFAULT_HOME",
    "DEFAULT_IPFS",
    "DEFAULT_RPC",
    "PROVE_TIME",
    "QUORUM_VALIDATORS",
    "ROLL_AFTER",
    "AcceptLeases",
    "AcceptLeasesPlan",
    "AllowDelegate",
    "AllowDelegatePlan",
    "Approved",
    "AsDelegate",
    "CancelOffers",
    "CancelOffersPlan",
    "CannotAct",
    "Close",
    "ClosePlan",
    "Connecting",
    "DelegateAllowed",
    "DelegateRevoked",
    "Delivered",
    "Ended",
    "Extend",
    "ExtendPlan",
    "Extended",
    "FailedOver",
    "Failover",
    "FailoverPlan",
    "HandedOver",
    "LeaseGiven",
    "LeaseResults",
    "LeasesAccepted",
    "LeasesOpened",
    "LockedWallet",
    "Move",
    "MovePlan",
    "Moved",
    "NoDelegate",
    "NoResultsAnyMore",
    "NoResultsYet",
    "NotADelegate",
    "NotTheTenant",
    "Observer",
    "OfferSigned",
    "OffersTakenBack",
    "Outages",
    "Outflow",
    "Password",
    "Plan",
    "PlanUsed",
    "PoolClient",
    "ProposalMade",
    "Proposed",
    "Proposing",
    "PublishedResults",
    "Rate",
    "RatePlan",
    "Rated",
    "Reject",
    "RejectPlan",
    "Rent",
    "RentPlan",
    "Rented",
    "Request",
    "Resize",
    "ResizePlan",
    "Resized",
    "RevokeDelegate",
    "RevokeDelegatePlan",
    "Sent",
    "SetWorkload",
    "SetWorkloadPlan",
    "SignOffer",
    "SignOfferPlan",
    "Started",
    "Step",
    "TenantLease",
    "Transfer",
    "TransferPlan",
    "Trial",
    "Unfetched",
    "Update",
    "WorkloadChanged",
    "agents_word",
    "alone",
    "answer_until",
    "applicable",
    "arbiter_of",
    "connect",
    "current",
    "delegates_of",
    "executable",
    "fetch_lease_results",
    "hand_over",
    "live_lease",
    "outages_of",
    "outflow",
    "parse_address",
    "powers_of",
    "published_results",
    "quorum_of",
    "quote_request",
    "signed_offers",
    "take_off",
    "unfetched_results",
    "workloads_of",
]
