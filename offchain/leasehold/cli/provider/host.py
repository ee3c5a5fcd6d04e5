"""`leasehold provider operator` and `update`: another key for a machine's agent, other documents."""

from __future__ import annotations

from hashlib import sha256

import typer
from eth_utils.address import to_checksum_address

from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli.provider.join import MachineJson, OperatorGas
from leasehold.market import (
    AlreadyJoined,
    InvalidInput,
    MachineFile,
    MachineUnavailable,
    canonical,
    format_amount,
    parse_amount,
)


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
    file = MachineFile.load(described)
    key = to_checksum_address(file.operator)
    async with open_session(call, signs=True) as session:
        provider = session.provider()
        found = await provider.own(machine)
        consent = file.consent_for(session.account, session.deployment.controller, await session.now())
        for record in await (await session.index()).machines(provider=session.account):
            if record.machine.operator == key and record.machine.id != machine:
                raise AlreadyJoined(
                    f"{key} serves machine {record.machine.id} already: make a key of its own."
                )
        gas = await provider.operator_gas(key) if operator_gas is None else parse_amount(operator_gas, 18)
        call.out.say(f"Machine {machine}: {key} instead of {found.operator}.")

        async def send() -> Done:
            receipt = await session.pool.set_operator(machine, key, consent)
            if gas and session.sender is not None:
                await session.sender.send(key, b"", gas)
            said = (
                f"The operator of machine {machine} is {key}. Run `leasehold provider update {machine} {described}` "
                "next: the contact is signed by the operator."
            )
            return Done(receipt, said)

        document: dict[str, Json] = {
            "machine": machine,
            "operator": key,
            "before": found.operator,
            "operator_gas": format_amount(gas, 18),
        }
        await carry_out(call, "Change the operator's key?", document, send)


@shared(SENDS | PROPOSES)
async def update(call: Invocation, machine: MachineId, described: MachineJson) -> None:
    """Publish a machine's documents again, where they have changed: hardware, contact.

    Other hardware has to be measured anew, and raises the revision of the terms.
    """
    file = MachineFile.load(described)
    async with open_session(call, signs=True) as session:
        found, pool = await session.provider().own(machine), session.pool
        record = await (await session.index()).machine(machine)
        if record is None:
            raise MachineUnavailable(f"The index does not know machine {machine}: try again in a moment.")
        if file.operator.lower() != found.operator.lower():
            raise InvalidInput(
                f"That describes a machine of the operator {file.operator}, and machine {machine} has "
                f"{found.operator}: run `leasehold provider operator {machine} {described}` first."
            )
        changed = []
        for name, function, document, known in (
            ("hardware", "setHardware", canonical(file.hardware), record.hardware),
            ("contact", "setContact", canonical(file.contact), record.contact),
        ):
            if sha256(document).digest() != known:
                changed.append((name, function, document))
        names = [name for name, _, _ in changed]
        if not changed:
            call.out.answer({"machine": machine, "changed": []})
            call.out.say(f"Nothing has changed on machine {machine}.")
            return
        call.out.say(f"Of machine {machine} the {' and the '.join(names)} changed.")
        if "hardware" in names:
            call.out.warn("It will be unverified until a committee has measured it.")

        async def send() -> Done:
            for _, _, document in changed:
                await session.ipfs.put_block(document)
            calls = [pool.encode(function, machine, sha256(doc).digest()) for _, function, doc in changed]
            receipt = await pool.multicall(calls)
            revision = (await pool.machine_of(machine)).revision
            return Done(receipt, f"Published: {', '.join(names)}.", {"revision": revision})

        answer: dict[str, Json] = {"machine": machine, "changed": names}
        await carry_out(call, "Publish this?", answer, send)
