"""`leasehold group approve`, `execute` and `renew`: from a proposal to what it proposes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leasehold import format_lease
from leasehold.agreements import LIFETIME, Proposal, gather_signatures, load_proposal, write_file
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._proposing import warn_of_refusal, write_proposal
from leasehold.cli._shared import ANSWERS, SENDS, shared
from leasehold.cli.group._shown import show_proposal
from leasehold.client import (
    ExecuteProposal,
    LeasesAccepted,
    OfferSigned,
    ProposalExecuted,
    ProposalSigned,
    RenewProposal,
    SessionKept,
    SignProposal,
    Step,
    WorkloadNotBrought,
)
from leasehold.market import parse_duration

ProposalArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The proposal.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; by default beside FILE."),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (approve, execute, renew):
        app.command()(command)


@shared(SENDS)
async def approve(
    call: Invocation,
    file: ProposalArgument,
    output: Output = None,
    add: Annotated[
        bool, typer.Option("--add", help="Put the signature into FILE instead of a file of its own.")
    ] = False,
) -> None:
    """Read a proposal (every call, its cost, the digest as computed here) and sign it.

    Nothing is sent: the signature is a file for whoever executes the proposal.
    """
    async with open_session(call) as client:
        proposal, signatures = load_proposal(file, client.deployment)
        document = await show_proposal(call, client, proposal)
        plan = await SignProposal(proposal).plan(client)
        warn_of_refusal(call, plan.refusal)
        need = proposal.group.threshold

        def written(done: ProposalSigned) -> dict[str, Json]:
            signatures[done.signer] = done.proofs
            path = file if add else output or file.with_name(f"{file.stem}.{done.signer[2:10]}.sig.json")
            write_file(path, proposal.file(signatures) if add else done.file)
            call.out.say(f"Signed by {done.signer}, in {path}.")
            return {**document, "signer": done.signer, "signature": str(path)}

        await carry_out(
            call,
            client,
            plan,
            question="Sign this?" if plan.is_signer else None,  # else signing says who could
            document=document,
            answer=written,
            said=lambda done: (
                f"It takes {need} in all; {file} and this one hold {len(signatures)}. Whoever has the others runs: "
                f"leasehold group execute {file} SIGNATURE..."
                if len(signatures) < need
                else f"That is enough: leasehold group execute {file} SIGNATURE..."
            ),
            waiting=None,
        )


@shared(SENDS)
async def execute(
    call: Invocation,
    file: ProposalArgument,
    signatures: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SIGNATURE]...", help="Signature files, or copies of FILE with more of them."
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Carry out a proposal that enough signers have approved. Anybody may, and pays the gas.

    Of an acceptance or an offer that makes the file; a session is kept on this computer.
    """
    proposal, found = load_proposal(file, call.deployment)
    sends = proposal.kind == "execute" and not call.dry_run  # whoever pays the gas needs a wallet
    async with open_session(call, signs=sends, account=sends) as client:
        found |= gather_signatures(proposal, signatures or ())
        document = await show_proposal(call, client, proposal)
        plan = await ExecuteProposal(proposal, found).plan(client)
        document["signed"] = sorted(found)
        path = output or file.with_name(f"{file.stem}.{proposal.kind}.json")
        await carry_out(
            call,
            client,
            plan,
            question="Execute this?" if sends else None,
            document=document,
            answer=lambda done: _answer(proposal, document, done, path),
            said=lambda done: _said(proposal, done, path),
            waiting=None,
            on_step=lambda step: _warn(call, step),
        )


def _answer(proposal: Proposal, document: dict[str, Json], done: Step, path: Path) -> dict[str, Json]:
    if isinstance(done, ProposalExecuted):
        leases = {
            "leases": [format_lease(lease) for lease in done.leases],
            "numbers": list(map(str, done.leases)),
        }
        return {**document, **leases}
    made: dict[str, Json] = {"kind": proposal.kind, "account": proposal.account}
    if isinstance(done, SessionKept):
        return {**made, "expires_at": done.expires_at}
    if isinstance(done, OfferSigned | LeasesAccepted):
        write_file(path, done.offer if isinstance(done, OfferSigned) else done.acceptance)
    return {**made, "file": str(path)}


def _said(proposal: Proposal, done: Step, path: Path) -> str:
    if isinstance(done, ProposalExecuted):
        lines = [f"Done for {proposal.account} (block {done.receipt.block_number})."]
        return "\n".join(lines + [f"Lease {format_lease(lease)} is open." for lease in done.leases])
    if isinstance(done, SessionKept):
        return f"Kept: commands with --as-group talk to the agents of {done.account}'s leases."
    return f"The {proposal.kind} is in {path}."


def _warn(call: Invocation, step: Step) -> None:
    if isinstance(step, WorkloadNotBrought):
        call.out.warn(f"Machine {step.machine} may not have the workload: {step.why}")


@shared(ANSWERS)
async def renew(
    call: Invocation,
    file: ProposalArgument,
    deadline: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long it waits for signatures.")
    ] = f"{LIFETIME // 86_400}d",
    unordered: Annotated[
        bool,
        typer.Option("--unordered", help="A nonce of its own, so that it waits for no other proposal."),
    ] = False,
    output: Output = None,
) -> None:
    """Propose the same calls again: with the group's next nonce and a new deadline. It has to be signed anew."""
    lifetime = parse_duration(deadline)
    async with open_session(call, account=False) as client:
        proposal, _ = load_proposal(file, client.deployment)
        again = await client.carry_out(RenewProposal(proposal, lifetime, unordered))
        await write_proposal(call, client, again.proposal, output or file)
