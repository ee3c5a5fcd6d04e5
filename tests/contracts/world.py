"""The world that the contracts' tests play in: what people usually ask for, and how a refusal is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from brownie import ZERO_ADDRESS, chain, web3
from brownie.exceptions import VirtualMachineError
from eth_abi import encode
from web3.types import RPCEndpoint

UNIT = 10**18
MINUTE, HOUR, DAY = 60, 3600, 86_400
MATURITY = 3 * DAY  # of a validator's seat

OWNER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"  # the first of Anvil's accounts
PROVIDER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"  # the third of them
SINK = "0x" + 40 * "5"  # who has what nobody has coming of a slash; no sink is the pool's owner or treasury
BURNT = "0x000000000000000000000000000000000000dEaD"
UNVERIFIED, VERIFIED, RETIRED = 1, 2, 3
OPENED, ACTIVE, ENDED, CANCELLED, REJECTED = 1, 2, 3, 4, 5
SELF_REPORTED, CHALLENGED, ATTESTED, FALSE_HARDWARE = 1, 2, 3, 4
RUNNING, FILED, APPEALED, UPHELD, EXECUTED, DROPPED = 1, 2, 3, 4, 5, 6


def word(text: str) -> str:
    """A short text as bytes32, from the left as the contracts write it (of shorter bytes Brownie makes numbers)."""
    return "0x" + text.encode().ljust(32, b"\0").hex()


HARDWARE, CONTACT, WORKLOAD, ENDPOINT = map(word, ("hardware", "contact", "workload", "endpoint"))


class Terms(NamedTuple):
    """A whole GPU for 0.001 token a second: 3.6 tokens an hour."""

    price: int = 36 * UNIT // 10
    spot_price: int = 0
    min_duration: int = MINUTE
    max_duration: int = 7 * DAY
    trial: int = 5 * MINUTE
    available_until_day: int = 65_000


class Params(NamedTuple):
    """The rules of the pool under test."""

    min_stake_per_gpu: int = 100 * UNIT
    fee_bps: int = 500
    hold_fee_bps: int = 1000
    max_slash_bps: int = 5000
    start_window: int = 10 * MINUTE
    notice_seconds: int = HOUR
    penalty_seconds: int = 2 * HOUR
    claim_lag: int = 20 * MINUTE
    challenge_window: int = 10 * MINUTE
    filing_window: int = 3 * DAY
    appeal_window: int = 2 * DAY
    ruling_window: int = 2 * DAY
    unstake_delay: int = 8 * DAY
    bond: int = 5 * UNIT
    reverify_interval: int = DAY
    seat_stake: int = 500 * UNIT
    verification_fee: int = 5 * UNIT
    committee_size: int = 5
    arbiter: str = OWNER
    sink: str = SINK


class LeaseRequest(NamedTuple):
    """A whole GPU for an hour, wherever the contract puts it."""

    machine: int
    revision: int = 1
    share: int = 8
    placement: int = 0
    duration: int = HOUR
    max_price: int = 4 * UNIT
    spot: bool = False
    allow_unverified: bool = True
    workload: str = WORKLOAD
    settle: tuple[int, ...] = ()
    reuse: int = 0
    backup: str = "0x" + 64 * "0"


class Offer(NamedTuple):
    """Terms that a provider signed: at three quarters of the listed price, for anyone, once."""

    account: str = PROVIDER
    machine: int = 1
    revision: int = 1
    price: int = 27 * UNIT // 10
    cells: int = 8
    duration: int = HOUR
    spot: bool = False
    tenant: str = ZERO_ADDRESS
    nonce: int = 0
    expires_at: int = 2**63


SEAT = (
    Params().seat_stake * 11 // 10
)  # what a seat costs: its level, and a tenth of that, out of which fines come
PER_SECOND = UNIT // 1000  # a whole GPU, under `Terms`
STAKE = 2 * 100 * UNIT  # of the machine that every test finds, which has two GPUs


def cost(seconds: int, cells: int = 8, price: int = Terms().price) -> int:
    """What accrues, in token units: rounded down."""
    return price * cells * seconds // 28_800


def escrow(seconds: int, cells: int = 8, price: int = Terms().price) -> int:
    """What is deposited, in token units: rounded up."""
    return -(-price * cells * seconds // 28_800)


def fee(amount: int, bps: int = Params().fee_bps) -> int:
    """The pool's part of what a lease paid."""
    return amount * bps // 10_000


def slashed(bps: int, stake: int = STAKE) -> int:
    """`bps` of a stake, in token units: rounded down."""
    return stake * bps // 10_000


def backup_digest(machine: int, revision: int = 1, placement: int = 0, workload: str = WORKLOAD) -> str:
    """What a lease stores of its standby."""
    types = ["uint32", "uint16", "uint16", "bytes32"]
    return "0x" + bytes(web3.keccak(encode(types, [machine, revision, placement, _bytes(workload)]))).hex()


def now() -> int:
    """The timestamp of the newest block."""
    return int(web3.eth.get_block("latest")["timestamp"])


def later(seconds: int) -> None:
    """Sets the clock: the next transaction is mined exactly `seconds` after the newest block."""
    at(now() + seconds)


def mature(seconds: int) -> None:
    """Lets time pass, and a block: so that views see it too."""
    later(seconds)
    chain.mine()


def at(timestamp: int) -> None:
    """Sets the clock: the next transaction is mined exactly at `timestamp`."""
    web3.provider.make_request(RPCEndpoint("evm_setNextBlockTimestamp"), [timestamp])


def plain(value: Any) -> Any:
    """What the contract returned, as plain tuples and numbers: Brownie's types equal only themselves."""
    if isinstance(value, tuple | list):
        return tuple(plain(item) for item in value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def lease_of(tx: Any) -> int:
    """The lease that a transaction opened."""
    return int(tx.events["LeaseOpened"]["lease"])


def fault_of(tx: Any) -> int:
    """The outage, or the other fault, that a transaction opened."""
    return int(tx.events["OutageOpened"]["fault"])


def selector(error: str) -> str:
    """How an error without arguments looks in return data."""
    return "0x" + bytes(web3.keccak(text=f"{error}()"))[:4].hex()


@contextmanager
def reverts(error: str, *values: Any) -> Iterator[None]:
    """Expects the custom error `error`; with `values`, these too.

    Every error of the ABI must be met somewhere: `test_errors.py` looks for `reverts("…")` and `selector("…")`, and for
    `TheError.selector` in forge's tests, which show most refusals.
    """
    try:
        yield
    except VirtualMachineError as failure:
        told = failure.revert_msg or ""
        name, _, rest = told.partition(": ")
        expected = ", ".join(_as_told(value) for value in values)
        assert name == error, f"refused with {told!r}, not with {error}"
        assert not values or rest == expected, f"refused with {told!r}, not with {error}: {expected}"
    else:
        raise AssertionError(f"went through, where {error} was expected")


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _as_told(value: Any) -> str:
    """How Brownie prints a decoded argument."""
    text = str(value)
    if isinstance(value, bytes):
        return str(value.ljust(32, b"\0"))
    return text.lower() if text.startswith("0x") else text


NOBODY = ZERO_ADDRESS
