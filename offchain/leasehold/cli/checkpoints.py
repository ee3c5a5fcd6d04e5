"""`leasehold checkpoints`: what a lease has got to, kept for the day on which its machine is gone."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import OF_GROUP, SENDS, Invocation, shared
from leasehold.cli._options import LeaseId, option
from leasehold.client import CheckpointTaken, TakeCheckpoint, checkpoints_of
from leasehold.market import format_size, format_time


@shared(SENDS | OF_GROUP)
async def checkpoints(
    call: Invocation,
    lease: LeaseId,
    now: Annotated[bool, option("--now", "Take one now, and wait for it.")] = False,
    no_keep: Annotated[bool, option("--no-keep", "Leave that to the machine's IPFS node alone.")] = False,
) -> None:
    """The checkpoints of a lease that its machine keeps, the newest last.

    `--now` takes one and has your own IPFS node keep it. A lease begins with it by --checkpoint-from CID.
    """
    if now:
        async with planned(call, TakeCheckpoint(lease, not no_keep), signs=False) as plan:
            await carry_out(call, plan, None, _said, waiting=None)
        return
    async with open_session(call) as client:
        told = await checkpoints_of(client, lease)
    rows = [(made.cid, format_time(made.at), made.why, format_size(made.read)) for made in told.kept]
    columns = ("checkpoint", "taken", "why", "read")
    call.out.listing(told.model_dump(mode="json"), columns, rows, empty="There is none yet.")
    if told.trouble:
        call.out.warn(f"The last attempt failed: {told.trouble}")


def _said(taken: CheckpointTaken) -> str:
    if taken.unkept:
        return f"{taken.cid}\nYour own IPFS node has no copy: {taken.unkept}"
    return taken.cid
