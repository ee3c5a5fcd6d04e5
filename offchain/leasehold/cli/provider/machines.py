"""`leasehold provider`: the commands that change a machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from leasehold.chain import Machine, Receipt
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, SIGNS, WALLET, shared
from leasehold.cli._shown import MACHINE_COLUMNS, machine_json, machine_row, terms_json, transaction, utc
from leasehold.cli.provider._terms import AskedTerms, changed_terms, terms_rows
from leasehold.client import PoolClient
from leasehold.market import (
    MachineUnavailable,
    check_terms,
    format_cells,
    format_duration,
    parse_cells,
    unstakable_at,
)

Change = Callable[[PoolClient, Machine], Awaitable[Receipt]]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command("machines")(list_machines)
    for command in (terms, withhold, delist, relist, retire, unstake):
        app.command()(command)


@shared(ANSWERS | WALLET)
async def list_machines(call: Invocation) -> None:
    """List your machines."""
    async with open_session(call) as session:
        index = await session.index()
        mine = [r for r in await index.machines() if r.machine.provider.lower() == session.account.lower()]
        with call.out.working("Fetching the machines' documents"):
            listings = await session.machines().listings(mine)
        call.out.answer([machine_json(each) for each in listings])
        call.out.table(
            MACHINE_COLUMNS,
            [machine_row(each) for each in listings],
            empty="You have no machine in this pool: join with `leasehold provider join`.",
        )


@shared(SENDS | PROPOSES)
async def terms(call: Invocation, machine: MachineId, asked: AskedTerms) -> None:
    """Change what a machine asks for; what is not given stays. Open leases keep the terms they have.

    Without any option it accepts the pool's current parameters with the same terms.
    """
    async with open_session(call, signs=True) as session:
        found = await session.provider().own(machine)
        wanted = changed_terms(found.terms, session.money, asked)
        check_terms(wanted, await session.now())
        await session.provider().check_rules()
        call.out.pairs(f"Machine {machine}, from now on", terms_rows(wanted, session.money))
        if call.dry_run:
            call.out.answer({"machine": machine, "terms": terms_json(wanted, session.money), "dry_run": True})
            return
        call.out.confirm("Set these terms?")
        with call.out.working("Waiting for the transaction"):
            receipt = await session.pool.set_terms(machine, wanted)
        call.out.answer({"machine": machine, **transaction(receipt)})


@shared(SIGNS | PROPOSES)
async def withhold(
    call: Invocation,
    machine: MachineId,
    cells: Annotated[
        str, typer.Argument(metavar="CELLS", help="GPUs (0,1), cells of one (1:0-3), `all` or `none`.")
    ],
) -> None:
    """Take exactly these cells out of sale, and put the others back. What is leased stays leased."""

    async def change(session: PoolClient, found: Machine) -> Receipt:
        return await session.pool.withhold(machine, parse_cells(cells, found.gpus))

    def question(found: Machine) -> str:
        return f"Withhold {format_cells(parse_cells(cells, found.gpus))} of machine {machine} from sale?"

    await _change(call, machine, question, change)


@shared(SIGNS | PROPOSES)
async def delist(call: Invocation, machine: MachineId) -> None:
    """Take a machine out of sale. Its leases run on and cannot be extended; `relist` undoes it."""
    await _change(call, machine, f"Take machine {machine} out of sale?", lambda s, m: s.pool.delist(m.id))


@shared(SIGNS | PROPOSES)
async def relist(call: Invocation, machine: MachineId) -> None:
    """Put a machine back on sale."""
    await _change(call, machine, f"Put machine {machine} back on sale?", lambda s, m: s.pool.relist(m.id))


@shared(SIGNS | PROPOSES)
async def retire(call: Invocation, machine: MachineId) -> None:
    """Take a machine out of the market for good, which starts the delay after which its stake leaves."""

    async def change(session: PoolClient, found: Machine) -> Receipt:
        delay = (await session.pool.params(found.params)).unstake_delay
        receipt = await session.pool.retire(found.id)
        call.out.say(
            f"In {format_duration(delay)} its stake can leave: `leasehold provider unstake {found.id}`."
        )
        return receipt

    await _change(call, machine, f"Retire machine {machine} for good? This cannot be undone.", change)


@shared(SIGNS | PROPOSES)
async def unstake(call: Invocation, machine: MachineId) -> None:
    """Move a retired machine's stake into your ledger, once its delay has passed."""

    async def change(session: PoolClient, found: Machine) -> Receipt:
        leaves = unstakable_at(found, await session.pool.params(found.params))
        if leaves is not None and await session.now() < leaves:
            raise MachineUnavailable(
                f"The stake of machine {machine} is locked until {utc(leaves)}: try again then."
            )
        return await session.pool.unstake(machine)

    await _change(call, machine, f"Move the stake of machine {machine} into your ledger?", change)


async def _change(
    call: Invocation, machine: int, question: str | Callable[[Machine], str], change: Change
) -> None:
    """Check that the machine is one's own, ask, send, report."""
    async with open_session(call, signs=True) as session:
        found = await session.provider().own(machine)
        call.out.confirm(question if isinstance(question, str) else question(found))
        with call.out.working("Waiting for the transaction"):
            receipt = await change(session, found)
        after = await session.pool.machine_of(machine)
        call.out.answer(
            {
                "machine": machine,
                "state": after.status.name.lower(),
                "delisted": after.delisted,
                "stalled": after.stalled,
                "withheld": format_cells(after.withheld),
                **transaction(receipt),
            }
        )
        call.out.say(f"Done in block {receipt.block_number}.")
