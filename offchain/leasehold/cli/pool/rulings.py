"""`leasehold pool rule` and `execute`: the end of a fault."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import FaultState
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._faults import costs, execute, fault_at, lasted
from leasehold.cli._index import indexed
from leasehold.cli._invocation import Invocation
from leasehold.cli._options import AsGroup, DryRun, FaultId, JsonFlag, PasswordFile, ProposalPath, Wallet, Yes
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.errors import NotAuthorized, RulingOver, WrongFaultState


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(rule)
    app.command("execute")(execute_fault)


def rule(
    ctx: typer.Context,
    fault: FaultId,
    stands: Annotated[bool, typer.Option("--stands/--drop", help="Whether it stands.")],
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """As its arbiter, rule on a fault that was appealed against."""
    call = Invocation.of(ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file,
                         as_group=as_group, proposal=proposal)  # fmt: skip

    async def command() -> None:
        async with call.session(signs=not dry_run) as session:
            found, money = await fault_at(session, fault), session.money
            if found.state is not FaultState.APPEALED:
                raise WrongFaultState(fault=fault, state=found.state)
            if found.arbiter.lower() != session.account.lower():
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
                after = await fault_at(session, fault)
                said = "stands" if stands else "is dropped: nothing is slashed"
                return Done(receipt, f"Fault {fault} {said}.", {"state": after.state.name.lower()})

            document: dict[str, Json] = {"fault": fault, "stands": stands}
            question = f"Let fault {fault} stand?" if stands else f"Drop fault {fault}?"
            await carry_out(call, question, document, send, dry_run=dry_run)

    call.run(command())


def execute_fault(
    ctx: typer.Context,
    fault: FaultId,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Carry out a fault whose time has come: tenants, reporters and treasury have their parts. Anyone may."""
    call = Invocation.of(ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file)

    async def command() -> None:
        async with call.session(signs=not dry_run) as session:
            found, money = await fault_at(session, fault), session.money
            await indexed(session, call.out)
            call.out.say(f"Fault {fault} of machine {found.machine} costs {costs(found, money)}.")

            async def send() -> Done:
                receipt = await execute(session, found)
                after = await fault_at(session, fault)
                return Done(receipt, f"Fault {fault} is executed.", {"state": after.state.name.lower()})

            await carry_out(call, "Carry it out?", {"fault": fault}, send, dry_run=dry_run)

    call.run(command())
