"""`leasehold provider operator` and `update`: another key for a machine's agent, other documents."""

from __future__ import annotations

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import MachineId
from leasehold.cli.provider.join import MachineJson, OperatorGas
from leasehold.client import ChangeOperator, PublishDocuments
from leasehold.market import MachineFile


@shared(SENDS | PROPOSES)
async def operator(
    call: Invocation, machine: MachineId, described: MachineJson, operator_gas: OperatorGas = None
) -> None:
    """Give a machine the operator key of another host, or of its own made anew, at once.

    The old one can do nothing any more. The new one has consented by describing its host for you. Works on a retired
    machine too.
    """
    async with planned(call, ChangeOperator(machine, MachineFile.load(described), operator_gas)) as plan:
        call.out.say(f"Machine {machine}: {plan.operator} instead of {plan.machine.operator}.")
        said = (
            f"The operator of machine {machine} is {plan.operator}. Run `leasehold provider update {machine} "
            f"{described}` next: the contact is signed by the operator."
        )
        await carry_out(call, plan, "Change the operator's key?", said)


@shared(SENDS | PROPOSES)
async def update(call: Invocation, machine: MachineId, described: MachineJson) -> None:
    """Publish a machine's documents again, where they have changed: hardware, contact.

    Other hardware has to be measured anew, and raises the revision of the terms.
    """
    async with planned(call, PublishDocuments(machine, MachineFile.load(described))) as plan:
        if not plan.changed:
            call.out.answer(plan.to_json())
            call.out.say(f"Nothing has changed on machine {machine}.")
            return
        call.out.say(f"Of machine {machine} the {' and the '.join(plan.changed)} changed.")
        said = f"Published: {', '.join(plan.changed)}."
        await carry_out(call, plan, "Publish this?", said)
