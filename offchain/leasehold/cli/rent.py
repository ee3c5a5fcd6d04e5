"""`leasehold rent`: from a wish to a running lease."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leasehold import parse_lease
from leasehold.agreements import OfferFile, read_file
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AllowUnverified, Approve, MaxPrice, WithoutAgent
from leasehold.cli._renting import plan_json, rented_json, rented_said, say_step, show_plan
from leasehold.cli._shared import FOR_ACCOUNT, PROPOSES, SENDS, shared
from leasehold.cli._workload import CommandLine, WorkloadFlags, build_workload
from leasehold.client import Rent
from leasehold.market import InvalidInput, parse_duration, parse_search, parse_share


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(rent)


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def rent(
    call: Invocation,
    *,
    command: CommandLine = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="DURATION", help="How long: 90m, 2h, 1d; by default all of an --offer."
        ),
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            "--search", "-s", metavar="SEARCH", help="Which machines, as `leasehold machines` does."
        ),
    ] = "",
    machine: Annotated[
        list[int] | None,
        typer.Option(
            "--machine", "-m", metavar="MACHINE", min=1, help="This machine and no other; several for a gang."
        ),
    ] = None,
    gang: Annotated[
        int | None,
        typer.Option(
            "--gang", metavar="N", min=1, max=64, help="A lease on each of N machines, all or none."
        ),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(
            "--share", metavar="SHARE", help="1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones, by default 1."
        ),
    ] = None,
    spot: Annotated[
        bool, typer.Option("--spot", help="At the lower price for leases that may be ended with notice.")
    ] = False,
    backup: Annotated[
        int | None,
        typer.Option("--backup", metavar="MACHINE", min=1, help="Who takes over while the machine is down."),
    ] = None,
    offer: Annotated[
        Path | None, typer.Option("--offer", metavar="FILE", help="At terms that a provider has signed.")
    ] = None,
    again: Annotated[
        str | None,
        typer.Option("--again", metavar="LEASE", help="What an ended lease of yours had, in its slot."),
    ] = None,
    max_price: MaxPrice = None,
    allow_unverified: AllowUnverified = False,
    flags: WorkloadFlags,
    reuse: Annotated[
        str | None,
        typer.Option("--reuse", metavar="LEASE", help="An ended lease of yours, whose slot is cheaper."),
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until it has started.")] = False,
    without_agent: WithoutAgent = False,
    approve: Approve = False,
) -> None:
    """Rent a machine, or part of one, and run a workload on it.

    Billing begins when the workload is ready, and goes by the second. The provider of a machine can read what
    runs on it. With `--again` the same machine runs the same workload, unless another is named.
    """
    parse_search(search)
    cells, seconds = parse_share(share) if share else None, parse_duration(duration) if duration else None
    if seconds is None and offer is None:
        raise InvalidInput("How long? Say it as in --for 2h.")
    machines = tuple(machine or ())
    if len(set(machines)) < len(machines):
        raise InvalidInput("A machine is named twice: a gang has one lease on each, so name each once.")
    if gang is not None and machines and gang != len(machines):
        raise InvalidInput(
            f"A gang of {gang} is on {gang} machines and {len(machines)} are named: correct either."
        )
    many = gang or max(1, len(machines))
    if many > 1 and (backup or offer or again or reuse):
        raise InvalidInput("--backup, --offer, --again and --reuse are for one lease: open these one by one.")
    if call.acting.account and (many > 1 or offer):
        raise InvalidInput(
            "A delegate opens one lease at a time, at listed terms: leave --gang or --offer away."
        )
    if again and (reuse or offer):
        raise InvalidInput(
            "--again takes the slot and the terms of that machine: leave --reuse and --offer away."
        )
    workload = None
    if not (again and flags.file is None and flags.image is None):
        workload = build_workload(call, flags, command)
    async with open_session(call, signs=True) as client:
        plan = await Rent(
            workload=workload,
            seconds=seconds,
            share=cells,
            max_price=max_price,
            search=search,
            machines=machines,
            gang=many,
            spot=spot,
            backup=backup,
            offer=read_file(offer, OfferFile).signed(client.deployment) if offer else None,
            again=parse_lease(again) if again else 0,
            reuse=parse_lease(reuse) if reuse else 0,
            allow_unverified=allow_unverified,
            without_agent=without_agent,
            wait=not no_wait,
        ).plan(client)
        show_plan(call, plan)
        await carry_out(
            call,
            client,
            plan,
            question=f"Pay {client.money.show(plan.payment.amount)} into escrow and rent?",
            document=plan_json(plan, client.money),
            answer=lambda rented: rented_json(plan, rented),
            said=lambda rented: rented_said(client, rented),
            approve=approve,
            waiting=None,
            on_step=lambda step: say_step(call, plan, step),
        )
