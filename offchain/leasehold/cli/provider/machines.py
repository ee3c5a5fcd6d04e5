"""`leasehold provider`: the commands that change a machine."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import MACHINE_COLUMNS, machine_json, machine_row, terms_json
from leasehold.cli.provider._terms import TermsOptions, terms_rows
from leasehold.client import (
    Delist,
    MachineChanged,
    MachinePlan,
    PoolClient,
    Relist,
    Retire,
    SetTerms,
    Unstake,
    Withhold,
    own_machines,
)
from leasehold.market import format_cells, format_duration


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command("machines")(list_machines)
    for command in (terms, withhold, delist, relist, retire, unstake):
        app.command()(command)


@shared(ANSWERS | WALLET)
async def list_machines(call: Invocation) -> None:
    """List your machines."""
    async with open_session(call) as client:
        mine = await own_machines(client)
        with call.out.working("Fetching the machines' documents"):
            listings = await client.machines().listings(mine)
        call.out.answer([machine_json(listing) for listing in listings])
        call.out.table(
            MACHINE_COLUMNS,
            [machine_row(listing) for listing in listings],
            empty="You have no machine in this pool: join with `leasehold provider join`.",
        )


@shared(SENDS | PROPOSES)
async def terms(call: Invocation, machine: MachineId, asked: TermsOptions) -> None:
    """Change what a machine asks for; what is not given stays. Open leases keep the terms they have.

    Without any option it accepts the pool's current parameters with the same terms.
    """
    request = SetTerms(machine, asked.read())
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        call.out.pairs(f"Machine {machine}, from now on", terms_rows(plan.terms, money))
        document: dict[str, Json] = {"machine": machine, "terms": terms_json(plan.terms, money)}
        await carry_out(call, client, plan, question="Set these terms?", document=document)


@shared(SENDS | PROPOSES)
async def withhold(
    call: Invocation,
    machine: MachineId,
    cells: Annotated[
        str, typer.Argument(metavar="CELLS", help="GPUs (0,1), cells of one (1:0-3), `all` or `none`.")
    ],
) -> None:
    """Take exactly these cells out of sale, and put the others back. What is leased stays leased."""
    async with open_session(call, signs=True) as client:
        plan = await Withhold(machine, cells).plan(client)
        await _change(
            call, client, plan, f"Withhold {format_cells(plan.cells)} of machine {machine} from sale?"
        )


@shared(SENDS | PROPOSES)
async def delist(call: Invocation, machine: MachineId) -> None:
    """Take a machine out of sale. Its leases run on and cannot be extended; `relist` undoes it."""
    async with open_session(call, signs=True) as client:
        await _change(
            call, client, await Delist(machine).plan(client), f"Take machine {machine} out of sale?"
        )


@shared(SENDS | PROPOSES)
async def relist(call: Invocation, machine: MachineId) -> None:
    """Put a machine back on sale."""
    async with open_session(call, signs=True) as client:
        await _change(
            call, client, await Relist(machine).plan(client), f"Put machine {machine} back on sale?"
        )


@shared(SENDS | PROPOSES)
async def retire(call: Invocation, machine: MachineId) -> None:
    """Take a machine out of the market for good, which starts the delay after which its stake leaves."""
    async with open_session(call, signs=True) as client:
        plan = await Retire(machine).plan(client)
        then = (
            f"In {format_duration(plan.delay)} its stake can leave: `leasehold provider unstake {machine}`.\n"
        )
        await _change(call, client, plan, f"Retire machine {machine} for good? This cannot be undone.", then)


@shared(SENDS | PROPOSES)
async def unstake(call: Invocation, machine: MachineId) -> None:
    """Move a retired machine's stake into your ledger, once its delay has passed."""
    async with open_session(call, signs=True) as client:
        plan = await Unstake(machine).plan(client)
        await _change(call, client, plan, f"Move the stake of machine {machine} into your ledger?")


async def _change(
    call: Invocation, client: PoolClient, plan: MachinePlan, question: str, then: str = ""
) -> None:
    await carry_out(
        call,
        client,
        plan,
        question=question,
        document={"machine": plan.machine.id},
        answer=_changed_json,
        said=lambda done: f"{then}Done in block {done.receipt.block_number}.",
    )


def _changed_json(done: MachineChanged) -> dict[str, Json]:
    return {
        "machine": done.machine.id,
        "state": done.machine.status.name.lower(),
        "delisted": done.machine.delisted,
        "stalled": done.machine.stalled,
        "withheld": format_cells(done.machine.withheld),
    }
