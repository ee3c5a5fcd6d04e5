"""The contracts' events. Made by scripts/abi.py: do not edit."""

from dataclasses import dataclass

from leasehold.chain._log import Event
from leasehold.chain._types import FaultKind, Params, RoundState, SeatSigner, Terms

__all__ = [
    "Answered",
    "Appealed",
    "ChallengeEnded",
    "Challenged",
    "Charged",
    "Committed",
    "CommitteeDrawn",
    "Compensated",
    "ContactSet",
    "DelegateSet",
    "DelegateSpent",
    "Deposited",
    "DrawMissed",
    "Executed",
    "FailedOver",
    "FaultExecuted",
    "FaultFiled",
    "FeesPulled",
    "GatedSet",
    "GroupDeployed",
    "HardwareSet",
    "LeaseCancelled",
    "LeaseClaimed",
    "LeaseClosed",
    "LeaseDeclined",
    "LeaseExtended",
    "LeaseOpened",
    "LeasePaused",
    "LeaseRejected",
    "LeaseResized",
    "LeaseStarted",
    "LeaseTerminated",
    "LeaseTransferred",
    "LicenceIssued",
    "MachineCameUp",
    "MachineHeld",
    "MachineRegistered",
    "MachineRetired",
    "MachineStatusSet",
    "MachineWentDown",
    "OfferTaken",
    "OffersCancelled",
    "OperatorSet",
    "OutageApplied",
    "OutageAttested",
    "OutageOpened",
    "OwnershipTransferStarted",
    "OwnershipTransferred",
    "ParamsCancelled",
    "ParamsProposed",
    "PausedSet",
    "PendingSlashesSet",
    "PoolCreated",
    "QuorumCredited",
    "QuorumDisowned",
    "QuorumFined",
    "QuorumPaid",
    "QuorumSigned",
    "Rated",
    "ResultPublished",
    "Revealed",
    "RoundFinalized",
    "RoundOverturned",
    "Ruled",
    "SeatExited",
    "SeatFined",
    "SeatJoined",
    "SeatLeaving",
    "SeatToppedUp",
    "ServiceAnnounced",
    "StakeAdded",
    "StakeMoved",
    "TermsSet",
    "Transferred",
    "TreasurySet",
    "Unstaked",
    "VerificationRequested",
    "Withdrawn",
    "Withheld",
    "WorkloadSet",
]


@dataclass(frozen=True, slots=True)
class Charged(Event):
    """A companion took `amount` from the ledger of `from`, which then held `balance`: a fee, a bond or a
    stake.

    `Charged(address indexed from, address indexed companion, uint256 amount, uint256 balance)`.
    """

    from_: str
    companion: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class ContactSet(Event):
    """Where the machine's agent is reached has changed.

    `ContactSet(uint32 indexed machine, bytes32 digest)`.
    """

    machine: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Deposited(Event):
    """`from` paid `amount` into the ledger of `account`, which then held `balance`. Token units.

    `Deposited(address indexed account, address indexed from, uint256 amount, uint256 balance)`.
    """

    account: str
    from_: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class FailedOver(Event):
    """The lease ended (`LeaseClosed`) and its standby opened in its place (`LeaseOpened`).

    `FailedOver(uint256 indexed lease, uint256 indexed backup)`.
    """

    lease: int
    backup: int


@dataclass(frozen=True, slots=True)
class FeesPulled(Event):
    """The fees on what a provider had been paid went into the ledger of the pool's treasury.

    `FeesPulled(address indexed provider, address indexed treasury, uint256 amount)`.
    """

    provider: str
    treasury: str
    amount: int


@dataclass(frozen=True, slots=True)
class GatedSet(Event):
    """Whether a provider needs a licence to register machines from now on.

    `GatedSet(bool gated)`.
    """

    gated: bool


