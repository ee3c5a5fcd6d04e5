"""`leasehold dataset`: data on IPFS, for workloads to mount."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._options import DATASET, argument, option
from leasehold.copying import local_folder
from leasehold.datasets import Ipfs
from leasehold.market import InvalidInput, format_size

Cid = Annotated[str, argument("CID", "Or the name that you gave it."), DATASET]
Folder = Annotated[Path, argument("DIR")]
Key = Annotated[str | None, option("--key IDENTITY", "What opens a sealed one; known for those made here.")]


@shared(ANSWERS)
async def add(
    call: Invocation,
    source: Annotated[
        str, argument("SOURCE", "A folder, a file, or an address that fsspec reads: s3://, https://.")
    ],
    public: Annotated[bool, option("--public", "As it is: whoever learns its CID can read it.")] = False,
    encrypt: Annotated[
        bool, option("--encrypt", "Sealed, which is also what happens without it.", hidden=True)
    ] = False,
) -> None:
    """Add data to your IPFS node and print its CID.

    It is sealed under a new key, which is kept with your wallets and handed to what you rent. An address is read with
    the account that its own library finds; what broke off is gone on with.
    """
    if public and encrypt:
        raise InvalidInput("--public and --encrypt contradict each other: leave one away.")
    fetching = lambda: call.out.transferring(f"Fetching {source}")  # noqa: E731
    gathered = local_folder(source, call.home.path / "fetched", fetching)
    async with Ipfs(call.settings.ipfs) as ipfs, gathered as folder:
        with call.out.transferring(f"Adding {source}") as progress:
            added = await ipfs.add_folder(folder, encrypt=not public, progress=progress)
    if added.key is not None:
        call.home.dataset_keys.keep(added.cid, added.key)
    call.out.answer({"cid": added.cid, "size": added.size, "encrypted": added.key is not None})
    if not call.out.as_json:
        call.out.say(added.cid)
        call.out.warn(f"{format_size(added.size)}. Mount it with --dataset {added.cid}:/data/NAME.")
        if added.key is None:
            call.out.warn("Whoever learns that CID can fetch it.")


@shared(ANSWERS, "rm")
async def remove(
    call: Invocation,
    cid: Cid,
    forget: Annotated[bool, option("--forget-key", "Delete its key too: nobody opens it any more.")] = False,
) -> None:
    """Let your IPFS node drop a dataset. Machines that have it keep it as long as they like."""
    async with Ipfs(call.settings.ipfs) as ipfs:
        await ipfs.unpin(cid)
    if forget:
        call.home.dataset_keys.forget(cid)
    call.out.answer({"cid": cid, "pinned": False, "key_forgotten": forget})
    call.out.say(f"Your node may drop {cid}.")


@shared(ANSWERS)
async def pin(call: Invocation, cid: Cid) -> None:
    """Fetch a dataset onto your IPFS node, and keep it there."""
    async with Ipfs(call.settings.ipfs) as ipfs:
        with call.out.working(f"Pinning {cid}"):
            await ipfs.pin(cid)
    call.out.answer({"cid": cid, "pinned": True})
    call.out.say(f"Your node keeps {cid}.")


@shared(ANSWERS, "ls")
async def list_entries(
    call: Invocation,
    cid: Annotated[str | None, argument("[CID]", "Without one: what your node keeps.")] = None,
) -> None:
    """List a dataset's entries, or what your IPFS node keeps."""
    async with Ipfs(call.settings.ipfs) as ipfs:
        if cid is None:
            with call.out.working("Asking your node"):
                pins = await ipfs.pins()
            own = call.home.dataset_keys.all()
            call.out.listing(
                [{"cid": kept, "encrypted_here": kept in own} for kept in pins],
                ("cid", ""),
                [(kept, "sealed, key here" if kept in own else "") for kept in pins],
                empty="Your node keeps nothing yet: add a folder with `leasehold dataset add DIR`.",
            )
            return
        with call.out.working(f"Listing {cid}"):
            entries = await ipfs.ls(cid)
    call.out.listing(
        [{"name": entry.name, "cid": entry.cid, "size": entry.size} for entry in entries],
        ("name", ">size", "cid"),
        [(entry.name, format_size(entry.size), entry.cid) for entry in entries],
        empty="It has no entries: it is a single file, or sealed.",
    )


@shared(ANSWERS)
async def get(call: Invocation, cid: Cid, folder: Folder, key: Key = None) -> None:
    """Fetch a dataset into a folder; every byte is checked against the CID. Takes up where it was interrupted."""
    opener = key or call.home.dataset_keys.all().get(cid)
    async with Ipfs(call.settings.ipfs) as ipfs:
        with call.out.transferring(f"Fetching {cid}") as progress:
            await ipfs.fetch(cid, folder, key=opener, progress=progress)
    call.out.answer({"cid": cid, "folder": str(folder)})
    call.out.say(f"Fetched {cid} into {folder}.")
