"""`leasehold commit`: a lease's container as an image."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import AnyLease, option
from leasehold.client import CommitContainer, ContainerCommitted, choose_lease
from leasehold.market import format_size


@shared(SENDS)
async def commit(
    call: Invocation,
    lease: AnyLease,
    no_keep: Annotated[bool, option("--no-keep", "Leave that to the machine's IPFS node alone.")] = False,
) -> None:
    """Make an image of a lease's container, sealed, and have your own IPFS node keep it.

    The container stands still while it is read. Volumes, datasets, secrets, and the command and variables of the lease
    are no part of it. A lease begins with it by `--image ipfs:CID`: this computer has the key.
    """
    async with open_session(call) as client:
        number = await choose_lease(client, lease)
        plan = await client.plan(CommitContainer(number, not no_keep))
        await carry_out(call, plan, None, _said, waiting=None)


def _said(made: ContainerCommitted) -> str:
    said = f"{made.image} ({format_size(made.size)})"
    return f"{said}\nYour own IPFS node has no copy: {made.unkept}" if made.unkept else said
