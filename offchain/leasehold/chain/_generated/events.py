"""The contracts' events. Made by scripts/abi.py: do not edit."""

from dataclasses import dataclass

from leasehold.chain._log import Event
from leasehold.chain._types import FaultKind, Params, RoundState, Signer, Terms

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
    """`Charged(address indexed from, address indexed companion, uint256 amount, uint256 balance)`."""

    from_: str
    companion: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class ContactSet(Event):
    """`ContactSet(uint32 indexed machine, bytes32 digest)`."""

    machine: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Deposited(Event):
    """`Deposited(address indexed account, address indexed from, uint256 amount, uint256 balance)`."""

    account: str
    from_: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class FailedOver(Event):
    """`FailedOver(uint256 indexed lease, uint256 indexed backup)`."""

    lease: int
    backup: int


@dataclass(frozen=True, slots=True)
class FeesPulled(Event):
    """`FeesPulled(address indexed provider, address indexed treasury, uint256 amount)`."""

    provider: str
    treasury: str
    amount: int


@dataclass(frozen=True, slots=True)
class GatedSet(Event):
    """`GatedSet(bool gated)`."""

    gated: bool


@dataclass(frozen=True, slots=True)
class HardwareSet(Event):
    """`HardwareSet(uint32 indexed machine, uint16 revision, bytes32 digest)`."""

    machine: int
    revision: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class LeaseCancelled(Event):
    """`LeaseCancelled(uint256 indexed lease, uint32 indexed machine, uint96 refunded)`."""

    lease: int
    machine: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseClaimed(Event):
    """`LeaseClaimed(uint256 indexed lease, uint32 indexed machine, uint96 settled, uint96 paid, uint96
    fee)`."""

    lease: int
    machine: int
    settled: int
    paid: int
    fee: int


@dataclass(frozen=True, slots=True)
class LeaseClosed(Event):
    """`LeaseClosed(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 paid, uint96 fee, uint96
    refunded)`."""

    lease: int
    machine: int
    end: int
    paid: int
    fee: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseDeclined(Event):
    """`LeaseDeclined(uint256 indexed lease, uint32 indexed machine, bytes32 reason, uint96 refunded)`."""

    lease: int
    machine: int
    reason: bytes
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseExtended(Event):
    """`LeaseExtended(uint256 indexed lease, uint32 indexed machine, address indexed payer, uint32 end, uint96
    deposit, uint256 pulled)`."""

    lease: int
    machine: int
    payer: str
    end: int
    deposit: int
    pulled: int


@dataclass(frozen=True, slots=True)
class LeaseOpened(Event):
    """`LeaseOpened(uint256 indexed lease, uint32 indexed machine, address indexed tenant, uint16 placement,
    uint16 revision, uint16 params, uint80 price, uint32 duration, uint96 deposit, uint256 pulled, bytes32
    workload, uint8 flags, bytes32 backup)`."""

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
    """`LeasePaused(uint256 indexed lease, uint32 indexed machine, uint32 paused)`."""

    lease: int
    machine: int
    paused: int


@dataclass(frozen=True, slots=True)
class LeaseRejected(Event):
    """`LeaseRejected(uint256 indexed lease, uint32 indexed machine, uint96 paid, uint96 fee, uint96
    refunded)`."""

    lease: int
    machine: int
    paid: int
    fee: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LeaseResized(Event):
    """`LeaseResized(uint256 indexed lease, uint32 indexed machine, uint16 placement, uint96 settled, uint96
    paid, uint96 fee, uint96 deposit, uint256 pulled, uint96 refunded)`."""

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
    """`LeaseStarted(uint256 indexed lease, uint32 indexed machine, uint32 start, uint32 end, bytes32
    endpoint)`."""

    lease: int
    machine: int
    start: int
    end: int
    endpoint: bytes


@dataclass(frozen=True, slots=True)
class LeaseTerminated(Event):
    """`LeaseTerminated(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 penalty)`."""

    lease: int
    machine: int
    end: int
    penalty: int


@dataclass(frozen=True, slots=True)
class LeaseTransferred(Event):
    """`LeaseTransferred(uint256 indexed lease, address indexed from, address indexed to)`."""

    lease: int
    from_: str
    to: str


@dataclass(frozen=True, slots=True)
class MachineCameUp(Event):
    """`MachineCameUp(uint32 indexed machine, uint32 since)`."""

    machine: int
    since: int


@dataclass(frozen=True, slots=True)
class MachineHeld(Event):
    """`MachineHeld(uint32 indexed machine, uint32 from, uint32 to, uint32 until)`."""

    machine: int
    from_: int
    to: int
    until: int


