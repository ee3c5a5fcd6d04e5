"""Outputs on their way out of a container: a tar from the engine, unpacked with nothing that could leave
its folder.

They stay inside the container until the end, where the lease's own disk limit holds for them.
"""

from __future__ import annotations

import asyncio
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

from leasehold.workload import Output
from leasehold_agent._engine import Engine


async def collect(
    engine: Engine, container: str, outputs: Sequence[Output], target: Path, limit: int
) -> list[Output]:
    """Copy each output to `target` plus its path in the container. Returns those that exist.

    Raises EngineRefused when one is larger than `limit` bytes.
    """
    await asyncio.to_thread(shutil.rmtree, target, ignore_errors=True)
    target.mkdir(parents=True, mode=0o700)
    found = []
    archive = target.with_name("outputs.tar")
    try:
        for output in outputs:
            if await engine.copy_out(container, output.path, archive, limit):
                parent = target / output.path.strip("/")
                await asyncio.to_thread(_unpack, archive, parent.parent)
                found.append(output)
    finally:
        archive.unlink(missing_ok=True)
    return found


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
