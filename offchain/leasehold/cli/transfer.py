"""`leasehold transfer` and `accept-transfer`: a running lease becomes another account's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.agreements import LIFETIME, AcceptanceFile, read_file, write_file
from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import PROPOSES, SENDS, SIGNS, Invocation, shared
from leasehold.cli._options import ACCOUNT, LEASE, RunningLease, argument, option
from leasehold.client import AcceptLeases, LeasesAccepted, Transfer, Which, choose_lease, handed_over
from leasehold.market import Json, format_time, parse_duration


@shared(SENDS | PROPOSES)
async def transfer(
    call: Invocation,
    lease: RunningLease,
    to: Annotated[str, argument("TO", "The account that becomes its tenant."), ACCOUNT],
    acceptance: Annotated[Path, option("--acceptance FILE", "What `leasehold accept-transfer` made there.")],
) -> None:
    """Give a running lease, with what is left of its escrow, to an account that has accepted it."""
    accepted = read_file(acceptance, AcceptanceFile)
    async with open_session(call, signs=True) as client:
        plan = await client.plan(Transfer(await choose_lease(client, lease, Which.LIVE), to, accepted))
        call.out.say(handed_over(plan.lease, plan.bill, plan.client.money))
        await carry_out(
            call,
            plan,
            f"Give it and its escrow to {plan.to}?",
            lambda given: f"Lease {format_lease(plan.lease.id)} is {given.to}'s.",
        )


@shared(SIGNS | PROPOSES, "accept-transfer")
async def accept(
    call: Invocation,
    leases: Annotated[tuple[int, ...], argument("LEASE...", "Whose tenant you become."), LEASE],
    output: Annotated[
        Path | None, option("--output -o FILE", "The acceptance, for the present tenant.")
    ] = None,
    duration: Annotated[
        str, option("--for DURATION", "How long the present tenant has.")
    ] = f"{LIFETIME // 86_400}d",
) -> None:
    """Agree to take leases over: makes the file that `transfer` wants. Nothing is sent.

    You get the lease with what is left of its escrow, and may extend or close it. Whatever its former tenant's
    workload holds stays theirs: set a workload of your own.
    """
    async with planned(call, AcceptLeases(leases, parse_duration(duration)), signs=False) as plan:
        account, first = plan.client.account, format_lease(leases[0])
        path = output or Path(f"acceptance-{first}.json")
        for lease, bill in plan.leases:
            call.out.say(handed_over(lease, bill, plan.client.money))

        def written(accepted: LeasesAccepted) -> dict[str, Json]:
            write_file(path, accepted.acceptance)
            return {"acceptance": str(path), "account": account, "deadline": plan.deadline}

        await carry_out(
            call,
            plan,
            f"Become the tenant, if the transfer is made until {format_time(plan.deadline)}?",
            lambda accepted: (
                f"The acceptance is in {path}. Its tenant runs: leasehold transfer {first} {account} "
                f"--acceptance {path}"
            ),
            also=written,
            waiting=None,
        )
