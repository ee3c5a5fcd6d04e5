"""The contracts' events. Made by scripts/abi.py: do not edit."""

from dataclasses import dataclass

from leasehold.chain._log import Event
from leasehold.chain._types import Params, Terms

__all__ = [
    "ContactSet",
    "Deposited",
    "Executed",
    "FeesPulled",
    "HardwareSet",
    "LeaseCancelled",
    "LeaseClaimed",
    "LeaseClosed",
    "LeaseDeclined",
    "LeaseExtended",
    "LeaseOpened",
    "LeaseRejected",
    "LeaseStarted",
    "LeaseTerminated",
    "MachineRegistered",
    "MachineRetired",
    "MachineStatusSet",
    "OperatorSet",
    "OwnershipTransferStarted",
    "OwnershipTransferred",
    "ParamsCancelled",
    "ParamsProposed",
    "PausedSet",
    "PoolCreated",
    "ResultPublished",
    "StakeAdded",
    "StakeMoved",
    "TermsSet",
    "Transferred",
    "TreasurySet",
    "Unstaked",
    "Withdrawn",
    "Withheld",
    "WorkloadSet",
]


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
class FeesPulled(Event):
    """`FeesPulled(address indexed provider, address indexed treasury, uint256 amount)`."""

    provider: str
    treasury: str
    amount: int


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
class LeaseRejected(Event):
    """`LeaseRejected(uint256 indexed lease, uint32 indexed machine, uint96 paid, uint96 fee, uint96
    refunded)`."""

    lease: int
    machine: int
    paid: int
    fee: int
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
class MachineRegistered(Event):
    """`MachineRegistered(uint32 indexed machine, address indexed provider, address indexed operator, uint8
    gpus, uint96 stake, uint256 pulled)`."""

    machine: int
    provider: str
    operator: str
    gpus: int
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
class Executed(Event):
    """`Executed(address indexed account, uint256 indexed nonce, address indexed submitter)`."""

    account: str
    nonce: int
    submitter: str


@dataclass(frozen=True, slots=True)
class PoolCreated(Event):
    """`PoolCreated(uint256 indexed index, address indexed controller, address indexed token, address owner,
    address treasury)`."""

    index: int
    controller: str
    token: str
    owner: str
    treasury: str
