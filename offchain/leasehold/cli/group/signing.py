"""`leasehold group approve`, `execute` and `renew`: from a proposal to what it proposes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from leasehold.agreements import (
    LIFETIME,
    AcceptanceFile,
    FileRefused,
    OfferFile,
    Proposal,
    SignatureFile,
    gather_signatures,
    load_proposal,
    pool_domain,
    propose_calls,
    write_file,
)
from leasehold.chain import DecodedCall, LeaseOpened, Receipt, decode_calls, decode_log, format_lease
from leasehold.chain.typed import AcceptTransfer, Offer, Session, SessionKey
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._proposing import warn_of_refusal, write_proposal
from leasehold.cli._shared import ANSWERS, SENDS, shared
from leasehold.cli._shown import transaction
from leasehold.cli.group._shown import check_alive, show_proposal
from leasehold.client import PoolClient
from leasehold.market import MarketError, parse_duration

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
    async with open_session(call) as session:
        proposal, signatures = load_proposal(file, session.deployment)
        document = await show_proposal(call, session, proposal)
        await check_alive(session, proposal)
        if proposal.kind == "execute":
            await warn_of_refusal(call, session, proposal)
        if call.dry_run:
            call.out.answer({**document, "dry_run": True})
            return
        assert session.signer is not None
        if session.signer.address in proposal.group.signers:  # else signing says who could
            call.out.confirm("Sign this?")
        proofs = await proposal.sign(session.signer)
        signer = session.signer.address
        path = file if add else output or file.with_name(f"{file.stem}.{signer[2:10]}.sig.json")
        signatures[signer] = proofs
        if add:
            write_file(path, proposal.file(signatures))
        else:
            write_file(path, _signature_file(proposal, signer, proofs))
        need, missing = proposal.group.threshold, proposal.group.threshold - len(signatures)
        call.out.answer({**document, "signer": signer, "signature": str(path)})
        call.out.say(f"Signed by {signer}, in {path}.")
        call.out.say(
            f"It takes {need} in all; {file} and this one hold {len(signatures)}. Whoever has the others runs: "
            f"leasehold group execute {file} SIGNATURE..."
            if missing > 0
            else f"That is enough: leasehold group execute {file} SIGNATURE..."
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
    async with open_session(call, account=False) as session:
        proposal, found = load_proposal(file, session.deployment)
        if proposal.kind == "execute" and not call.dry_run:
            call.chosen()  # whoever pays the gas; said before anything is asked
        found |= gather_signatures(proposal, signatures or ())
        document = await show_proposal(call, session, proposal)
        await check_alive(session, proposal)
        proofs = proposal.prove(found)
    document["signed"] = sorted(found)
    if call.dry_run:
        call.out.answer({**document, "dry_run": True})
        return
    if proposal.kind == "execute":
        call.out.confirm("Execute this?")
        async with open_session(call, signs=True) as session:
            await _execute(call, session, proposal, proofs[0], document)
    else:
        async with open_session(call, account=False) as session:
            await _assemble(call, session, proposal, proofs, file, output)


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
    async with open_session(call, account=False) as session:
        proposal, _ = load_proposal(file, session.deployment)
        if proposal.kind != "execute":
            raise FileRefused("Only calls can be proposed again: make the rest anew with its own command.")
        again = await propose_calls(
            session.accounts,
            session.deployment,
            proposal.group,
            proposal.execution.calls,
            deadline=await session.now() + lifetime,
            key=secrets.randbits(64) if unordered else 0,
        )
        await write_proposal(call, session, again, output or file)


def _signature_file(proposal: Proposal, signer: str, proofs: tuple[bytes, ...]) -> SignatureFile:
    return SignatureFile(
        digests=tuple("0x" + each.hex() for each in proposal.digests),
        signer=signer,
        proofs=tuple("0x" + each.hex() for each in proofs),
    )


async def _execute(
    call: Invocation, session: PoolClient, proposal: Proposal, proof: bytes, document: dict[str, Json]
) -> None:
    execution = proposal.execution
    await _bring_workloads(call, session, decode_calls(execution.calls, await session.pool.contracts()))
    with call.out.working("Waiting for the transaction"):
        receipt = await session.accounts.execute(
            execution.account, execution.calls, execution.nonce, execution.deadline, proof
        )
    leases = opened(receipt)
    call.out.answer(
        {
            **document,
            "leases": [format_lease(each) for each in leases],
            "numbers": [str(each) for each in leases],
            **transaction(receipt),
        }
    )
    call.out.say(f"Done for {execution.account} (block {receipt.block_number}).")
    for each in leases:
        call.out.say(f"Lease {format_lease(each)} is open.")


async def _bring_workloads(call: Invocation, session: PoolClient, calls: Iterable[DecodedCall]) -> None:
    """Hand over again what was sealed on this computer: signing takes days, and a machine waits for an hour."""
    for each in calls:
        await _bring_workloads(call, session, each.inner)
        request = each.arguments.get("request")
        if each.function not in ("open", "openWithOffer") or not isinstance(request, Mapping):
            continue
        sealed = session.home.sealed_workloads.get(bytes(request["workload"]))
        record = await (await session.index()).machine(int(request["machine"]))
        if sealed is None or record is None:
            continue
        try:
            (listing,) = await session.machines().listings([record])
            await session.renter().deliver(listing, sealed)
        except MarketError as error:
            call.out.warn(f"Machine {record.machine.id} may not have the workload: {error}")


def opened(receipt: Receipt) -> list[int]:
    """The leases that a transaction opened."""
    events = (decode_log(log) for log in receipt.logs)
    return [event.lease for event in events if isinstance(event, LeaseOpened)]


async def _assemble(
    call: Invocation,
    session: PoolClient,
    proposal: Proposal,
    proofs: tuple[bytes, ...],
    file: Path,
    output: Path | None,
) -> None:
    """What is not sent: a file, or a session for this computer."""
    deployment = session.deployment
    path = output or file.with_name(f"{file.stem}.{proposal.kind}.json")
    if proposal.kind == "session":
        (message,) = proposal.messages
        assert isinstance(message, Session)
        key = SessionKey(message, proofs[0], call.home.pending_sessions.key(message.key))
        await call.home.sessions.keep(key, pool_domain(deployment))
        call.home.pending_sessions.forget(message.key)
        call.out.answer({"kind": "session", "account": proposal.account, "expires_at": message.expires_at})
        call.out.say(f"Kept: commands with --as-group talk to the agents of {proposal.account}'s leases.")
        return
    if proposal.kind == "acceptance":
        accepted = [each for each in proposal.messages if isinstance(each, AcceptTransfer)]
        write_file(path, AcceptanceFile.of(deployment, accepted, proofs))
    else:
        (offer,) = proposal.messages
        assert isinstance(offer, Offer)
        write_file(path, OfferFile.of(deployment, proposal.account, offer, proofs[0]))
    call.out.answer({"kind": proposal.kind, "account": proposal.account, "file": str(path)})
    call.out.say(f"The {proposal.kind} is in {path}.")
