"""Paying for gas in the pool's token: a gateway sends what the wallet signs, for a fee out of the account's ledger.

    from leasehold.gasless import GaslessBy

    by = GaslessBy("https://gate.example", most="0.5")
    async with leasehold.connect("pool.json", wallet="me", password="…", gasless=by) as pool:
        await pool.carry_out(leasehold.Close(lease.id))

`docs/decisions/0332-a-fee-is-one-of-the-signed-calls.md` says why nobody has to be trusted for it.
"""

from leasehold.agreements import NotGasless
from leasehold.client import (
    GaslessBy,
    GaslessFee,
    GaslessFeeTooHigh,
    GaslessRefused,
    GaslessSender,
    GaslessUnknown,
)

__all__ = [
    "GaslessBy",
    "GaslessFee",
    "GaslessFeeTooHigh",
    "GaslessRefused",
    "GaslessSender",
    "GaslessUnknown",
    "NotGasless",
]
