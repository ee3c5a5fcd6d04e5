"""The contracts' custom errors. Made by scripts/abi.py: do not edit."""

from dataclasses import dataclass
from typing import ClassVar

from leasehold._errors import ContractError

__all__ = [
    "AcceptanceUsed",
    "AlreadyCommitted",
    "AlreadyDown",
    "AlreadyInitialized",
    "AppealOpen",
    "AppealOver",
    "BlockNotMined",
    "CapExceeded",
    "ChallengeLapsed",
    "ChallengeStands",
    "CommitOver",
    "ConsentExpired",
    "DelegationExpired",
    "DuplicateSignature",
    "DurationOutOfRange",
    "ERC20InsufficientAllowance",
    "ERC20InsufficientBalance",
    "ERC2612ExpiredSignature",
    "ERC2612InvalidSigner",
    "ExpiredDeadline",
    "InsufficientBalance",
    "InvalidCells",
    "InvalidGpuCount",
    "InvalidNonce",
    "InvalidParams",
    "InvalidPlacement",
    "InvalidProof",
    "InvalidScore",
    "InvalidShare",
    "InvalidSigners",
    "InvalidSmallestShare",
    "InvalidStars",
    "InvalidTarget",
    "InvalidTerms",
    "InvalidThreshold",
    "LeaseNotOver",
    "LeaseOver",
    "MachineBusy",
    "MachineDelisted",
    "MachineDown",
    "MachineNotDown",
    "MachineNotInService",
    "MachineNotRetired",
    "MachineNotStalled",
    "MachineRetiredAlready",
    "MachineStalled",
    "MachineUnderStaked",
    "MachineUnverified",
    "MalformedProof",
    "MalleableSignature",
    "Nested",
    "NoCalls",
    "NoChallenge",
    "NoFalseHardware",
    "NoFreeCells",
    "NoProposal",
    "NoQuorum",
    "NobodyRules",
    "NotATenant",
    "NotAuthorized",
    "NotAvailableUntil",
    "NotDeployed",
    "NotDown",
    "NotDrawn",
    "NotRateable",
    "NotSpot",
    "NothingForQuorum",
    "NothingLeftFor",
    "NothingToApply",
    "NothingToClaim",
    "OfferExpired",
    "OfferMismatch",
    "OfferUsed",
    "OutageOutOfRange",
    "OutageTooShort",
    "ParamsOutdated",
    "Paused",
    "PriceTooHigh",
    "ProposalPending",
    "RatedAlready",
    "ReentrancyGuardReentrantCall",
    "ReportedAlready",
    "RevealNotOpen",
    "RevealOver",
    "RevisionChanged",
    "RoundOpen",
    "RoundRunning",
    "RulingOver",
    "SafeCastOverflowedUintDowncast",
    "SafeERC20FailedOperation",
    "ScopeExceeded",
    "SeatLeavingAlready",
    "SeatLocked",
    "SeatNotLeaving",
    "SeatNotMatured",
    "SelfTransfer",
    "ShareTooSmall",
    "SlashPending",
    "SlotExhausted",
    "StakeLocked",
    "StartWindowOpen",
    "StartWindowPassed",
    "TokenDecimals",
    "TokenTakesFee",
    "TooFewSeats",
    "TooManyLevels",
    "TooSoon",
    "TrialOver",
    "TrialRunning",
    "UnderNotice",
    "UnknownFault",
    "UnknownKind",
    "UnknownLease",
    "UnknownMachine",
    "UnknownRound",
    "UnknownSeat",
    "UnknownVersion",
    "Unlicensed",
    "UnorderedSignatures",
    "WrongAccounts",
    "WrongBackup",
    "WrongFaultState",
    "WrongGroup",
    "WrongLease",
    "WrongMachine",
    "WrongProof",
    "WrongReveal",
    "WrongRevision",
    "WrongRoundState",
    "WrongSignature",
    "WrongState",
    "ZeroAddress",
    "ZeroAmount",
]


@dataclass(eq=False)
class AcceptanceUsed(ContractError):
    """`AcceptanceUsed(bytes32 digest)`."""

    signature: ClassVar[str] = "AcceptanceUsed(bytes32)"
    digest: bytes


