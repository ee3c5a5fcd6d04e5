"""What the index's rows hold where that is not what a record has: the columns' names and types stand here once.

`_tables` makes the tables of these and of the records; whoever reads a row by hand takes its types from here.
"""

from dataclasses import dataclass

from leasehold.chain._types import ZERO_ADDRESS, Uint256

SCHEMA = "0002"
"""The form of the tables. An index of another form is made anew from the chain."""


@dataclass(frozen=True, slots=True)
class MachineVersion:
    """A row of `chain_machines`, without its place."""

    machine: int
    provider: str
    operator: str
    status: int
    delisted: bool
    under_staked: bool
    stalled: bool
    gpus: int
    smallest_share: int
    revision: int
    params: int
    stake: Uint256
    leased: Uint256
    withheld: Uint256
    retired_at: int
    price: Uint256
    spot_price: Uint256
    min_duration: int
    max_duration: int
    trial: int
    available_until_day: int
    hardware: bytes
    contact: bytes
    down_since: int = 0
    held_from: int = 0
    held_to: int = 0
    held_until: int = 0
    last_verified: int = 0
    pending_slashes: int = 0


@dataclass(frozen=True, slots=True)
class LeaseVersion:
    """A row of `chain_leases`, without its place."""

    lease: int
    tenant: str
    machine: int
    placement: int
    state: int
    spot: bool
    noticed: bool
    opened_at: int
    start: int
    end: int
    deposit: Uint256
    price: Uint256
    revision: int
    params: int
    backup: bytes
    workload: bytes
    endpoint: bytes
    result: bytes
    reason: bytes
    paid: Uint256
    fee: Uint256
    refunded: Uint256
    paused: int = 0
    segment_start: int = 0
    segment_settled: Uint256 = 0
    backup_lease: int = 0
    author: str = ZERO_ADDRESS
