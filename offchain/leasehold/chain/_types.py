"""What the contracts hold, as frozen dataclasses.

Amounts are token units, times unix seconds, prices token units per GPU-hour, capacity cells (eighths of
a GPU). Addresses are checksummed strings, digests 32 bytes.
"""

from dataclasses import dataclass, field
from enum import IntEnum

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
    def live(self) -> bool:
        """Whether the lease holds cells."""
        return self in (LeaseState.OPENED, LeaseState.ACTIVE)


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

    min_stake_per_gpu: int
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


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine. `busy` is leased and withheld cells together, bit `8 × gpu + cell`."""

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

    @property
    def free_cells(self) -> int:
        """How many cells can still be sold."""
        return self.gpus * CELLS_PER_GPU - self.busy.bit_count()

    @property
    def open_for_leases(self) -> bool:
        retired = self.status in (MachineStatus.NONE, MachineStatus.RETIRED)
        return not (retired or self.delisted or self.under_staked or self.stalled)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease. While it is OPENED, `start` is when it was opened and `end - start` its duration.

    settled: what has been billed so far of `deposit`. noticed: the provider has given notice.
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
class Call:
    """One of the calls of `Accounts.execute`."""

    target: str
    data: bytes


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


def cost(price: int, cells: int, seconds: int, *, up: bool = False) -> int:
    """Token units for `cells` at `price` per GPU-hour over `seconds`.

    Escrow rounds up, what accrues rounds down.
    """
    numerator = price * cells * seconds
    if up:
        return -(-numerator // SECONDS_TIMES_CELLS_PER_GPU_HOUR)
    return numerator // SECONDS_TIMES_CELLS_PER_GPU_HOUR