@dataclass(eq=False)
class AlreadyCommitted(ContractError):
    """`AlreadyCommitted(uint256 round, uint32 seat)`."""

    signature: ClassVar[str] = "AlreadyCommitted(uint256,uint32)"
    round: int
    seat: int


@dataclass(eq=False)
class AlreadyDown(ContractError):
    """`AlreadyDown(uint32 machine, uint256 fault)`."""

    signature: ClassVar[str] = "AlreadyDown(uint32,uint256)"
    machine: int
    fault: int


@dataclass(eq=False)
class AlreadyInitialized(ContractError):
    """`AlreadyInitialized()`."""

    signature: ClassVar[str] = "AlreadyInitialized()"


@dataclass(eq=False)
class AppealOpen(ContractError):
    """`AppealOpen(uint256 fault, uint256 deadline)`."""

    signature: ClassVar[str] = "AppealOpen(uint256,uint256)"
    fault: int
    deadline: int


@dataclass(eq=False)
class AppealOver(ContractError):
    """`AppealOver(uint256 fault, uint256 deadline)`."""

    signature: ClassVar[str] = "AppealOver(uint256,uint256)"
    fault: int
    deadline: int


@dataclass(eq=False)
class BlockNotMined(ContractError):
    """`BlockNotMined(uint256 block_)`."""

    signature: ClassVar[str] = "BlockNotMined(uint256)"
    block_: int


@dataclass(eq=False)
class CapExceeded(ContractError):
    """`CapExceeded(uint256 spent, uint256 cap)`."""

    signature: ClassVar[str] = "CapExceeded(uint256,uint256)"
    spent: int
    cap: int


@dataclass(eq=False)
class ChallengeLapsed(ContractError):
    """`ChallengeLapsed(uint32 machine, uint256 deadline)`."""

    signature: ClassVar[str] = "ChallengeLapsed(uint32,uint256)"
    machine: int
    deadline: int


@dataclass(eq=False)
class ChallengeStands(ContractError):
    """`ChallengeStands(uint32 machine, uint256 until)`."""

    signature: ClassVar[str] = "ChallengeStands(uint32,uint256)"
    machine: int
    until: int


@dataclass(eq=False)
class CommitOver(ContractError):
    """`CommitOver(uint256 round, uint256 until)`."""

    signature: ClassVar[str] = "CommitOver(uint256,uint256)"
    round: int
    until: int


@dataclass(eq=False)
class ConsentExpired(ContractError):
    """`ConsentExpired(uint256 deadline)`."""

    signature: ClassVar[str] = "ConsentExpired(uint256)"
    deadline: int


@dataclass(eq=False)
class DelegationExpired(ContractError):
    """`DelegationExpired(uint256 expiry)`."""

    signature: ClassVar[str] = "DelegationExpired(uint256)"
    expiry: int


@dataclass(eq=False)
class DuplicateSignature(ContractError):
    """`DuplicateSignature(uint256 index)`."""

    signature: ClassVar[str] = "DuplicateSignature(uint256)"
    index: int


@dataclass(eq=False)
class DurationOutOfRange(ContractError):
    """`DurationOutOfRange(uint256 duration, uint256 min, uint256 max)`."""

    signature: ClassVar[str] = "DurationOutOfRange(uint256,uint256,uint256)"
    duration: int
    min: int
    max: int


@dataclass(eq=False)
class ERC20InsufficientAllowance(ContractError):
    """`ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)`."""

    signature: ClassVar[str] = "ERC20InsufficientAllowance(address,uint256,uint256)"
    spender: str
    allowance: int
    needed: int


@dataclass(eq=False)
class ERC20InsufficientBalance(ContractError):
    """`ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)`."""

    signature: ClassVar[str] = "ERC20InsufficientBalance(address,uint256,uint256)"
    sender: str
    balance: int
    needed: int


@dataclass(eq=False)
class ERC2612ExpiredSignature(ContractError):
    """`ERC2612ExpiredSignature(uint256 deadline)`."""

    signature: ClassVar[str] = "ERC2612ExpiredSignature(uint256)"
    deadline: int