@dataclass(frozen=True, slots=True)
class HardwareSet(Event):
    """The terms of the revision before hold for this one too; the machine is Unverified again.

    `HardwareSet(uint32 indexed machine, uint16 revision, bytes32 digest)`.
    """

    machine: int
    revision: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class LeaseCancelled(Event):
    """It was not started in time: the whole deposit went back, and the machine is stalled until it recovers.

    `LeaseCancelled(uint256 indexed lease, uint32 indexed machine, uint96 refunded)`.
    """

    lease: int
    machine: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseClaimed(Event):
    """What a running lease had cost so far was credited to its provider.

    `LeaseClaimed(uint256 indexed lease, uint32 indexed machine, uint96 settled, uint96 paid, uint96 fee)`.
    """

    lease: int
    machine: int
    settled: int
    paid: int
    fee: int


@dataclass(frozen=True, slots=True)
class LeaseClosed(Event):
    """The lease is over and settled: what was not used went back into the tenant's ledger.

    `LeaseClosed(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 paid, uint96 fee, uint96
    refunded)`.
    """

    lease: int
    machine: int
    end: int
    paid: int
    fee: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseDeclined(Event):
    """The operator cannot run it: the whole deposit went back into the tenant's ledger.

    `LeaseDeclined(uint256 indexed lease, uint32 indexed machine, bytes32 reason, uint96 refunded)`.
    """

    lease: int
    machine: int
    reason: bytes
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseExtended(Event):
    """The lease ends later; `payer` paid for it, `pulled` of that from its wallet. `deposit` is the whole
    escrow.

    `LeaseExtended(uint256 indexed lease, uint32 indexed machine, address indexed payer, uint32 end, uint96
    deposit, uint256 pulled)`.
    """

    lease: int
    machine: int
    payer: str
    end: int
    deposit: int
    pulled: int


@dataclass(frozen=True, slots=True)
class LeaseOpened(Event):
    """A lease was paid for and has its cells. Nothing is billed before its machine's operator starts it.

    `LeaseOpened(uint256 indexed lease, uint32 indexed machine, address indexed tenant, uint16 placement,
    uint16 revision, uint16 params, uint80 price, uint32 duration, uint96 deposit, uint256 pulled, bytes32
    workload, uint8 flags, bytes32 backup)`.
    """

    lease: int
    machine: int
    tenant: str
    placement: int
    revision: int
    params: int
    price: int
    duration: int
    deposit: int
    pulled: int
    workload: bytes
    flags: int
    backup: bytes


@dataclass(frozen=True, slots=True)
class LeasePaused(Event):
    """An outage's time was taken off the lease's bill. `paused` is the segment's total.

    `LeasePaused(uint256 indexed lease, uint32 indexed machine, uint32 paused)`.
    """

    lease: int
    machine: int
    paused: int


@dataclass(frozen=True, slots=True)
class LeaseRejected(Event):
    """The tenant gave it back within its trial, for the hold fee alone: `paid` and `fee`.

    `LeaseRejected(uint256 indexed lease, uint32 indexed machine, uint96 paid, uint96 fee, uint96 refunded)`.
    """

    lease: int
    machine: int
    paid: int
    fee: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseResized(Event):
    """A new share, from now on. `deposit` is what the lease holds for its whole life, as everywhere.

    `LeaseResized(uint256 indexed lease, uint32 indexed machine, uint16 placement, uint96 settled, uint96
    paid, uint96 fee, uint96 deposit, uint256 pulled, uint96 refunded)`.
    """

    lease: int
    machine: int
    placement: int
    settled: int
    paid: int
    fee: int
    deposit: int
    pulled: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseStarted(Event):
    """What was asked for answers, and billing begins. `endpoint` says where, as the agent put it.

    `LeaseStarted(uint256 indexed lease, uint32 indexed machine, uint32 start, uint32 end, bytes32 endpoint)`.
    """

    lease: int
    machine: int
    start: int
    end: int
    endpoint: bytes


