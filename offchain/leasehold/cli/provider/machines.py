"""`leasehold provider`: the commands that change a machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from leasehold.chain import Machine, Receipt
from leasehold.cli._index import indexed
from leasehold.cli._invocation import Invocation
from leasehold.cli._options import (
    AsGroup,
    DryRun,
    JsonFlag,
    MachineId,
    PasswordFile,
    ProposalPath,
    Wallet,
    Yes,
)
from leasehold.cli._session import Session
from leasehold.cli._shown import MACHINE_COLUMNS, machine_json, machine_row, transaction, utc
from leasehold.cli.provider._terms import (
    Longest,
    Price,
    Shortest,
    SpotPrice,
    Trial,
    Until,
    changed_terms,
    terms_rows,
)
from leasehold.market import (
    MachineUnavailable,
    check_terms,
    format_cells,
    format_duration,
    parse_cells,
    unstakable_at,
)

Change = Callable[[Session, Machine], Awaitable[Receipt]]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command("machines")(list_machines)
    for command in (terms, withhold, delist, relist, retire, unstake):
        app.command()(command)


def list_machines(ctx: typer.Context, wallet: Wallet = None, as_json: JsonFlag = False) -> None:
    """List your machines."""
    call = Invocation.of(ctx, as_json=as_json, wallet=wallet)

    async def command() -> None:
        async with call.session() as session:
            index = await indexed(session, call.out)
            mine = [
                r for r in await index.machines() if r.machine.provider.lower() == session.account.lower()
            ]
            with call.out.working("Fetching the machines' documents"):
                listings = await session.machines().listings(mine)
            call.out.answer([machine_json(each) for each in listings])
            call.out.table(
                MACHINE_COLUMNS,
                [machine_row(each) for each in listings],
                empty="You have no machine in this pool: join with `leasehold provider join`.",
            )

    call.run(command())


def terms(
    ctx: typer.Context,
    machine: MachineId,
    price: Price = None,
    spot_price: SpotPrice = None,
    shortest: Shortest = None,
    longest: Longest = None,
    trial: Trial = None,
    until: Until = None,
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Change what a machine asks for; what is not given stays. Open leases keep the terms they have.

    Without any option it accepts the pool's current parameters with the same terms.
    """
    call = Invocation.of(
        ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file, as_group=as_group,
        proposal=proposal,
    )  # fmt: skip

    async def command() -> None:
        async with call.session(signs=not dry_run) as session:
            found = await session.provider().own(machine)
            wanted = changed_terms(
                found.terms,
                session.money,
                price=price,
                spot_price=spot_price,
                shortest=shortest,
                longest=longest,
                trial=trial,
                until=until,
            )
            check_terms(wanted, await session.now())
            call.out.pairs(f"Machine {machine}, from now on", terms_rows(wanted, session.money))
            if dry_run:
                return
            call.out.confirm("Set these terms?")
            with call.out.working("Waiting for the transaction"):
                receipt = await session.pool.set_terms(machine, wanted)
            call.out.answer({"machine": machine, **transaction(receipt)})

    call.run(command())


def withhold(
    ctx: typer.Context,
    machine: MachineId,
    cells: Annotated[
        str, typer.Argument(metavar="CELLS", help="GPUs (0,1), cells of one (1:0-3), `all` or `none`.")
    ],
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Take exactly these cells out of sale, and put the others back. What is leased stays leased."""

    async def change(session: Session, found: Machine) -> Receipt:
        return await session.pool.withhold(machine, parse_cells(cells, found.gpus))

    def question(found: Machine) -> str:
        return f"Withhold {format_cells(parse_cells(cells, found.gpus))} of machine {machine} from sale?"

    call = Invocation.of(
        ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file, as_group=as_group,
        proposal=proposal,
    )  # fmt: skip
    _change(call, machine, question, change)


def delist(
    ctx: typer.Context,
    machine: MachineId,
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Take a machine out of sale. Its leases run on and cannot be extended; `relist` undoes it."""
    call = Invocation.of(
        ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file, as_group=as_group,
        proposal=proposal,
    )  # fmt: skip
    _change(call, machine, f"Take machine {machine} out of sale?", lambda s, m: s.pool.delist(m.id))


def relist(
    ctx: typer.Context,
    machine: MachineId,
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Put a machine back on sale."""
    call = Invocation.of(
        ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file, as_group=as_group,
        proposal=proposal,
    )  # fmt: skip
    _change(call, machine, f"Put machine {machine} back on sale?", lambda s, m: s.pool.relist(m.id))


def retire(
    ctx: typer.Context,
    machine: MachineId,
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Take a machine out of the market for good, which starts the delay after which its stake leaves."""
    call = Invocation.of(
        ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file, as_group=as_group,
        proposal=proposal,
    )  # fmt: skip

    async def change(session: Session, found: Machine) -> Receipt:
        delay = (await session.pool.params(found.params)).unstake_delay
        receipt = await session.pool.retire(found.id)
        call.out.say(
            f"In {format_duration(delay)} its stake can leave: `leasehold provider unstake {found.id}`."
        )
        return receipt

    _change(call, machine, f"Retire machine {machine} for good? This cannot be undone.", change)


def unstake(
    ctx: typer.Context,
    machine: MachineId,
    as_group: AsGroup = None,
    proposal: ProposalPath = None,
    wallet: Wallet = None,
    password_file: PasswordFile = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Move a retired machine's stake into your ledger, once its delay has passed."""

    async def change(session: Session, found: Machine) -> Receipt:
        leaves = unstakable_at(found, await session.pool.params(found.params))
        if leaves is not None and await session.now() < leaves:
            raise MachineUnavailable(
                f"The stake of machine {machine} is locked until {utc(leaves)}: try again then."
            )
        return await session.pool.unstake(machine)

    call = Invocation.of(
        ctx, as_json=as_json, yes=yes, wallet=wallet, password_file=password_file, as_group=as_group,
        proposal=proposal,
    )  # fmt: skip
    _change(call, machine, f"Move the stake of machine {machine} into your ledger?", change)


def _change(call: Invocation, machine: int, question: str | Callable[[Machine], str], change: Change) -> None:
    """Check that the machine is one's own, ask, send, report."""

    async def command() -> None:
        async with call.session(signs=True) as session:
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

    call.run(command())
