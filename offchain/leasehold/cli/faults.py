"""`leasehold faults` and `fault`: when machines failed, and what that costs."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold import FaultState, format_lease
from leasehold.cli._faults import (
    costs,
    fault_json,
    lasted,
    sink_said,
    what_next,
)
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import FaultId
from leasehold.cli._shared import ANSWERS, WALLET, shared
from leasehold.client import (
    faults_of,
    view_fault,
)
from leasehold.market import format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command("faults")(list_faults)
    app.command("fault")(show_fault)


@shared(ANSWERS | WALLET)
async def list_faults(
    call: Invocation,
    machine: Annotated[
        int | None, typer.Argument(metavar="[MACHINE]", min=1, help="Of this machine only.")
    ] = None,
) -> None:
    """List the outages and other faults of the pool's machines, and what they cost."""
    async with open_session(call, account=False) as session:
        found, money = await faults_of(session, machine), session.money
        call.out.answer([fault_json(each, money) for each in found])
        call.out.table(
            (">fault", ">machine", "kind", "state", "when", ">costs"),
            [
                (
                    str(each.id),
                    str(each.machine),
                    f"{fault_json(each, money)['kind']}",
                    each.state.name.lower(),
                    lasted(each),
                    costs(each, money),
                )
                for each in found
            ],
            empty="No machine has failed." if machine is None else f"Machine {machine} has not failed.",
        )


@shared(ANSWERS | WALLET)
async def show_fault(call: Invocation, fault: FaultId) -> None:
    """Show a fault: what happened, what it costs and whom it goes to, and what can be done next."""
    async with open_session(call, account=False) as session:
        view, now, money = await view_fault(session, fault), await session.now(), session.money
        found, record, losses, arbiter = view.fault, view.record, view.losses, view.arbiter
        parts = (record.pot, record.reported, record.rest) if record else (0, 0, 0)
        sink = record.sink if record else None
        shares = [format_amount(each, money.decimals) for each in parts]
        call.out.answer(
            {
                **fault_json(found, money),
                "to_tenants": shares[0],
                "to_reporters": shares[1],
                "rest": shares[2],
                "rest_to": sink,
                "arbiter": arbiter,
                "next": what_next(found, now, arbiter),
                "losses": [
                    {
                        "lease": format_lease(each.lease),
                        "tenant": each.tenant,
                        "part": format_amount(each.part, money.decimals),
                        "credited": format_amount(each.amount, money.decimals),
                    }
                    for each in losses
                ],
            }
        )
        if call.out.as_json:
            return
        executed = found.state is FaultState.EXECUTED
        went = f"tenants {shares[0]}, reporters {shares[1]}, {sink_said(sink)} {shares[2]} {money.symbol}"
        call.out.pairs(
            f"Fault {fault}",
            (
                ("machine", str(found.machine)),
                ("kind", f"{fault_json(found, money)['kind']}"),
                ("when", lasted(found)),
                ("state", found.state.name.lower()),
                ("costs", costs(found, money)),
                *((("went to", went),) if executed else ()),
                ("judged by", f"version {found.rules} of the pool's parameters"),
                ("arbiter", arbiter or "nobody"),
                ("next", what_next(found, now, arbiter)),
            ),
        )
        call.out.table(
            ("lease", "tenant", ">part of the slash", ">credited"),
            [
                (
                    format_lease(each.lease),
                    each.tenant,
                    money.show(each.part, places=6),
                    money.show(each.amount, places=6),
                )
                for each in losses
            ],
            empty="No lease has registered a loss.",
        )
