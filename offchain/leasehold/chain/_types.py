"""What the contracts hold, as frozen dataclasses.

Amounts are token units, times unix seconds, prices token units per GPU-hour, capacity cells (eighths of
a GPU). Addresses are checksummed strings, digests 32 bytes.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated

Uint256 = Annotated[int, "of up to 256 bits"]
"""An integer that SQLite's, of 64 bits, may not hold: the index keeps its digits."""

ZERO_ADDRESS = "0x" + "00" * 20
ZERO_DIGEST = bytes(32)
CELLS_PER_GPU = 8
SECONDS_TIMES_CELLS_PER_GPU_HOUR = 28_800


class MachineStatus(IntEnum):
    NONE = 0
    UNVERIFIED = 1
    VERIFIED = 2
    RETIRED = 3


class LeaseState(IntEnum):
    NONE = 0
    OPENED = 1
    ACTIVE = 2
    ENDED = 3
    CANCELLED = 4
    REJECTED = 5

    @property
    def word(self) -> str:
        """As people and JSON say it."""
        return self.name.lower()

    @property
    def live(self) -> bool:
        """Whether the lease holds cells."""
        return self in (LeaseState.OPENED, LeaseState.ACTIVE)


class FaultKind(IntEnum):
    NONE = 0
    SELF_REPORTED = 1
    CHALLENGED = 2
    ATTESTED = 3
    FALSE_HARDWARE = 4

    @property
    def word(self) -> str:
        """As people and JSON say it."""
        return "self-reported" if self is FaultKind.SELF_REPORTED else self.name.lower().replace("_", " ")


class FaultState(IntEnum):
    NONE = 0
    RUNNING = 1
    FILED = 2
    APPEALED = 3
    UPHELD = 4
    EXECUTED = 5
    DROPPED = 6

    @property
    def settled(self) -> bool:
        """Whether nothing can follow any more but what tenants are owed."""
        return self in (FaultState.EXECUTED, FaultState.DROPPED)


class RoundState(IntEnum):
    NONE = 0
    REQUESTED = 1
    DRAWN = 2
    PASSED = 3
    FAILED = 4
    INCONCLUSIVE = 5

    @property
    def word(self) -> str:
        """As people and JSON say it."""
        return self.name.lower()

    @property
    def over(self) -> bool:
        return self >= RoundState.PASSED


@dataclass(frozen=True, slots=True)
class Terms:
    """What a provider asks for a machine.

    price, spot_price: token units per GPU-hour; a spot price of 0 sells none.
    min_duration, max_duration, trial: seconds; trial at most 900.
    available_until_day: last day since 1970-01-01 UTC by whose end every lease has ended.
    """

    price: int
    spot_price: int
    min_duration: int
    max_duration: int
    trial: int
    available_until_day: int


@dataclass(frozen=True, slots=True)
class Consent:
    """That an operator serves a provider, until `deadline` (unix seconds). proof: of the operator, over `Operate`."""

    deadline: int
    proof: bytes


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """What a tenant asks for.

    share: 1, 2 or 4 cells of one GPU, or 8 × n for n whole GPUs.
    placement: `gpu mask << 8 | cell mask`, or 0 to let the contract choose.
    duration: seconds, counted from `start`. max_price: token units per GPU-hour.
    workload: SHA-256 of the sealed workload.
    settle: leases on this machine whose end has passed, to close first.
    reuse: an ended lease of the tenant's own whose slot is taken over, or 0.
    """

    machine: int
    revision: int
    share: int
    duration: int
    max_price: int
    workload: bytes
    placement: int = 0
    spot: bool = False
    allow_unverified: bool = False
    settle: tuple[int, ...] = ()
    reuse: int = 0
    backup: bytes = ZERO_DIGEST


