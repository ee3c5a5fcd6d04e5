"""A disk limit holds while neighbours come and go, and comes back where the file system has lost count."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devnet.engine import Engine
from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold_agent._errors import LimitNotHeld
from leasehold_agent.host import DiskLimits
from leasehold_agent.host._disk_limits import Count

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

_LOSE = """
set -e; cd "$(mktemp -d "$1/lht-XXXXXX")"
btrfs subvolume create one; head -c 1m /dev/urandom > one/file; btrfs filesystem sync .
btrfs subvolume snapshot one shares
btrfs qgroup create 1/7 . || true
btrfs subvolume snapshot -i 1/7 one into-a-group
"""


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lose_count(root: Path) -> None:
    """Make the kernel call its count inconsistent: a snapshot joins a group whose sum it cannot know.

    What it makes stays, since deleting it would make the kernel look at the count again.
    """
    _run("sh", "-c", _LOSE, "lose", str(root))


def counted(root: Path) -> bool:
    name = _run("findmnt", "-no", "UUID", str(root)).strip()
    return Path("/sys/fs/btrfs", name, "qgroups", "inconsistent").read_text().strip() == "0"


class TestCount:
    @pytest.fixture
    def volume(self, tmp_path: Path) -> Iterator[Path]:
        """A btrfs on which nobody has asked for limits yet."""
        disk, mount = tmp_path / "disk", tmp_path / "mount"
        mount.mkdir()
        with open(disk, "wb") as file:
            file.truncate(512 << 20)
        _run("mkfs.btrfs", "--quiet", str(disk))
        _run("mount", "-o", "loop", str(disk), str(mount))
        yield mount
        _run("umount", str(mount))

    async def test_on_before_there_is_anything_to_limit(self, volume: Path) -> None:
        limits = DiskLimits(volume)
        assert await limits.mend() is Count.OFF
        async with limits.held():
            assert counted(volume)
        assert await limits.mend() is Count.RIGHT

    async def test_anew_where_it_was_lost(self, volume: Path) -> None:
        limits = DiskLimits(volume)
        await limits.settle()
        lose_count(volume)
        assert not counted(volume)
        await asyncio.gather(*(limits.settle() for _ in range(4)))
        assert counted(volume)

    async def test_not_while_a_container_is_made_and_not_for_ever(self, volume: Path) -> None:
        now = 0.0

        async def sleep(seconds: float) -> None:
            nonlocal now
            now += seconds

        await DiskLimits(volume).settle()
        limits = DiskLimits(volume, seconds=5, clock=lambda: now, sleep=sleep)
        async with limits.held():
            lose_count(volume)
            with pytest.raises(LimitNotHeld, match="wrong"):
                await limits.settle()
            assert 5 <= now < 6
            assert not counted(volume)
        await DiskLimits(volume).settle()
        assert counted(volume)

    @pytest.mark.parametrize("root", [None, Path("/proc")], ids=["none", "another-file-system"])
    async def test_where_there_is_none(self, root: Path | None) -> None:
        assert await DiskLimits(root).mend() is Count.RIGHT

    async def test_a_folder_that_is_gone(self, tmp_path: Path) -> None:
        for _ in range(2):
            with pytest.raises(LimitNotHeld, match="No such file"):
                await DiskLimits(tmp_path / "gone").settle()


@contextlib.contextmanager
def neighbours(engine: Engine, image: str) -> Iterator[None]:
    """Two others make and delete limited containers all the while."""
    enough, made = threading.Event(), threading.Semaphore(0)

    def churn() -> None:
        with engine.client() as client:
            while not enough.is_set():
                client.containers.create(image, network_mode="none", storage_opt={"size": "64M"}).remove()
                made.release()

    threads = [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert made.acquire(timeout=patient(30))
        yield
    finally:
        enough.set()
        for thread in threads:
            thread.join()


class TestLease:
    @pytest.mark.slow
    async def test_beside_neighbours(self, rig: Rig, docker_engine: Engine) -> None:
        lose_count(docker_engine.folder / "data")
        with neighbours(docker_engine, rig.image):
            lease = await rig.open(rig.workload(disk="64MiB"), share=4)
            await rig.reaches(lease, LeaseState.ACTIVE)
            await refused(rig, lease)

    @pytest.mark.slow
    async def test_that_runs_already(self, rig: Rig, docker_engine: Engine) -> None:
        lease = await rig.open(rig.workload(disk="64MiB"), share=4)
        await rig.reaches(lease, LeaseState.ACTIVE)
        root = docker_engine.folder / "data"
        lose_count(root)
        await rig.until(lambda: counted(root))
        with neighbours(docker_engine, rig.image):
            await refused(rig, lease)


async def refused(rig: Rig, lease: int) -> None:
    """The lease's container may write 32 MiB, and 128 more it may not."""
    code, text = await rig.inside(lease, "dd if=/dev/zero of=/small bs=1M count=32 2>&1")
    assert code == 0, text
    code, text = await rig.inside(lease, "dd if=/dev/zero of=/big bs=1M count=128 2>&1; sync")
    assert "quota exceeded" in text.lower() or "no space" in text.lower()
