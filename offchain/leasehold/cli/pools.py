"""`leasehold pools`: what else the factory has made."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.client import pools_of
from leasehold.tables import pools_table


@shared(ANSWERS)
async def pools(call: Invocation) -> None:
    """List the pools that this pool's factory has made. Anybody makes one there: look at `leasehold pool trust`."""
    async with open_session(call, account=False) as client:
        with call.out.working("Looking at the factory's pools"):
            looks = await pools_of(client)
        table = pools_table(looks, client.deployment)
    empty = "The factory has made no pool yet."
    call.out.listing([look.to_json() for look in looks], *table, empty=empty)
