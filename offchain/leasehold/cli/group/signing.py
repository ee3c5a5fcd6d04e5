"""`leasehold group approve`, `execute`, `order` and `renew`: from a proposal to what it proposes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.agreements import LIFETIME, Proposal, gather_signatures, load_proposal, write_file
from leasehold.cli._carrying_out import carry_out, open_session, warn_of_refusal, write_proposal
from leasehold.cli._command import ANSWERS, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.client import (
    ExecuteProposal,
    HandOrder,
    LeasesAccepted,
    LeaseShared,
    OfferSigned,
    ProposalExecuted,
    ProposalSigned,
    RenewProposal,
    SessionKept,
    SignProposal,
    Step,
    WorkloadNotBrought,
    read_proposal,
)
from leasehold.errors import SettingsError
from leasehold.market import Json, parse_duration

Signatures = Annotated[
    list[Path] | None, argument("[SIGNATURE]...", "Signature files, or copies of FILE with more of them.")
]
ProposalArgument = Annotated[Path, argument("FILE", "The proposal.")]
Output = Annotated[Path | None, option("--output -o FILE", "Where to write; by default beside FILE.")]


@shared(SENDS)
async def approve(
    call: Invocation,
    file: ProposalArgument,
    output: Output = None,
    add: Annotated[
        bool, option("--add", "Put the signature into FILE instead of a file of its own.")
    ] = False,
) -> None:
    """Read a proposal (every call, its cost, the digest as computed here) and sign it.

    Nothing is sent: the signature is a file for whoever executes the proposal.
    """
    async with open_session(call) as client:
        proposal, signatures = load_proposal(file, client.deployment)
        text = await read_proposal(client, proposal)
        call.out.pairs(text.title, text.rows)
        plan = await client.plan(SignProposal(proposal))
        warn_of_refusal(call, plan.refusal)
        need = proposal.group.threshold

        def written(signed: ProposalSigned) -> dict[str, Json]:
            signatures[signed.signer] = signed.proofs
            path = file if add else output or file.with_name(f"{file.stem}.{signed.signer[2:10]}.sig.json")
            write_file(path, proposal.file(signatures) if add else signed.file)
            call.out.say(f"Signed by {signed.signer}, in {path}.")
            return {"signature": str(path)}

        await carry_out(
            call,
            plan,
            "Sign this?" if plan.is_signer else None,  # else signing says who could
            lambda signed: (
                f"It takes {need} in all; {file} and this one hold {len(signatures)}. Whoever has the others runs: "
                f"leasehold group execute {file} SIGNATURE..."
                if len(signatures) < need
                else f"That is enough: leasehold group execute {file} SIGNATURE..."
            ),
            also=written,
            document=text.document,
            waiting=None,
        )


@shared(SENDS)
async def execute(
    call: Invocation,
    file: ProposalArgument,
    signatures: Signatures = None,
    output: Output = None,
) -> None:
    """Carry out a proposal that enough signers have approved. Anybody may, and pays the gas.

    Of an acceptance or an offer that makes the file; a session is kept on this computer.
    """
    proposal, proofs = load_proposal(file, call.deployment)
    sends = proposal.kind == "execute" and not call.dry_run  # whoever pays the gas needs a wallet
    async with open_session(call, signs=sends, account=sends) as client:
        proofs |= gather_signatures(proposal, signatures or ())
        text = await read_proposal(client, proposal)
        call.out.pairs(text.title, text.rows)
        path = output or file.with_name(f"{file.stem}.{proposal.kind}.json")
        await carry_out(
            call,
            await client.plan(ExecuteProposal(proposal, proofs)),
            "Execute this?" if sends else None,
            lambda done: _said(proposal, done, path),
            also=lambda done: _made(done, path),
            document={**text.document, "signed": sorted(proofs)},
            waiting=None,
            on_step=lambda step: _warn(call, step),
        )


@shared(ANSWERS | WALLET)
async def order(
    call: Invocation,
    file: ProposalArgument,
    signatures: Signatures = None,
) -> None:
    """Keep a signed proposal of `close --when-done` as an order, and give it to the lease's agent. Nothing is sent.

    The agent listens to whoever has a session of the group, see `leasehold group session`.
    """
    proposal, proofs = load_proposal(file, call.deployment)
    known = call.home.groups.name_of(proposal.group)
    if known is None:
        raise SettingsError(
            f"{proposal.account} is no group that this computer knows", "run `leasehold group create`."
        )
    async with open_session(replace(call, group=known)) as client:
        proofs |= gather_signatures(proposal, signatures or ())
        plan = await client.plan(HandOrder(proposal, proofs))
        await carry_out(call, plan, None, waiting=None)


def _made(done: Step, path: Path) -> dict[str, Json]:
    if isinstance(done, OfferSigned):
        write_file(path, done.offer)
    elif isinstance(done, LeasesAccepted):
        write_file(path, done.acceptance)
    elif isinstance(done, LeaseShared):
        write_file(path, done.access)
    else:
        return {}
    return {"file": str(path)}


def _said(proposal: Proposal, done: Step, path: Path) -> str:
    if isinstance(done, ProposalExecuted):
        lines = [f"Done for {proposal.account} (block {done.receipt.block_number})."]
        return "\n".join(lines + [f"Lease {format_lease(lease)} is open." for lease in done.leases])
    if isinstance(done, SessionKept):
        return f"Kept: commands with --as-group talk to the agents of {done.account}'s leases."
    if isinstance(done, LeaseShared):
        return f"It is in {path}: whoever has the key runs `leasehold access accept {path}`."
    return f"The {proposal.kind} is in {path}."


def _warn(call: Invocation, step: Step) -> None:
    if isinstance(step, WorkloadNotBrought):
        call.out.warn(f"Machine {step.machine} may not have the workload: {step.why}")


@shared(ANSWERS)
async def renew(
    call: Invocation,
    file: ProposalArgument,
    deadline: Annotated[
        str, option("--for DURATION", "How long it waits for signatures.")
    ] = f"{LIFETIME // 86_400}d",
    unordered: Annotated[
        bool, option("--unordered", "A nonce of its own, so that it waits for no other proposal.")
    ] = False,
    output: Output = None,
) -> None:
    """Propose the same calls again: with the group's next nonce and a new deadline. It has to be signed anew."""
    lifetime = parse_duration(deadline)
    async with open_session(call, account=False) as client:
        proposal, _ = load_proposal(file, client.deployment)
        again = await client.carry_out(RenewProposal(proposal, lifetime, unordered))
        await write_proposal(call, client, again.proposal, output or file)
