"""Money for what the ledger pays: what it lacks comes from the wallet first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.client._errors import LedgerNotCovered, PlanStale
from leasehold.client._plan import Sent, Step
from leasehold.market import LedgerTooLow, Payment

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class PaidIn(Sent):
    """What the ledger lacked came from the wallet. amount: token units."""

    amount: int


async def from_ledger(client: PoolClient, amount: int) -> Payment:
    """How `amount` token units, which only a ledger can pay, get there.

    Raises:
        LedgerTooLow: it lacks some, and the account's wallet is not at hand. LedgerNotCovered: nor has the wallet it.
    """
    funds = await client.renter().funds()
    missing = max(0, amount - funds.ledger)
    if missing and client.ledger_only:
        raise LedgerTooLow(client.account, missing).in_money(client.money)
    if missing > funds.wallet:
        raise LedgerNotCovered(amount, funds.ledger, funds.wallet, missing - funds.wallet).in_money(
            client.money
        )
    return Payment(amount, missing, max(0, missing - funds.allowance))


async def check_ledger(client: PoolClient, payment: Payment) -> None:
    """Raises PlanStale: the ledger holds less than it was to pay, so that more would be taken from the wallet."""
    if payment.from_ledger > await client.pool.balance_of(client.account):
        raise PlanStale()


async def pay_in(client: PoolClient, payment: Payment) -> AsyncIterator[Step]:
    """Bring into the ledger what it lacks."""
    if payment.pulled:
        yield PaidIn(await client.pool.deposit(client.account, payment.pulled), payment.pulled)