@dataclass(frozen=True, slots=True)
class MachineRegistered(Event):
    """`MachineRegistered(uint32 indexed machine, address indexed provider, address indexed operator, uint8
    gpus, uint8 smallestShare, uint96 stake, uint256 pulled)`."""

    machine: int
    provider: str
    operator: str
    gpus: int
    smallest_share: int
    stake: int
    pulled: int


@dataclass(frozen=True, slots=True)
class MachineRetired(Event):
    """`MachineRetired(uint32 indexed machine, uint32 retiredAt)`."""

    machine: int
    retired_at: int


@dataclass(frozen=True, slots=True)
class MachineStatusSet(Event):
    """`MachineStatusSet(uint32 indexed machine, uint8 status, bool delisted, bool underStaked, bool
    stalled)`."""

    machine: int
    status: int
    delisted: bool
    under_staked: bool
    stalled: bool


@dataclass(frozen=True, slots=True)
class MachineWentDown(Event):
    """`MachineWentDown(uint32 indexed machine, uint32 from)`."""

    machine: int
    from_: int


@dataclass(frozen=True, slots=True)
class OfferTaken(Event):
    """`OfferTaken(address indexed provider, uint256 indexed nonce, uint256 indexed lease)`."""

    provider: str
    nonce: int
    lease: int


@dataclass(frozen=True, slots=True)
class OffersCancelled(Event):
    """`OffersCancelled(address indexed provider, uint256 indexed word, uint256 mask)`."""

    provider: str
    word: int
    mask: int


@dataclass(frozen=True, slots=True)
class OperatorSet(Event):
    """`OperatorSet(uint32 indexed machine, address indexed operator)`."""

    machine: int
    operator: str


@dataclass(frozen=True, slots=True)
class OwnershipTransferStarted(Event):
    """`OwnershipTransferStarted(address indexed owner, address indexed pendingOwner)`."""

    owner: str
    pending_owner: str


@dataclass(frozen=True, slots=True)
class OwnershipTransferred(Event):
    """`OwnershipTransferred(address indexed owner)`."""

    owner: str


@dataclass(frozen=True, slots=True)
class ParamsCancelled(Event):
    """`ParamsCancelled(uint16 indexed version)`."""

    version: int


@dataclass(frozen=True, slots=True)
class ParamsProposed(Event):
    """`ParamsProposed(uint16 indexed version, uint40 inForceAt, Params params)`."""

    version: int
    in_force_at: int
    params: Params


@dataclass(frozen=True, slots=True)
class PausedSet(Event):
    """`PausedSet(bool paused)`."""

    paused: bool


@dataclass(frozen=True, slots=True)
class PendingSlashesSet(Event):
    """`PendingSlashesSet(uint32 indexed machine, uint8 count)`."""

    machine: int
    count: int


@dataclass(frozen=True, slots=True)
class ResultPublished(Event):
    """`ResultPublished(uint256 indexed lease, uint32 indexed machine, bytes cid)`."""

    lease: int
    machine: int
    cid: bytes


@dataclass(frozen=True, slots=True)
class StakeAdded(Event):
    """`StakeAdded(uint32 indexed machine, address indexed from, uint256 amount, uint256 pulled, uint96
    stake)`."""

    machine: int
    from_: str
    amount: int
    pulled: int
    stake: int


@dataclass(frozen=True, slots=True)
class StakeMoved(Event):
    """`StakeMoved(uint32 indexed machine, address indexed to, uint256 amount, uint96 stake)`."""

    machine: int
    to: str
    amount: int
    stake: int


@dataclass(frozen=True, slots=True)
class TermsSet(Event):
    """`TermsSet(uint32 indexed machine, uint16 revision, uint16 params, Terms terms)`."""

    machine: int
    revision: int
    params: int
    terms: Terms


@dataclass(frozen=True, slots=True)
class Transferred(Event):
    """`Transferred(address indexed from, address indexed to, uint256 amount)`."""

    from_: str
    to: str
    amount: int


@dataclass(frozen=True, slots=True)
class TreasurySet(Event):
    """`TreasurySet(address indexed treasury)`."""

    treasury: str


@dataclass(frozen=True, slots=True)
class Unstaked(Event):
    """`Unstaked(uint32 indexed machine, address indexed provider, uint256 amount)`."""

    machine: int
    provider: str
    amount: int


@dataclass(frozen=True, slots=True)
class Withdrawn(Event):
    """`Withdrawn(address indexed account, address indexed to, uint256 amount, uint256 balance)`."""

    account: str
    to: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class Withheld(Event):
    """`Withheld(uint32 indexed machine, uint64 cells)`."""

    machine: int
    cells: int


