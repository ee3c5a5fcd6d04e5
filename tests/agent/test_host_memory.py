"""An end that the host's own lack of memory brought about is told as that, by the kernel's own word."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leasehold_agent.host import HostMemory
from leasehold_agent.host._host_memory import SECONDS, taken_from

ID = "92dede9aa7833cc0db5d7f780a46f57f0b7d627a15d9d0dd6233cd03544542ec"
SCOPE = f"/system.slice/docker-{ID}.scope"
HOSTS = (
    "6,1042,3970241161574,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=user.slice,mems_allowed=0,"
    f"global_oom,task_memcg={SCOPE},task=core,pid=411856,uid=0\n"
)
ITS_OWN = (
    f"6,1042,3970241161574,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker-{ID}.scope,"
    f"mems_allowed=0,oom_memcg={SCOPE},task_memcg={SCOPE},task=core,pid=411856,uid=0\n"
)


class TestTheKernelsWord:
    @pytest.mark.parametrize(
        "record",
        [
            HOSTS,
            HOSTS.replace("mems_allowed=0", "mems_allowed=0-1,3"),
            HOSTS.replace(SCOPE, f"/docker/{ID}"),
            HOSTS.replace(SCOPE, f"{SCOPE}/init"),
            HOSTS.replace(SCOPE, f"/docker/{'ab' * 32}/docker/{ID}"),  # an engine within a container
            HOSTS.replace("cpuset=user.slice", "cpuset=/"),
        ],
    )
    def test_the_host_had_none_left(self, record: str) -> None:
        assert taken_from(record.encode()) == ID

    @pytest.mark.parametrize(
        "record",
        [
            ITS_OWN,
            # Written by a program, which cannot take the kernel's facility.
            HOSTS.replace("6,1042", "14,1042"),
            # A tenant who has bound his memory to one node, and filled that.
            HOSTS.replace("CONSTRAINT_NONE", "CONSTRAINT_MEMORY_POLICY"),
            HOSTS.replace("CONSTRAINT_NONE", "CONSTRAINT_CPUSET"),
            # A process's name is all that a tenant writes.
            ITS_OWN.replace("task=core", f"task=,global_oom,task_memcg={SCOPE},task=x"),
            f"6,1,1,-;oom-kill:constr[123]: segfault at 0 {HOSTS}",
            f"4,1,1,-;x {HOSTS.partition(';')[2]}",
            HOSTS.replace(ID, ID[:12]),
            "6,1,1,-;Out of memory: Killed process 411856 (core)\n",
            "",
        ],
    )
    def test_whatever_else_it_says(self, record: str) -> None:
        assert taken_from(record.encode()) is None

    def test_a_name_that_is_no_text(self) -> None:
        assert taken_from(HOSTS.encode().replace(b"task=core", b"task=\xff\xfe,;")) == ID


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """As the kernel's: what is read gives one record, and says that there is no more."""
    os.mkfifo(tmp_path / "kmsg")
    both = os.open(tmp_path / "kmsg", os.O_RDWR | os.O_NONBLOCK)
    yield tmp_path / "kmsg", both
    os.close(both)


class TestReading:
    def test_a_while_after_it_an_end_is_not_its_any_more(self, log: tuple[Path, int]) -> None:
        path, writer = log
        memory = HostMemory(path)
        memory.look(0.0)
        assert not memory.took_from(ID, 0.0)
        os.write(writer, HOSTS.encode())
        memory.look(10.0)
        memory.look(11.0)
        assert memory.took_from(ID, 10.0 + SECONDS)
        assert not memory.took_from(ID, 11.0 + SECONDS)
        assert not memory.took_from(ID[::-1], 10.0)
        memory.close()
        memory.close()

    def test_many_victims_are_not_all_remembered(self, log: tuple[Path, int]) -> None:
        path, writer = log
        memory = HostMemory(path)
        memory.look(0.0)
        ids = [f"{number:064x}" for number in range(300)]
        for container in ids:
            os.write(writer, HOSTS.replace(ID, container).encode())
            memory.look(1.0)
        assert [memory.took_from(container, 1.0) for container in (ids[0], ids[-1])] == [False, True]
        memory.close()

    def test_where_it_cannot_be_read_nothing_is_said(self, tmp_path: Path) -> None:
        memory = HostMemory(tmp_path / "nowhere")
        memory.look(0.0)
        (tmp_path / "nowhere").write_text(HOSTS)
        memory.look(1.0)
        assert not memory.took_from(ID, 1.0)
        memory.close()

    def test_what_was_there_before_is_not_new(self, tmp_path: Path) -> None:
        (tmp_path / "kmsg").write_text(HOSTS)
        memory = HostMemory(tmp_path / "kmsg")
        memory.look(0.0)
        assert not memory.took_from(ID, 0.0)
        memory.close()
