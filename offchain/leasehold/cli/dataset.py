"""`leasehold dataset`: data on IPFS, for workloads to mount."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._shared import ANSWERS, shared
from leasehold.datasets import Ipfs
from leasehold.market import format_size

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Add, keep, list and fetch data on IPFS."
)

Cid = Annotated[str, typer.Argument(metavar="CID")]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="IDENTITY", help="What opens a sealed one; known for those made here."),
]


@app.command()
@shared(ANSWERS)
async def add(
    call: Invocation,
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Sealed under a new key, which is kept with your wallets.")
    ] = False,
) -> None:
    """Add a folder to your IPFS node and print its CID.

    What is not encrypted can be read by anybody who learns its CID.
    """
    async with Ipfs(call.settings.ipfs) as ipfs:
        with call.out.transferring(f"Adding {folder}") as progress:
            added = await ipfs.add_folder(folder, encrypt=encrypt, progress=progress)
    if added.key is not None:
        call.home.dataset_keys.keep(added.cid, added.key)
    call.out.answer({"cid": added.cid, "size": added.size, "encrypted": added.key is not None})
    if not call.out.as_json:
        call.out.say(added.cid)
        call.out.warn(f"{format_size(added.size)}. Mount it with --dataset {added.cid}:/data/NAME.")
        if added.key is None:
            call.out.warn("Whoever learns that CID can fetch it: `--encrypt` seals what others may not read.")


@app.command()
@shared(ANSWERS)
async def pin(call: Invocation, cid: Cid) -> None:
    """Fetch a dataset onto your IPFS node, and keep it there."""
    async with Ipfs(call.settings.ipfs) as ipfs:
        with call.out.working(f"Pinning {cid}"):
            await ipfs.pin(cid)
    call.out.answer({"cid": cid, "pinned": True})
    call.out.say(f"Your node keeps {cid}.")


@app.command("ls")
@shared(ANSWERS)
async def list_entries(
    call: Invocation,
    cid: Annotated[
        str | None, typer.Argument(metavar="[CID]", help="Without one: what your node keeps.")
    ] = None,
) -> None:
    """List a dataset's entries, or what your IPFS node keeps."""
    async with Ipfs(call.settings.ipfs) as ipfs:
        if cid is None:
            with call.out.working("Asking your node"):
                pins = await ipfs.pins()
            own = call.home.dataset_keys.all()
            call.out.answer([{"cid": each, "encrypted_here": each in own} for each in pins])
            call.out.table(
                ("cid", ""),
                [(each, "sealed, key here" if each in own else "") for each in pins],
                empty="Your node keeps nothing yet: add a folder with `leasehold dataset add DIR`.",
            )
            return
        with call.out.working(f"Listing {cid}"):
            entries = await ipfs.ls(cid)
    call.out.answer([{"name": each.name, "cid": each.cid, "size": each.size} for each in entries])
    call.out.table(
        ("name", ">size", "cid"),
        [(each.name, format_size(each.size), each.cid) for each in entries],
        empty="It has no entries: it is a single file, or sealed.",
    )


@app.command()
@shared(ANSWERS)
async def get(
    call: Invocation, cid: Cid, folder: Annotated[Path, typer.Argument(metavar="DIR")], key: Key = None
) -> None:
    """Fetch a dataset into a folder; every byte is checked against the CID. Takes up where it was interrupted."""
    opener = key or call.home.dataset_keys.all().get(cid)
    async with Ipfs(call.settings.ipfs) as ipfs:
        with call.out.transferring(f"Fetching {cid}") as progress:
            await ipfs.fetch(cid, folder, key=opener, progress=progress)
    call.out.answer({"cid": cid, "folder": str(folder)})
    call.out.say(f"Fetched {cid} into {folder}.")
