"""`leasehold provider status`: where everything of a provider's stands."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli.provider.money import say_due
from leasehold.client import provider_status
from leasehold.tables import duty_sentence, own_leases_table, own_machines_table


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your machines, their leases, what they have earned and what can be collected."""
    async with open_session(call) as client:
        known, money = await provider_status(client), client.money
        told, table = known.to_json(money), own_machines_table(known, money)
        empty = "You have no machine in this pool: join with `leasehold provider join`."
        call.out.listing({"account": client.account, **told}, *table, empty=empty)
        call.out.table(*own_leases_table(known), empty="No leases are running.")
        for duty in known.duties:
            call.out.warn(
                duty_sentence(duty, money, lambda what, number: f"`leasehold provider {what} {number}`")
            )
        if not call.out.as_json:
            say_due(call, known.due, money)
            call.out.say(f"In the ledger: {money.show(known.ledger)}.")
