"""`leasehold leases` and `show`: what you rent, and how it stands."""

from __future__ import annotations

from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, WALLET, Invocation, shared
from leasehold.cli._hints import said, why_declined
from leasehold.cli._options import AnyLease, option
from leasehold.client import choose_lease, exit_codes, leases_of, view_lease
from leasehold.tables import lease_rows, leases_table, past_leases_table


@shared(ANSWERS | WALLET | OF_GROUP)
async def leases(
    call: Invocation,
    everything: Annotated[bool, option("--all", "Those that are over, too.")] = False,
    history: Annotated[bool, option("--history", "Those that are over, and what became of them.")] = False,
) -> None:
    """List your leases, with what they have cost so far."""
    async with open_session(call) as client:
        rented, money = await leases_of(client, everything=everything or history), client.money
        if history:
            over = [known for known in rented if not known.lease.state.live and known.record is not None]
            told = [known.past_json(money) for known in over]
            call.out.listing(told, *past_leases_table(over, money), empty="No lease of yours is over yet.")
            return
        ended = await exit_codes(client, rented)
        call.out.listing(
            [known.to_json(money) | {"exit_code": ended.get(known.lease.id)} for known in rented],
            *leases_table(rented, money, ended),
            empty="You have no running lease: rent with `leasehold rent`, or see old ones with --all.",
        )


@shared(ANSWERS | WALLET | OF_GROUP)
async def show(call: Invocation, lease: AnyLease) -> None:
    """Show a lease: its state on chain, its bill, and what its machine's agent says."""
    async with open_session(call) as client:
        view, money = await view_lease(client, await choose_lease(client, lease)), client.money
    shown = format_lease(view.lease.id)
    away = f"`leasehold failover {shown}`" if view.lease.has_standby else f"`leasehold move {shown} MACHINE`"
    advice = {"machine is down": f": wait, {away}, or close"}
    if view.past_its_end:
        advice["state"] = f": `leasehold close {shown}` settles it"
    rows = lease_rows(view, money, said=said, why=why_declined)
    told = [(name, value + advice.get(name, "")) for name, value in rows]
    call.out.sheet(view.to_json(money), f"Lease {shown}", told)
