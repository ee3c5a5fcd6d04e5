"""`leasehold cp` and `sync`: files into a lease's container and out of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.cli._output import plain
from leasehold.client import choose_lease
from leasehold.copying import (
    Copied,
    LeaseShell,
    Synced,
    SyncOptions,
    copy_in,
    copy_out,
    lease_shell,
    sync_in,
    sync_out,
)
from leasehold.market import InvalidInput, format_size

Source = Annotated[str, argument("SOURCE", "A path here, or LEASE:/PATH; the lease by number or name.")]
Target = Annotated[str, argument("TARGET", "The same; one of the two is in a lease.")]


@dataclass(frozen=True)
class _Way:
    """Which lease, by number or name, which path there and which here, and whether it goes in."""

    lease: str
    there: str
    here: Path
    inward: bool


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def cp(
    call: Invocation,
    source: Source,
    target: Target,
    recursive: Annotated[bool, option("--recursive -r", "Folders too; they are copied either way.")] = False,
) -> None:
    """Copy a file or a folder into a lease's container, or out of it: `leasehold cp ./data 12:/work/`.

    It goes into the target where that is a folder or ends with a slash, else by the target's name. Outside of it
    nothing is written.
    """
    way = _way(source, target)
    async with _shell_of(call, way) as shell:
        with call.out.transferring(f"Copying {source}") as progress:
            counted = _Count(progress)
            if way.inward:
                copied = await copy_in(shell, way.here, way.there, counted)
            else:
                copied = await copy_out(shell, way.there, way.here, counted)
    call.out.answer({"files": copied.files, "bytes": copied.size, "left": list(copied.left)})
    call.out.say(f"Copied {copied.files} files, {format_size(copied.size)}.")
    _say_left(call, copied)


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def sync(
    call: Invocation,
    source: Source,
    target: Target,
    delete: Annotated[bool, option("--delete", "Remove at the target what the source has not.")] = False,
    checksum: Annotated[bool, option("--checksum -c", "Compare bytes, not sizes and times.")] = False,
    dry: Annotated[bool, option("--dry-run -n", "Say what differs and change nothing.")] = False,
) -> None:
    """Make a folder like another, in a lease's container or here: `leasehold sync ./train 12:/work`.

    Only what differs travels. Going in, what `.leaseholdignore`, or else `.gitignore`, names is left alone; `.git` goes
    neither way.
    """
    way, options = _way(source, target), SyncOptions(delete=delete, checksum=checksum, dry=dry)
    async with _shell_of(call, way) as shell:
        with call.out.transferring(f"Comparing {source}") as progress:
            counted = _Count(progress)
            if way.inward:
                synced = await sync_in(shell, way.here, way.there, options, counted)
            else:
                synced = await sync_out(shell, way.there, way.here, options, counted)
    _say_synced(call, synced, dry)


@asynccontextmanager
async def _shell_of(call: Invocation, way: _Way) -> AsyncIterator[LeaseShell]:
    async with open_session(call) as client:
        await client.index()
        async with lease_shell(client, await choose_lease(client, way.lease)) as shell:
            yield shell


def _say_synced(call: Invocation, synced: Synced, dry: bool) -> None:
    call.out.answer(
        {
            "sent": [_text(path) for path in synced.sent],
            "deleted": [_text(path) for path in synced.deleted],
            "bytes": synced.size,
            "left": list(synced.left),
            "dry_run": dry,
        }
    )
    for sign, paths in (("+", synced.sent), ("-", synced.deleted)):
        for path in paths if dry else ():
            call.out.say(f"{sign} {plain(_text(path))}")
    what = f"{len(synced.sent)} entries, {format_size(synced.size)}"
    if dry:
        call.out.say(f"Would send {what}, and remove {len(synced.deleted)}.")
    else:
        call.out.say(f"Sent {what}; removed {len(synced.deleted)}.")
    _say_left(call, synced)


def _say_left(call: Invocation, copied: Copied | Synced) -> None:
    if copied.left:
        first = plain(copied.left[0])
        call.out.warn(f"{len(copied.left)} entries could not travel, such as {first}.")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "replace")


class _Count:
    """Adds up for a bar."""

    def __init__(self, progress: object) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, count: int) -> None:
        self._done += count
        self._progress(self._done, None)  # type: ignore[operator]


def _way(source: str, target: str) -> _Way:
    out, into = _there(source), _there(target)
    if (out is None) == (into is None):
        raise InvalidInput(
            "One of the two is in a lease: write it as LEASE:/PATH, such as 12:/work, and a file here as ./NAME."
        )
    if into is not None:
        return _Way(*into, Path(source), inward=True)
    assert out is not None
    return _Way(*out, Path(target), inward=False)


def _there(text: str) -> tuple[str, str] | None:
    """Lease and path, where it names one; what begins as a path does not."""
    lease, colon, path = text.partition(":")
    if not colon or not lease or "/" in lease or lease.startswith("."):
        return None
    if not path.startswith("/"):
        raise InvalidInput(f"'{text}': a path in a lease begins with a slash, such as {lease}:/work.")
    return lease, path
