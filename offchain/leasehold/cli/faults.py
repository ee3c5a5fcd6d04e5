"""`leasehold faults` and `fault`: when machines failed, and what that costs."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli._options import FaultId, argument
from leasehold.client import faults_of, view_fault
from leasehold.market import fault_json
from leasehold.tables import fault_next, fault_rows, faults_table, losses_table


@shared(ANSWERS | WALLET, "faults")
async def list_faults(
    call: Invocation,
    machine: Annotated[int | None, argument("[MACHINE]", "Of this machine only.", min=1)] = None,
) -> None:
    """List the outages and other faults of the pool's machines, and what they cost."""
    async with open_session(call, account=False) as client:
        faults, money = await faults_of(client, machine), client.money
    table, told = faults_table(faults, money), [fault_json(fault, money) for fault in faults]
    empty = "No machine has failed." if machine is None else f"Machine {machine} has not failed."
    call.out.listing(told, *table, empty=empty)


@shared(ANSWERS | WALLET, "fault")
async def show_fault(call: Invocation, fault: FaultId) -> None:
    """Show a fault: what happened, what it costs and whom it goes to, and what can be done next."""
    async with open_session(call, account=False) as client:
        view, money = await view_fault(client, fault), client.money
        then = fault_next(view, await client.now(), f"`leasehold compensate {fault}`")
    rows = (*fault_rows(view, money), ("next", then))
    call.out.sheet({**view.to_json(money), "next": then}, f"Fault {fault}", rows)
    call.out.table(*losses_table(view, money), empty="No lease has registered a loss.")
