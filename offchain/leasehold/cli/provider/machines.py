"""`leasehold provider`: the commands that change a machine."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import MachineId, argument
from leasehold.cli.provider.join import TermsOptions
from leasehold.client import Delist, MachinePlan, Relist, Retire, SetTerms, Unstake, Withhold, own_machines
from leasehold.market import format_cells, format_duration, machine_json, terms_rows
from leasehold.tables import machines_table


@shared(ANSWERS | WALLET, "machines")
async def list_machines(call: Invocation) -> None:
    """List your machines."""
    async with open_session(call) as client:
        mine = await own_machines(client)
        with call.out.working("Fetching the machines' documents"):
            listings = await client.machines().listings(mine)
        call.out.listing(
            [machine_json(listing) for listing in listings],
            *machines_table(listings),
            empty="You have no machine in this pool: join with `leasehold provider join`.",
        )


@shared(SENDS | PROPOSES)
async def terms(call: Invocation, machine: MachineId, terms: TermsOptions) -> None:
    """Change what a machine asks for; what is not given stays. Open leases keep the terms they have.

    Without any option it accepts the pool's current parameters with the same terms.
    """
    async with planned(call, SetTerms(machine, terms.asked())) as plan:
        call.out.pairs(f"Machine {machine}, from now on", terms_rows(plan.terms, plan.client.money))
        await carry_out(call, plan, "Set these terms?")


@shared(SENDS | PROPOSES)
async def withhold(
    call: Invocation,
    machine: MachineId,
    cells: Annotated[str, argument("CELLS", "GPUs (0,1), cells of one (1:0-3), `all` or `none`.")],
) -> None:
    """Take exactly these cells out of sale, and put the others back. What is leased stays leased."""
    async with planned(call, Withhold(machine, cells)) as plan:
        await _change(call, plan, f"Withhold {format_cells(plan.cells)} of machine {machine} from sale?")


@shared(SENDS | PROPOSES)
async def delist(call: Invocation, machine: MachineId) -> None:
    """Take a machine out of sale. Its leases run on and cannot be extended; `relist` undoes it."""
    async with planned(call, Delist(machine)) as plan:
        await _change(call, plan, f"Take machine {machine} out of sale?")


@shared(SENDS | PROPOSES)
async def relist(call: Invocation, machine: MachineId) -> None:
    """Put a machine back on sale."""
    async with planned(call, Relist(machine)) as plan:
        await _change(call, plan, f"Put machine {machine} back on sale?")


@shared(SENDS | PROPOSES)
async def retire(call: Invocation, machine: MachineId) -> None:
    """Take a machine out of the market for good, which starts the delay after which its stake leaves."""
    async with planned(call, Retire(machine)) as plan:
        delay = format_duration(plan.delay)
        then = f"In {delay} its stake can leave: `leasehold provider unstake {machine}`.\n"
        await _change(call, plan, f"Retire machine {machine} for good? This cannot be undone.", then)


@shared(SENDS | PROPOSES)
async def unstake(call: Invocation, machine: MachineId) -> None:
    """Move a retired machine's stake into your ledger, once its delay has passed."""
    async with planned(call, Unstake(machine)) as plan:
        await _change(call, plan, f"Move the stake of machine {machine} into your ledger?")


async def _change(call: Invocation, plan: MachinePlan, question: str, then: str = "") -> None:
    await carry_out(call, plan, question, lambda done: f"{then}Done in block {done.receipt.block_number}.")
