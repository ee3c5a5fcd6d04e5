"""`leasehold pool rule` and `execute`: the end of a fault."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import FaultState
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._faults import costs, lasted
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import FaultId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.client import arbiter_of
from leasehold.errors import NotAuthorized, RulingOver, WrongFaultState


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
    async with open_session(call, signs=True) as session:
        found, money = await session.fault(fault), session.money
        if found.state is not FaultState.APPEALED:
            raise WrongFaultState(fault=fault, state=found.state)
        arbiter = await arbiter_of(session, found)
        if arbiter is None or arbiter.lower() != session.account.lower():
            raise NotAuthorized(actor=session.account)
        if await session.now() > found.deadline:
            raise RulingOver(fault=fault, deadline=found.deadline)
        call.out.pairs(
            f"Fault {fault} of machine {found.machine}",
            (
                ("when", lasted(found)),
                ("costs", costs(found, money)),
                ("bond of the appeal", money.show(found.bond)),
                ("rule until", utc(found.deadline)),
            ),
        )

        async def send() -> Done:
            receipt = await (await session.pool.faults()).rule(fault, stands)
            after = await session.fault(fault)
            said = "stands" if stands else "is dropped: nothing is slashed"
            return Done(receipt, f"Fault {fault} {said}.", {"state": after.state.name.lower()})

        document: dict[str, Json] = {"fault": fault, "stands": stands}
        question = f"Let fault {fault} stand?" if stands else f"Drop fault {fault}?"
        await carry_out(call, question, document, send)


@shared(SENDS)
async def execute_fault(call: Invocation, fault: FaultId) -> None:
    """Carry out a fault whose time has come: tenants and reporters have their parts. Anyone may."""
    async with open_session(call, signs=True) as session:
        found, money = await session.fault(fault), session.money
        await session.index()
        call.out.say(f"Fault {fault} of machine {found.machine} costs {costs(found, money)}.")

        async def send() -> Done:
            receipt = await (await session.pool.faults()).execute(fault)
            after = await session.fault(fault)
            return Done(receipt, f"Fault {fault} is executed.", {"state": after.state.name.lower()})

        await carry_out(call, "Carry it out?", {"fault": fault}, send)
