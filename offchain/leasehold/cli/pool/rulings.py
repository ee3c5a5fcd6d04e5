"""`leasehold pool rule` and `execute`: the end of a fault."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._faults import costs, lasted
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import FaultId
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.client import ExecuteFault, RuleOnFault


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(rule)
    app.command("execute")(execute_fault)


@shared(SENDS | PROPOSES)
async def rule(
    call: Invocation,
    fault: FaultId,
    stands: Annotated[bool, typer.Option("--stands/--drop", help="Whether it stands.")],
) -> None:
    """As its arbiter, rule on a fault that was appealed against."""
    async with open_session(call, signs=True) as client:
        plan, money = await RuleOnFault(fault, stands).plan(client), client.money
        call.out.pairs(
            f"Fault {fault} of machine {plan.fault.machine}",
            (
                ("when", lasted(plan.fault)),
                ("costs", costs(plan.fault, money)),
                ("bond of the appeal", money.show(plan.fault.bond)),
                ("rule until", utc(plan.fault.deadline)),
            ),
        )
        said = f"Fault {fault} {'stands' if stands else 'is dropped: nothing is slashed'}."
        await carry_out(
            call,
            client,
            plan,
            question=f"Let fault {fault} stand?" if stands else f"Drop fault {fault}?",
            document={"fault": fault, "stands": stands},
            answer=lambda done: {
                "fault": fault, "stands": stands, "state": done.fault.state.name.lower(),
            },
            said=lambda done: said,
        )  # fmt: skip


@shared(SENDS)
async def execute_fault(call: Invocation, fault: FaultId) -> None:
    """Carry out a fault whose time has come: tenants and reporters have their parts. Anyone may."""
    async with open_session(call, signs=True) as client:
        plan = await ExecuteFault(fault).plan(client)
        call.out.say(
            f"Fault {fault} of machine {plan.fault.machine} costs {costs(plan.fault, client.money)}."
        )
        await carry_out(
            call,
            client,
            plan,
            question="Carry it out?",
            document={"fault": fault},
            answer=lambda done: {"fault": fault, "state": done.fault.state.name.lower()},
            said=lambda done: f"Fault {fault} is executed.",
        )
