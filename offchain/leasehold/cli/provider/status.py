"""`leasehold provider status`: where everything of a provider's stands."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli.provider.money import say_due
from leasehold.client import PROVE_TIME, ProviderDuty, provider_status
from leasehold.market import Money, fault_cost, format_time
from leasehold.tables import own_leases_table, own_machines_table


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
            call.out.warn(_said(duty, money))
        if not call.out.as_json:
            say_due(call, known.due, money)
            call.out.say(f"In the ledger: {money.show(known.ledger)}.")


def _said(duty: ProviderDuty, money: Money) -> str:
    number, until = duty.machine.id, format_time(duty.until or 0)
    if duty.fault is not None:
        cost, appeal = fault_cost(duty.fault, money), f"`leasehold provider appeal {duty.fault.id}`"
        return f"Fault {duty.fault.id} will cost {cost}: {appeal} until {until}, or let it stand."
    if duty.what == "answer":
        return f"Machine {number} is challenged until {until}: `leasehold provider answer {number}`."
    if duty.what == "wait":
        answered = format_time((duty.until or 0) - PROVE_TIME)
        return (
            f"Machine {number} did not answer by {answered}: anybody may prove it until {until}, then the question is "
            "over. See that its agent runs."
        )
    recover = f"`leasehold provider recover {number}`"
    if duty.machine.down:
        return f"Machine {number} is down since {format_time(duty.machine.down_since)}: {recover}."
    return f"Machine {number} left a lease unstarted: {recover}."
