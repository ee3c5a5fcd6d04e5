"""`leasehold checkpoints`: what a lease has got to, kept for the day on which its machine is gone."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import OF_GROUP, SENDS, Invocation, shared
from leasehold.cli._options import AnyLease, option
from leasehold.client import CheckpointTaken, TakeCheckpoint, checkpoints_of, choose_lease
from leasehold.tables import checkpoints_table


@shared(SENDS | OF_GROUP)
async def checkpoints(
    call: Invocation,
    lease: AnyLease,
    now: Annotated[bool, option("--now", "Take one now, and wait for it.")] = False,
    no_keep: Annotated[bool, option("--no-keep", "Leave that to the machine's IPFS node alone.")] = False,
) -> None:
    """The checkpoints of a lease that its machine keeps, the newest last.

    `--now` takes one and has your own IPFS node keep it. A lease begins with it by --checkpoint-from CID.
    """
    async with open_session(call) as client:
        number = await choose_lease(client, lease)
        if now:
            plan = await client.plan(TakeCheckpoint(number, not no_keep))
            await carry_out(call, plan, None, _said, waiting=None)
            return
        told = await checkpoints_of(client, number)
        call.out.listing(
            told.model_dump(mode="json"), *checkpoints_table(told.kept), empty="There is none yet."
        )
        if told.trouble:
            call.out.warn(f"The last attempt failed: {told.trouble}")


def _said(taken: CheckpointTaken) -> str:
    return f"{taken.cid}\nYour own IPFS node has no copy: {taken.unkept}" if taken.unkept else taken.cid