@dataclass(frozen=True, slots=True)
class WorkloadSet(Event):
    """`WorkloadSet(uint256 indexed lease, uint32 indexed machine, bytes32 workload)`."""

    lease: int
    machine: int
    workload: bytes


@dataclass(frozen=True, slots=True)
class DelegateSet(Event):
    """`DelegateSet(address indexed account, address indexed pool, address indexed delegate, uint96 cap,
    uint32 period, uint40 expiry)`."""

    account: str
    pool: str
    delegate: str
    cap: int
    period: int
    expiry: int


@dataclass(frozen=True, slots=True)
class DelegateSpent(Event):
    """`DelegateSpent(address indexed account, address indexed pool, address indexed delegate, uint256 amount,
    uint96 spent)`."""

    account: str
    pool: str
    delegate: str
    amount: int
    spent: int


@dataclass(frozen=True, slots=True)
class Executed(Event):
    """`Executed(address indexed account, uint256 indexed nonce, address indexed submitter)`."""

    account: str
    nonce: int
    submitter: str


@dataclass(frozen=True, slots=True)
class GroupDeployed(Event):
    """`GroupDeployed(address indexed account, uint8 threshold, address[] signers, bytes32 salt)`."""

    account: str
    threshold: int
    signers: tuple[str, ...]
    salt: bytes


@dataclass(frozen=True, slots=True)
class PoolCreated(Event):
    """`PoolCreated(uint256 indexed index, address indexed controller, address indexed token, address owner,
    address treasury)`."""

    index: int
    controller: str
    token: str
    owner: str
    treasury: str


@dataclass(frozen=True, slots=True)
class Committed(Event):
    """`Committed(uint256 indexed round, uint32 indexed seat, bytes32 commitment)`."""

    round: int
    seat: int
    commitment: bytes


@dataclass(frozen=True, slots=True)
class CommitteeDrawn(Event):
    """`CommitteeDrawn(uint256 indexed round, uint32[] seats, uint32 commitUntil, uint32 revealUntil)`."""

    round: int
    seats: tuple[int, ...]
    commit_until: int
    reveal_until: int


@dataclass(frozen=True, slots=True)
class DrawMissed(Event):
    """`DrawMissed(uint256 indexed round, uint64 block_)`."""

    round: int
    block_: int


@dataclass(frozen=True, slots=True)
class QuorumCredited(Event):
    """`QuorumCredited(bytes32 indexed quorum, uint96 due)`."""

    quorum: bytes
    due: int


@dataclass(frozen=True, slots=True)
class QuorumDisowned(Event):
    """`QuorumDisowned(bytes32 indexed quorum, address indexed arbiter)`."""

    quorum: bytes
    arbiter: str


@dataclass(frozen=True, slots=True)
class QuorumFined(Event):
    """`QuorumFined(bytes32 indexed quorum, address indexed arbiter, uint256 amount)`."""

    quorum: bytes
    arbiter: str
    amount: int


@dataclass(frozen=True, slots=True)
class QuorumPaid(Event):
    """`QuorumPaid(bytes32 indexed quorum, uint96 amount)`."""

    quorum: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class QuorumSigned(Event):
    """`QuorumSigned(bytes32 indexed quorum, tuple[] signers)`."""

    quorum: bytes
    signers: tuple[Signer, ...]


@dataclass(frozen=True, slots=True)
class Revealed(Event):
    """`Revealed(uint256 indexed round, uint32 indexed seat, bool pass, bytes32 spec, uint16 score)`."""

    round: int
    seat: int
    pass_: bool
    spec: bytes
    score: int


@dataclass(frozen=True, slots=True)
class RoundFinalized(Event):
    """`RoundFinalized(uint256 indexed round, uint32 indexed machine, RoundState state, bytes32 spec, uint16
    score, uint8 agreed)`."""

    round: int
    machine: int
    state: RoundState
    spec: bytes
    score: int
    agreed: int


@dataclass(frozen=True, slots=True)
class RoundOverturned(Event):
    """`RoundOverturned(uint256 indexed round, uint256 count, uint256 amount)`."""

    round: int
    count: int
    amount: int


@dataclass(frozen=True, slots=True)
class SeatExited(Event):
    """`SeatExited(uint32 indexed seat, address indexed validator, uint96 stake)`."""

    seat: int
    validator: str
    stake: int


@dataclass(frozen=True, slots=True)
class SeatFined(Event):
    """`SeatFined(uint32 indexed seat, uint96 amount, uint96 stake)`."""

    seat: int
    amount: int
    stake: int


