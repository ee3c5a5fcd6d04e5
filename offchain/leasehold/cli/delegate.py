"""`leasehold delegate`: who may rent from an account's ledger, up to a cap."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, AS_GROUP, PROPOSES, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import ACCOUNT, Seconds, argument, option
from leasehold.client import AllowDelegate, RevokeDelegate, delegates_of
from leasehold.market import delegate_json, parse_duration
from leasehold.tables import delegates_table

Who = Annotated[str, argument("ADDRESS", "The delegate's account, or its name."), ACCOUNT]


@shared(SENDS | PROPOSES, "set")
async def set_delegate(
    call: Invocation,
    who: Who,
    cap: Annotated[str, option("--cap AMOUNT", "Most whole tokens that may leave the ledger.")],
    period: Annotated[
        Seconds, option("--period DURATION", "In each of these: 30d; by default once for all.")
    ] = None,
    expires: Annotated[str, option("--expires DURATION", "How long it may act at all.")] = "30d",
) -> None:
    """Let an account rent from this account's ledger, in this pool. Setting it again begins anew, nothing spent.

    A delegate may open, extend, close, reject and resize leases and set workloads; never withdraw or transfer. It can
    waste up to the cap (around the border of two periods, two caps): give it as you would give money.
    """
    async with planned(call, AllowDelegate(who, cap, period or 0, parse_duration(expires))) as plan:
        call.out.say(plan.said())
        said = f"{plan.delegate} is a delegate: it acts with --for-account {plan.client.account}."
        await carry_out(call, plan, "Let it?", said)


@shared(ANSWERS | WALLET | AS_GROUP, "list")
async def list_delegates(call: Invocation) -> None:
    """List who may rent from this account's ledger, and from whose ledgers this account may."""
    async with open_session(call) as client:
        records, now, money = await delegates_of(client), await client.now(), client.money
        table = delegates_table(records, now, money, client.account)
    told = [delegate_json(record, now, money) for record in records]
    empty = "There is no delegate: let somebody with `leasehold delegate set ADDRESS --cap AMOUNT`."
    call.out.listing(told, *table, empty=empty)


@shared(SENDS | PROPOSES)
async def revoke(call: Invocation, who: Who) -> None:
    """End a delegate's leave, from the next block on. Leases that it has opened run on."""
    async with planned(call, RevokeDelegate(who)) as plan:
        account, gone = plan.client.account, plan.delegate
        said = f"{gone} is no delegate of {account} any more."
        await carry_out(call, plan, f"End the leave of {gone}?", said)
