"""`leasehold transfer` and `accept-transfer`: a running lease becomes another account's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold import format_lease, parse_lease
from leasehold.agreements import LIFETIME, AcceptanceFile, read_file, write_file
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, SIGNS, shared
from leasehold.cli._shown import utc
from leasehold.client import AcceptLeases, LeasesAccepted, Transfer
from leasehold.market import Bill, Money, format_share, parse_duration

if TYPE_CHECKING:
    from leasehold.chain import Lease


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
    request = AcceptLeases(tuple(map(parse_lease, leases)), parse_duration(duration))
    async with open_session(call) as client:
        plan = await request.plan(client)
        for lease, bill in plan.leases:
            call.out.say(_described(lease, bill, client.money))
        shown = format_lease(request.leases[0])
        path = output or Path(f"acceptance-{shown}.json")

        def written(accepted: LeasesAccepted) -> dict[str, Json]:
            write_file(path, accepted.acceptance)
            return {"acceptance": str(path), "account": client.account, "deadline": plan.deadline}

        await carry_out(
            call,
            client,
            plan,
            question=f"Become the tenant, if the transfer is made until {utc(plan.deadline)}?",
            document={},
            answer=written,
            said=lambda done: (
                f"The acceptance is in {path}. Its tenant runs: leasehold transfer {shown} {client.account} "
                f"--acceptance {path}"
            ),
            waiting=None,
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
    request = Transfer(parse_lease(lease), to, read_file(acceptance, AcceptanceFile))
    async with open_session(call, signs=True) as client:
        plan, shown = await request.plan(client), format_lease(request.lease)
        call.out.say(_described(plan.lease, plan.bill, client.money))
        await carry_out(
            call,
            client,
            plan,
            question=f"Give it and its escrow to {plan.to}?",
            document={"lease": shown, "from": plan.lease.tenant, "to": plan.to},
            said=lambda done: f"Lease {shown} is {done.to}'s.",
        )


def _described(lease: Lease, bill: Bill, money: Money) -> str:
    return (
        f"Lease {format_lease(lease.id)}: {format_share(lease.cells)} of machine {lease.machine}, {lease.tenant}'s, "
        f"until {utc(lease.end)}; {money.show(bill.unused, places=6)} of its escrow are unused."
    )