@dataclass(frozen=True, slots=True)
class SeatJoined(Event):
    """`SeatJoined(uint32 indexed seat, address indexed validator, uint96 level, uint96 stake)`."""

    seat: int
    validator: str
    level: int
    stake: int


@dataclass(frozen=True, slots=True)
class SeatLeaving(Event):
    """`SeatLeaving(uint32 indexed seat, uint32 leavesAt)`."""

    seat: int
    leaves_at: int


@dataclass(frozen=True, slots=True)
class SeatToppedUp(Event):
    """`SeatToppedUp(uint32 indexed seat, uint96 stake)`."""

    seat: int
    stake: int


@dataclass(frozen=True, slots=True)
class VerificationRequested(Event):
    """`VerificationRequested(uint256 indexed round, uint32 indexed machine, uint16 revision, address indexed
    requester, uint96 fee, uint64 block_)`."""

    round: int
    machine: int
    revision: int
    requester: str
    fee: int
    block_: int


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """`Answered(uint32 indexed machine, uint256 indexed challenge)`."""

    machine: int
    challenge: int


@dataclass(frozen=True, slots=True)
class Appealed(Event):
    """`Appealed(uint256 indexed fault, uint32 indexed machine, uint32 deadline)`."""

    fault: int
    machine: int
    deadline: int


@dataclass(frozen=True, slots=True)
class ChallengeEnded(Event):
    """`ChallengeEnded(uint32 indexed machine, uint256 indexed challenge)`."""

    machine: int
    challenge: int


@dataclass(frozen=True, slots=True)
class Challenged(Event):
    """`Challenged(uint32 indexed machine, uint256 indexed challenge, address indexed challenger, uint256
    lease, uint96 bond)`."""

    machine: int
    challenge: int
    challenger: str
    lease: int
    bond: int


@dataclass(frozen=True, slots=True)
class Compensated(Event):
    """`Compensated(uint256 indexed fault, uint256 indexed lease, address indexed tenant, uint256 amount)`."""

    fault: int
    lease: int
    tenant: str
    amount: int


@dataclass(frozen=True, slots=True)
class FaultExecuted(Event):
    """`FaultExecuted(uint256 indexed fault, uint32 indexed machine, uint96 amount, uint96 pot, uint96
    reported, uint96 rest, address sink)`."""

    fault: int
    machine: int
    amount: int
    pot: int
    reported: int
    rest: int
    sink: str


@dataclass(frozen=True, slots=True)
class FaultFiled(Event):
    """`FaultFiled(uint256 indexed fault, uint32 indexed machine, FaultKind kind, uint32 from, uint32 to,
    uint16 bps, uint96 amount)`."""

    fault: int
    machine: int
    kind: FaultKind
    from_: int
    to: int
    bps: int
    amount: int


@dataclass(frozen=True, slots=True)
class OutageApplied(Event):
    """`OutageApplied(uint256 indexed fault, uint256 indexed lease, address indexed tenant, uint96 part)`."""

    fault: int
    lease: int
    tenant: str
    part: int


@dataclass(frozen=True, slots=True)
class OutageAttested(Event):
    """`OutageAttested(uint256 indexed fault, uint32 indexed machine, uint32 from, bytes32 reporter)`."""

    fault: int
    machine: int
    from_: int
    reporter: bytes


@dataclass(frozen=True, slots=True)
class OutageOpened(Event):
    """`OutageOpened(uint256 indexed fault, uint32 indexed machine, FaultKind kind, uint32 from, uint16 rules,
    bytes32 reporter)`."""

    fault: int
    machine: int
    kind: FaultKind
    from_: int
    rules: int
    reporter: bytes


@dataclass(frozen=True, slots=True)
class Ruled(Event):
    """`Ruled(uint256 indexed fault, bool stands)`."""

    fault: int
    stands: bool


@dataclass(frozen=True, slots=True)
class Rated(Event):
    """`Rated(address indexed provider, uint256 indexed lease, address indexed tenant, uint8 stars, bytes32
    comment, uint96 fee)`."""

    provider: str
    lease: int
    tenant: str
    stars: int
    comment: bytes
    fee: int


@dataclass(frozen=True, slots=True)
class LicenceIssued(Event):
    """`LicenceIssued(address indexed account, bytes32 indexed kind, uint32 seats, uint40 expiresAt)`."""

    account: str
    kind: bytes
    seats: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class ServiceAnnounced(Event):
    """`ServiceAnnounced(address indexed account, bytes32 indexed kind, bytes32 endpoint, bytes peerId)`."""

    account: str
    kind: bytes
    endpoint: bytes
    peer_id: bytes
