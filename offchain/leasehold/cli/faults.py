"""`leasehold faults` and `fault`: when machines failed, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from leasehold import FaultState
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli._options import FaultId, argument
from leasehold.client import ROLL_AFTER, executable, faults_of, view_fault
from leasehold.market import fault_json, format_time
from leasehold.tables import fault_rows, faults_table, losses_table

if TYPE_CHECKING:
    from leasehold.chain import Fault


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
        then = _what_next(view.fault, await client.now(), view.arbiter)
    rows = (*fault_rows(view, money), ("next", then))
    call.out.sheet({**view.to_json(money), "next": then}, f"Fault {fault}", rows)
    call.out.table(*losses_table(view, money), empty="No lease has registered a loss.")


def _what_next(fault: Fault, now: int, arbiter: str | None) -> str:
    """What can happen to it now, and who may send that."""
    until = format_time(fault.deadline)
    if fault.state is FaultState.RUNNING:
        if now > fault.from_ + ROLL_AFTER:
            return f"anybody may file it: `leasehold compensate {fault.id}`"
        return "runs until the machine's operator or provider recovers it"
    if fault.state is FaultState.FILED and now <= fault.deadline:
        may = "the provider may appeal" if arbiter else "nobody rules on it: it stands"
        return f"{may} until {until}; tenants register what they lost"
    if fault.state is FaultState.APPEALED and now <= fault.deadline:
        return f"{arbiter} may rule until {until}; silence lets it stand"
    if fault.state is FaultState.UPHELD and now <= fault.deadline:
        return f"it stands; tenants register what they lost until {until}"
    if executable(fault, now):
        return f"anybody may carry it out: `leasehold compensate {fault.id}`"
    if fault.state is FaultState.EXECUTED and fault.pot:
        return f"tenants are still owed a part: `leasehold compensate {fault.id}`"
    return "nothing more"
