"""What every event carries: where in the chain it stands."""

from dataclasses import dataclass
from typing import NamedTuple


class LogMeta(NamedTuple):
    """Where a log stands. Hashes are `0x` and 64 lower-case hex digits, `address` is checksummed.

    `timestamp` is the block's, in unix seconds, or 0 where the node does not put it into its logs. A tuple, since that
    is made in a sixth of the time and there is one for every event.
    """

    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int
    address: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events. Addresses are checksummed, digests 32 bytes, amounts token units."""

    log: LogMeta