@dataclass(frozen=True, slots=True)
class Params:
    """A pool's rules. Fractions in bps, windows and delays in seconds, stake in token units."""

    min_stake_per_gpu: Uint256
    fee_bps: int
    hold_fee_bps: int
    max_slash_bps: int
    start_window: int
    notice_seconds: int
    penalty_seconds: int
    claim_lag: int
    challenge_window: int
    filing_window: int
    appeal_window: int
    ruling_window: int
    unstake_delay: int
    bond: Uint256
    reverify_interval: int
    seat_stake: Uint256
    verification_fee: Uint256
    committee_size: int
    arbiter: str = ZERO_ADDRESS
    sink: str = ZERO_ADDRESS


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine. `busy` is leased and withheld cells together, bit `8 × gpu + cell`.

    down_since: since when an outage runs, or 0. held_from, held_to, held_until: until `held_until` has passed, what of
    a lease lies in `[held_from, held_to)` is held (`disputes`). pending_slashes: faults that are not settled, which
    keep its stake. smallest_share: the least that it leases, cells.
    """

    id: int
    provider: str
    operator: str
    status: MachineStatus
    delisted: bool
    under_staked: bool
    stalled: bool
    gpus: int
    revision: int
    params: int
    stake: int
    busy: int
    leased: int
    withheld: int
    retired_at: int
    terms: Terms
    down_since: int = 0
    held_from: int = 0
    held_to: int = 0
    held_until: int = 0
    last_verified: int = 0
    pending_slashes: int = 0
    smallest_share: int = 1

    @property
    def down(self) -> bool:
        """Whether an outage runs."""
        return self.down_since != 0

    def holds(self, lease: "Lease", now: int) -> bool:
        """Whether some of what the lease ran lies in what is held, before an outage that runs."""
        to = min(self.held_to, lease.end, self.down_since or lease.end)
        return now < self.held_until and max(lease.segment_start, self.held_from) < to

    def disputes(self, lease: "Lease", now: int) -> bool:
        """Whether an outage that runs, or is held, has some of the lease: then nobody else ends it, or its provider
        who forgoes that time."""
        return (self.down and self.down_since < lease.end) or self.holds(lease, now)

    @property
    def open_for_leases(self) -> bool:
        retired = self.status in (MachineStatus.NONE, MachineStatus.RETIRED)
        return not (retired or self.delisted or self.under_staked or self.stalled or self.down)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease. While it is OPENED, `start` is when it was opened and `end - start` its duration.

    settled: what has been billed so far of `deposit`. noticed: the provider has given notice.
    segment_start: when the share was last changed, else `start`; segment_settled: what had accrued by then.
    paused: seconds of outages since `segment_start` that are not billed.
    """

    id: int
    tenant: str
    machine: int
    placement: int
    state: LeaseState
    spot: bool
    noticed: bool
    start: int
    end: int
    deposit: int
    price: int
    revision: int
    params: int
    settled: int
    backup: bytes
    paused: int = 0
    segment_start: int = 0
    segment_settled: int = 0

    @property
    def hourly(self) -> int:
        """What an hour of it costs, token units."""
        return cost(self.price, self.cells, 3_600)

    @property
    def has_standby(self) -> bool:
        """Whether another machine takes over while its own is down."""
        return self.backup != ZERO_DIGEST

    @property
    def cells(self) -> int:
        """How many cells the lease holds."""
        return (self.placement >> 8).bit_count() * (self.placement & 0xFF).bit_count()


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """What a provider's leases have left on its account: fees in token units, the rest are counts."""

    fees_paid: int
    fees_due: int
    terminated: int
    unstarted: int
    declined: int


@dataclass(frozen=True, slots=True)
class Companions:
    """Addresses of the contracts that belong to a pool."""

    committee: str
    faults: str
    reputation: str
    directory: str


