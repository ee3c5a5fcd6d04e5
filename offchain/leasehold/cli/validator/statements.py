"""`leasehold validator statements`: what operators have signed, looked at before one attests anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli._options import Read, argument
from leasehold.client import look_at
from leasehold.market import load_statements
from leasehold.market.wire import SignedStatement
from leasehold.tables import statements_table, what_follows


@shared(ANSWERS | WALLET)
async def statements(
    call: Invocation,
    files: Annotated[
        tuple[list[SignedStatement], ...],
        argument("FILE...", "What `leasehold statement --out` wrote."),
        Read(lambda text: load_statements(Path(text))),
    ],
) -> None:
    """Look at what operators have signed of leases: whether it is theirs, what they own up to, and what cannot be true.

    It shows what was said. An outage it shows where an operator says itself that a hand on the host ended a container;
    that a command ended by itself, it does not disprove.
    """
    async with open_session(call, account=False) as client:
        view = await look_at(client, [signed for file in files for signed in file])
    call.out.listing(view.to_json(), *statements_table(view.seen), empty="No statement is in it.")
    for line in what_follows(view):
        call.out.warn(line)
