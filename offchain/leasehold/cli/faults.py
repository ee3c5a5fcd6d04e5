"""`leasehold faults` and `fault`: when machines failed, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from leasehold import FaultState, format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli._options import FaultId, argument
from leasehold.client import ROLL_AFTER, executable, faults_of, view_fault
from leasehold.market import fault_cost, fault_json, fault_when, format_time

if TYPE_CHECKING:
    from leasehold.chain import Fault

BURNT = "0x000000000000000000000000000000000000dead"  # in the ledger; nobody has its key


@shared(ANSWERS | WALLET, "faults")
async def list_faults(
    call: Invocation,
    machine: Annotated[int | None, argument("[MACHINE]", "Of this machine only.", min=1)] = None,
) -> None:
    """List the outages and other faults of the pool's machines, and what they cost."""
    async with open_session(call, account=False) as client:
        faults, money = await faults_of(client, machine), client.money
        call.out.listing(
            [fault_json(fault, money) for fault in faults],
            (">fault", ">machine", "kind", "state", "when", ">costs"),
            [
                (str(fault.id), str(fault.machine), fault.kind.word, fault.state.name.lower(), fault_when(fault),
                 fault_cost(fault, money))
                for fault in faults
            ],
            empty="No machine has failed." if machine is None else f"Machine {machine} has not failed.",
        )  # fmt: skip


@shared(ANSWERS | WALLET, "fault")
async def show_fault(call: Invocation, fault: FaultId) -> None:
    """Show a fault: what happened, what it costs and whom it goes to, and what can be done next."""
    async with open_session(call, account=False) as client:
        view, money = await view_fault(client, fault), client.money
        shown, then = view.fault, _what_next(view.fault, await client.now(), view.arbiter)
        rows = [
            ("machine", str(shown.machine)),
            ("kind", shown.kind.word),
            ("when", fault_when(shown)),
            ("state", shown.state.name.lower()),
            ("costs", fault_cost(shown, money)),
            ("judged by", f"version {shown.rules} of the pool's parameters"),
            ("arbiter", view.arbiter or "nobody"),
            ("next", then),
        ]
        if shown.state is FaultState.EXECUTED:
            tenants, reporters, rest = view.shares(money)
            sink = view.record.sink if view.record else None
            who = "burnt" if sink is None or sink.lower() == BURNT else sink
            rows.insert(
                5, ("went to", f"tenants {tenants}, reporters {reporters}, {who} {rest} {money.symbol}")
            )
        call.out.sheet({**view.to_json(money), "next": then}, f"Fault {fault}", rows)
        call.out.table(
            ("lease", "tenant", ">part of the slash", ">credited"),
            [
                (format_lease(loss.lease), loss.tenant, money.show(loss.part), money.show(loss.amount))
                for loss in view.losses
            ],
            empty="No lease has registered a loss.",
        )


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
