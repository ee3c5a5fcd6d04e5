"""What a run is made of, kept so that another process can begin it anew on another machine with nobody there.

The workload stands there as it was resolved (an image by its digest), the code as it was: whoever goes on editing
his folder while the job runs changes nothing of what a recovery runs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold.client import Rent, look_over, own_workload
from leasehold.errors import CodeInvalid
from leasehold.home import RunUnreadable
from leasehold.workload import CodeContents, CodeFolder, CodeKind, Workload, load_workload, survey

if TYPE_CHECKING:
    from leasehold.client import PoolClient

_RENT = ("seconds", "share", "search", "spot", "allow_unverified", "without_agent")


@dataclass(frozen=True)
class Recipe:
    """What each try of a run is. approves: the pool may be approved what later tries need."""

    rent: Rent
    code: CodeContents | None
    approves: bool


async def keep_recipe(
    client: PoolClient, name: str, rent: Rent, code: CodeContents | None, *, approves: bool
) -> None:
    """Note what a run is made of, with the keys of what it keeps, and copy its code.

    Raises:
        CodeInvalid: the folder was written to meanwhile. WalletError: the wallet does not sign for the keys.
    """
    assert rent.workload is not None
    jobs, workload = client.home.jobs(client.deployment), await own_workload(client, rent.workload)
    document: dict[str, Any] = {field: getattr(rent, field) for field in _RENT}
    document |= {
        "machines": list(rent.machines),
        "max_price": None if rent.max_price is None else str(rent.max_price),
        "workload": workload.model_dump(mode="json", exclude_unset=True, exclude_none=True),
        "code": None,
        "approves": approves,
    }
    if code is not None:
        await asyncio.to_thread(copied, code, jobs.code(name))
        document["code"] = {"at": code.folder.at, "digest": code.tree.digest.hex()}
    jobs.keep(name, document)


def recipe_workload(client: PoolClient, name: str) -> Workload | None:
    """The workload of a run that is to be recovered; `None` where it is not. Raises RunUnreadable."""
    document = client.home.jobs(client.deployment).get(name)
    if document is None:
        return None
    try:
        return load_workload(document["workload"])
    except (KeyError, TypeError) as error:
        raise RunUnreadable(name) from error


async def recipe_of(client: PoolClient, name: str) -> Recipe | None:
    """What a run is made of; `None` where nobody is to recover it.

    Raises:
        RunUnreadable: what was noted is damaged. CodeInvalid: its copy of the code is not what it was.
    """
    jobs = client.home.jobs(client.deployment)
    document = jobs.get(name)
    if document is None:
        return None
    try:
        workload, code = load_workload(document["workload"]), document["code"]
        folder = None if code is None else CodeFolder(jobs.code(name), str(code["at"]))
        rent = Rent(
            workload,
            machines=tuple(document["machines"]),
            max_price=document["max_price"],
            wait=False,
            close_when_done=False,
            code=folder,
            **{field: document[field] for field in _RENT},
        )
        approves = bool(document["approves"])
    except (KeyError, TypeError) as error:
        raise RunUnreadable(name) from error
    contents = None if folder is None else await look_over(client, folder)
    if contents is not None and contents.tree.digest.hex() != code["digest"]:
        raise CodeInvalid(f"`{jobs.code(name)}` is not the code that run {name} began with")
    return Recipe(rent, contents, approves)


def copied(contents: CodeContents, place: Path) -> None:
    """A copy of what of a folder goes along, whole or not at all. Raises CodeInvalid, OSError."""
    draft = place.with_name(f"{place.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700, parents=True)
    source, target = os.fsencode(contents.folder.path), os.fsencode(draft)
    folders = [entry for entry in contents.tree.entries if entry.kind is CodeKind.FOLDER]
    for entry in contents.tree.entries:
        here, there = os.path.join(source, entry.path), os.path.join(target, entry.path)
        if entry.kind is CodeKind.FOLDER:
            os.mkdir(there, 0o700)
        elif entry.kind is CodeKind.LINK:
            os.symlink(entry.target, there)
        else:
            shutil.copyfile(here, there, follow_symlinks=False)
            os.chmod(there, entry.mode)
            os.utime(there, (entry.time, entry.time))
    for entry in reversed(folders):  # once nothing is written into it any more
        os.chmod(os.path.join(target, entry.path), entry.mode)
    if survey(CodeFolder(draft, contents.folder.at)).tree.digest != contents.tree.digest:
        raise CodeInvalid(f"`{contents.folder.path}` was written to while it was copied")
    shutil.rmtree(place, ignore_errors=True)
    draft.rename(place)
