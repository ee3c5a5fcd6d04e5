"""`leasehold statement`: an operator's signed word on a lease, for whoever is to judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._options import AnyLease, option
from leasehold.client import ask_statement, choose_lease, look_at
from leasehold.files import write_whole
from leasehold.market import write_statements
from leasehold.tables import statements_table, what_follows


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def statement(
    call: Invocation,
    lease: AnyLease,
    out: Annotated[
        Path | None, option("--out FILE", "Write all that is kept of the lease to a file.")
    ] = None,
) -> None:
    """Have a machine's operator sign how your lease's container stands, and keep that.

    Whether it runs, since when, how often it ended, and whether a hand on the host ended it. Ask from time to time:
    of two words about one run that cannot both be true, one is a lie that anybody can check.
    """
    async with open_session(call) as client:
        number = await choose_lease(client, lease)
        kept = await ask_statement(client, number)
        view = await look_at(client, kept)
    call.out.listing(view.to_json(), *statements_table(view.seen[-10:]), empty="")
    for line in what_follows(view):
        call.out.warn(line)
    if out is not None:
        write_whole(out, write_statements(kept))
        call.out.say(
            f"{out} holds {len(kept)} statements on lease {format_lease(number)}, as they were signed."
        )
