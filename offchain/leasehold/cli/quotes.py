"""`leasehold request-quote`: a renter asks a provider for terms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold.agreements import write_file
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, AS_GROUP, WALLET, Invocation, shared
from leasehold.cli._options import SECONDS, MachineId, NewFile, option
from leasehold.client import quote_request
from leasehold.market import parse_share


@shared(ANSWERS | WALLET | AS_GROUP)
async def request_quote(
    call: Invocation,
    machine: MachineId,
    seconds: Annotated[int, option("--for DURATION", "How long: 90m, 2h, 30d."), SECONDS],
    share: Annotated[str, option("--share SHARE", "1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones.")] = "1",
    price: Annotated[str | None, option("--price AMOUNT", "What you would pay per GPU-hour.")] = None,
    spot: Annotated[bool, option("--spot", "A lease that may be ended with notice.")] = False,
    note: Annotated[str, option("--note TEXT", "A word to the provider.")] = "",
    output: NewFile = None,
) -> None:
    """Write a request for terms, to be sent to the machine's provider, who answers with `offer sign`."""
    async with open_session(call) as client:
        cells = parse_share(share)
        request = await quote_request(
            client, machine, seconds, share=cells, price=price, spot=spot, note=note
        )
        asked = await client.pool.machine_of(machine)
        listed = client.money.show(asked.terms.spot_price if spot else asked.terms.price)
        path = output or Path(f"quote-request-{machine}.json")
        write_file(path, request)
        call.out.answer({"request": str(path), "provider": asked.provider, "machine": machine})
        call.out.say(
            f"The request is in {path}: send it to {asked.provider}, who runs `leasehold offer sign --request`."
            f" Listed is {listed} per GPU-hour."
        )