@dataclass(frozen=True, slots=True)
class LeaseTerminated(Event):
    """The provider gave notice: the lease ends at `end`, and `penalty` went to its tenant.

    `LeaseTerminated(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 penalty)`.
    """

    lease: int
    machine: int
    end: int
    penalty: int


@dataclass(frozen=True, slots=True)
class LeaseTransferred(Event):
    """The lease, its escrow and its rights have another tenant.

    `LeaseTransferred(uint256 indexed lease, address indexed from, address indexed to)`.
    """

    lease: int
    from_: str
    to: str


@dataclass(frozen=True, slots=True)
class MachineCameUp(Event):
    """The outage is over: from `since` on the machine's leases are billed again.

    `MachineCameUp(uint32 indexed machine, uint32 since)`.
    """

    machine: int
    since: int


@dataclass(frozen=True, slots=True)
class MachineHeld(Event):
    """Until `until`, claims of leases that lived through some of `[from, to)` stop at `from`, and nobody but
    the tenant, or the provider who forgoes that time, closes them. Leases of later, or that were over
    before, are free.

    `MachineHeld(uint32 indexed machine, uint32 from, uint32 to, uint32 until)`.
    """

    machine: int
    from_: int
    to: int
    until: int


@dataclass(frozen=True, slots=True)
class MachineRegistered(Event):
    """A provider staked and registered a machine, under the pool's rules of version `params`.

    `MachineRegistered(uint32 indexed machine, address indexed provider, address indexed operator, uint8 gpus,
    uint8 smallestShare, uint96 stake, uint256 pulled)`.
    """

    machine: int
    provider: str
    operator: str
    gpus: int
    smallest_share: int
    stake: int
    pulled: int


@dataclass(frozen=True, slots=True)
class MachineRetired(Event):
    """The machine takes no lease any more. Its stake is free once the unstake delay has passed.

    `MachineRetired(uint32 indexed machine, uint32 retiredAt)`.
    """

    machine: int
    retired_at: int


@dataclass(frozen=True, slots=True)
class MachineStatusSet(Event):
    """One of the bits that decide whether the machine takes new leases has changed.

    `MachineStatusSet(uint32 indexed machine, uint8 status, bool delisted, bool underStaked, bool stalled)`.
    """

    machine: int
    status: int
    delisted: bool
    under_staked: bool
    stalled: bool


@dataclass(frozen=True, slots=True)
class MachineWentDown(Event):
    """An outage runs since `from`: what accrues after it is not billed while it does.

    `MachineWentDown(uint32 indexed machine, uint32 from)`.
    """

    machine: int
    from_: int


@dataclass(frozen=True, slots=True)
class OfferTaken(Event):
    """A provider's signed offer became a lease. Its nonce is used up.

    `OfferTaken(address indexed provider, uint256 indexed nonce, uint256 indexed lease)`.
    """

    provider: str
    nonce: int
    lease: int


@dataclass(frozen=True, slots=True)
class OffersCancelled(Event):
    """Of the 256 nonces from `256 * word` on, those in `mask` are used up or cancelled.

    `OffersCancelled(address indexed provider, uint256 indexed word, uint256 mask)`.
    """

    provider: str
    word: int
    mask: int


@dataclass(frozen=True, slots=True)
class OperatorSet(Event):
    """Another key starts, declines and reports for the machine.

    `OperatorSet(uint32 indexed machine, address indexed operator)`.
    """

    machine: int
    operator: str


@dataclass(frozen=True, slots=True)
class OwnershipTransferStarted(Event):
    """The owner named its successor, who has to accept.

    `OwnershipTransferStarted(address indexed owner, address indexed pendingOwner)`.
    """

    owner: str
    pending_owner: str


@dataclass(frozen=True, slots=True)
class OwnershipTransferred(Event):
    """The pool has this owner from now on.

    `OwnershipTransferred(address indexed owner)`.
    """

    owner: str


