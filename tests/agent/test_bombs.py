"""Bombs set off inside a container, under runc and under gVisor: what goes off is the lease that set it, at most.

Each time another lease is there, which goes on, and what the host gave is read on the host.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.errors import AgentError

from .test_isolation import running, under_both

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

    from devnet.engine import Engine

pytestmark = pytest.mark.slow

MIB = 1 << 20
MEMORY = 256 * MIB
_CGROUPS = Path("/sys/fs/cgroup")


async def pair(rig: Rig, runtime: str, **fields: object) -> tuple[int, int]:
    """Who sets off the bomb, and who must not notice."""
    bomber = await running(rig, runtime=runtime, memory="256MiB", disk="64MiB", **fields)
    return bomber, await running(rig, runtime=runtime, memory="256MiB", disk="64MiB")


@contextlib.asynccontextmanager
async def blasting(rig: Rig, lease: int, command: str) -> AsyncIterator[asyncio.Task[str]]:
    """Sets it off. One that takes its container along, or hangs it, says no more."""
    task = asyncio.create_task(_said(rig, lease, command))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _said(rig: Rig, lease: int, command: str) -> str:
    with contextlib.suppress(AgentError, OSError):
        _, text = await rig.inside(lease, command)
        return text
    return ""


async def unhurt(rig: Rig, lease: int) -> None:
    command = "sleep 0 & wait; head -c 8m /dev/zero > /tmp/a; head -c 8m /dev/zero | tail -c 1 | wc -c"
    assert await rig.inside(lease, command) == (0, "1\n")


async def ends(rig: Rig, lease: int) -> None:
    """Whatever it does to its container, its end is the end of it."""
    await rig.chain.pool(2).close(lease)

    async def is_over() -> bool:
        container = await rig.container(lease)
        return container is None or not container.running

    await rig.until(is_over, 60)


class Kept:
    """What the kernel counts of a container, by its control group, of version 1 or 2."""

    def __init__(self, pid: int) -> None:
        self._groups = [
            line.split(":", 2)[1:] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        ]

    def file(self, controller: str, *names: str) -> str:
        """The first of `names` that there is."""
        for controllers, path in self._groups:
            if controller in controllers.split(",") or not controllers:
                folder = _CGROUPS / controllers / path.lstrip("/")
                for name in names:
                    if (folder / name).exists():
                        return (folder / name).read_text()
        raise AssertionError(f"the kernel keeps none of {names}")

    @property
    def refused_processes(self) -> int:
        return int(self.file("pids", "pids.events").split()[1])

    @property
    def memory_limit(self) -> int:
        return int(self.file("memory", "memory.limit_in_bytes", "memory.max"))


async def kept(rig: Rig, lease: int) -> Kept:
    container = await rig.container(lease)
    assert container is not None
    return Kept(container.pid)


@under_both
async def test_fork(rig_of: Callable[..., Any], runtime: str) -> None:
    rig: Rig = await rig_of(pids_limit=128)
    bomber, other = await pair(rig, runtime)
    counted = await kept(rig, bomber)
    assert not counted.refused_processes
    async with blasting(rig, bomber, "for i in $(seq 512); do sleep 600 & done"):
        await rig.until(lambda: counted.refused_processes)
        await unhurt(rig, other)
        await ends(rig, bomber)


@under_both
async def test_memory(rig: Rig, runtime: str) -> None:
    """Files in memory, then a program's own: gVisor's container goes with the second."""
    bomber, other = await pair(rig, runtime)
    assert (await kept(rig, bomber)).memory_limit == MEMORY
    for bomb in (
        "dd if=/dev/zero of=/dev/shm/a bs=1M count=1024 && echo whole",
        "head -c 1024m /dev/zero | tail -c 1000000000 > /dev/null && echo whole",
    ):
        async with blasting(rig, bomber, bomb) as task:
            assert "whole" not in await task
            await unhurt(rig, other)
    await ends(rig, bomber)


@under_both
async def test_disk(rig: Rig, runtime: str) -> None:
    """One file, then many small ones."""
    bomber, other = await pair(rig, runtime)
    for bomb in (
        "dd if=/dev/zero of=/big bs=1M count=256 2>&1; sync; rm /big",
        "mkdir /many; cd /many; for i in $(seq 64); do dd if=/dev/zero of=$i bs=1M count=4 2>&1; done; sync",
    ):
        async with blasting(rig, bomber, bomb) as task:
            assert "quota exceeded" in (await task).lower()
            await unhurt(rig, other)
    await ends(rig, bomber)


@under_both
async def test_log(rig: Rig, docker_engine: Engine, runtime: str) -> None:
    """What a command writes is kept on the host, beside its disk's limit."""
    bomb = "head -c 64m /dev/zero | tr '\\0' x | fold -w 100; echo done > /done; sleep 600"
    bomber, other = await pair(rig, runtime, command=["sh", "-c", bomb])

    async def has_gone_off() -> bool:
        code, _ = await rig.inside(bomber, "cat /done")
        return code == 0

    await rig.until(has_gone_off, 120)
    container = await rig.container(bomber)
    assert container is not None
    with docker_engine.client() as client:
        log = Path(client.containers.get(container.id).attrs["LogPath"])
    sizes = [file.stat().st_size for file in log.parent.glob(f"{log.name}*")]
    assert 1 * MIB < sum(sizes) <= 32 * MIB
    await unhurt(rig, other)
    await ends(rig, bomber)
