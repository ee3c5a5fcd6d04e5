"""`leasehold transfer` and `accept-transfer`: a running lease becomes another account's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leasehold.agreements import (
    LIFETIME,
    AcceptanceFile,
    FileRefused,
    Proposal,
    accounts_domain,
    read_file,
    write_file,
)
from leasehold.chain import Lease, format_lease, parse_lease
from leasehold.chain.typed import AcceptTransfer, sign
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._proposing import write_proposal
from leasehold.cli._shared import PROPOSES, SENDS, SIGNS, shared
from leasehold.cli._shown import utc
from leasehold.client import PoolClient, parse_address
from leasehold.market import InvalidInput, format_share, parse_duration


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(transfer)
    app.command("accept-transfer")(accept)


@shared(SIGNS | PROPOSES)
async def accept(
    call: Invocation,
    leases: Annotated[list[str], typer.Argument(metavar="LEASE...", help="Whose tenant you become.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The acceptance, for the present tenant."),
    ] = None,
    duration: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long the present tenant has.")
    ] = f"{LIFETIME // 86_400}d",
) -> None:
    """Agree to take leases over: makes the file that `transfer` wants. Nothing is sent.

    You get the lease with what is left of its escrow, and may extend or close it. Whatever its former tenant's
    workload holds stays theirs: set a workload of your own.
    """
    numbers, lifetime = [parse_lease(each) for each in leases], parse_duration(duration)
    async with open_session(call) as session:
        deadline = await session.now() + lifetime
        for number in numbers:
            await _show(call, session, await _transferable(session, number))
        messages = tuple(
            AcceptTransfer(
                account=session.account,
                controller=session.deployment.controller,
                lease=number,
                deadline=deadline,
            )
            for number in numbers
        )
        if call.acting.group is not None:
            group = call.groups.get(call.acting.group)
            await write_proposal(call, session, Proposal("acceptance", session.deployment, group, messages))
            return
        call.out.confirm(f"Become the tenant, if the transfer is made until {utc(deadline)}?")
        assert session.signer is not None
        domain = accounts_domain(session.deployment)
        proofs = [await sign(message, domain, session.signer) for message in messages]
        path = output or Path(f"acceptance-{format_lease(numbers[0])}.json")
        write_file(path, AcceptanceFile.of(session.deployment, messages, proofs))
        call.out.answer({"acceptance": str(path), "account": session.account, "deadline": deadline})
        call.out.say(
            f"The acceptance is in {path}. Its tenant runs: leasehold transfer {format_lease(numbers[0])} "
            f"{session.account} --acceptance {path}"
        )


@shared(SENDS | PROPOSES)
async def transfer(
    call: Invocation,
    lease: LeaseId,
    to: Annotated[str, typer.Argument(metavar="TO", help="The account that becomes its tenant.")],
    acceptance: Annotated[
        Path,
        typer.Option("--acceptance", metavar="FILE", help="What `leasehold accept-transfer` made there."),
    ],
) -> None:
    """Give a running lease, with what is left of its escrow, to an account that has accepted it."""
    number, target = parse_lease(lease), parse_address(to)
    accepted = read_file(acceptance, AcceptanceFile)
    async with open_session(call, signs=True) as session:
        found = await _transferable(session, number)
        if found.tenant != session.account:
            raise InvalidInput(
                f"Lease {format_lease(number)} is {found.tenant}'s: choose its wallet with --wallet, or --as-group."
            )
        if accepted.account != target:
            raise FileRefused(
                f"The acceptance is {accepted.account}'s, not {target}'s: ask {target} for its own."
            )
        proof = accepted.proof_of(number, session.deployment)
        if accepted.deadline < await session.now():
            raise FileRefused(f"The acceptance worked until {utc(accepted.deadline)}: ask for another.")
        await _show(call, session, found)

        async def send() -> Done:
            receipt = await session.pool.transfer_lease(number, target, accepted.deadline, proof)
            return Done(receipt, f"Lease {format_lease(number)} is {target}'s.")

        document = {"lease": format_lease(number), "from": found.tenant, "to": target}
        await carry_out(call, f"Give it and its escrow to {target}?", document, send)


async def _transferable(session: PoolClient, number: int) -> Lease:
    found = await session.lease(number)
    if not found.state.live:
        raise InvalidInput(
            f"Lease {format_lease(number)} is {found.state.word}: only an open or active lease changes hands."
        )
    return found


async def _show(call: Invocation, session: PoolClient, lease: Lease) -> None:
    machine, money = await session.pool.machine_of(lease.machine), session.money
    account = await session.bill(lease, await session.now(), down_since=machine.down_since)
    call.out.say(
        f"Lease {format_lease(lease.id)}: {format_share(lease.cells)} of machine {lease.machine}, {lease.tenant}'s, "
        f"until {utc(lease.end)}; {money.show(account.unused, places=6)} of its escrow are unused."
    )