@dataclass(eq=False)
class ERC2612InvalidSigner(ContractError):
    """`ERC2612InvalidSigner(address signer, address owner)`."""

    signature: ClassVar[str] = "ERC2612InvalidSigner(address,address)"
    signer: str
    owner: str


@dataclass(eq=False)
class ExpiredDeadline(ContractError):
    """`ExpiredDeadline(uint256 deadline)`."""

    signature: ClassVar[str] = "ExpiredDeadline(uint256)"
    deadline: int


@dataclass(eq=False)
class InsufficientBalance(ContractError):
    """`InsufficientBalance(address account, uint256 balance, uint256 needed)`."""

    signature: ClassVar[str] = "InsufficientBalance(address,uint256,uint256)"
    account: str
    balance: int
    needed: int


@dataclass(eq=False)
class InvalidCells(ContractError):
    """`InvalidCells(uint64 cells)`."""

    signature: ClassVar[str] = "InvalidCells(uint64)"
    cells: int


@dataclass(eq=False)
class InvalidGpuCount(ContractError):
    """`InvalidGpuCount(uint8 gpus)`."""

    signature: ClassVar[str] = "InvalidGpuCount(uint8)"
    gpus: int


@dataclass(eq=False)
class InvalidNonce(ContractError):
    """`InvalidNonce(uint256 nonce, uint256 expected)`."""

    signature: ClassVar[str] = "InvalidNonce(uint256,uint256)"
    nonce: int
    expected: int


@dataclass(eq=False)
class InvalidParams(ContractError):
    """`InvalidParams(bytes32 field)`."""

    signature: ClassVar[str] = "InvalidParams(bytes32)"
    field: bytes


@dataclass(eq=False)
class InvalidPlacement(ContractError):
    """`InvalidPlacement(uint16 placement)`."""

    signature: ClassVar[str] = "InvalidPlacement(uint16)"
    placement: int


@dataclass(eq=False)
class InvalidProof(ContractError):
    """`InvalidProof(address account)`."""

    signature: ClassVar[str] = "InvalidProof(address)"
    account: str


@dataclass(eq=False)
class InvalidScore(ContractError):
    """`InvalidScore(uint16 score)`."""

    signature: ClassVar[str] = "InvalidScore(uint16)"
    score: int


@dataclass(eq=False)
class InvalidShare(ContractError):
    """`InvalidShare(uint8 share)`."""

    signature: ClassVar[str] = "InvalidShare(uint8)"
    share: int


@dataclass(eq=False)
class InvalidSigners(ContractError):
    """`InvalidSigners(uint256 index)`."""

    signature: ClassVar[str] = "InvalidSigners(uint256)"
    index: int


@dataclass(eq=False)
class InvalidSmallestShare(ContractError):
    """`InvalidSmallestShare(uint8 share)`."""

    signature: ClassVar[str] = "InvalidSmallestShare(uint8)"
    share: int


@dataclass(eq=False)
class InvalidStars(ContractError):
    """`InvalidStars(uint8 stars)`."""

    signature: ClassVar[str] = "InvalidStars(uint8)"
    stars: int


@dataclass(eq=False)
class InvalidTarget(ContractError):
    """`InvalidTarget(address target)`."""

    signature: ClassVar[str] = "InvalidTarget(address)"
    target: str


@dataclass(eq=False)
class InvalidTerms(ContractError):
    """`InvalidTerms(bytes32 field)`."""

    signature: ClassVar[str] = "InvalidTerms(bytes32)"
    field: bytes


@dataclass(eq=False)
class InvalidThreshold(ContractError):
    """`InvalidThreshold(uint8 threshold, uint256 signers)`."""

    signature: ClassVar[str] = "InvalidThreshold(uint8,uint256)"
    threshold: int
    signers: int


@dataclass(eq=False)
class LeaseNotOver(ContractError):
    """`LeaseNotOver(uint256 lease, uint256 end)`."""

    signature: ClassVar[str] = "LeaseNotOver(uint256,uint256)"
    lease: int
    end: int


