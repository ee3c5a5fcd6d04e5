"""What leases use, by the kernel's counters: of both versions of control groups, of a real container, and of tenants
who would rather it were somebody else's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold.chain import LeaseState
from leasehold_agent.host import CardReading, LeaseUsage, containers_of, usage_of
from leasehold_agent.host import _lease_usage as reading
from leasehold_agent.reconciling import UsageWatch

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

MINE, OTHER = "a" * 64, "b" * 64
NET = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0
  eth0: 1500 3 0 0 0 0 0 0 700 2 0 0 0 0 0 0
"""
SCOPE = f"system.slice/docker-{MINE}.scope"


class Kernel:
    """Trees that say what a kernel's do."""

    def __init__(self, root: Path) -> None:
        self.proc, self.groups = root / "proc", root / "groups"

    def process(self, pid: int, *lines: str, net: str = NET) -> None:
        for name, text in {"cgroup": "\n".join(lines), "net/dev": net}.items():
            self._write(self.proc / str(pid) / name, text)

    def group(self, path: str, **files: str) -> None:
        for name, text in files.items():
            self._write(self.groups / path / name.replace("__", "."), text)

    def _write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def usage(self, pid: int = 7, container: str = MINE) -> LeaseUsage | None:
        return usage_of(container, pid, self.proc, self.groups)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_version_2(kernel: Kernel) -> None:
    kernel.process(7, f"0::/{SCOPE}")
    kernel.group(
        SCOPE, cpu__stat="usage_usec 2500000\nuser_usec 1\n", memory__current="4096\n", pids__current="3\n",
        io__stat="8:0 rbytes=10 wbytes=20 rios=1 wios=1\n8:16 rbytes=1 wbytes=2 rios=1 wios=1\n",
    )  # fmt: skip
    assert kernel.usage() == LeaseUsage(2.5, 4096, 3, 11, 22, 1500, 700)


def test_version_1(kernel: Kernel) -> None:
    kernel.process(
        7, f"12:cpu,cpuacct:/docker/{MINE}", f"5:memory:/docker/{MINE}", f"4:blkio:/docker/{MINE}",
        f"3:pids:/docker/{MINE}", f"1:name=systemd:/docker/{MINE}", "0::/system.slice/docker.service",
    )  # fmt: skip
    kernel.group(f"cpuacct/docker/{MINE}", cpuacct__usage="1500000000\n")
    kernel.group(f"memory/docker/{MINE}", memory__usage_in_bytes="8192\n")
    kernel.group(f"pids/docker/{MINE}", pids__current="5\n")
    kernel.group(
        f"blkio/docker/{MINE}",
        blkio__throttle__io_service_bytes="8:0 Read 7\n8:0 Write 9\n8:0 Total 16\nTotal 16\n",
    )
    assert kernel.usage() == LeaseUsage(1.5, 8192, 5, 7, 9, 1500, 700)


def test_what_a_kernel_does_not_count_is_left_out(kernel: Kernel) -> None:
    kernel.process(7, f"0::/{SCOPE}", net="")
    assert kernel.usage() == LeaseUsage()


@pytest.mark.parametrize("text", ["", "max\n", "-1\n", "²\n", "\x00\n", "9" * 100_000])
def test_a_counter_that_is_no_number(kernel: Kernel, text: str) -> None:
    kernel.process(7, f"0::/{SCOPE}")
    kernel.group(SCOPE, memory__current=text, cpu__stat=f"usage_usec {text}", io__stat=f"8:0 rbytes={text}")
    usage = kernel.usage()
    assert usage is not None
    assert (usage.memory, usage.cpu_seconds) == (None, None)
    assert usage.read in (None, 0)


def test_a_container_that_has_ended_or_whose_number_is_anothers(kernel: Kernel) -> None:
    assert kernel.usage() is None
    kernel.process(7, f"0::/system.slice/docker-{OTHER}.scope")
    kernel.group(f"system.slice/docker-{OTHER}.scope", memory__current="4096")
    assert kernel.usage() is None


