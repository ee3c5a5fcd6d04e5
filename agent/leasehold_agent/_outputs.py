"""Outputs on their way out of a container: a tar from the engine, unpacked with nothing that could leave
its folder.

They stay inside the container until the end, where the lease's own disk limit holds for them.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
import tarfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from leasehold.datasets import Ipfs
from leasehold.workload import Output, pack_outputs
from leasehold_agent._engine import Engine
from leasehold_agent._errors import OutputTooLarge


class PackOutputs(Protocol):
    """Adds the outputs below `root` to IPFS, each for its own readers; `lease` as shown. Returns their
    CID.
    """

    async def __call__(self, root: Path, outputs: Collection[Output], lease: str) -> str: ...


async def collect(
    engine: Engine, container: str, outputs: Sequence[Output], target: Path, limit: int, reserve: int
) -> list[str]:
    """Copy each output that exists to `target` plus its path in the container, `limit` bytes in all.

    Returns what was left behind for being larger, a sentence each: trying again would not make it smaller.
    Raises OSError where the copy and what is unpacked from it would take the disk's last `reserve` bytes.
    """
    await asyncio.to_thread(_empty, target)
    archive, left = target.with_name("outputs.tar"), []
    try:
        for output in outputs:
            room = (shutil.disk_usage(target).free - reserve) // 2
            try:
                there = await engine.copy_out(container, output.path, archive, min(limit, max(0, room)))
            except OutputTooLarge as error:
                if room < limit:
                    raise OSError(
                        errno.ENOSPC, "This host's disk has no room to pack the outputs."
                    ) from error
                left.append(str(error))
                continue
            if there:
                limit -= archive.stat().st_size
                parent = target / output.path.strip("/")
                await asyncio.to_thread(_unpack, archive, parent.parent)
    finally:
        archive.unlink(missing_ok=True)
    return left


def _empty(target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True, mode=0o700)


def _unpack(archive: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter=_only_data)


def _only_data(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
    """Files, folders and links that stay inside; what else a tenant's container holds is left behind."""
    try:
        return tarfile.data_filter(member, target)
    except tarfile.FilterError:
        return None


def packer(ipfs: Ipfs) -> PackOutputs:
    """`pack_outputs` over one IPFS node. Every private output names its own recipients since it was
    sealed.
    """

    async def pack(root: Path, outputs: Collection[Output], lease: str) -> str:
        return await pack_outputs(root, list(outputs), (), ipfs, lease=lease)

    return pack
