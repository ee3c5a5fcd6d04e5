"""The contracts' custom errors. Made by scripts/abi.py: do not edit."""

from dataclasses import dataclass
from typing import ClassVar

from leasehold._errors import ContractError

__all__ = [
    "AlreadyInitialized",
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
    "InvalidShare",
    "InvalidTarget",
    "InvalidTerms",
    "LeaseNotOver",
    "LeaseOver",
    "MachineBusy",
    "MachineDelisted",
    "MachineNotRetired",
    "MachineNotStalled",
    "MachineRetiredAlready",
    "MachineStalled",
    "MachineUnderStaked",
    "MachineUnverified",
    "Nested",
    "NoCalls",
    "NoFreeCells",
    "NoProposal",
    "NotAuthorized",
    "NotAvailableUntil",
    "NothingToClaim",
    "ParamsOutdated",
    "Paused",
    "PriceTooHigh",
    "ProposalPending",
    "ReentrancyGuardReentrantCall",
    "RevisionChanged",
    "SafeCastOverflowedUintDowncast",
    "SafeERC20FailedOperation",
    "SelfTransfer",
    "SlotExhausted",
    "StakeLocked",
    "StartWindowOpen",
    "StartWindowPassed",
    "TokenDecimals",
    "TokenTakesFee",
    "TrialOver",
    "UnderNotice",
    "UnknownLease",
    "UnknownMachine",
    "Unsupported",
    "WrongAccounts",
    "WrongMachine",
    "WrongState",
    "ZeroAddress",
    "ZeroAmount",
]


@dataclass(eq=False)
class AlreadyInitialized(ContractError):
    """`AlreadyInitialized()`."""

    signature: ClassVar[str] = "AlreadyInitialized()"


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
class InvalidShare(ContractError):
    """`InvalidShare(uint8 share)`."""

    signature: ClassVar[str] = "InvalidShare(uint8)"
    share: int


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
class Nested(ContractError):
    """`Nested()`."""

    signature: ClassVar[str] = "Nested()"


@dataclass(eq=False)
class NoCalls(ContractError):
    """`NoCalls()`."""

    signature: ClassVar[str] = "NoCalls()"


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
class NothingToClaim(ContractError):
    """`NothingToClaim(uint256 lease)`."""

    signature: ClassVar[str] = "NothingToClaim(uint256)"
    lease: int


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
class ReentrancyGuardReentrantCall(ContractError):
    """`ReentrancyGuardReentrantCall()`."""

    signature: ClassVar[str] = "ReentrancyGuardReentrantCall()"


@dataclass(eq=False)
class RevisionChanged(ContractError):
    """`RevisionChanged(uint16 current)`."""

    signature: ClassVar[str] = "RevisionChanged(uint16)"
    current: int


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
class SelfTransfer(ContractError):
    """`SelfTransfer()`."""

    signature: ClassVar[str] = "SelfTransfer()"


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
class TrialOver(ContractError):
    """`TrialOver(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "TrialOver(uint256,uint256)"
    lease: int
    deadline: int


@dataclass(eq=False)
class UnderNotice(ContractError):
    """`UnderNotice(uint256 lease)`."""

    signature: ClassVar[str] = "UnderNotice(uint256)"
    lease: int


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
class Unsupported(ContractError):
    """`Unsupported(bytes32 what)`."""

    signature: ClassVar[str] = "Unsupported(bytes32)"
    what: bytes


@dataclass(eq=False)
class WrongAccounts(ContractError):
    """`WrongAccounts(address accounts)`."""

    signature: ClassVar[str] = "WrongAccounts(address)"
    accounts: str


@dataclass(eq=False)
class WrongMachine(ContractError):
    """`WrongMachine(uint256 lease, uint32 machine)`."""

    signature: ClassVar[str] = "WrongMachine(uint256,uint32)"
    lease: int
    machine: int


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
