"""`leasehold validator attest`: a quorum's word that a machine was down. Signatures travel as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import SENDS, SIGNS, Invocation, shared
from leasehold.cli._options import MachineId, Read, argument, option
from leasehold.client import Attest, Attestation, SignOutage
from leasehold.files import write_whole
from leasehold.market import format_time, parse_time


@shared(SIGNS, "sign")
async def sign_outage(
    call: Invocation,
    machine: MachineId,
    from_: Annotated[str, option("--from TIME", "2026-11-21T15:00:00Z, '2h ago', unix seconds.")],
    to: Annotated[str | None, option("--to TIME", "Its end; by default it is still down.")] = None,
    out: Annotated[
        Path | None, option("--out FILE", "Where the signature goes; by default a new file here.")
    ] = None,
) -> None:
    """Sign that a machine was down, as a validator who saw it. Writes a file for whoever collects signatures.

    All have to sign the same times, to the second.
    """
    async with open_session(call) as client:
        now = await client.now()
        begin, end = parse_time(from_, now), parse_time(to, now) if to is not None else 0
        plan = await client.plan(SignOutage(machine, begin, end))
        lasted = f"since {format_time(begin)}, and still is"
        if end:
            lasted = f"from {format_time(begin)} to {format_time(end)}"
        call.out.confirm(f"Sign that machine {machine} was down {lasted}?")
        signed = (await client.carry_out(plan)).attestation
        written = signed.model_dump(by_alias=True)
        target = out or Path(f"outage-{machine}-{begin}-{end}-{signed.validator[2:10]}.json")
        write_whole(target, json.dumps(written, indent=2) + "\n")
        call.out.answer({**written, "seats": [seat.seat for seat in plan.seats], "file": str(target)})
        call.out.say(f"{target} is your word: give it to whoever runs `leasehold validator attest send`.")


@shared(SENDS, "send")
async def send_attestation(
    call: Invocation,
    signed: Annotated[
        tuple[Attestation, ...],
        argument("FILE...", "What `attest sign` wrote, of each validator."),
        Read(lambda text: Attestation.load(Path(text))),
    ],
) -> None:
    """Put validators' signatures together, say whether they are a quorum, and send them. Anyone may."""
    async with planned(call, Attest(signed)) as plan:
        call.out.say(plan.said())
        if not call.dry_run:
            await plan.check()
        await carry_out(
            call,
            plan,
            f"Attest the outage of machine {plan.outage.machine}?",
            lambda filed: f"It stands as fault {filed.fault}: see `leasehold fault {filed.fault}`.",
        )
