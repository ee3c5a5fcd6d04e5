"""What a use case refuses before anything is sent.

InvalidInput
├── DurationMissing
├── NotLive
├── StillLive
├── RentedSince
├── WasElsewhere
├── WorkloadOfAnother
├── OfferElsewhere
├── AlreadyThere
├── NoStandby
├── StandbyUnknown
├── StandbyForItself
├── NoCheckpoint
├── NoPrice
├── NoSuchShare
├── ShareNotKeptApart
├── DescribesAnother
├── ChangesNothing
├── AmountsMissing
├── FleetUnreadable
├── NoSuchHost
└── NoSuchContract
NoMachineMatches
└── NoSuchMachine
NotEnoughFunds
└── LedgerNotCovered                for what only a ledger pays
MarketError
├── NothingToDo
└── CannotAct                       something that a group or a delegate cannot do
    ├── PaysFromLedger
    ├── NoSession
    │   └── NoGroupSession
    └── NoDelegate                  the account has not let this wallet act for it
MachineUnavailable
├── StakeStillLocked
├── NotItsKeeper
└── OperatorOnly                    a thing that the agent does, and nobody else
LeaseholdError
├── PlanUsed                        a plan is carried out a second time
└── PlanStale                       it would do or cost something else by now
WorkloadError
└── LoginStaysHere
WalletError
└── WalletNeeded
ChainError
└── NoBlocks
"""

from __future__ import annotations

from leasehold.errors import (
    ChainError,
    LeaseholdError,
    NotAuthorized,
    WalletError,
    WorkloadError,
    error_type,
)
from leasehold.market import InvalidInput, MachineUnavailable, MarketError, NoMachineMatches, NotEnoughFunds


@error_type("duration-missing", problem="How long?", advice="Name a duration.")
class DurationMissing(InvalidInput):
    """A lease is wished, and not for how long."""


@error_type("not-live", problem="Lease {lease:lease} is {state} already", advice="look at the lease.")
class NotLive(InvalidInput):
    """The lease holds no cells any more. state: in a word."""

    lease: int
    state: str


@error_type("still-live", problem="Lease {lease:lease} is {state}", advice="extend it to keep it longer.")
class StillLive(InvalidInput):
    """It is to be rented again, and runs."""

    lease: int
    state: str


@error_type(
    "rented-since",
    problem="The slot of lease {lease:lease} has lease {later:lease} by now",
    advice="rent that one again.",
)
class RentedSince(InvalidInput):
    """It is to be rented again, and a later lease has been opened in its slot."""

    lease: int
    later: int


@error_type(
    "was-elsewhere",
    problem="Lease {lease:lease} was on machine {machine}",
    advice="name no machine, or no lease to rent again.",
)
class WasElsewhere(InvalidInput):
    """It is to be rented again, and on another machine."""

    lease: int
    machine: int


@error_type(
    "workload-of-another", problem="What ran on lease {lease:lease} was {author}'s", advice="name a workload."
)
class WorkloadOfAnother(InvalidInput):
    """It is to be rented again with a workload that somebody else had sealed."""

    lease: int
    author: str


@error_type("offer-elsewhere", problem="The offer is of machine {machine}", advice="name no other.")
class OfferElsewhere(InvalidInput):
    """An offer is taken, and another machine named."""

    machine: int


@error_type("standby-for-itself", problem="A machine is no standby for itself", advice="name another.")
class StandbyForItself(InvalidInput):
    """The standby is the lease's own machine."""


@error_type(
    "no-checkpoint",
    problem="There is no checkpoint of it yet",
    advice="have one taken, or name one by its CID.",
)
class NoCheckpoint(InvalidInput):
    """Neither the machine nor one's own home knows of any."""


@error_type(
    "already-there",
    problem="Lease {lease:lease} is on machine {machine} already",
    advice="take another share of it instead.",
)
class AlreadyThere(InvalidInput):
    """A lease is to move to where it is."""

    lease: int
    machine: int


@error_type(
    "no-standby",
    problem="Lease {lease:lease} named no standby",
    advice="move it to a machine of your choice, or close it, which pays up to the begin of the outage.",
)
class NoStandby(InvalidInput):
    """There is nothing to fail over to."""

    lease: int


@error_type(
    "standby-unknown",
    problem=(
        "The standby of lease {lease:lease} is none of the pool's machines with a workload that the lease had"
    ),
    advice="move it instead.",
)
class StandbyUnknown(InvalidInput):
    """Nobody can say what the digest of the standby stands for."""

    lease: int


@error_type("no-price", problem="A machine needs a price", advice="name one in whole tokens per GPU-hour.")
class NoPrice(InvalidInput):
    """A machine is to join, and nobody said for how much."""


@error_type(
    "no-such-share",
    problem="The smallest share is 1, 2, 4 or 8 cells, not {cells}",
    advice="choose one of these.",
)
class NoSuchShare(InvalidInput):
    """A share that no machine can be cut into."""

    cells: int


@error_type(
    "share-not-kept-apart",
    problem="The machine's host cannot keep shares of less than {least} of 8 cells apart",
    advice="name that many or more.",
)
class ShareNotKeptApart(InvalidInput):
    """The smallest share is smaller than what the host can keep apart. Cells."""

    least: int


@error_type(
    "describes-another",
    problem="That describes a machine of the operator {operator}, and machine {machine} has {has}",
    advice="give the machine that operator first.",
)
class DescribesAnother(InvalidInput):
    """A machine.json of another host, or of another key."""

    machine: int
    operator: str
    has: str


