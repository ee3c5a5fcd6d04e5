"""`leasehold checkpoints`: what a lease has got to, kept for the day on which its machine is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import OF_GROUP, SENDS, Invocation, shared
from leasehold.cli._options import SIZE, AnyLease, option
from leasehold.client import (
    USUAL_MOST,
    CheckpointGot,
    CheckpointTaken,
    GetCheckpoint,
    TakeCheckpoint,
    checkpoints_of,
    choose_lease,
)
from leasehold.market import InvalidInput, format_size
from leasehold.tables import checkpoints_table


@shared(SENDS | OF_GROUP)
async def checkpoints(
    call: Invocation,
    lease: AnyLease,
    now: Annotated[bool, option("--now", "Take one now, and wait for it.")] = False,
    no_keep: Annotated[bool, option("--no-keep", "Leave that to the machine's IPFS node alone.")] = False,
    get: Annotated[
        Path | None, option("--get FOLDER", "Unpack the newest into a folder that is new.")
    ] = None,
    cid: Annotated[str | None, option("--cid CID", "With --get: this one instead of the newest.")] = None,
    name: Annotated[
        str, option("--checkpoint-name NAME", "With --get: what its key was made of, as its workload says.")
    ] = "checkpoint",
    most: Annotated[
        int | None,
        option("--at-most SIZE", "The most that one may come to: 10GiB where nothing is said."),
        SIZE,
    ] = None,
) -> None:
    """The checkpoints of a lease that its machine keeps, the newest last.

    `--now` takes one and has your own IPFS node keep it. A lease begins with it by --checkpoint-from CID. `--get`
    unpacks one on this computer.
    """
    if now and get is not None:
        raise InvalidInput("--now and --get are two things", "take one first, then get it.")
    async with open_session(call, signs=get is not None) as client:
        number, bound = await choose_lease(client, lease), most or USUAL_MOST
        if get is not None:
            got = await client.plan(GetCheckpoint(get, number, cid, name, most=bound))
            await carry_out(call, got, None, _got, waiting=None)
            return
        if now:
            plan = await client.plan(TakeCheckpoint(number, not no_keep, bound))
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


def _got(got: CheckpointGot) -> str:
    said = f"{got.files} files, {format_size(got.size)}, are in {got.folder}."
    return (
        f"{said} What leads out of it, or is no file, was left out: {got.left_out}." if got.left_out else said
    )