@dataclass(frozen=True, slots=True)
class ParamsCancelled(Event):
    """The rules that had been proposed under this version do not come into force.

    `ParamsCancelled(uint16 indexed version)`.
    """

    version: int


@dataclass(frozen=True, slots=True)
class ParamsProposed(Event):
    """The owner proposed rules, which come into force at `inForceAt` unless they are cancelled before.

    `ParamsProposed(uint16 indexed version, uint40 inForceAt, Params params)`.
    """

    version: int
    in_force_at: int
    params: Params


@dataclass(frozen=True, slots=True)
class PausedSet(Event):
    """Whether the pool takes no new leases and machines from now on. Nothing else is ever stopped.

    `PausedSet(bool paused)`.
    """

    paused: bool


@dataclass(frozen=True, slots=True)
class PendingSlashesSet(Event):
    """So many faults of the machine are not settled: none of its stake leaves before they are.

    `PendingSlashesSet(uint32 indexed machine, uint8 count)`.
    """

    machine: int
    count: int


@dataclass(frozen=True, slots=True)
class ResultPublished(Event):
    """The operator says where the lease's results are.

    `ResultPublished(uint256 indexed lease, uint32 indexed machine, bytes cid)`.
    """

    lease: int
    machine: int
    cid: bytes


@dataclass(frozen=True, slots=True)
class StakeAdded(Event):
    """`from` added `amount` to the machine's stake, which then was `stake`; `pulled` of it came from its
    wallet.

    `StakeAdded(uint32 indexed machine, address indexed from, uint256 amount, uint256 pulled, uint96 stake)`.
    """

    machine: int
    from_: str
    amount: int
    pulled: int
    stake: int


@dataclass(frozen=True, slots=True)
class StakeMoved(Event):
    """A fault, or a ruling on one, has given `amount` of the machine's stake to the ledger of `to`.

    `StakeMoved(uint32 indexed machine, address indexed to, uint256 amount, uint96 stake)`.
    """

    machine: int
    to: str
    amount: int
    stake: int


@dataclass(frozen=True, slots=True)
class TermsSet(Event):
    """A machine has new terms from this revision on, and has accepted the pool's rules of version `params`.

    `TermsSet(uint32 indexed machine, uint16 revision, uint16 params, Terms terms)`.
    """

    machine: int
    revision: int
    params: int
    terms: Terms


@dataclass(frozen=True, slots=True)
class Transferred(Event):
    """`amount` went from one ledger to another inside the pool.

    `Transferred(address indexed from, address indexed to, uint256 amount)`.
    """

    from_: str
    to: str
    amount: int


@dataclass(frozen=True, slots=True)
class TreasurySet(Event):
    """Fees go into the ledger of another account from now on.

    `TreasurySet(address indexed treasury)`.
    """

    treasury: str


@dataclass(frozen=True, slots=True)
class Unstaked(Event):
    """What was left of a retired machine's stake went into its provider's ledger.

    `Unstaked(uint32 indexed machine, address indexed provider, uint256 amount)`.
    """

    machine: int
    provider: str
    amount: int


@dataclass(frozen=True, slots=True)
class Withdrawn(Event):
    """`amount` left the ledger of `account` for the wallet `to`; `balance` stayed. Token units.

    `Withdrawn(address indexed account, address indexed to, uint256 amount, uint256 balance)`.
    """

    account: str
    to: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class Withheld(Event):
    """The provider keeps `cells` from new leases, and no others; running leases keep theirs.

    `Withheld(uint32 indexed machine, uint64 cells)`.
    """

    machine: int
    cells: int


@dataclass(frozen=True, slots=True)
class WorkloadSet(Event):
    """The lease is to run the workload of this digest from now on.

    `WorkloadSet(uint256 indexed lease, uint32 indexed machine, bytes32 workload)`.
    """

    lease: int
    machine: int
    workload: bytes


