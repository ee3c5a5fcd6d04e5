"""`leasehold volume`: what you keep on machines, from one lease to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import AnyLease, argument, option
from leasehold.client import (
    DiscardVolume,
    ExportVolume,
    ImportVolume,
    VolumeExported,
    choose_lease,
    volumes_of,
)
from leasehold.tables import volumes_table

Name = Annotated[str, argument("NAME", "What the volume is called.")]


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP, "ls")
async def ls(call: Invocation) -> None:
    """Your volumes, as the agents of your latest leases tell of them."""
    async with open_session(call) as client:
        view = await volumes_of(client)
    empty = "You have no volume on a machine that answers."
    call.out.listing(view.to_json(), *volumes_table(view.seen), empty=empty)
    for lease, why in view.silent:
        call.out.warn(f"Lease {format_lease(lease)}: {why}")


@shared(SENDS | OF_GROUP)
async def rm(call: Invocation, lease: AnyLease, name: Name) -> None:
    """Remove a volume for good from the machine of a lease that names it, or has named it.

    No lease may have it attached: close that one first.
    """
    async with open_session(call) as client:
        plan = await client.plan(DiscardVolume(await choose_lease(client, lease), name))
        question = f"Remove volume {name} for good?"
        await carry_out(call, plan, question, lambda gone: f"Volume {gone.name} is gone.", waiting=None)


@shared(SENDS | OF_GROUP)
async def export(
    call: Invocation,
    lease: AnyLease,
    name: Name,
    no_keep: Annotated[
        bool,
        option(
            "--no-keep", "Leave it on the machine's IPFS node alone, which keeps it as long as the lease."
        ),
    ] = False,
) -> None:
    """Put what a volume holds on IPFS, sealed under its key: a lease on another machine can begin with it.

    The files are taken as they are while they are read: stop what writes to them first. Of a later export the machine's
    node has what did not change.
    """
    async with open_session(call) as client:
        plan = await client.plan(ExportVolume(await choose_lease(client, lease), name, not no_keep))
        await carry_out(call, plan, None, _said, waiting=None)


@shared(SENDS, "import")
async def import_(
    call: Invocation,
    name: Name,
    folder: Annotated[Path, argument("FOLDER", "What the volume is to hold.")],
) -> None:
    """Seal a folder of yours for a volume, on your own IPFS node: a lease that makes the volume begins with it."""
    async with planned(call, ImportVolume(name, folder), signs=False) as plan:
        await carry_out(call, plan, None, _said, waiting=None)


def _said(exported: VolumeExported) -> str:
    name, cid = exported.name, exported.cid
    return f"{cid}\nRent with --volume {name}:PATH --volume-from {name}={cid} to begin with it."
