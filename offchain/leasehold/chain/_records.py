"""What the index knows, as frozen dataclasses. Amounts are token units, times unix seconds.

Of those that one row tells as it stands, `_tables` makes the tables.
"""

from dataclasses import dataclass

from leasehold.chain._ids import cid_from_bytes
from leasehold.chain._types import (
    ZERO_ADDRESS,
    FaultKind,
    FaultState,
    Lease,
    Machine,
    Params,
    RoundState,
    Uint256,
)


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
    refunded: what went back to the tenant at the end. backup_lease: what took its place by `failover`, or 0.
    author: whose workload it is: the tenant who opened the lease or last set it. A lease may be transferred since.
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
    backup_lease: int = 0
    author: str = ""

    @property
    def result_cid(self) -> str | None:
        """The CID of what it left behind, once that is published."""
        return cid_from_bytes(self.result) if self.result else None


@dataclass(frozen=True, slots=True)
class LeaseEvent:
    """One event of a lease, by its name on chain, and what the lease was after it. time: its block's."""

    name: str
    block: int
    time: int
    tx_hash: str
    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One movement on an account.

    kind: `deposit`, `withdraw`, `transfer`, `open`, `extend`, `resize`, `refund`, `earn`, `penalty`, `stake`,
    `unstake`, `slash`, `fees`, `charge` (a companion took a stake, a fee or a bond).
    amount: signed. balance: after it. counterparty: the other account, if it is one.
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
class Income:
    """A movement on a provider's account by one of its leases, and when."""

    time: int
    entry: LedgerEntry


@dataclass(frozen=True, slots=True)
class PriceChange:
    """What a machine asks from a time on, per GPU-hour; 0 once it has retired. hardware: SHA-256 of its document."""

    time: int
    machine: int
    price: int
    hardware: bytes


@dataclass(frozen=True, slots=True)
class LeaseTotals:
    """How many leases there ever were, and how many hold cells."""

    ever: int
    live: int


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
    """Who runs the pool. gated: registering takes a licence."""

    paused: bool = False
    gated: bool = False
    treasury: str = ZERO_ADDRESS
    owner: str = ZERO_ADDRESS
    pending_owner: str = ZERO_ADDRESS


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """An outage, or another fault, of a machine.

    from_, to: of the outage; `to` is 0 while it runs. bps: of the machine's stake. amount: to be moved, or moved.
    deadline: until when the arbiter may rule, once appealed.
    pot: what tenants have registered, and get. reported, rest: what went to reporters and to `sink`. compensated: of
    `pot`, what tenants have been credited with. rules: the version of the parameters that judges it.
    """

    fault: int
    machine: int
    kind: FaultKind
    state: FaultState
    from_: int
    to: int
    opened_at: int
    filed_at: int
    deadline: int
    bps: int
    amount: Uint256
    pot: Uint256
    reported: Uint256
    rest: Uint256
    sink: str
    compensated: Uint256
    rules: int


@dataclass(frozen=True, slots=True)
class LossRecord:
    """What a fault cost the tenant of a lease. part: what it has coming. amount: what it was credited with."""

    fault: int
    lease: int
    tenant: str
    part: Uint256
    amount: Uint256


@dataclass(frozen=True, slots=True)
class ChallengeRecord:
    """answered_at: 0 while nobody has. ended_at: when it was answered, or the machine went down. fault: the outage that
    it proved, or 0.
    """

    challenge: int
    machine: int
    challenger: str
    lease: int
    bond: Uint256
    at: int
    answered_at: int
    ended_at: int
    fault: int

    @property
    def open(self) -> bool:
        """Whether it stands. (One on a machine that has retired may be over: the chain says nothing of that.)"""
        return not self.ended_at


@dataclass(frozen=True, slots=True)
class SeatRecord:
    """leaves_at: from when the stake can be taken out, or 0."""

    seat: int
    validator: str
    stake: Uint256
    level: Uint256
    joined_at: int
    leaves_at: int
    exited: bool


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A verification. seats: those drawn. fee: as asked for. agreed: how many made the majority."""

    round: int
    machine: int
    revision: int
    requester: str
    state: RoundState
    requested_at: int
    block: int
    misses: int
    fee: Uint256
    seats: tuple[int, ...]
    commit_until: int
    reveal_until: int
    spec: bytes
    score: int
    agreed: int


@dataclass(frozen=True, slots=True)
class VoteRecord:
    """What a seat committed and, if `revealed`, what that was."""

    round: int
    seat: int
    commitment: bytes
    revealed: bool
    passed: bool
    spec: bytes
    score: int


@dataclass(frozen=True, slots=True)
class RatingRecord:
    """stars: 1 to 5. comment: its SHA-256, or zeros. fee: what the lease paid to the pool."""

    lease: int
    provider: str
    tenant: str
    stars: int
    comment: bytes
    fee: Uint256
    at: int


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """endpoint: SHA-256 of the document that says where it is."""

    account: str
    kind: str
    endpoint: bytes
    peer_id: bytes
    at: int


@dataclass(frozen=True, slots=True)
class LicenceRecord:
    """seats: how many at a time, for software."""

    account: str
    kind: str
    seats: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group whose account somebody deployed, which says on the chain who its signers are: any pool's, since groups
    belong to none. signers: ascending. salt: 32 bytes.
    """

    account: str
    threshold: int
    signers: tuple[str, ...]
    salt: bytes


@dataclass(frozen=True, slots=True)
class DelegateRecord:
    """cap: in each `period` of seconds, 0 for ever. spent: since `since`."""

    account: str
    delegate: str
    cap: Uint256
    period: int
    expiry: int
    since: int
    spent: Uint256

    def spent_at(self, now: int) -> int:
        """What of the cap is used up at `now`."""
        return 0 if self.period and now >= self.since + self.period else self.spent


@dataclass(frozen=True, slots=True)
class OfferRecord:
    """mask: each bit is an offer `word << 8 | bit` that is used or cancelled.

    nonce, lease: of the last change, if that was a use; lease is 0 after a cancellation.
    """

    provider: str
    word: Uint256
    mask: Uint256
    nonce: Uint256
    lease: int

    def spoiled(self, nonce: int) -> bool:
        """Whether the offer with this nonce is used or cancelled, as far as this word goes."""
        return nonce >> 8 == self.word and bool(self.mask >> (nonce & 0xFF) & 1)