@dataclass(frozen=True, slots=True)
class DelegateSet(Event):
    """An account lets `delegate` act for it in one pool, within `cap`, `period` and `expiry`. A cap and an
    expiry of 0 end it.

    `DelegateSet(address indexed account, address indexed pool, address indexed delegate, uint96 cap, uint32
    period, uint40 expiry)`.
    """

    account: str
    pool: str
    delegate: str
    cap: int
    period: int
    expiry: int


@dataclass(frozen=True, slots=True)
class DelegateSpent(Event):
    """A delegate's call took `amount` from the account's ledger: `spent` in the period so far.

    `DelegateSpent(address indexed account, address indexed pool, address indexed delegate, uint256 amount,
    uint96 spent)`.
    """

    account: str
    pool: str
    delegate: str
    amount: int
    spent: int


@dataclass(frozen=True, slots=True)
class Executed(Event):
    """The signed calls with this nonce were made as the account. Anybody may have sent them.

    `Executed(address indexed account, uint256 indexed nonce, address indexed submitter)`.
    """

    account: str
    nonce: int
    submitter: str


@dataclass(frozen=True, slots=True)
class GroupDeployed(Event):
    """A group of signers has a contract at its address, and can sign as one account.

    `GroupDeployed(address indexed account, uint8 threshold, address[] signers, bytes32 salt)`.
    """

    account: str
    threshold: int
    signers: tuple[str, ...]
    salt: bytes


@dataclass(frozen=True, slots=True)
class PoolCreated(Event):
    """There is a new pool, the factory's number `index`.

    `PoolCreated(uint256 indexed index, address indexed controller, address indexed token, address owner,
    address treasury)`.
    """

    index: int
    controller: str
    token: str
    owner: str
    treasury: str


@dataclass(frozen=True, slots=True)
class Committed(Event):
    """A seat has committed to what it measured.

    `Committed(uint256 indexed round, uint32 indexed seat, bytes32 commitment)`.
    """

    round: int
    seat: int
    commitment: bytes


@dataclass(frozen=True, slots=True)
class CommitteeDrawn(Event):
    """These seats measure the machine: commitments until `commitUntil`, then reveals until `revealUntil`.

    `CommitteeDrawn(uint256 indexed round, uint32[] seats, uint32 commitUntil, uint32 revealUntil)`.
    """

    round: int
    seats: tuple[int, ...]
    commit_until: int
    reveal_until: int


@dataclass(frozen=True, slots=True)
class DrawMissed(Event):
    """Nobody drew the committee in time: another block, `block_`, is named for it.

    `DrawMissed(uint256 indexed round, uint64 block_)`.
    """

    round: int
    block_: int


@dataclass(frozen=True, slots=True)
class QuorumCredited(Event):
    """A fault that they reported brought these signers a share: `due` to them by now.

    `QuorumCredited(bytes32 indexed quorum, uint96 due)`.
    """

    quorum: bytes
    due: int


@dataclass(frozen=True, slots=True)
class QuorumDisowned(Event):
    """An arbiter overturned what these signers had attested: their seats under it may be fined.

    `QuorumDisowned(bytes32 indexed quorum, address indexed arbiter)`.
    """

    quorum: bytes
    arbiter: str


@dataclass(frozen=True, slots=True)
class QuorumFined(Event):
    """The seats of these signers under the arbiter lost `amount` together.

    `QuorumFined(bytes32 indexed quorum, address indexed arbiter, uint256 amount)`.
    """

    quorum: bytes
    arbiter: str
    amount: int


@dataclass(frozen=True, slots=True)
class QuorumPaid(Event):
    """What was due to these signers was shared among them; what could not be divided is burnt.

    `QuorumPaid(bytes32 indexed quorum, uint96 amount)`.
    """

    quorum: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class QuorumSigned(Event):
    """These validators signed an attestation together. `quorum` stands for exactly them.

    `QuorumSigned(bytes32 indexed quorum, tuple[] signers)`.
    """

    quorum: bytes
    signers: tuple[SeatSigner, ...]