@dataclass(frozen=True, slots=True)
class Fault:
    """An outage, or another fault, of a machine.

    from_: of false hardware, a week before its verification was asked for. to: end of the outage, exclusive; 0 while
        it runs; of false hardware, when its verification was asked for.
    deadline: until when the provider may appeal, while Filed, the arbiter rule, while Appealed, and tenants
        register what they lost, while Upheld; executed after it.
    bps: what it charged the machine's window with. rules: the version of the pool's parameters that judges it.
    round: of false hardware, the verification that found it. amount: of stake to be moved. bond: of the appeal, while
    it stands. previous: the machine's outage before it in time, or 0. pot: what tenants have coming. reporter: the
    challenger or the digest of the quorum that has a tenth, or zeros for nobody.
    """

    id: int
    machine: int
    kind: FaultKind
    state: FaultState
    from_: int
    to: int
    filed_at: int
    deadline: int
    bps: int
    rules: int
    round: int
    amount: int
    bond: int
    previous: int
    pot: int
    reporter: bytes


@dataclass(frozen=True, slots=True)
class Challenge:
    """A tenant's question whether a machine's operator lives. `challenger` is zero where none stands."""

    challenger: str
    bond: int
    at: int
    id: int


@dataclass(frozen=True, slots=True)
class SlashWindow:
    """What a machine was down (seconds) and charged (bps of its stake) over seven whole days and today."""

    downtime: int
    charged_bps: int


@dataclass(frozen=True, slots=True)
class Seat:
    """A validator's stake, bought for rules that ask `level` with a tenth more. `leaves_at` is 0 while it stays.
    It answers to the arbiter of the rules' `version` by which it joined."""

    id: int
    validator: str
    stake: int
    level: int
    joined_at: int
    leaves_at: int
    fined_at: int
    version: int


@dataclass(frozen=True, slots=True)
class SeatSigner:
    """Who has signed with which seat, and what that seat weighs."""

    seat: int
    validator: str
    level: int


@dataclass(frozen=True, slots=True)
class Round:
    """A verification of a machine.

    block_: whose hash draws the committee. spec: what the majority measured. score: 0 to 1000.
    """

    id: int
    machine: int
    revision: int
    state: RoundState
    misses: int
    requested_at: int
    block_: int
    commit_until: int
    reveal_until: int
    fee: int
    score: int
    size: int
    requester: str
    spec: bytes


@dataclass(frozen=True, slots=True)
class Licence:
    """seats: how many at a time, for software. expires_at: last timestamp at which it counts."""

    seats: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a delegate may spend.

    cap: most that may leave the account's ledger in a `period` (seconds; 0: ever). spent: since `since`.
    """

    cap: int
    period: int
    expiry: int
    since: int
    spent: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """A mined transaction. `gas_price` is wei per gas as paid; `logs` are raw, as the node sent them."""

    tx_hash: str
    block_number: int
    block_hash: str
    gas_used: int
    gas_price: int
    status: int
    logs: tuple[dict[str, object], ...] = field(repr=False)


def backup_digest(machine: int, revision: int, placement: int, workload: bytes) -> bytes:
    """What a lease stores of its standby (`LeaseRequest.backup`), and `Pool.failover` takes apart again."""
    from eth_abi.abi import encode as abi_encode
    from eth_utils.crypto import keccak

    return keccak(
        abi_encode(["uint32", "uint16", "uint16", "bytes32"], [machine, revision, placement, workload])
    )


def commitment(
    chain_id: int,
    controller: str,
    round_: int,
    seat: int,
    passed: bool,
    spec: bytes,
    score: int,
    salt: bytes,
) -> bytes:
    """What a validator commits to in a verification; `Committee.reveal` takes the same values."""
    from eth_abi.abi import encode as abi_encode
    from eth_utils.crypto import keccak

    types = ["uint256", "address", "uint256", "uint32", "bool", "bytes32", "uint16", "bytes32"]
    return keccak(abi_encode(types, [chain_id, controller, round_, seat, passed, spec, score, salt]))


def cost(price: int, cells: int, seconds: int, *, up: bool = False) -> int:
    """Token units for `cells` at `price` per GPU-hour over `seconds`.

    Escrow rounds up, what accrues rounds down.
    """
    numerator = price * cells * seconds
    if up:
        return -(-numerator // SECONDS_TIMES_CELLS_PER_GPU_HOUR)
    return numerator // SECONDS_TIMES_CELLS_PER_GPU_HOUR