@error_type("fleet-unreadable", problem="{path}: {wrong}", advice="correct the file.")
class FleetUnreadable(InvalidInput):
    """A fleet's file is not there, or not of the form that it has to be."""

    path: str
    wrong: str


@error_type(
    "no-such-host",
    problem="No host of the fleet has the name or label `{word}`",
    advice="look into the fleet's file.",
)
class NoSuchHost(InvalidInput):
    """Hosts are chosen by a word that none of them has."""

    word: str


@error_type("changes-nothing", problem="That changes nothing", advice="name parameters and their values.")
class ChangesNothing(InvalidInput):
    """The rules that are proposed are those in force."""


@error_type("no-such-contract", problem="The pool has no contract `{name}`", advice="choose one of {listed}.")
class NoSuchContract(InvalidInput):
    """A contract is wished by a name that none of the pool's has."""

    name: str
    known: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.known)


@error_type(
    "amounts-missing",
    problem=(
        "{symbol} has {decimals} decimals and the token of the pool at hand {others}, so amounts cannot be taken over"
    ),
    advice="name all of them.",
)
class AmountsMissing(InvalidInput):
    """A pool on another token, whose parameters are to be those of the pool at hand."""

    symbol: str
    decimals: int
    others: int


@error_type(
    "stake-still-locked",
    problem="The stake of machine {machine} is locked until {until:utc}",
    advice="try again then.",
)
class StakeStillLocked(MachineUnavailable):
    """The machine has retired, and its delay runs. Unix seconds."""

    machine: int
    until: int


@error_type(
    "not-its-keeper",
    problem=(
        "Only its provider {provider} or its operator {operator} does this for machine {machine}, and you are {account}"
    ),
    advice="use one of their wallets.",
)
class NotItsKeeper(MachineUnavailable):
    """A machine is somebody else's to keep."""

    machine: int
    provider: str
    operator: str
    account: str


@error_type(
    "operator-only",
    problem="Only its operator {operator} does this for machine {machine}, and you are {account}",
    advice="its key is on the host, where the agent answers and reports.",
)
class OperatorOnly(MachineUnavailable):
    """What the agent says of its machine nobody says for it, not even the provider."""

    machine: int
    operator: str
    account: str


@error_type(
    "nothing-to-do", problem="There is nothing to do", advice="look again when something has changed."
)
class NothingToDo(MarketError):
    """The plan would send nothing."""


@error_type(
    "no-such-machine",
    problem="There is no machine {machine} in this pool",
    advice="look for it among the pool's machines.",
)
class NoSuchMachine(NoMachineMatches):
    """A machine is named that the pool never had."""

    machine: int


@error_type(
    "ledger-not-covered",
    problem=(
        "That takes {needed:money} from the ledger, which holds {ledger:money}, and the wallet has {wallet:money}"
    ),
    advice="get {missing:money} more.",
)
class LedgerNotCovered(NotEnoughFunds):
    """Ledger and wallet together hold less than what a ledger pays."""

    needed: int
    ledger: int
    wallet: int
    missing: int


@error_type(
    "plan-used",
    problem="This plan was carried out already, or begun",
    advice="see what became of it, and make a new one from how things are now.",
)
class PlanUsed(LeaseholdError):
    """Whoever tries again after an answer that never came would pay twice: what was sent may still be mined."""


@error_type(
    "plan-stale",
    problem="Things have changed since this plan was made, and it would do or cost something else now",
    advice="make a new one, and look at it.",
)
class PlanStale(LeaseholdError):
    """Whoever looked at the plan and said yes did not say it to this. Nothing was sent."""


class CannotAct(MarketError):
    """Something that a group or a delegate cannot do; nothing was sent."""

    code = "cannot-act"


@error_type(
    "pays-from-ledger",
    problem="A group pays from its ledger alone and calls nothing but the pool",
    advice="put what it needs into the ledger first.",
)
class PaysFromLedger(CannotAct):
    """A proposal can hold calls of the pool, and no others."""

    account: str


@error_type(
    "no-session",
    problem="{account} has no session with the agents here",
    advice="get one with its own wallet.",
)
class NoSession(CannotAct):
    """Agents answer an account's own sessions alone."""

    account: str


@error_type(
    "no-group-session",
    problem="{account} has no session with the agents here",
    advice="have its signers sign one.",
)
class NoGroupSession(NoSession):
    """The same, of a group."""

    group: str


@error_type(
    "no-delegate",
    problem="{delegate} is no delegate of {account}, or not any more",
    advice="ask for leave to act for it.",
)
class NoDelegate(CannotAct):
    """The account has not let this wallet act for it, or does no longer."""

    exit_code = NotAuthorized.exit_code
    delegate: str
    account: str


@error_type("wallet-needed", problem="This needs a wallet", advice="open the pool with one.")
class WalletNeeded(WalletError):
    """Something is to be signed, and nothing signs."""


@error_type("no-blocks", problem="The node has no blocks yet", advice="wait until it has, or use another.")
class NoBlocks(ChainError):
    """The node has only begun."""


@error_type(
    "login-stays-here",
    problem="{server} has {image} for user {user} alone, and Docker's login stays on this computer",
    advice="keep a login for machines, one that may read and nothing else.",
)
class LoginStaysHere(WorkloadError):
    """A machine would be refused the image: nothing that the user left for machines opens its registry."""

    server: str
    image: str
    user: str
