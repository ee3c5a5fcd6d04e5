"""`leasehold dataset`: data on IPFS, for workloads to mount."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._keyring import dataset_keys, remember_dataset_key
from leasehold.cli._options import JsonFlag
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
def add(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Sealed under a new key, which is kept with your wallets.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add a folder to your IPFS node and print its CID.

    What is not encrypted can be read by anybody who learns its CID.
    """
    call = Invocation.of(ctx, as_json=as_json)

    async def command() -> None:
        async with Ipfs(call.settings.ipfs) as ipfs:
            with call.out.transferring(f"Adding {folder}") as progress:
                added = await ipfs.add_folder(folder, encrypt=encrypt, progress=progress)
        if added.key is not None:
            remember_dataset_key(call.settings.home, added.cid, added.key)
        call.out.answer({"cid": added.cid, "size": added.size, "encrypted": added.key is not None})
        if not as_json:
            call.out.say(added.cid)
            call.out.warn(f"{format_size(added.size)}. Mount it with --dataset {added.cid}:/data/NAME.")

    call.run(command())


@app.command()
def pin(ctx: typer.Context, cid: Cid, as_json: JsonFlag = False) -> None:
    """Fetch a dataset onto your IPFS node, and keep it there."""
    call = Invocation.of(ctx, as_json=as_json)

    async def command() -> None:
        async with Ipfs(call.settings.ipfs) as ipfs:
            with call.out.working(f"Pinning {cid}"):
                await ipfs.pin(cid)
        call.out.answer({"cid": cid, "pinned": True})
        call.out.say(f"Your node keeps {cid}.")

    call.run(command())


@app.command("ls")
def list_entries(
    ctx: typer.Context,
    cid: Annotated[
        str | None, typer.Argument(metavar="[CID]", help="Without one: what your node keeps.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List a dataset's entries, or what your IPFS node keeps."""
    call = Invocation.of(ctx, as_json=as_json)

    async def command() -> None:
        async with Ipfs(call.settings.ipfs) as ipfs:
            if cid is None:
                with call.out.working("Asking your node"):
                    pins = await ipfs.pins()
                own = dataset_keys(call.settings.home)
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

    call.run(command())


@app.command()
def get(
    ctx: typer.Context,
    cid: Cid,
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Fetch a dataset into a folder; every byte is checked against the CID. Takes up where it was interrupted."""
    call = Invocation.of(ctx, as_json=as_json)

    async def command() -> None:
        opener = key or dataset_keys(call.settings.home).get(cid)
        async with Ipfs(call.settings.ipfs) as ipfs:
            with call.out.transferring(f"Fetching {cid}") as progress:
                await ipfs.fetch(cid, folder, key=opener, progress=progress)
        call.out.answer({"cid": cid, "folder": str(folder)})
        call.out.say(f"Fetched {cid} into {folder}.")

    call.run(command())
