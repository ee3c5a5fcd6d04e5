"""`leasehold provider tenants`: how those who rent have done."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.client import tenants_of
from leasehold.tables import tenants_table


@shared(ANSWERS)
async def tenants(
    call: Invocation,
    query: Annotated[
        list[str] | None, argument("[QUERY]...", "Terms that all hold: ended>=3 rejected<5 paid>=10.")
    ] = None,
    by: Annotated[
        str, option("--by FIELD", "In its order; with `-` before it, the largest first.")
    ] = "-paid",
) -> None:
    """Search the pool's tenants by what the chain remembers of them, on machines that are not their own.

    The same terms in `agent.toml` (`tenants`) have an agent decline everybody else. A new account has no record at all.
    """
    async with open_session(call, account=False) as client:
        records, symbol = await tenants_of(client, " ".join(query or ()), by=by), client.money.symbol
    told = [record.to_json() for record in records]
    call.out.listing(told, *tenants_table(records, symbol), empty="No tenant matches: widen the search.")
