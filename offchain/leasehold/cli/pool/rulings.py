"""`leasehold pool rule` and `execute`: the end of a fault."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import FaultId, option
from leasehold.client import ExecuteFault, RuleOnFault
from leasehold.market import fault_cost, fault_when, format_time


@shared(SENDS | PROPOSES)
async def rule(
    call: Invocation, fault: FaultId, stands: Annotated[bool, option("--stands/--drop", "Whether it stands.")]
) -> None:
    """As its arbiter, rule on a fault that was appealed against."""
    async with planned(call, RuleOnFault(fault, stands)) as plan:
        appealed, money = plan.fault, plan.client.money
        call.out.pairs(
            f"Fault {fault} of machine {appealed.machine}",
            (
                ("when", fault_when(appealed)),
                ("costs", fault_cost(appealed, money)),
                ("bond of the appeal", money.show(appealed.bond)),
                ("rule until", format_time(appealed.deadline)),
            ),
        )
        question = f"Let fault {fault} stand?" if stands else f"Drop fault {fault}?"
        said = f"Fault {fault} {'stands' if stands else 'is dropped: nothing is slashed'}."
        await carry_out(call, plan, question, said)


@shared(SENDS)
async def execute(call: Invocation, fault: FaultId) -> None:
    """Carry out a fault whose time has come: tenants and reporters have their parts. Anyone may."""
    async with planned(call, ExecuteFault(fault)) as plan:
        cost = fault_cost(plan.fault, plan.client.money)
        call.out.say(f"Fault {fault} of machine {plan.fault.machine} costs {cost}.")
        await carry_out(call, plan, "Carry it out?", f"Fault {fault} is executed.")
