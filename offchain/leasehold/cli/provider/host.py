"""`leasehold provider operator` and `update`: another key for a machine's agent, other documents."""

from __future__ import annotations

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli.provider.join import MachineJson, OperatorGas, gas_of
from leasehold.client import ChangeOperator, PublishDocuments
from leasehold.market import MachineFile, format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(operator)
    app.command()(update)


@shared(SENDS | PROPOSES)
async def operator(
    call: Invocation,
    machine: MachineId,
    described: MachineJson,
    operator_gas: OperatorGas = None,
) -> None:
    """Give a machine the operator key of another host, or of its own made anew, at once.

    The old one can do nothing any more. The new one has consented by describing its host for you. Works on a retired
    machine too.
    """
    request = ChangeOperator(machine, MachineFile.load(described), gas_of(operator_gas))
    async with open_session(call, signs=True) as client:
        plan = await request.plan(client)
        call.out.say(f"Machine {machine}: {plan.operator} instead of {plan.machine.operator}.")
        await carry_out(
            call,
            client,
            plan,
            question="Change the operator's key?",
            document={
                "machine": machine,
                "operator": plan.operator,
                "before": plan.machine.operator,
                "operator_gas": format_amount(plan.gas, 18),
            },
            said=lambda changed: (
                f"The operator of machine {machine} is {plan.operator}. Run `leasehold provider update {machine} "
                f"{described}` next: the contact is signed by the operator."
            ),
        )


@shared(SENDS | PROPOSES)
async def update(call: Invocation, machine: MachineId, described: MachineJson) -> None:
    """Publish a machine's documents again, where they have changed: hardware, contact.

    Other hardware has to be measured anew, and raises the revision of the terms.
    """
    request = PublishDocuments(machine, MachineFile.load(described))
    async with open_session(call, signs=True) as client:
        plan = await request.plan(client)
        document: dict[str, Json] = {"machine": machine, "changed": list(plan.changed)}
        if not plan.changed:
            call.out.answer(document)
            call.out.say(f"Nothing has changed on machine {machine}.")
            return
        call.out.say(f"Of machine {machine} the {' and the '.join(plan.changed)} changed.")
        await carry_out(
            call,
            client,
            plan,
            question="Publish this?",
            document=document,
            answer=lambda done: {**document, "revision": done.machine.revision},
            said=lambda done: f"Published: {', '.join(plan.changed)}.",
        )