def test_a_number_that_becomes_anothers_while_it_is_read(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.process(7, f"0::/{SCOPE}")
    look = reading._network

    def pass_on(file: str) -> tuple[int | None, int | None]:
        kernel.process(7, f"0::/system.slice/docker-{OTHER}.scope")
        return look(file)

    monkeypatch.setattr(reading, "_network", pass_on)
    assert kernel.usage() is None


def test_a_group_that_vanishes_while_it_is_read(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel.process(7, f"0::/{SCOPE}")
    kernel.group(SCOPE, memory__current="4096")
    real = reading._text

    def vanish(file: str) -> str:
        if file.startswith(str(kernel.groups)):
            (kernel.groups / SCOPE / "memory.current").unlink(missing_ok=True)
        return real(file)

    monkeypatch.setattr(reading, "_text", vanish)
    assert kernel.usage() == LeaseUsage(received=1500, sent=700)


@pytest.mark.parametrize("path", [f"../../docker-{MINE}.scope", f"docker/{MINE}/../../other", f"../{MINE}"])
def test_a_path_that_leaves_the_tree_is_not_followed(kernel: Kernel, path: str) -> None:
    """As an agent in a container sees those of others."""
    kernel.process(7, f"0::/{path}")
    assert kernel.usage() is None


class TestWhoseProcess:
    def whose(self, kernel: Kernel, *paths: str) -> str | None:
        kernel.process(9, *(f"0::{path}" for path in paths))
        return containers_of([9], {MINE, OTHER}, kernel.proc).get(9)

    def test_in_a_container(self, kernel: Kernel) -> None:
        assert self.whose(kernel, f"/{SCOPE}") == MINE
        assert self.whose(kernel, f"/docker/{OTHER}") == OTHER
        assert self.whose(kernel, f"/{SCOPE}/a/group/of/its/own") == MINE

    def test_a_tenant_names_a_group_of_his_after_another_container(self, kernel: Kernel) -> None:
        assert self.whose(kernel, f"/docker/{MINE}/docker/{OTHER}") == MINE
        assert self.whose(kernel, f"/{SCOPE}/docker-{OTHER}.scope") == MINE

    @pytest.mark.parametrize(
        "name", [f"x{MINE}", f"{MINE}x", MINE[:12], f"docker-{MINE}", f"\x1b[31m{MINE}", ""]
    )
    def test_what_only_looks_like_one(self, kernel: Kernel, name: str) -> None:
        found = self.whose(kernel, f"/user.slice/{name}")
        assert found == (MINE if name == f"docker-{MINE}" else None)

    def test_nobodys(self, kernel: Kernel) -> None:
        assert containers_of([4_000_000, -1, 0], {MINE}, kernel.proc) == {}
        assert self.whose(kernel, "/") is None

    def test_no_more_are_looked_up_than_that(self, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tenant may have as many processes on a card as his lease has, and on several cards."""
        monkeypatch.setattr(reading, "MOST_PROCESSES", 3)
        for pid in range(10, 20):
            kernel.process(pid, f"0::/{SCOPE}")
        assert containers_of(range(10, 20), {MINE}, kernel.proc) == dict.fromkeys((10, 11, 12), MINE)


@pytest.mark.slow
async def test_of_a_real_container(rig: Rig) -> None:
    """Its time, memory, processes and traffic; and a card's process that is in it."""
    busy = "while :; do :; done & sleep 600 & wait"
    lease = await rig.open(rig.workload(command=["sh", "-c", busy]))
    await rig.reaches(lease, LeaseState.ACTIVE)
    container = await rig.container(lease)
    assert container is not None
    card = CardReading(processes={container.pid: 5 << 30, os.getpid(): 1 << 30})
    rig.host.facts.readings = {"card": card}
    watch = UsageWatch(rig.reconciler)

    async def counted() -> bool:
        await watch.look()
        used = watch.leases.get(lease)
        return used is not None and (used.cpu_seconds or 0) > 0.1

    await rig.until(counted)
    used = watch.leases[lease]
    assert (used.processes or 0) >= 3
    assert 0 < (used.memory or 0) < 1 << 30
    assert used.received is not None
    assert used.sent is not None
    assert watch.card_memory == {(lease, "card"): 5 << 30}
    await rig.host.containers.engine.stop(container.name, 0)
    await rig.until(lambda: not rig.reconciler.containers[lease].running)
    await watch.look()
    assert (watch.leases, watch.card_memory) == ({}, {})
