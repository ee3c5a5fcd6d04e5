"""`leasehold machine`: one machine whole."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._hints import said
from leasehold.cli._options import Cells, MachineId, Seconds, option
from leasehold.client import view_machine
from leasehold.tables import machine_rows


@shared(ANSWERS)
async def machine(
    call: Invocation,
    machine: MachineId,
    share: Annotated[
        Cells, option("--share SHARE", "Of which the cost is shown; by default the least.")
    ] = None,
    seconds: Annotated[Seconds, option("--for DURATION", "For how long; by default 2h.")] = None,
) -> None:
    """Show one machine whole: hardware, terms and their history, how it has done, what it has, what a share costs."""
    async with open_session(call, account=False) as client:
        view = await view_machine(client, machine, share=share, seconds=seconds or 7_200)
    title = f"Machine {machine}: {view.listing.model or 'unknown model'}"
    call.out.sheet(view.to_json(), title, machine_rows(view, said))
    call.out.warn_of(view.listing)
