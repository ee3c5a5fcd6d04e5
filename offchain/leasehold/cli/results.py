"""`leasehold results`: what a lease leaves behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._choosing import meant
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._finishing import say_finish
from leasehold.cli._options import AnyLeases, Several, argument, option
from leasehold.client import PoolClient, Which, fetch_lease_results, finish_of, published_results
from leasehold.copying import bring_to
from leasehold.errors import WalletError
from leasehold.market import Json, parse_duration
from leasehold.tables import outputs_table


@dataclass(frozen=True)
class _Wish:
    """How they are opened, which of them are wanted, and whether a folder that has something will do."""

    identity: Path | None
    only: tuple[str, ...]
    force: bool


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def results(
    call: Invocation,
    leases: AnyLeases = None,
    *,
    folder: Annotated[Path, argument("DIR", "A new folder; of several leases, one in it for each.")],
    several: Several,
    identity: Annotated[
        Path | None, option("--identity FILE", "The age key, if it is not the wallet's own.")
    ] = None,
    wait: Annotated[str, option("--wait DURATION", "How long to wait for them.")] = "2m",
    only: Annotated[
        list[str] | None,
        option("--only PATTERN", "Only these: /outputs/*.pt by path, or *.pt by name. Several: all of them."),
    ] = None,
    force: Annotated[
        bool, option("--force", "Into a folder that has something; files of the same names are replaced.")
    ] = False,
    to: Annotated[
        str | None,
        option("--to ADDRESS", "Bring them there as well: s3://, gs:// and what else fsspec writes."),
    ] = None,
) -> None:
    """Fetch leases' results, check them, open them, and keep a copy on your IPFS node."""
    patience, wish = parse_duration(wait), _Wish(identity, tuple(only or ()), force)
    async with open_session(call) as client:
        chosen = await meant(client, leases, several, Which.ANY)
        told = []
        for lease in chosen:
            into = folder if len(chosen) == 1 else folder / format_lease(lease)
            where = to if to is None or len(chosen) == 1 else f"{to.rstrip('/')}/{format_lease(lease)}"
            told.append(await _fetch(call, client, lease, into, wish, patience, where))
        call.out.answer(told[0] if len(told) == 1 else {"leases": told})


async def _fetch(
    call: Invocation,
    client: PoolClient,
    lease: int,
    folder: Path,
    wish: _Wish,
    patience: float,
    to: str | None,
) -> dict[str, Json]:
    """Fetch one lease's results and say what they are; the same for programs."""
    shown = format_lease(lease)
    published = await published_results(client, lease, patience=patience)
    if published.tenant is not None:
        whose = f"published for {published.author}"
        if published.author == client.account:
            whose = "the last that were published for you"
        call.out.warn(
            f"Lease {shown} is {published.tenant}'s since it was transferred: these results are {whose}."
        )
    if wish.force and published.outputs is None:
        call.out.warn(
            f"What lease {shown} was to leave behind is not known on this computer: which files are replaced in "
            f"{folder} is its machine's word."
        )
    key = await _read_identity(wish.identity) if wish.identity else await client.age_identity()
    with call.out.transferring(f"Fetching the results of lease {shown}") as progress:
        fetched = await fetch_lease_results(
            client, lease, published, folder, key, progress, only=wish.only, force=wish.force
        )
    if fetched.unpinned is not None:
        call.out.warn(
            f"The results are in {folder}, and could not be pinned on your node: {fetched.unpinned}"
        )
    told = [
        output.model_dump(include={"path", "size", "missing", "skipped"})
        for output in fetched.manifest.outputs
    ]
    call.out.table(*outputs_table(fetched.manifest), empty="The workload declared no outputs.")
    call.out.say(f"Fetched {fetched.cid} into {folder}.")
    if to is not None:
        with call.out.working(f"Bringing them to {to}"):
            outputs = [output.path for output in fetched.manifest.outputs]
            count = await asyncio.to_thread(bring_to, folder, to, outputs)
        call.out.say(f"Brought {count} files to {to}.")
    if (await client.known_lease(lease)).state.live:  # else nobody need answer any more
        say_finish(call, await finish_of(client, lease))
    return {"lease": shown, "cid": fetched.cid, "folder": str(folder), "outputs": told}


async def _read_identity(path: Path) -> str | None:
    try:
        lines = (await asyncio.to_thread(path.read_text)).splitlines()
    except OSError as error:
        raise WalletError(f"{path}: {error.strerror}; name another age key with --identity.") from error
    return next((line.strip() for line in lines if line.startswith("AGE-SECRET-KEY-")), None)
