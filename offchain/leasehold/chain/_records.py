"""What the index knows, as frozen dataclasses. Amounts are token units, times unix seconds."""

from dataclasses import dataclass

from leasehold.chain._types import Lease, Machine, Params


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """A machine, with what stands in events only. hardware, contact: SHA-256 of the documents."""

    machine: Machine
    hardware: bytes
    contact: bytes


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """A lease, with what stands in events only.

    opened_at: when it was opened (`lease.start` is that too until it starts, then when it started).
    workload, endpoint: SHA-256. result: the output's CID in its binary form, empty until it is published.
    reason: why it was declined, else empty. paid, fee: what the provider and the pool have had so far.
    refunded: what went back to the tenant at the end.
    """

    lease: Lease
    opened_at: int
    workload: bytes
    endpoint: bytes
    result: bytes
    reason: str
    paid: int
    fee: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One movement on an account.

    kind: `deposit`, `withdraw`, `transfer`, `open`, `extend`, `refund`, `earn`, `penalty`, `stake`, `unstake`,
    `slash`, `fees`. amount: signed. balance: after it. counterparty: the other account, if it is one.
    """

    block: int
    log_index: int
    kind: str
    amount: int
    balance: int
    counterparty: str | None
    lease: int | None
    machine: int | None
    tx_hash: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """An account's balance and movements, the oldest first."""

    account: str
    balance: int
    entries: tuple[LedgerEntry, ...]


@dataclass(frozen=True, slots=True)
class ParamsRecord:
    """A version of the pool's rules. A proposal that was cancelled never comes into force."""

    version: int
    in_force_at: int
    cancelled: bool
    params: Params


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """Who runs the pool."""

    paused: bool
    treasury: str
    owner: str
    pending_owner: str
