"""Everything that is signed under EIP-712, field by field as the contracts hash it.

Two domains: the `Accounts` contract for `Execute` and `AcceptTransfer`, the pool's controller for the rest.
Times are unix seconds, prices token units per GPU-hour, digests SHA-256.
"""

from dataclasses import dataclass
from typing import Annotated

from leasehold.chain._eip712 import Call, Struct

__all__ = [
    "AcceptTransfer",
    "Answer",
    "Call",
    "Contact",
    "Execute",
    "Offer",
    "Operate",
    "Outage",
    "Receipt",
    "Recover",
    "Request",
    "Session",
    "Statement",
    "VolumeKey",
]


@dataclass(frozen=True)
class Execute(Struct):
    """Make `calls` as `account`; anyone may submit it once. `nonce` is `key << 64 | sequence`."""

    account: Annotated[str, "address"]
    calls: Annotated[tuple[Call, ...], "Call[]"]
    nonce: Annotated[int, "uint256"]
    deadline: Annotated[int, "uint256"]


@dataclass(frozen=True)
class AcceptTransfer(Struct):
    """`account` takes over a lease that its tenant transfers to it."""

    account: Annotated[str, "address"]
    controller: Annotated[str, "address"]
    lease: Annotated[int, "uint256"]
    deadline: Annotated[int, "uint256"]


@dataclass(frozen=True)
class Offer(Struct):
    """Terms that the provider `account` grants to one tenant, or to anybody where `tenant` is zero."""

    account: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    revision: Annotated[int, "uint16"]
    price: Annotated[int, "uint80"]
    cells: Annotated[int, "uint8"]
    duration: Annotated[int, "uint32"]
    spot: Annotated[bool, "bool"]
    tenant: Annotated[str, "address"]
    nonce: Annotated[int, "uint256"]
    expires_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Request(Struct):
    """One request to a machine's agent.

    `params_hash` is SHA-256 of the canonical JSON {method, path, query, body: SHA-256 in hex}; `lease` is 0
    only where `op` is `workload.put`; `nonce` is 32 random bytes.
    """

    account: Annotated[str, "address"]
    chain: Annotated[int, "uint256"]
    controller: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    lease: Annotated[int, "uint256"]
    op: Annotated[str, "string"]
    params_hash: Annotated[bytes, "bytes32"]
    issued_at: Annotated[int, "uint64"]
    expires_at: Annotated[int, "uint64"]
    nonce: Annotated[bytes, "bytes32"]


@dataclass(frozen=True)
class Session(Struct):
    """Lets `key` sign requests for `account` until `expires_at`: on `leases` (none: all), for `ops` alone."""

    account: Annotated[str, "address"]
    chain: Annotated[int, "uint256"]
    controller: Annotated[str, "address"]
    leases: Annotated[tuple[int, ...], "uint256[]"]
    ops: Annotated[tuple[str, ...], "string[]"]
    key: Annotated[str, "address"]
    expires_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Receipt(Struct):
    """The operator of `machine` holds the sealed workload with `digest`, until `expires_at` at least."""

    chain: Annotated[int, "uint256"]
    controller: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    digest_: Annotated[bytes, "bytes32"]
    expires_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Contact(Struct):
    """The operator publishes the contact document with `digest`."""

    machine: Annotated[int, "uint32"]
    digest_: Annotated[bytes, "bytes32"]
    issued_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Statement(Struct):
    """The operator of `machine` says what stands in the document with `digest`: how it, or a lease on it, is."""

    chain: Annotated[int, "uint256"]
    controller: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    digest_: Annotated[bytes, "bytes32"]
    issued_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class VolumeKey(Struct):
    """What the key of `account`'s volume `name` in this pool is made of. It is never sent: whoever has a signature of
    it can read the volume.
    """

    account: Annotated[str, "address"]
    chain: Annotated[int, "uint256"]
    controller: Annotated[str, "address"]
    name: Annotated[str, "string"]


@dataclass(frozen=True)
class Operate(Struct):
    """`operator` serves the machines that `provider` gives it in this pool until `deadline`, and nobody else's."""

    chain: Annotated[int, "uint256"]
    controller: Annotated[str, "address"]
    provider: Annotated[str, "address"]
    operator: Annotated[str, "address"]
    deadline: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Answer(Struct):
    """The operator `account` answers the challenge `fault`."""

    account: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    fault: Annotated[int, "uint256"]
    issued_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Recover(Struct):
    """The operator `account` says that its machine is back."""

    account: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    issued_at: Annotated[int, "uint64"]


@dataclass(frozen=True)
class Outage(Struct):
    """The validator `account` attests that `machine` was down over [from, to); `to` 0: it still is."""

    account: Annotated[str, "address"]
    machine: Annotated[int, "uint32"]
    from_: Annotated[int, "uint64"]
    to: Annotated[int, "uint64"]
