"""How much may be uploaded, and how often: token buckets by account, by address and altogether.

Accounts cost nothing to make, so the bound that holds is the one by address (a /64 of IPv6) and the one
altogether. Peers of an IPFS node cost nothing either: what all of them may upload is counted apart from what all others
may. Where that is too little, a workload can be pinned to IPFS instead of uploaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from leasehold.rates import RateLimit, network
from leasehold_agent.access import Buckets

_ACCOUNT: Final = RateLimit(30, 60)
_ADDRESS: Final = RateLimit(60, 60)
_ADDRESS_BYTES: Final = RateLimit(16 * 2**20, 60)
_ALL_BYTES: Final = RateLimit(256 * 2**20, 3600)


@dataclass(frozen=True)
class UploadRates:
    account: RateLimit = _ACCOUNT
    address: RateLimit = _ADDRESS
    address_bytes: RateLimit = _ADDRESS_BYTES
    all_bytes: RateLimit = _ALL_BYTES


class UploadLimits:
    """Every limit of uploads. `now` counts seconds and may start anywhere."""

    def __init__(self, rates: UploadRates, now: Callable[[], float]) -> None:
        self._account = Buckets(rates.account, now)
        self._address = Buckets(rates.address, now)
        self._address_bytes = Buckets(rates.address_bytes, now)
        self._all_bytes = Buckets(rates.all_bytes, now)

    def call(self, address: str) -> None:
        """One more call from `address`, before anything else is looked at."""
        self._address.take(network(address))

    def account(self, account: str) -> None:
        """One more upload by `account`, whose signature was checked."""
        self._account.take(account)

    def bytes(self, address: str, count: int, side: str = "") -> None:
        """`count` bytes have come from `address`, on the street or by another `side`."""
        self._address_bytes.take(network(address), count)
        self._all_bytes.take(side, count)
