"""`leasehold validator attest`: a quorum's word that a machine was down. Signatures travel as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, SIGNS, shared
from leasehold.cli._shown import utc
from leasehold.cli._when import parse_when
from leasehold.client import QUORUM_VALIDATORS, Attest, Attestation, SignOutage, quorum_of
from leasehold.files import write_whole
from leasehold.market import InvalidInput

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Sign that a machine was down, and send a quorum's signatures.",
)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="What `attest sign` wrote, of each validator.")
]


@app.command("sign")
@shared(SIGNS)
async def sign_outage(
    call: Invocation,
    machine: MachineId,
    from_: Annotated[
        str, typer.Option("--from", metavar="TIME", help="2026-11-21T15:00:00Z, '2h ago', unix seconds.")
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Its end; by default it is still down.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where the signature goes; by default a new file here."),
    ] = None,
) -> None:
    """Sign that a machine was down, as a validator who saw it. Writes a file for whoever collects signatures.

    All have to sign the same times, to the second.
    """
    async with open_session(call) as client:
        now = await client.now()
        begin, end = parse_when(from_, now), parse_when(to, now) if to is not None else 0
        plan = await SignOutage(machine, begin, end).plan(client)
        lasted = f"from {utc(begin)} to {utc(end)}" if end else f"since {utc(begin)}, and still is"
        call.out.confirm(f"Sign that machine {machine} was down {lasted}?")
        signed = (await client.carry_out(plan)).attestation
        written: dict[str, Json] = signed.model_dump(by_alias=True)
        target = out or Path(f"outage-{machine}-{begin}-{end}-{signed.validator[2:10]}.json")
        write_whole(target, json.dumps(written, indent=2) + "\n")
        call.out.answer({**written, "seats": [seat.seat for seat in plan.seats], "file": str(target)})
        call.out.say(f"{target} is your word: give it to whoever runs `leasehold validator attest send`.")


@app.command("send")
@shared(SENDS)
async def send_attestation(
    call: Invocation,
    files: Files,
) -> None:
    """Put validators' signatures together, say whether they are a quorum, and send them. Anyone may."""
    request = Attest([_load(path) for path in files])
    async with open_session(call, signs=True) as client:
        plan = await request.plan(client)
        outage, seats, validators, needed = (
            plan.outage, list(plan.proofs), plan.validators, quorum_of(plan.matured)
        )  # fmt: skip
        call.out.say(
            f"{len(seats)} of {plan.matured} matured seats have signed, of {len(validators)} validators; it takes "
            f"{needed} seats, of at least {QUORUM_VALIDATORS} validators."
        )
        if not call.dry_run:
            await plan.check()
        document: dict[str, Json] = {
            "machine": outage.machine,
            "from": outage.from_,
            "to": outage.to or None,
            "seats": [*seats],
            "validators": list(validators),
            "matured_seats": plan.matured,
            "needed_seats": needed,
            "needed_validators": QUORUM_VALIDATORS,
            "enough": plan.enough,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Attest the outage of machine {outage.machine}?",
            document=document,
            answer=lambda filed: {**document, "fault": filed.fault},
            said=lambda filed: f"It stands as fault {filed.fault}: see `leasehold fault {filed.fault}`.",
        )


def _load(path: Path) -> Attestation:
    """Raises InvalidInput for a file that cannot be read or has another form."""
    try:
        return Attestation.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InvalidInput(
            f"{path} is no signature file ({str(error).splitlines()[0]}): leave it out."
        ) from error