@dataclass(eq=False)
class LeaseOver(ContractError):
    """`LeaseOver(uint256 lease, uint256 end)`."""

    signature: ClassVar[str] = "LeaseOver(uint256,uint256)"
    lease: int
    end: int


@dataclass(eq=False)
class MachineBusy(ContractError):
    """`MachineBusy(uint32 machine, uint64 leased)`."""

    signature: ClassVar[str] = "MachineBusy(uint32,uint64)"
    machine: int
    leased: int


@dataclass(eq=False)
class MachineDelisted(ContractError):
    """`MachineDelisted(uint32 machine)`."""

    signature: ClassVar[str] = "MachineDelisted(uint32)"
    machine: int


@dataclass(eq=False)
class MachineDown(ContractError):
    """`MachineDown(uint32 machine, uint256 since)`."""

    signature: ClassVar[str] = "MachineDown(uint32,uint256)"
    machine: int
    since: int


@dataclass(eq=False)
class MachineNotDown(ContractError):
    """`MachineNotDown(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotDown(uint32)"
    machine: int


@dataclass(eq=False)
class MachineNotInService(ContractError):
    """`MachineNotInService(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotInService(uint32)"
    machine: int


@dataclass(eq=False)
class MachineNotRetired(ContractError):
    """`MachineNotRetired(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotRetired(uint32)"
    machine: int


@dataclass(eq=False)
class MachineNotStalled(ContractError):
    """`MachineNotStalled(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotStalled(uint32)"
    machine: int


@dataclass(eq=False)
class MachineRetiredAlready(ContractError):
    """`MachineRetiredAlready(uint32 machine)`."""

    signature: ClassVar[str] = "MachineRetiredAlready(uint32)"
    machine: int


@dataclass(eq=False)
class MachineStalled(ContractError):
    """`MachineStalled(uint32 machine)`."""

    signature: ClassVar[str] = "MachineStalled(uint32)"
    machine: int


@dataclass(eq=False)
class MachineUnderStaked(ContractError):
    """`MachineUnderStaked(uint32 machine)`."""

    signature: ClassVar[str] = "MachineUnderStaked(uint32)"
    machine: int


@dataclass(eq=False)
class MachineUnverified(ContractError):
    """`MachineUnverified(uint32 machine)`."""

    signature: ClassVar[str] = "MachineUnverified(uint32)"
    machine: int


@dataclass(eq=False)
class MalformedProof(ContractError):
    """`MalformedProof()`."""

    signature: ClassVar[str] = "MalformedProof()"


@dataclass(eq=False)
class MalleableSignature(ContractError):
    """`MalleableSignature(address signer)`."""

    signature: ClassVar[str] = "MalleableSignature(address)"
    signer: str


@dataclass(eq=False)
class Nested(ContractError):
    """`Nested()`."""

    signature: ClassVar[str] = "Nested()"


@dataclass(eq=False)
class NoCalls(ContractError):
    """`NoCalls()`."""

    signature: ClassVar[str] = "NoCalls()"


@dataclass(eq=False)
class NoChallenge(ContractError):
    """`NoChallenge(uint32 machine)`."""

    signature: ClassVar[str] = "NoChallenge(uint32)"
    machine: int


@dataclass(eq=False)
class NoFalseHardware(ContractError):
    """`NoFalseHardware(uint256 round)`."""

    signature: ClassVar[str] = "NoFalseHardware(uint256)"
    round: int


@dataclass(eq=False)
class NoFreeCells(ContractError):
    """`NoFreeCells(uint32 machine, uint64 busy)`."""

    signature: ClassVar[str] = "NoFreeCells(uint32,uint64)"
    machine: int
    busy: int


@dataclass(eq=False)
class NoProposal(ContractError):
    """`NoProposal()`."""

    signature: ClassVar[str] = "NoProposal()"


@dataclass(eq=False)
class NoQuorum(ContractError):
    """`NoQuorum()`."""

    signature: ClassVar[str] = "NoQuorum()"


@dataclass(eq=False)
class NobodyRules(ContractError):
    """`NobodyRules(uint256 fault)`."""

    signature: ClassVar[str] = "NobodyRules(uint256)"
    fault: int


@dataclass(eq=False)
class NotATenant(ContractError):
    """`NotATenant(uint256 lease, address actor)`."""

    signature: ClassVar[str] = "NotATenant(uint256,address)"
    lease: int
    actor: str


@dataclass(eq=False)
class NotAuthorized(ContractError):
    """`NotAuthorized(address actor)`."""

    signature: ClassVar[str] = "NotAuthorized(address)"
    actor: str


@dataclass(eq=False)
class NotAvailableUntil(ContractError):
    """`NotAvailableUntil(uint256 end, uint256 availableUntil)`."""

    signature: ClassVar[str] = "NotAvailableUntil(uint256,uint256)"
    end: int
    available_until: int


@dataclass(eq=False)
class NotDeployed(ContractError):
    """`NotDeployed(address account)`."""

    signature: ClassVar[str] = "NotDeployed(address)"
    account: str


@dataclass(eq=False)
class NotDown(ContractError):
    """`NotDown(uint32 machine)`."""

    signature: ClassVar[str] = "NotDown(uint32)"
    machine: int


@dataclass(eq=False)
class NotDrawn(ContractError):
    """`NotDrawn(uint256 round, uint32 seat)`."""

    signature: ClassVar[str] = "NotDrawn(uint256,uint32)"
    round: int
    seat: int


@dataclass(eq=False)
class NotRateable(ContractError):
    """`NotRateable(uint256 lease)`."""

    signature: ClassVar[str] = "NotRateable(uint256)"
    lease: int


@dataclass(eq=False)
class NotSpot(ContractError):
    """`NotSpot(uint32 machine)`."""

    signature: ClassVar[str] = "NotSpot(uint32)"
    machine: int


@dataclass(eq=False)
class NothingForQuorum(ContractError):
    """`NothingForQuorum(bytes32 quorum)`."""

    signature: ClassVar[str] = "NothingForQuorum(bytes32)"
    quorum: bytes


@dataclass(eq=False)
class NothingLeftFor(ContractError):
    """`NothingLeftFor(uint256 lease, uint256 needed, uint256 left)`."""

    signature: ClassVar[str] = "NothingLeftFor(uint256,uint256,uint256)"
    lease: int
    needed: int
    left: int


@dataclass(eq=False)
class NothingToApply(ContractError):
    """`NothingToApply(uint256 fault)`."""

    signature: ClassVar[str] = "NothingToApply(uint256)"
    fault: int


@dataclass(eq=False)
class NothingToClaim(ContractError):
    """`NothingToClaim(uint256 lease)`."""

    signature: ClassVar[str] = "NothingToClaim(uint256)"
    lease: int


@dataclass(eq=False)
class OfferExpired(ContractError):
    """`OfferExpired(uint256 deadline)`."""

    signature: ClassVar[str] = "OfferExpired(uint256)"
    deadline: int


@dataclass(eq=False)
class OfferMismatch(ContractError):
    """`OfferMismatch(bytes32 field)`."""

    signature: ClassVar[str] = "OfferMismatch(bytes32)"
    field: bytes


@dataclass(eq=False)
class OfferUsed(ContractError):
    """`OfferUsed(uint256 nonce)`."""

    signature: ClassVar[str] = "OfferUsed(uint256)"
    nonce: int


@dataclass(eq=False)
class OutageOutOfRange(ContractError):
    """`OutageOutOfRange(uint256 from, uint256 to)`."""

    signature: ClassVar[str] = "OutageOutOfRange(uint256,uint256)"
    from_: int
    to: int


@dataclass(eq=False)
class OutageTooShort(ContractError):
    """`OutageTooShort(uint256 until)`."""

    signature: ClassVar[str] = "OutageTooShort(uint256)"
    until: int


@dataclass(eq=False)
class ParamsOutdated(ContractError):
    """`ParamsOutdated(uint16 accepted, uint16 current)`."""

    signature: ClassVar[str] = "ParamsOutdated(uint16,uint16)"
    accepted: int
    current: int


@dataclass(eq=False)
class Paused(ContractError):
    """`Paused()`."""

    signature: ClassVar[str] = "Paused()"


@dataclass(eq=False)
class PriceTooHigh(ContractError):
    """`PriceTooHigh(uint80 price, uint80 maxPrice)`."""

    signature: ClassVar[str] = "PriceTooHigh(uint80,uint80)"
    price: int
    max_price: int


@dataclass(eq=False)
class ProposalPending(ContractError):
    """`ProposalPending(uint256 inForceAt)`."""

    signature: ClassVar[str] = "ProposalPending(uint256)"
    in_force_at: int


@dataclass(eq=False)
class RatedAlready(ContractError):
    """`RatedAlready(uint256 lease)`."""

    signature: ClassVar[str] = "RatedAlready(uint256)"
    lease: int


@dataclass(eq=False)
class ReentrancyGuardReentrantCall(ContractError):
    """`ReentrancyGuardReentrantCall()`."""

    signature: ClassVar[str] = "ReentrancyGuardReentrantCall()"


@dataclass(eq=False)
class ReportedAlready(ContractError):
    """`ReportedAlready(uint256 round)`."""

    signature: ClassVar[str] = "ReportedAlready(uint256)"
    round: int


@dataclass(eq=False)
class RevealNotOpen(ContractError):
    """`RevealNotOpen(uint256 round, uint256 from)`."""

    signature: ClassVar[str] = "RevealNotOpen(uint256,uint256)"
    round: int
    from_: int


@dataclass(eq=False)
class RevealOver(ContractError):
    """`RevealOver(uint256 round, uint256 until)`."""

    signature: ClassVar[str] = "RevealOver(uint256,uint256)"
    round: int
    until: int


@dataclass(eq=False)
class RevisionChanged(ContractError):
    """`RevisionChanged(uint16 current)`."""

    signature: ClassVar[str] = "RevisionChanged(uint16)"
    current: int


@dataclass(eq=False)
class RoundOpen(ContractError):
    """`RoundOpen(uint256 round, uint256 until)`."""

    signature: ClassVar[str] = "RoundOpen(uint256,uint256)"
    round: int
    until: int


@dataclass(eq=False)
class RoundRunning(ContractError):
    """`RoundRunning(uint32 machine, uint256 round)`."""

    signature: ClassVar[str] = "RoundRunning(uint32,uint256)"
    machine: int
    round: int


@dataclass(eq=False)
class RulingOver(ContractError):
    """`RulingOver(uint256 fault, uint256 deadline)`."""

    signature: ClassVar[str] = "RulingOver(uint256,uint256)"
    fault: int
    deadline: int


@dataclass(eq=False)
class SafeCastOverflowedUintDowncast(ContractError):
    """`SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)`."""

    signature: ClassVar[str] = "SafeCastOverflowedUintDowncast(uint8,uint256)"
    bits: int
    value: int


@dataclass(eq=False)
class SafeERC20FailedOperation(ContractError):
    """`SafeERC20FailedOperation(address token)`."""

    signature: ClassVar[str] = "SafeERC20FailedOperation(address)"
    token: str


@dataclass(eq=False)
class ScopeExceeded(ContractError):
    """`ScopeExceeded(bytes4 selector)`."""

    signature: ClassVar[str] = "ScopeExceeded(bytes4)"
    selector: bytes


@dataclass(eq=False)
class SeatLeavingAlready(ContractError):
    """`SeatLeavingAlready(uint32 seat)`."""

    signature: ClassVar[str] = "SeatLeavingAlready(uint32)"
    seat: int


@dataclass(eq=False)
class SeatLocked(ContractError):
    """`SeatLocked(uint32 seat, uint256 until)`."""

    signature: ClassVar[str] = "SeatLocked(uint32,uint256)"
    seat: int
    until: int


@dataclass(eq=False)
class SeatNotLeaving(ContractError):
    """`SeatNotLeaving(uint32 seat)`."""

    signature: ClassVar[str] = "SeatNotLeaving(uint32)"
    seat: int


@dataclass(eq=False)
class SeatNotMatured(ContractError):
    """`SeatNotMatured(uint32 seat, uint256 maturesAt)`."""

    signature: ClassVar[str] = "SeatNotMatured(uint32,uint256)"
    seat: int
    matures_at: int


@dataclass(eq=False)
class SelfTransfer(ContractError):
    """`SelfTransfer()`."""

    signature: ClassVar[str] = "SelfTransfer()"


@dataclass(eq=False)
class ShareTooSmall(ContractError):
    """`ShareTooSmall(uint8 share, uint8 smallest)`."""

    signature: ClassVar[str] = "ShareTooSmall(uint8,uint8)"
    share: int
    smallest: int


@dataclass(eq=False)
class SlashPending(ContractError):
    """`SlashPending(uint32 machine, uint8 count)`."""

    signature: ClassVar[str] = "SlashPending(uint32,uint8)"
    machine: int
    count: int


@dataclass(eq=False)
class SlotExhausted(ContractError):
    """`SlotExhausted(uint256 lease)`."""

    signature: ClassVar[str] = "SlotExhausted(uint256)"
    lease: int


@dataclass(eq=False)
class StakeLocked(ContractError):
    """`StakeLocked(uint32 machine, uint256 until)`."""

    signature: ClassVar[str] = "StakeLocked(uint32,uint256)"
    machine: int
    until: int


@dataclass(eq=False)
class StartWindowOpen(ContractError):
    """`StartWindowOpen(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "StartWindowOpen(uint256,uint256)"
    lease: int
    deadline: int


@dataclass(eq=False)
class StartWindowPassed(ContractError):
    """`StartWindowPassed(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "StartWindowPassed(uint256,uint256)"
    lease: int
    deadline: int


@dataclass(eq=False)
class TokenDecimals(ContractError):
    """`TokenDecimals(uint8 decimals)`."""

    signature: ClassVar[str] = "TokenDecimals(uint8)"
    decimals: int


@dataclass(eq=False)
class TokenTakesFee(ContractError):
    """`TokenTakesFee(uint256 sent, uint256 received)`."""

    signature: ClassVar[str] = "TokenTakesFee(uint256,uint256)"
    sent: int
    received: int


@dataclass(eq=False)
class TooFewSeats(ContractError):
    """`TooFewSeats(uint256 seats, uint256 needed)`."""

    signature: ClassVar[str] = "TooFewSeats(uint256,uint256)"
    seats: int
    needed: int


@dataclass(eq=False)
class TooManyLevels(ContractError):
    """`TooManyLevels()`."""

    signature: ClassVar[str] = "TooManyLevels()"


@dataclass(eq=False)
class TooSoon(ContractError):
    """`TooSoon(uint32 machine, uint256 nextAt)`."""

    signature: ClassVar[str] = "TooSoon(uint32,uint256)"
    machine: int
    next_at: int


@dataclass(eq=False)
class TrialOver(ContractError):
    """`TrialOver(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "TrialOver(uint256,uint256)"
    lease: int
    deadline: int


@dataclass(eq=False)
class TrialRunning(ContractError):
    """`TrialRunning(uint256 lease, uint256 until)`."""

    signature: ClassVar[str] = "TrialRunning(uint256,uint256)"
    lease: int
    until: int


@dataclass(eq=False)
class UnderNotice(ContractError):
    """`UnderNotice(uint256 lease)`."""

    signature: ClassVar[str] = "UnderNotice(uint256)"
    lease: int


@dataclass(eq=False)
class UnknownFault(ContractError):
    """`UnknownFault(uint256 fault)`."""

    signature: ClassVar[str] = "UnknownFault(uint256)"
    fault: int


@dataclass(eq=False)
class UnknownKind(ContractError):
    """`UnknownKind(bytes32 kind)`."""

    signature: ClassVar[str] = "UnknownKind(bytes32)"
    kind: bytes


@dataclass(eq=False)
class UnknownLease(ContractError):
    """`UnknownLease(uint256 lease)`."""

    signature: ClassVar[str] = "UnknownLease(uint256)"
    lease: int


@dataclass(eq=False)
class UnknownMachine(ContractError):
    """`UnknownMachine(uint32 machine)`."""

    signature: ClassVar[str] = "UnknownMachine(uint32)"
    machine: int


@dataclass(eq=False)
class UnknownRound(ContractError):
    """`UnknownRound(uint256 round)`."""

    signature: ClassVar[str] = "UnknownRound(uint256)"
    round: int


@dataclass(eq=False)
class UnknownSeat(ContractError):
    """`UnknownSeat(uint32 seat)`."""

    signature: ClassVar[str] = "UnknownSeat(uint32)"
    seat: int


@dataclass(eq=False)
class UnknownVersion(ContractError):
    """`UnknownVersion(uint16 version)`."""

    signature: ClassVar[str] = "UnknownVersion(uint16)"
    version: int


@dataclass(eq=False)
class Unlicensed(ContractError):
    """`Unlicensed(address provider)`."""

    signature: ClassVar[str] = "Unlicensed(address)"
    provider: str


@dataclass(eq=False)
class UnorderedSignatures(ContractError):
    """`UnorderedSignatures(uint256 index)`."""

    signature: ClassVar[str] = "UnorderedSignatures(uint256)"
    index: int


@dataclass(eq=False)
class WrongAccounts(ContractError):
    """`WrongAccounts(address accounts)`."""

    signature: ClassVar[str] = "WrongAccounts(address)"
    accounts: str


@dataclass(eq=False)
class WrongBackup(ContractError):
    """`WrongBackup(uint256 lease)`."""

    signature: ClassVar[str] = "WrongBackup(uint256)"
    lease: int


@dataclass(eq=False)
class WrongFaultState(ContractError):
    """`WrongFaultState(uint256 fault, uint8 state)`."""

    signature: ClassVar[str] = "WrongFaultState(uint256,uint8)"
    fault: int
    state: int


@dataclass(eq=False)
class WrongGroup(ContractError):
    """`WrongGroup(address account, address derived)`."""

    signature: ClassVar[str] = "WrongGroup(address,address)"
    account: str
    derived: str


@dataclass(eq=False)
class WrongLease(ContractError):
    """`WrongLease(uint256 lease, uint32 machine)`."""

    signature: ClassVar[str] = "WrongLease(uint256,uint32)"
    lease: int
    machine: int


@dataclass(eq=False)
class WrongMachine(ContractError):
    """`WrongMachine(uint256 lease, uint32 machine)`."""

    signature: ClassVar[str] = "WrongMachine(uint256,uint32)"
    lease: int
    machine: int


@dataclass(eq=False)
class WrongProof(ContractError):
    """`WrongProof(address account)`."""

    signature: ClassVar[str] = "WrongProof(address)"
    account: str


@dataclass(eq=False)
class WrongReveal(ContractError):
    """`WrongReveal(uint256 round, uint32 seat)`."""

    signature: ClassVar[str] = "WrongReveal(uint256,uint32)"
    round: int
    seat: int


@dataclass(eq=False)
class WrongRevision(ContractError):
    """`WrongRevision(uint16 current)`."""

    signature: ClassVar[str] = "WrongRevision(uint16)"
    current: int


@dataclass(eq=False)
class WrongRoundState(ContractError):
    """`WrongRoundState(uint256 round, uint8 state)`."""

    signature: ClassVar[str] = "WrongRoundState(uint256,uint8)"
    round: int
    state: int


@dataclass(eq=False)
class WrongSignature(ContractError):
    """`WrongSignature(address signer)`."""

    signature: ClassVar[str] = "WrongSignature(address)"
    signer: str


@dataclass(eq=False)
class WrongState(ContractError):
    """`WrongState(uint256 lease, uint8 state)`."""

    signature: ClassVar[str] = "WrongState(uint256,uint8)"
    lease: int
    state: int


@dataclass(eq=False)
class ZeroAddress(ContractError):
    """`ZeroAddress()`."""

    signature: ClassVar[str] = "ZeroAddress()"


@dataclass(eq=False)
class ZeroAmount(ContractError):
    """`ZeroAmount()`."""

    signature: ClassVar[str] = "ZeroAmount()"
