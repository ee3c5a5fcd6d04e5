"""The end of every command that sends something: ask, send, answer. And what it pays out of the ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from leasehold.chain import Receipt
from leasehold.cli._invocation import Invocation
from leasehold.cli._output import Json, Output
from leasehold.cli._shown import transaction
from leasehold.client import PoolClient
from leasehold.market import AllowanceMissing, NotEnoughFunds, Payment, Quote, Renter, format_amount


@dataclass(frozen=True)
class Done:
    """What was sent, what is said of it, and what it adds to the answer."""

    receipt: Receipt
    said: str
    extra: Mapping[str, Json] = field(default_factory=dict)


async def carry_out(
    call: Invocation,
    question: str,
    document: Mapping[str, Json],
    send: Callable[[], Awaitable[Done]],
) -> Receipt | None:
    """Ask `question`, send, and answer with `document` and the transaction; `None` if it was for show only.

    Raises:
        NotConfirmed: the answer was no.
    """
    if call.dry_run:
        call.out.answer({**document, "dry_run": True})
        return None
    call.out.confirm(question)
    with call.out.working("Waiting for the transaction"):
        done = await send()
    call.out.answer({**document, **done.extra, **transaction(done.receipt)})
    call.out.say(done.said)
    return done.receipt


def settle_allowance(out: Output, renter: Renter, due: Quote | Payment, *, approve: bool) -> None:
    """See to it that the pool may take what is due: it may already, or `approve` or an answer lets it.

    Raises:
        AllowanceMissing: none of these.
    """
    question = f"Let the pool take {renter.money.show(due.pulled)} from the wallet?"
    if not approve and not (due.approve and out.ask(question)):
        renter.check_allowance(due)


@dataclass(frozen=True)
class PayIn:
    """What the ledger lacks for something that only the ledger pays. Amounts in token units.

    missing: has to come from the wallet first. approve: whether the pool may not take that yet.
    """

    amount: int
    missing: int
    approve: bool

    def said(self, session: PoolClient) -> str:
        """For people: where the money comes from."""
        money = session.money
        if not self.missing:
            return f"{money.show(self.amount)} from your ledger"
        return (
            f"{money.show(self.amount)}: {money.show(self.missing)} go from the wallet into the ledger first"
        )

    async def send(self, session: PoolClient) -> None:
        """Move what is missing into the ledger, approving it before where that is needed."""
        if self.missing and self.approve:
            await session.token.approve(session.pool.address, self.missing)
        if self.missing:
            await session.pool.deposit(session.account, self.missing)


async def pay_in(session: PoolClient, amount: int, *, approve: bool) -> PayIn:
    """How `amount` gets into the ledger. approve: whether the pool may be approved to take what is missing.

    Raises:
        NotEnoughFunds: ledger and wallet together hold less. AllowanceMissing: the pool may not take it.
    """
    money = session.money
    funds = await session.renter().funds()
    missing = max(0, amount - funds.ledger)
    if missing and session.other is not None:
        raise NotEnoughFunds(
            f"The ledger of {session.account} lacks {money.show(missing)}, and nothing else pays here: run `leasehold "
            f"wallet deposit {format_amount(missing, money.decimals)} --to {session.account}` first."
        )
    if missing > funds.wallet:
        raise NotEnoughFunds(
            f"That takes {money.show(amount)} from the ledger, which holds {money.show(funds.ledger)}, and the wallet "
            f"has {money.show(funds.wallet)}: get {money.show(missing - funds.wallet)} more."
        )
    lacking = missing > funds.allowance
    if lacking and not approve:
        raise AllowanceMissing(
            f"The ledger lacks {money.show(missing)}: run `leasehold wallet deposit --approve "
            f"{format_amount(missing, money.decimals)}` first, or pass --approve."
        )
    return PayIn(amount, missing, lacking)
