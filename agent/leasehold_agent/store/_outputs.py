"""Outputs on their way out of a container: a tar from the engine, unpacked with nothing that could leave its folder.

They stay inside the container until the end, where the lease's own disk limit holds for them. Each is unpacked as it
comes, into a folder of its own that bears its number: what one output holds is in no other's way. What has been taken
is noted beside, so that a second attempt goes on instead of copying all again.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

import structlog

from leasehold.datasets import Budget, Ipfs, TreeWriter, untar
from leasehold.errors import DatasetTooLarge, DatasetUnsafe
from leasehold.files import replace_file
from leasehold.workload import WorkloadOutput, pack_outputs
from leasehold_agent._errors import EngineRefused, OutputTooLarge
from leasehold_agent.engine import Engine
from leasehold_agent.host import remove_tree

_log = structlog.get_logger("leasehold_agent")
_NOTES = "taken.json"


class PackOutputs(Protocol):
    """Adds the outputs that `collect` left below `root` to IPFS, each for its own readers; `lease` as
    shown. Returns their CID.
    """

    async def __call__(self, root: Path, outputs: Collection[WorkloadOutput], lease: str) -> str: ...


@dataclass(frozen=True)
class Taken:
    """One output that has been dealt with. `size`: bytes that came of it. `skipped`: entries that could not travel.
    `left`: why it was left behind as a whole.
    """

    size: int = 0
    skipped: int = 0
    left: str | None = None


@dataclass
class OutputLedger:
    """Which outputs were taken from which run of a container."""

    path: Path
    run: str
    taken: dict[int, Taken]

    @classmethod
    def load(cls, target: Path) -> OutputLedger:
        path = target / _NOTES
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            raw = json.loads(path.read_bytes())
            return cls(path, str(raw["run"]), {int(k): Taken(**v) for k, v in raw["taken"].items()})
        return cls(path, "", {})

    def save(self) -> None:
        taken = {str(index): asdict(output) for index, output in self.taken.items()}
        replace_file(self.path, json.dumps({"run": self.run, "taken": taken}).encode())


async def collect(
    engine: Engine, container: str, outputs: Sequence[WorkloadOutput], target: Path, limit: int, reserve: int
) -> list[str]:
    """Unpack each output that exists into `target`, `limit` bytes in all.

    Returns what was left behind for being larger, a sentence each: trying again would not make it smaller.
    Raises OSError, once all that do fit have been taken, where one would take the disk's last `reserve` bytes.
    """
    ledger = await asyncio.to_thread(_begin, target, await engine.run_of(container))
    limit -= sum(taken.size for taken in ledger.taken.values())
    full: OutputTooLarge | None = None
    for index, output in enumerate(outputs):
        if index in ledger.taken:
            continue
        # IPFS will hold a copy beside, of what has been taken as well.
        taken_so_far = sum(taken.size for taken in ledger.taken.values())
        room = max(0, shutil.disk_usage(target).free - reserve - taken_so_far) // 2
        try:
            taken = await _take(engine, container, output, target / str(index), min(limit, room))
        except OutputTooLarge as error:
            if room < limit:
                full = error
                continue
            taken = Taken(left=str(error))
        except EngineRefused as error:  # a way through a file, or links without end
            _log.info("output", path=output.path, problem=str(error))
            taken = Taken(left=f"{output.path} is no path to a file or folder in the container.")
        limit -= taken.size
        ledger.taken[index] = taken
        ledger.save()
    if full is not None:
        raise OSError(errno.ENOSPC, f"This host's disk has no room to pack the outputs: {full}") from full
    return [taken.left for _, taken in sorted(ledger.taken.items()) if taken.left is not None]


def _begin(target: Path, run: str) -> OutputLedger:
    """What an earlier attempt took of this run of the container; of another run, nothing. (No container, no other.)"""
    ledger = OutputLedger.load(target)
    if run and ledger.run != run:
        remove_tree(target)
        ledger.run, ledger.taken = run, {}
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    for entry in list(target.iterdir()):
        if entry.is_dir() and not (entry.name.isdigit() and int(entry.name) in ledger.taken):
            remove_tree(entry)
    return ledger


async def _take(engine: Engine, container: str, output: WorkloadOutput, place: Path, limit: int) -> Taken:
    """Raises OutputTooLarge."""
    part = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=place.parent, prefix=".part-"))
    try:
        taken = await engine.copy_out(
            container, output.path, limit, lambda source: _unpack(source, part, output, limit)
        )
        if taken is not None:
            await asyncio.to_thread(part.rename, place)
        return taken or Taken()
    finally:
        await asyncio.to_thread(remove_tree, part)


def _unpack(source: BinaryIO, target: Path, output: WorkloadOutput, limit: int) -> Taken:
    """Files, folders and links that stay inside; what else a tenant's container holds is left behind and counted."""
    skipped = 0

    def skip(_: DatasetUnsafe) -> None:
        nonlocal skipped
        skipped += 1

    budget = Budget(limit, output.path)
    try:
        with TreeWriter(target, budget) as writer:
            untar(source, writer, budget, skip)
    except DatasetTooLarge as error:
        raise OutputTooLarge(
            f"{error.what} is larger than the {error.limit} that this host packs of it."
        ) from error
    return Taken(budget.bytes, skipped)


def packer(ipfs: Ipfs) -> PackOutputs:
    """`pack_outputs` over one IPFS node, which is told to keep them once they are noted. Every private output names its
    own recipients since it was sealed.
    """

    async def pack(root: Path, outputs: Collection[WorkloadOutput], lease: str) -> str:
        taken = (await asyncio.to_thread(OutputLedger.load, root)).taken
        return await pack_outputs(
            root,
            list(outputs),
            (),
            ipfs,
            lease=lease,
            places=[f"{index}/{PurePosixPath(output.path).name}" for index, output in enumerate(outputs)],
            left_behind=[taken.get(index, Taken()).skipped for index in range(len(outputs))],
            pin=False,
        )

    return pack