@dataclass(frozen=True, slots=True)
class Revealed(Event):
    """A seat has said what it measured, and it is what it had committed to.

    `Revealed(uint256 indexed round, uint32 indexed seat, bool pass, bytes32 spec, uint16 score)`.
    """

    round: int
    seat: int
    pass_: bool
    spec: bytes
    score: int


@dataclass(frozen=True, slots=True)
class RoundFinalized(Event):
    """The verification is over: what `agreed` seats saw alike, or that too few did.

    `RoundFinalized(uint256 indexed round, uint32 indexed machine, RoundState state, bytes32 spec, uint16
    score, uint8 agreed)`.
    """

    round: int
    machine: int
    state: RoundState
    spec: bytes
    score: int
    agreed: int


@dataclass(frozen=True, slots=True)
class RoundOverturned(Event):
    """The arbiter took back what came of the round: `amount` for each of the `count` members who had seen
    otherwise.

    `RoundOverturned(uint256 indexed round, uint256 count, uint256 amount)`.
    """

    round: int
    count: int
    amount: int


@dataclass(frozen=True, slots=True)
class SeatExited(Event):
    """The seat's stake went back into its validator's ledger.

    `SeatExited(uint32 indexed seat, address indexed validator, uint96 stake)`.
    """

    seat: int
    validator: str
    stake: int


@dataclass(frozen=True, slots=True)
class SeatFined(Event):
    """A tenth of its level is gone: it was silent, or the arbiter took back what it had signed.

    `SeatFined(uint32 indexed seat, uint96 amount, uint96 stake)`.
    """

    seat: int
    amount: int
    stake: int


@dataclass(frozen=True, slots=True)
class SeatJoined(Event):
    """A validator staked a seat of this level. It matures in three days.

    `SeatJoined(uint32 indexed seat, address indexed validator, uint96 level, uint96 stake)`.
    """

    seat: int
    validator: str
    level: int
    stake: int


@dataclass(frozen=True, slots=True)
class SeatLeaving(Event):
    """The seat is drawn for no further round, and gives its stake back from `leavesAt` on.

    `SeatLeaving(uint32 indexed seat, uint32 leavesAt)`.
    """

    seat: int
    leaves_at: int


@dataclass(frozen=True, slots=True)
class SeatToppedUp(Event):
    """A fine was made good: the seat's stake is `stake` again.

    `SeatToppedUp(uint32 indexed seat, uint96 stake)`.
    """

    seat: int
    stake: int


