"""Containers that need not be asked about again, and those that must."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from docker.errors import NotFound

from leasehold_agent.engine._sightings import Sightings

_STAT = "{pid} (a ) name) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 {began} 20 21"


class Host:
    """An engine with one container, and the kernel's folder of its processes."""

    def __init__(self, processes: Path) -> None:
        self.processes = processes
        self.asked: list[str] = []
        self.state, self.pid, self.started = "running", 7, 1
        self.gone = False
        self.process(7, "100")
        self.sightings = Sightings(processes)

    def process(self, pid: int, began: str | None) -> None:
        folder = self.processes / str(pid)
        folder.mkdir(exist_ok=True)
        if began is None:
            (folder / "stat").unlink()
        else:
            (folder / "stat").write_text(_STAT.format(pid=pid, began=began))

    def inspect(self, container: str) -> Mapping[str, Any]:
        self.asked.append(container)
        if self.gone:
            raise NotFound("no such container")
        return {
            "Id": container,
            "Name": "/c",
            "Config": {"Labels": {}},
            "State": {
                "Status": self.state,
                "ExitCode": 0,
                "Pid": self.pid,
                "StartedAt": f"2026-11-24T00:00:0{self.started}Z",
            },
            "HostConfig": {},
            "NetworkSettings": {"Networks": {}},
        }

    def look(self) -> int:
        """How often the engine was asked for this look."""
        before = len(self.asked)
        self.found = self.sightings.of([{"Id": "c", "State": self.state}], self.inspect)
        return len(self.asked) - before


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_one_that_goes_on_running_is_asked_about_once(host: Host) -> None:
    assert [host.look(), host.look(), host.look()] == [1, 0, 0]
    assert host.found[0].pid == 7


def test_one_that_was_started_anew_is_asked_about_again(host: Host) -> None:
    host.look()
    host.pid, host.started = 8, 5
    host.process(7, None)
    host.process(8, "200")
    assert host.look() == 1
    assert (host.found[0].pid, host.found[0].started_at % 10) == (8, 5)


def test_a_process_number_that_is_anothers_by_now_counts_for_nothing(host: Host) -> None:
    host.look()
    host.process(7, "900")
    assert host.look() == 1


@pytest.mark.parametrize("state", ["paused", "exited", "restarting", "created", "dead"])
def test_one_that_does_not_run_is_always_asked_about(host: Host, state: str) -> None:
    host.look()
    host.state = state
    assert [host.look(), host.look()] == [1, 1]
    assert host.found[0].state == state
    host.state = "running"
    assert [host.look(), host.look()] == [1, 0]


def test_where_the_kernel_tells_nothing_the_engine_is_asked(host: Host) -> None:
    host.process(7, None)
    assert [host.look(), host.look()] == [1, 1]


def test_one_that_goes_between_list_and_question_is_left_out_and_forgotten(host: Host) -> None:
    host.state = "exited"
    host.look()
    host.gone = True
    assert host.look() == 1
    assert host.found == []
    assert host.sightings.of([], host.inspect) == []


def test_a_look_at_others_forgets_nothing(host: Host) -> None:
    """The owner's own jobs are looked for as often as leases, by another label."""
    host.look()
    host.sightings.of([{"Id": "another", "State": "running"}], host.inspect, "leasehold.idle")
    assert host.look() == 0
