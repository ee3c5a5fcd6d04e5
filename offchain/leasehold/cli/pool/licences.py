"""`leasehold pool licence` and `licences`: who may register machines in a gated pool, or run a software."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import DAY, argument, option
from leasehold.cli.pool.owner import Account, order
from leasehold.client import IssueLicence, parse_address
from leasehold.market import licence_json
from leasehold.tables import licence_term, licences_table


@shared(SENDS | PROPOSES)
async def licence(
    call: Invocation,
    address: Account,
    kind: Annotated[
        str, option("--kind NAME", "`provider`, which a gated pool asks for, or a software's.")
    ] = "provider",
    seats: Annotated[int, option("--seats N", "At a time, for software.", min=0, max=2**32 - 1)] = 1,
    until: Annotated[
        date | None, option("--until YYYY-MM-DD", "Last day (UTC); by default for ever."), DAY
    ] = None,
    revoke: Annotated[bool, option("--revoke", "Take it back.")] = False,
) -> None:
    """As the owner, grant an account a licence, change it, or take it back."""
    account = parse_address(address)
    request = IssueLicence(account, kind, 0 if revoke else seats, until)
    term = licence_term(request.expires_at)
    question = f"Grant {account} a licence `{kind}`, {term}?"
    said = f"{account} has a licence `{kind}`, {term}."
    if revoke:
        question = f"Take the licence `{kind}` of {account} back?"
        said = f"{account} has no licence `{kind}` any more."
    await order(call, request, question, said)


@shared(ANSWERS)
async def licences(
    call: Invocation, address: Annotated[str | None, argument("[ADDRESS]", "Of this account only.")] = None
) -> None:
    """List the licences that the pool's owner has issued."""
    account = parse_address(address) if address else None
    async with open_session(call, account=False) as client:
        index, now = await client.index(), await client.now()
        issued = await index.licences(account=account)
    told = [licence_json(known, now) for known in issued]
    call.out.listing(told, *licences_table(issued, now), empty="No licence has been issued.")