@dataclass(frozen=True, slots=True)
class VerificationRequested(Event):
    """Somebody paid to have a machine measured. The committee is drawn with the hash of `block_`.

    `VerificationRequested(uint256 indexed round, uint32 indexed machine, uint16 revision, address indexed
    requester, uint96 fee, uint64 block_)`.
    """

    round: int
    machine: int
    revision: int
    requester: str
    fee: int
    block_: int


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The operator answered the challenge in time: the machine is up, and the challenger lost its bond.

    `Answered(uint32 indexed machine, uint256 indexed challenge)`.
    """

    machine: int
    challenge: int


@dataclass(frozen=True, slots=True)
class Appealed(Event):
    """The provider appealed, with a bond: the arbiter rules until `deadline`.

    `Appealed(uint256 indexed fault, uint32 indexed machine, uint32 deadline)`.
    """

    fault: int
    machine: int
    deadline: int


@dataclass(frozen=True, slots=True)
class ChallengeEnded(Event):
    """Nobody proved in time that the challenge was not answered: the bond goes back, and it moves nothing.

    `ChallengeEnded(uint32 indexed machine, uint256 indexed challenge)`.
    """

    machine: int
    challenge: int


@dataclass(frozen=True, slots=True)
class Challenged(Event):
    """A tenant says that the machine is down, and staked `bond` on it. The operator has to answer.

    `Challenged(uint32 indexed machine, uint256 indexed challenge, address indexed challenger, uint256 lease,
    uint96 bond)`.
    """

    machine: int
    challenge: int
    challenger: str
    lease: int
    bond: int


@dataclass(frozen=True, slots=True)
class Compensated(Event):
    """A tenant's part of what the provider lost went into its ledger.

    `Compensated(uint256 indexed fault, uint256 indexed lease, address indexed tenant, uint256 amount)`.
    """

    fault: int
    lease: int
    tenant: str
    amount: int


@dataclass(frozen=True, slots=True)
class FaultExecuted(Event):
    """The machine lost `amount` of its stake: `pot` for its tenants, `reported` for who reported it, `rest`
    for `sink`.

    `FaultExecuted(uint256 indexed fault, uint32 indexed machine, uint96 amount, uint96 pot, uint96 reported,
    uint96 rest, address sink)`.
    """

    fault: int
    machine: int
    amount: int
    pot: int
    reported: int
    rest: int
    sink: str


@dataclass(frozen=True, slots=True)
class FaultFiled(Event):
    """The outage has ended. `amount` may be 0: then nothing follows.

    `FaultFiled(uint256 indexed fault, uint32 indexed machine, FaultKind kind, uint32 from, uint32 to, uint16
    bps, uint96 amount)`.
    """

    fault: int
    machine: int
    kind: FaultKind
    from_: int
    to: int
    bps: int
    amount: int


@dataclass(frozen=True, slots=True)
class OutageApplied(Event):
    """The outage's time came off a lease's bill, and `part` is its share of what the provider loses.

    `OutageApplied(uint256 indexed fault, uint256 indexed lease, address indexed tenant, uint96 part)`.
    """

    fault: int
    lease: int
    tenant: str
    part: int


@dataclass(frozen=True, slots=True)
class OutageAttested(Event):
    """A running outage is now known from a quorum, perhaps from an earlier time.

    `OutageAttested(uint256 indexed fault, uint32 indexed machine, uint32 from, bytes32 reporter)`.
    """

    fault: int
    machine: int
    from_: int
    reporter: bytes


@dataclass(frozen=True, slots=True)
class OutageOpened(Event):
    """A machine is down since `from`. `rules` is the version of the pool's rules that judges it.

    `OutageOpened(uint256 indexed fault, uint32 indexed machine, FaultKind kind, uint32 from, uint16 rules,
    bytes32 reporter)`.
    """

    fault: int
    machine: int
    kind: FaultKind
    from_: int
    rules: int
    reporter: bytes


@dataclass(frozen=True, slots=True)
class Ruled(Event):
    """The arbiter ruled: the fault stands, or it is dropped.

    `Ruled(uint256 indexed fault, bool stands)`.
    """

    fault: int
    stands: bool


@dataclass(frozen=True, slots=True)
class Rated(Event):
    """A tenant rated a lease that it had and paid.

    `Rated(address indexed provider, uint256 indexed lease, address indexed tenant, uint8 stars, bytes32
    comment, uint96 fee)`.
    """

    provider: str
    lease: int
    tenant: str
    stars: int
    comment: bytes
    fee: int


@dataclass(frozen=True, slots=True)
class LicenceIssued(Event):
    """The owner granted, changed or, with an expiry in the past, took back a licence.

    `LicenceIssued(address indexed account, bytes32 indexed kind, uint32 seats, uint40 expiresAt)`.
    """

    account: str
    kind: bytes
    seats: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class ServiceAnnounced(Event):
    """An account serves the pool, or does no longer.

    `ServiceAnnounced(address indexed account, bytes32 indexed kind, bytes32 endpoint, bytes peerId)`.
    """

    account: str
    kind: bytes
    endpoint: bytes
    peer_id: bytes
