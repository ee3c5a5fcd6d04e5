"""What the use cases of a tenant, and of whoever hands leases, terms and powers on, refuse before anything is sent.

InvalidInput
├── TwoActors
├── GaslessForOthers
├── NotTheTenant
├── NotADelegate
├── NoSuchService
├── NotShared
├── NothingAllowed
├── PriceNotNamed
└── NoRunningLease
    └── LeaseNotThere
NotEnoughFunds
├── NothingToWithdraw
└── NothingStrayed
FileRefused
├── AccessOver
├── OnlyCalls
├── ProposalExpired
├── SafeChanged
└── ProposalOvertaken
AgentError
├── KeepsNoAudit
├── NoSsh
├── ServiceUnreachable
└── TakesNothingBack
LeaseholdError
└── KeptNoLonger
"""

from __future__ import annotations

from leasehold.agreements import FileRefused
from leasehold.errors import AgentError, LeaseholdError, error_type
from leasehold.market import InvalidInput, NotEnoughFunds


@error_type("two-actors", problem="A group is no delegate", advice="name a group or an account, not both.")
class TwoActors(InvalidInput):
    """A pool is to be opened for a group and for another account."""


@error_type(
    "gasless-for-others",
    problem="A gateway sends for the wallet's own account alone",
    advice="name no group and no other account.",
)
class GaslessForOthers(InvalidInput):
    """A pool is to be opened for a group or another account, and without gas money."""


@error_type(
    "not-the-tenant", problem="Lease {lease:lease} is {tenant}'s", advice="act for that account instead."
)
class NotTheTenant(InvalidInput):
    """Only its tenant can do this with a lease."""

    lease: int
    tenant: str


@error_type(
    "not-a-delegate",
    problem="{delegate} is no delegate of {account} in this pool",
    advice="look at those that it has.",
)
class NotADelegate(InvalidInput):
    """There is no leave to end."""

    delegate: str
    account: str


@error_type(
    "nothing-allowed",
    problem="A cap of zero lets nothing be rented",
    advice="name one, or end the delegate's leave.",
)
class NothingAllowed(InvalidInput):
    """A delegate is to spend nothing."""


@error_type("price-not-named", problem="At what price?", advice="Name whole tokens per GPU-hour.")
class PriceNotNamed(InvalidInput):
    """An offer is to be signed without a price."""


@error_type(
    "no-running-lease",
    problem="You have no running lease on machine {machine}, and only its tenants challenge it",
    advice="look at your leases.",
)
class NoRunningLease(InvalidInput):
    """A machine is to be challenged by somebody who rents nothing there."""

    machine: int


@error_type(
    "lease-not-there",
    problem="Lease {lease:lease} is no running lease of yours on machine {machine}, and only its tenants challenge it",
    advice="look at your leases.",
)
class LeaseNotThere(NoRunningLease):
    """The same, of a lease that was named."""

    lease: int


@error_type(
    "only-calls",
    problem="Only calls can be proposed again",
    advice="make the rest anew.",
)
class OnlyCalls(FileRefused):
    """An acceptance, an offer or a session is to be renewed."""


@error_type(
    "nothing-to-withdraw",
    problem="There is nothing in the ledger to pay out",
    advice="see what the account has.",
)
class NothingToWithdraw(NotEnoughFunds):
    """All of an empty ledger."""


@error_type(
    "nothing-strayed",
    problem="{strayed:money} lie at the group's address itself",
    advice="rescue what is there; its ledger is paid out by a withdrawal.",
)
class NothingStrayed(NotEnoughFunds):
    """More is to be rescued than was sent to the address itself."""

    strayed: int


@error_type(
    "proposal-expired",
    problem="It worked until {deadline:utc}, which has passed",
    advice="have the same proposed again.",
)
class ProposalExpired(FileRefused):
    """A proposal's deadline is over. deadline: unix seconds."""

    deadline: int


@error_type(
    "proposal-overtaken",
    problem="It has been executed, or another proposal with its nonce was",
    advice="if it is still wanted, propose the same again.",
)
class ProposalOvertaken(FileRefused):
    """The group's nonce has gone past it."""


@error_type(
    "no-ssh", problem="Machine {machine} serves no SSH", advice="run commands through its agent instead."
)
class NoSsh(AgentError):
    """The machine's contact document names no SSH server."""

    machine: int
    lease: int


@error_type(
    "kept-no-longer",
    problem="{refusal} Lease {lease:lease} is not extended any more",
    advice="its tenant can extend it, or raise the cap.",
)
class KeptNoLonger(LeaseholdError):
    """A delegate's leave does not cover another extension."""

    exit_code = 4
    lease: int
    refusal: LeaseholdError


@error_type(
    "not-shared", problem="Lease {lease:lease} is shared with nobody from here", advice="name the key itself."
)
class NotShared(InvalidInput):
    """There is nothing to take back."""

    lease: int


@error_type("access-over", problem="That worked until {expires_at:utc}", advice="ask for another.")
class AccessOver(FileRefused):
    """A lease was shared, and is not any more. Unix seconds."""

    expires_at: int


@error_type(
    "takes-nothing-back",
    problem="The agent of lease {lease:lease} is of an earlier version and listens until {until:utc}",
    advice="move the lease, or wait.",
)
class TakesNothingBack(AgentError):
    """Nothing but its end stops a session there. Unix seconds."""

    lease: int
    until: int


@error_type(
    "keeps-no-audit",
    problem="The agent of lease {lease:lease} is of an earlier version and keeps no audit log",
    advice="ask its provider to update it.",
)
class KeepsNoAudit(AgentError):
    """It cannot be asked."""

    lease: int


@error_type(
    "no-such-service", problem="{account} has announced no {kind}", advice="look at what is announced."
)
class NoSuchService(InvalidInput):
    """The Directory has none of that account and kind."""

    account: str
    kind: str


@error_type(
    "service-unreachable",
    problem="The {kind} of {account} does not answer where it says to be",
    advice="take another, or ask its provider.",
)
class ServiceUnreachable(AgentError):
    """Its document cannot be had, or names no address at which our node finds it."""

    account: str
    kind: str


@error_type(
    "safe-changed",
    problem="The Safe {address} has other owners, or another threshold, than the proposal says",
    advice="propose it again.",
)
class SafeChanged(FileRefused):
    """Its owners have changed since, or whoever made the file lied."""

    address: str
