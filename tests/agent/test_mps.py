"""Parts of cards by MPS, over tools that stand in for NVIDIA's: they take the arguments of its documents alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from tests.agent.nvml.smi import TRANSCRIPTS, said, use_memory
from tests.agent.nvml.smi import install as install_smi
from tests.agent.nvml.standin import Card, StandIn
from tests.agent.programs.mps_control import Refused, install
from tests.agent.programs.mps_here import AgentDied, ToolsHere

from leasehold.errors import SettingsError
from leasehold_agent.cards import (
    CardBusy,
    CardPart,
    Devices,
    HeldDevices,
    LeaseShare,
    MachinePart,
    MemoryGroups,
    Mig,
    Mps,
    MpsDaemons,
    MpsHost,
    MpsServers,
    PartsBook,
    ToolFailed,
    fences_of,
)
from leasehold_agent.cards._mps_words import (
    MemoryLimit,
    Portion,
    Server,
    configuration,
    keeps_addresses_apart,
    lacks_namespaces,
    limit_of,
    mib_of,
    names_of,
    namespace_name,
    percent_of,
    pids_of,
    portion_of,
    server_name,
    servers_of,
)
from leasehold_agent.cards._tools import Program, Tool
from leasehold_agent.host import processes_on, take_inventory, takes_many

CARD = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65"
GIB = 1 << 30


class TestWords:
    def test_eighths_never_come_to_more_than_the_card(self) -> None:
        for memory in (0, 1, 16 * GIB, 85_520_809_984):
            parts = [portion_of(1 << cell, memory) for cell in range(8)]
            assert sum(part.percent for part in parts) <= 100
            assert sum(part.mib for part in parts) <= memory >> 20
        assert portion_of(0x0F, 16 * GIB) == Portion(4, 50, (16_384 - 512) // 2)

    def test_what_a_daemon_begins_with(self) -> None:
        """No key that the documents do not have, and limits on every namespace: one without has the whole card."""
        written = tomllib.loads(configuration({CARD: {7: Portion(1, 12, 1_984), 9: Portion(4, 50, 7_936)}}))
        known = tomllib.loads((TRANSCRIPTS / "mps-v3.toml").read_text())
        assert written["schema_version"] == known["schema_version"]
        (server,) = written["servers"].values()
        assert server["allowed_devices"] == CARD
        assert server.keys() <= known["servers"]["training"].keys()
        for namespace in server["namespaces"].values():
            assert namespace.keys() == known["servers"]["training"]["namespaces"]["high_priority"].keys()
        assert server["namespaces"]["lease_9"]["pinned_memory_limit"] == "7936M"
        assert (server["pinned_memory_limit"], server["active_thread_percentage"]) == ("1M", "1")

    def test_what_the_tool_prints(self) -> None:
        listed = said("mps-v3", "nvidia-cuda-mps-control server list --format=csv,noheader")
        assert servers_of(listed) == {"training": Server(48_201, "Ready")}
        assert mib_of(said("mps-v3", "nvidia-cuda-mps-control namespace get high_priority training "
                                     "pinned-memory-limit")) == 4_096  # fmt: skip
        limit = said("memory-limits", "nvidia-smi memory-limits --get -n /sys/fs/cgroup/mygroup -i 0")
        assert limit_of(limit) == MemoryLimit(8_192, 512)

    @pytest.mark.parametrize("text", ["", "\n", "a,b", "a,1,x,Ready", "," * 10_000, "Cannot find it"])
    def test_what_is_no_list(self, text: str) -> None:
        assert servers_of(text) == {}
        assert (mib_of(text), percent_of(text), limit_of(text), pids_of("no 1x")) == (None, None, None, [])

    def test_sizes_and_shares(self) -> None:
        assert [mib_of(text) for text in ("4G", "512M", "1024K", "4", "4T", "-")] == [
            4_096,
            512,
            1,
            None,
            None,
            None,
        ]
        assert [percent_of(text) for text in ("50.00", " 12\n", "100", "-", "5%")] == [
            50,
            12,
            100,
            None,
            None,
        ]
        assert limit_of("hard limit: max\ncurrent used: 0 MiB") == MemoryLimit(None, 0)
        assert names_of("default,a,Ready\nlease_1,a\nno line") == {"default", "lease_1"}
        assert pids_of("12\n34\n") == [12, 34]

    def test_a_server_is_named_by_its_card(self) -> None:
        assert server_name(CARD) == "gpu_74d43ed3_cdf7_e667_3644_bf5b4f46ed65"
        assert namespace_name(786_433) == "lease_786433"

    @pytest.mark.parametrize(
        ("driver", "cuda", "lacking"),
        [
            ("615.71.05", "13.4", None), ("620.1", "14.0", None), ("610.99", "13.4", "610.99"),
            ("615.71", "13.3", "13.3"), (None, None, "not known"),
        ],
    )  # fmt: skip
    def test_since_when_there_are_namespaces(
        self, driver: str | None, cuda: str | None, lacking: str | None
    ) -> None:
        found = lacks_namespaces(driver, cuda)
        assert (found is None) == (lacking is None)
        assert (lacking or "") in (found or "")

    def test_since_when_addresses_are_apart(self) -> None:
        assert keeps_addresses_apart(["7.0", "12.0"])
        assert not keeps_addresses_apart(["9.0", "6.1"])
        assert not keeps_addresses_apart([None])


@dataclass
class Here:
    """A host with a card, and MPS of version 3 on it."""

    nvml: StandIn
    card: Card
    folder: Path
    tools: ToolsHere
    groups: MemoryGroups

    def mps(self, **more: object) -> Mps:
        """As an agent that has just begun has it."""
        return Mps(self.service(**more), PartsBook(self.folder))

    def service(self, **more: object) -> MpsServers:
        with_tools = {"smi": self.tools.program("nvidia-smi"), "program": self.tools.program}
        return MpsServers(self.folder, self.groups, **with_tools | more)  # type: ignore[arg-type]  # as a test likes

    def ask(self, *words: str) -> str:
        return self.tools._tell(self.folder / "pipe", list(words))

    def part(self, cells: int) -> CardPart:
        return CardPart(self.card.uuid, cells, 16 * GIB)

    @property
    def server(self) -> str:
        return server_name(self.card.uuid)

    @property
    def namespaces(self) -> set[str]:
        return names_of(self.ask("namespace", "list", f"--server={self.server}")) - {"default"}

    def limit(self, lease: int) -> str | None:
        return self.card.get(f"limit.{self.groups.path(lease)}")

    def forget(self) -> None:
        """As after a reboot: all that lay in memory is gone."""
        self.tools.close()
        for left in sorted(self.folder.rglob("*"), reverse=True):
            left.rmdir() if left.is_dir() else left.unlink()
        for lease in self.groups.leases():
            self.groups.path(lease).rmdir()
        self.card.set(compute_mode=0)

    def end_daemon(self) -> None:
        self.tools.end_daemon(self.folder / "pipe")


def read(file: Path) -> str:
    return file.read_text()


def write(file: Path, text: str) -> None:
    file.write_text(text)


def _kill(number: Path) -> None:
    """A process that is nobody's child here is waited for by what the kernel hands out for it."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        held = os.pidfd_open(int(number.read_text()))
        signal.pidfd_send_signal(held, signal.SIGKILL)
        select.select([held], [], [])
        os.close(held)
        number.unlink()


@pytest.fixture
def tools(nvml: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install_smi(tmp_path / "bin", nvml)
    asked = install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return asked


@pytest.fixture
def folder() -> Iterator[Path]:
    """A socket's path has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="mps") as made:
        yield Path(made)
        for number in Path(made).rglob("nvidia-cuda-mps-control.pid"):
            _kill(number)


@pytest.fixture
def here(nvml: StandIn, folder: Path, tmp_path: Path) -> Iterator[Here]:
    tools = ToolsHere(nvml)
    yield Here(nvml, nvml.add(), folder, tools, groups_of(tmp_path, smi=tools.program("nvidia-smi")))
    tools.close()


def groups_of(tmp_path: Path, controllers: str = "cpu memory", **more: Tool) -> MemoryGroups:
    root = tmp_path / "cgroup"
    root.mkdir()
    (root / "cgroup.controllers").write_text(controllers)
    return MemoryGroups("ab", "cgroupfs", root, **more)


class TestServers:
    async def test_made_for_a_lease_and_gone_after_it(self, here: Here) -> None:
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        await mps.give(9, here.part(0xF0))
        assert here.namespaces == {"lease_7", "lease_9"}
        assert (here.limit(7), here.limit(9)) == ("0,1984", "0,7936")
        assert not takes_many(here.card.uuid), "the card lets in nobody but its server"
        said = here.ask("namespace", "get", "lease_9", here.server, "active-thread-percentage")
        assert said == "50.00\n"
        await mps.take_back(9)
        assert here.namespaces == {"lease_7"}
        assert not here.groups.path(9).exists()
        await mps.take_back(7)
        assert here.ask("server", "list") == ""
        assert processes_on(here.card.uuid) == frozenset()
        assert takes_many(here.card.uuid), "the card is as any other"
        await mps.take_back(7)

    async def test_limits_stand_before_the_way_in(self, here: Here) -> None:
        """A container may be there already, as after a reboot: it finds no socket before its lease's limits are."""
        await here.mps().give(7, here.part(0x03))
        for act, asked in enumerate(list(here.tools.asked)):
            here.forget()
            here.tools.dies_after = act
            with pytest.raises(AgentDied):
                await here.mps().give(7, here.part(0x03))
            (door, _), *_ = here.mps().service.place(7, here.card.uuid).mounts
            assert not door.exists(), f"before {asked}"

    async def test_a_container_finds_its_own_door_and_no_other(self, here: Here) -> None:
        mps = here.mps()
        for lease in (7, 9):
            await mps.give(lease, here.part(1 << lease - 5))
        place = mps.service.place(7, here.card.uuid)
        ((door, inside),) = place.mounts
        assert [entry.name for entry in door.iterdir()] == ["control"]
        assert inside == place.environment["CUDA_MPS_PIPE_DIRECTORY"]
        assert inside.endswith(f"{here.server}/lease_7")
        assert place.group == "/leasehold/ab/7"
        assert (door / "control").samefile(Path(inside) / "control")
        assert (door / "control").stat().st_mode & 0o777 == 0o666
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(door / "control"))
        with pytest.raises(OSError):  # noqa: PT011 - whichever: nothing of the daemon's own is there
            (door / "..").resolve(strict=True).joinpath("pipe").stat()

    async def test_others_have_too_much_of_it(self, here: Here) -> None:
        mps = here.mps()
        await mps.give(7, here.part(0x0F))
        await mps.give(9, here.part(0x30))
        with pytest.raises(CardBusy, match="another lease's"):
            await mps.give(11, here.part(0xF0))
        await mps.take_back(9)
        await mps.give(11, here.part(0xF0))

    async def test_a_process_that_lives_on_keeps_its_cells(self, here: Here) -> None:
        """A client that hangs in the driver outlives its container's end; nobody has its cells meanwhile."""
        mps = here.mps()
        await mps.give(7, here.part(0xFF))
        events = here.groups.path(7) / "cgroup.events"
        events.write_text("populated 1\nfrozen 0\n")
        with pytest.raises(CardBusy, match="lives"):
            await mps.take_back(7)
        with pytest.raises(CardBusy, match="another lease's"):
            await mps.give(9, here.part(0x01))
        assert not mps.service.place(7, here.card.uuid).mounts[0][0].exists(), "nobody comes in any more"
        events.unlink()
        await mps.give(9, here.part(0x01))
        assert here.namespaces == {"lease_9"}

    async def test_memory_that_is_not_free_yet(self, here: Here) -> None:
        mps = here.mps()
        await mps.give(7, here.part(0x0F))
        use_memory(here.card, here.groups.path(7), 512)
        with pytest.raises(CardBusy, match="memory"):
            await mps.take_back(7)
        use_memory(here.card, here.groups.path(7), 0)
        await mps.mend()
        assert here.mps().book.load() == {}

    async def test_nobody_is_on_the_card_before_its_server(self, here: Here) -> None:
        here.card.run((4_711, GIB))
        with pytest.raises(CardBusy, match="process"):
            await here.mps().give(7, here.part(0x01))
        assert here.mps().book.load() == {}

    async def test_a_part_that_grows(self, here: Here) -> None:
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        await mps.give(9, here.part(0x30))
        await mps.give(7, here.part(0x0F))
        assert here.limit(7) == "0,7936"
        with pytest.raises(CardBusy):
            await mps.give(7, here.part(0xFF))
        assert here.limit(7) == "0,7936"

    async def test_a_limit_that_does_not_hold_is_none(self, here: Here) -> None:
        here.nvml.set(no_memory_limits=1)
        mps = here.mps()
        with pytest.raises(ToolFailed, match="Not Supported"):
            await mps.give(7, here.part(0x01))
        assert not mps.service.place(7, here.card.uuid).mounts[0][0].exists()
        here.nvml.set(no_memory_limits=None)
        await mps.give(7, here.part(0x01))

    async def test_a_card_that_lets_in_several_all_the_same(self, here: Here) -> None:
        with pytest.raises(ToolFailed, match="stays as it was"):
            await here.mps(takes_many=lambda card: True).give(7, here.part(0x01))

    async def test_a_server_that_ends_at_once(self, here: Here) -> None:
        """As of a card that the driver has lost: it is made, and is not there. Who came then would have no limits."""
        mps = here.mps(processes=lambda card: (), takes_many=lambda card: False)
        await mps.give(7, here.part(0x01))

        async def smi(*arguments: str, stdin: str = "") -> str:
            return "hard limit: 1 MiB\ncurrent used: 0 MiB\n"

        mps.service.groups = replace(here.groups, smi=smi)  # type: ignore[attr-defined]  # of these servers
        with pytest.raises(ToolFailed, match="ended at once"):
            await mps.give(9, CardPart(CARD, 1, GIB))

    async def test_a_whole_card_is_had_once_all_parts_have_gone(self, here: Here) -> None:
        mps = here.mps()
        await mps.clear(here.card.uuid)
        await mps.give(7, here.part(0x01))
        with pytest.raises(CardBusy):
            await mps.clear(here.card.uuid)
        await mps.take_back(7)
        await mps.clear(here.card.uuid)
        assert takes_many(here.card.uuid)


class TestWhatDies:
    async def test_the_agent_between_any_two_acts(self, here: Here) -> None:
        """Whatever it got to, the next one gives the lease its part, takes it back, and leaves nothing."""
        await here.mps().give(7, here.part(0x01))
        acts = len(here.tools.asked)
        await here.mps().take_back(7)
        acts_in_all = len(here.tools.asked)
        for act in range(acts_in_all):
            here.tools.dies_after = act
            with contextlib.suppress(AgentDied):
                await here.mps().give(7, here.part(0x01))
                await here.mps().take_back(7)
            here.tools.dies_after = None
            await here.mps().mend()
            if act < acts:
                await here.mps().give(7, here.part(0x01))
                assert here.namespaces == {"lease_7"}
            await here.mps().take_back(7)
            await here.mps().clear(here.card.uuid)
            assert (here.mps().book.load(), here.groups.leases()) == ({}, set())
            assert here.ask("server", "list") == ""
            assert takes_many(here.card.uuid)

    async def test_the_daemon_and_its_servers(self, here: Here) -> None:
        """It begins again with what there is to be, and the same folder leads a container that runs to it."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        await mps.give(9, here.part(0x30))
        ((door, _),) = mps.service.place(7, here.card.uuid).mounts
        mounted = door.stat().st_ino
        here.end_daemon()
        with pytest.raises(OSError, match="refused"), socket.socket(socket.AF_UNIX) as line:
            line.connect(str(door / "control"))
        await mps.mend()
        assert here.namespaces == {"lease_7", "lease_9"}
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(door / "control"))
        assert door.stat().st_ino == mounted
        before = len(here.tools.asked)
        await mps.mend()
        assert len(here.tools.asked) - before == 2, "what stands is only looked at"

    async def test_a_tenant_who_was_quicker_than_the_next_server(self, here: Here, tmp_path: Path) -> None:
        """He makes a fault that ends the server, and has the card to himself: it lets in one process."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        await mps.give(9, here.part(0x30))
        processes = [await asyncio.create_subprocess_exec("sleep", "600") for _ in range(2)]
        for process, group in zip(processes, ("/leasehold/ab/7/f00", "/leasehold/other/7/f00"), strict=True):
            (tmp_path / "proc" / str(process.pid)).mkdir(parents=True)
            write(tmp_path / "proc" / str(process.pid) / "cgroup", f"0::{group}\n")
        here.groups.proc = tmp_path / "proc"
        here.ask("lose", here.server)
        here.card.run(*((process.pid, GIB) for process in processes), (2**22 + 1, GIB))
        await mps.mend()
        assert await processes[0].wait() == -signal.SIGKILL
        assert processes[1].returncode is None, "not one of this agent's leases'"
        processes[1].kill()
        await processes[1].wait()
        assert here.namespaces == {"lease_7", "lease_9"}

    async def test_a_server_alone(self, here: Here) -> None:
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        here.ask("lose", here.server)
        await mps.mend()
        assert here.namespaces == {"lease_7"}

    async def test_a_fault_whose_clients_do_not_go(self, here: Here) -> None:
        """Who made it could stay for ever, and keep all others on the card out: at the second look they are ended."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        await mps.give(9, here.part(0x30))
        here.ask("break", here.server, "Fault")
        await mps.mend()
        assert "Fault" in here.ask("server", "list")
        await mps.mend()
        assert "Ready" in here.ask("server", "list")
        assert here.namespaces == {"lease_7", "lease_9"}

    async def test_the_host(self, here: Here) -> None:
        """Nothing is left of what lay in memory; the container's part is given as at the first time."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        here.forget()
        await here.mps().give(7, here.part(0x01))
        assert here.namespaces == {"lease_7"}
        assert not takes_many(here.card.uuid)

    async def test_logs_without_end(self, here: Here) -> None:
        """A tenant's clients that come and go write them, into the host's memory."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        log = here.folder / "log" / "server.log"
        log.write_bytes(b"." * ((1 << 20) + 1))
        await mps.mend()
        assert log.stat().st_size == 0

    async def test_a_lease_whose_card_is_another_now(self, here: Here) -> None:
        other, mps = here.nvml.add(), here.mps()
        await mps.give(7, here.part(0x01))
        await mps.give(7, replace(here.part(0x01), card=other.uuid))
        assert takes_many(here.card.uuid)
        assert not takes_many(other.uuid)


class TestTools:
    async def test_an_argument_that_they_do_not_have(self, here: Here) -> None:
        await here.mps().give(7, here.part(0x01))
        pipes = {"CUDA_MPS_PIPE_DIRECTORY": str(here.folder / "pipe")}
        for wrong in (
            ("server", "list", "--csv"), ("server", "create", "A-b", "--uid=0"), ("namespace", "make", "x"),
            ("namespace", "set", "lease_7", f"--server={here.server}", "--memory=4G"),
            ("namespace", "set", "lease_7", f"--server={here.server}", "--pinned-memory-limit=4"),
            ("namespace", "set", "lease_7", f"--server={here.server}", "--active-thread-percentage=0"),
            ("-d", "-p", "4"), ("quit",),
        ):  # fmt: skip
            with pytest.raises(ToolFailed, match="Invalid argument"):
                await here.tools.program("nvidia-cuda-mps-control", environment=pipes)(*wrong)
        for wrong in (
            ("-i", here.card.uuid, "memory-limits", "--get", "-n", "/"),
            ("memory-limits", "--get", "-n", "/", "-i", "0"),
            ("-i", here.card.uuid, "-c", "EXCLUSIVE"),
        ):
            with pytest.raises(ToolFailed, match="Invalid argument"):
                await here.tools.program("nvidia-smi")(*wrong)
        soft, hard = ("--soft-limit", "4G"), ("--hard-limit", "4G")
        with pytest.raises(ToolFailed, match="non-negative MebiByte"):
            await here.groups.smi(
                "memory-limits", "--set", "-n", str(here.folder), *soft, *hard, "-i", here.card.uuid
            )

    async def test_configuration_that_the_daemon_does_not_know(self, here: Here, tmp_path: Path) -> None:
        file = tmp_path / "mps.toml"
        file.write_text('schema_version = "1.0"\n[servers.a]\nmemory = "4G"\n')
        with pytest.raises(ToolFailed, match="configuration error"):
            await here.tools.program("nvidia-cuda-mps-control")("-d", "-m", "-p", "3", "-a", str(file))

    @pytest.mark.slow
    async def test_as_processes(self, nvml: StandIn, tools: Path, folder: Path, tmp_path: Path) -> None:
        """A daemon that is begun outlives who began it; it is killed, and begins again with what there is to be."""
        card, groups = nvml.add(), groups_of(tmp_path)
        mps = MpsHost("615.71.05", "13.4", groups).parts(folder)
        await mps.give(7, CardPart(card.uuid, 0x0F, 16 * GIB))
        assert not takes_many(card.uuid)
        ((door, _),) = mps.service.place(7, card.uuid).mounts
        _kill(folder / "pipe/nvidia-cuda-mps-control.pid")
        await mps.mend()
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(door / "control"))
        await mps.take_back(7)
        assert takes_many(card.uuid)
        assert groups.leases() == set()
        assert f"server delete {server_name(card.uuid)} --force" in read(tools)

    @pytest.mark.slow
    async def test_as_processes_of_version_2(
        self, nvml: StandIn, tools: Path, folder: Path, tmp_path: Path
    ) -> None:
        card = nvml.add()
        mps = Mps(MpsDaemons(folder, tmp_path / "shm"), PartsBook(folder))
        await mps.give(7, CardPart(card.uuid, 0x0F, 16 * GIB))
        ((door, _),) = mps.service.place(7, card.uuid).mounts
        assert {entry.name for entry in door.iterdir()} == {"control", "log"}
        daemon = int((folder / "pipe/7/nvidia-cuda-mps-control.pid").read_text())
        assert read(Path(f"/proc/{daemon}/comm")) == "nvidia-cuda-mps\n"
        while True:  # it ends in its own time
            with contextlib.suppress(CardBusy):
                await mps.take_back(7)
                break
        assert not (folder / "pipe/7").exists()
        assert f"< set_default_device_pinned_mem_limit {card.uuid} 7936M" in read(tools)

    async def test_a_daemon_is_not_waited_for(self, tmp_path: Path) -> None:
        """What it was begun by has ended; what it writes into stays open as long as it lives."""
        tool = tmp_path / "daemon"
        tool.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {tmp_path}/pid\n")
        tool.chmod(0o755)
        try:
            await Program(str(tool), quiet=True)()
        finally:
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


class TestGroups:
    @pytest.fixture
    def systemd(self, here: Here) -> MemoryGroups:
        """Whose `systemctl` makes and takes away the folders of slices, as systemd would."""
        root = here.groups.root

        async def systemctl(*arguments: str, stdin: str = "") -> str:
            verb, unit = arguments
            assert unit.startswith("leasehold-ab-")
            slice_ = root / "leasehold.slice/leasehold-ab.slice" / unit
            slice_.mkdir(parents=True) if verb == "start" and not slice_.exists() else None
            slice_.rmdir() if verb == "stop" else None
            return ""

        (root / "cgroup.controllers").write_text("cpu dmem memory")
        return replace(here.groups, driver="systemd", systemctl=systemctl)

    async def test_slices(self, systemd: MemoryGroups, here: Here) -> None:
        card = here.card
        await systemd.limit(7, card.uuid, 1_024)
        assert systemd.told(7) == "leasehold-ab-7.slice"
        assert systemd.path(7).is_dir()
        above = ("", "leasehold.slice", "leasehold.slice/leasehold-ab.slice")
        assert {(systemd.root / at / "cgroup.subtree_control").read_text() for at in above} == {"+dmem"}
        assert systemd.leases() == {7}
        await systemd.remove(7, card.uuid)
        assert systemd.leases() == set()
        await systemd.remove(7, card.uuid)

    async def test_a_slice_with_somebody_in_it_is_not_stopped(
        self, systemd: MemoryGroups, here: Here
    ) -> None:
        """Stopping it would kill them; that is the engine's to do."""
        card = here.card
        await systemd.limit(7, card.uuid, 1_024)
        (systemd.path(7) / "cgroup.events").write_text("populated 1\n")
        with pytest.raises(CardBusy):
            await systemd.remove(7, card.uuid)
        assert systemd.path(7).is_dir()

    async def test_the_container_is_told_the_limit_where_it_has_one_of_its_own(self, here: Here) -> None:
        mps = here.mps()
        await mps.give(7, here.part(0x0F))
        own = here.groups.path(7) / "f00"
        await mps.show(7, "f00")
        assert here.card.get(f"limit.{own}") is None
        own.mkdir()
        (own / "dmem.max").write_text("max")
        await mps.show(7, "f00")
        assert here.card.get(f"limit.{own}") == "0,7936"
        here.nvml.set(no_memory_limits=1)
        await mps.show(7, "f00")
        await mps.show(8, "f00")

    async def test_a_limit_that_is_said_to_be_more(self, here: Here) -> None:
        async def smi(*arguments: str, stdin: str = "") -> str:
            return "hard limit: 16384 MiB\ncurrent used: 0 MiB\n" if "--get" in arguments else ""

        groups = replace(here.groups, smi=smi)
        with pytest.raises(ToolFailed, match="16384"):
            await groups.limit(7, here.card.uuid, 1_024)

        async def mute(*arguments: str, stdin: str = "") -> str:
            return "nothing"

        with pytest.raises(ToolFailed, match="nothing"):
            await replace(groups, smi=mute).limit(7, here.card.uuid, 1_024)


class TestDaemons:
    """Version 2: a daemon for each lease."""

    def mps(self, here: Here, tmp_path: Path) -> Mps:
        return Mps(MpsDaemons(here.folder, tmp_path / "shm", here.tools.program), PartsBook(here.folder))

    def told(self, here: Here) -> list[str]:
        named = "nvidia-cuda-mps-control "
        return [line.removeprefix(named) for line in here.tools.asked if line.startswith(named)]

    async def test_begun_for_a_lease_and_quit_after_it(self, here: Here, tmp_path: Path) -> None:
        mps = self.mps(here, tmp_path)
        await mps.give(7, here.part(0x03))
        assert f"set_default_device_pinned_mem_limit {here.card.uuid} 3968M" in self.told(here)
        assert "set_default_active_thread_percentage 25" in self.told(here)
        place = mps.service.place(7, here.card.uuid)
        ((door, inside),) = place.mounts
        assert {entry.name for entry in door.iterdir()} == {"control", "log"}, "not what is its owner's alone"
        assert inside == place.environment["CUDA_MPS_PIPE_DIRECTORY"]
        assert place.group is None
        assert place.shm is not None
        assert place.shm.stat().st_mode & 0o7777 == 0o1777
        assert (tmp_path / "shm").stat().st_mode & 0o777 == 0o700
        await mps.take_back(7)
        assert (here.tools.daemons, mps.book.load(), door.exists(), place.shm.exists()) == (
            {},
            {},
            False,
            False,
        )

    async def test_nobody_reaches_anothers(self, here: Here, tmp_path: Path) -> None:
        """A tenant who ends his daemon, or has it let him do what he likes, ends and frees nobody else."""
        mps = self.mps(here, tmp_path)
        for lease in (7, 9):
            await mps.give(lease, here.part(1 << lease - 5))
        here.tools._tell(here.folder / "pipe/7", ["quit"])
        assert set(here.tools.daemons) == {here.folder / "pipe/9"}
        await mps.mend()
        assert set(here.tools.daemons) == {here.folder / "pipe/7", here.folder / "pipe/9"}
        asked = len(here.tools.asked)
        await mps.mend()
        assert self.told(here)[-2:] == ["get_default_active_thread_percentage"] * 2
        assert len(here.tools.asked) == asked + 2

    async def test_what_grows_holds_for_the_server_that_runs(self, here: Here, tmp_path: Path) -> None:
        mps = self.mps(here, tmp_path)
        await mps.give(7, here.part(0x01))
        here.tools._tell(here.folder / "pipe/7", ["start_server", "-uid", "0"])
        await mps.give(7, here.part(0x0F))
        assert f"set_active_thread_percentage {os.getpid()} 50" in self.told(here)
        assert f"set_device_pinned_mem_limit {os.getpid()} {here.card.uuid} 7936M" in self.told(here)

    async def test_a_server_that_does_not_end(
        self, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mps = self.mps(here, tmp_path)
        await mps.give(7, here.part(0xFF))
        with monkeypatch.context() as patch:
            patch.setattr("leasehold_agent.cards._mps_daemons._runs", lambda pid: True)
            with pytest.raises(CardBusy, match="not ended"):
                await mps.take_back(7)
            with pytest.raises(CardBusy):
                await mps.give(9, here.part(0x01))
        await mps.give(9, here.part(0x01))

    async def test_a_folder_that_somebody_else_has_laid_there(self, here: Here, tmp_path: Path) -> None:
        """Anybody on the host may write into /dev/shm."""
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "shm").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(PermissionError, match="not the agent's own"):
            await self.mps(here, tmp_path).give(7, here.part(0x01))

    async def test_a_share_of_threads_that_it_does_not_take(self, here: Here, tmp_path: Path) -> None:
        mps = self.mps(here, tmp_path)
        await mps.give(7, here.part(0x01))
        here.tools.daemons[here.folder / "pipe/7"].answer = lambda words: "100.0\n" * (words[0][:3] == "get")  # type: ignore[method-assign]
        with pytest.raises(ToolFailed, match="does not hold"):
            await mps.give(7, here.part(0x01))


def share_of(card: Card, cells: int, mps: str = "hard") -> LeaseShare:
    parts = mps if cells != 0xFF else ""
    return LeaseShare(1.0, 1, 1, (card.uuid,), cells, mps=parts, card_bytes=16 * GIB)


class TestGiving:
    """What a container gets where parts of cards are sold by MPS."""

    async def test_a_part_beside_others(self, here: Here) -> None:
        devices = Devices(mps=here.mps())
        for lease, cells in ((7, 0x01), (9, 0xF0)):
            beside = HeldDevices(parts={here.card.uuid})
            share = share_of(here.card, cells)
            assert await devices.give(lease, share, mine=(), held=beside, timed=True) == {
                here.card.uuid: here.card.uuid
            }
        assert devices.place(9, share_of(here.card, 0xF0)).group == "/leasehold/ab/9"
        await devices.fit(7, share_of(here.card, 0x0F))
        assert here.limit(7) == "0,7936"
        await devices.show(7, "f00")
        await devices.take_back(7, {})
        assert here.namespaces == {"lease_7", "lease_9"}, "only slices were taken back, and there are none"
        await devices.end_part(7)
        assert here.namespaces == {"lease_9"}

    async def test_never_beside_who_has_it_alone_or_takes_turns(self, here: Here) -> None:
        devices = Devices(mps=here.mps())
        for held in (HeldDevices(alone={here.card.uuid}), HeldDevices(shared={here.card.uuid})):
            with pytest.raises(CardBusy, match="another lease's"):
                await devices.give(7, share_of(here.card, 0x01), mine=(), held=held, timed=True)
        for timed in (True, False):
            share = share_of(here.card, 0x03 if timed else 0xFF, "")
            with pytest.raises(CardBusy, match="another lease's"):
                await devices.give(7, share, mine=(), held=HeldDevices(parts={here.card.uuid}), timed=timed)

    async def test_a_part_that_becomes_the_whole_card(self, here: Here) -> None:
        """Its tenant may then have several processes on it, as on any card."""
        devices = Devices(mps=here.mps())
        await devices.give(7, share_of(here.card, 0x0F), mine=(), held=HeldDevices(), timed=True)
        whole = share_of(here.card, 0xFF)
        assert await devices.give(7, whole, mine=(), held=HeldDevices()) == {here.card.uuid: here.card.uuid}
        assert takes_many(here.card.uuid)
        assert devices.place(7, whole).mounts == ()
        await devices.fit(7, whole)

    async def test_what_cannot_be_taken_back_holds_up_nobody(self, here: Here) -> None:
        devices = Devices(mps=here.mps())
        await devices.give(7, share_of(here.card, 0x0F), mine=(), held=HeldDevices(), timed=True)
        (here.groups.path(7) / "cgroup.events").write_text("populated 1")
        await devices.end_part(7)
        here.card.lose()
        (here.groups.path(7) / "cgroup.events").unlink()
        await devices.end_part(7)

    async def test_an_agent_that_was_not_started_for_it(self, here: Here) -> None:
        with pytest.raises(ToolFailed, match="not started"):
            await Devices().give(7, share_of(here.card, 0x01), mine=(), held=HeldDevices(), timed=True)
        assert Devices().place(7, share_of(here.card, 0x01)).mounts == ()
        await Devices().show(7, "f00")
        await Devices().fit(7, share_of(here.card, 0x01))
        await Devices().end_part(7)

    def test_a_smaller_part_is_a_new_container(self) -> None:
        """What runs would keep the memory and the threads that it has, at a price of less."""
        parts = [LeaseShare(1.0, 1, 1, ("GPU-1",), cells, mps="hard") for cells in (0x01, 0x0F)]
        assert parts[0].is_less_of(parts[1])
        assert not parts[1].is_less_of(parts[0])
        assert not replace(parts[0], mps="").is_less_of(parts[1])


class TestWhatIsSold:
    """What `describe` says where the owner sells parts by MPS."""

    def part(self, *cards: Card) -> MachinePart:
        found = {card.uuid: card for card in take_inventory().gpus}
        return MachinePart(tuple(found[card.uuid] for card in cards), len(cards), len(cards))

    def host(self, here: Here, driver: str = "615.71.05", **more: object) -> MpsHost:
        host = MpsHost(driver, "13.4", here.groups, here.tools.program("nvidia-cuda-mps-control"))
        return replace(host, **more)  # type: ignore[arg-type]  # as a test likes

    async def test_down_to_an_eighth_with_limits_that_were_tried(self, here: Here) -> None:
        host = self.host(here)
        fences = await fences_of(self.part(here.card), "mps", Mig(), mps=host)
        assert (fences.isolation, fences.smallest_share, fences.fault_domain) == (("mps",), 1, "card")
        assert "ends that of all tenants" in fences.cautions[0]
        assert here.groups.leases() == set(), "nothing of the trial is left"
        assert host.kind == "hard"

    async def test_cooperative_where_no_limit_holds(self, here: Here) -> None:
        old, bare = self.host(here, "570.133.20"), self.host(here, limits=None)
        for host, why in ((old, "570.133.20"), (bare, "version 2")):
            fences = await fences_of(self.part(here.card), "mps", Mig(), mps=host)
            assert fences.isolation == ("mps", "cooperative")
            assert fences.fault_domain == "card"
            assert why in fences.cautions[0]
            assert host.kind == "cooperative"
            assert isinstance(host.parts(here.folder).service, MpsDaemons)
        here.nvml.set(no_memory_limits=1)
        fences = await fences_of(self.part(here.card), "mps", Mig(), mps=self.host(here))
        assert fences.isolation == ("mps", "cooperative")
        assert "Not Supported" in fences.cautions[0]

    async def test_not_of_cards_that_are_no_good_for_it(self, here: Here) -> None:
        part = self.part(here.card)
        for wrong, why in (
            ({"vendor": "amd"}, "NVIDIA"),
            ({"mig": True}, "mig"),
            ({"capability": "6.1"}, "7.0"),
        ):
            spoiled = replace(part, cards=(replace(part.cards[0], **wrong),))
            with pytest.raises(SettingsError, match=why):
                await fences_of(spoiled, "mps", Mig(), mps=self.host(here))

    async def test_not_without_the_tool(
        self, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SettingsError, match="MPS is not here"):
            await fences_of(self.part(here.card), "mps", Mig())


@dataclass
class Crowd:
    """Leases of a card that come, change and go, whose processes may outlive them, under tools and agents that die."""

    here: Here
    rng: Random
    cells: dict[int, int] = field(default_factory=dict)  # by lease, as the chain has it
    lingers: set[int] = field(default_factory=set)
    opened: int = 0

    async def step(self) -> None:
        if self.rng.random() < 0.2:
            self.here.tools.dies_after = self.rng.randrange(8)
        with contextlib.suppress(AgentDied, CardBusy, ToolFailed):
            await self._act(self.here.mps())
        self.here.tools.dies_after = None
        await self.here.mps().mend()
        self.check()

    async def _act(self, mps: Mps) -> None:
        ours = sorted(self.cells)
        match self.rng.choice(
            ("open", "open", "close", "grow", "start", "start", "linger", "daemon", "server")
        ):
            case "open":
                mask = self.rng.choice((0x01, 0x03, 0x0F, 0xF0, 0x40))
                if not any(mask & taken for taken in self.cells.values()):
                    self.opened += 1
                    self.cells[self.opened] = mask
                    await mps.give(self.opened, self.here.part(mask))
            case "close" if ours:
                lease = self.rng.choice(ours)
                del self.cells[lease]
                await mps.take_back(lease)
            case "grow" if ours:
                lease = self.rng.choice(ours)
                if self.cells[lease] == 0x01 and not any(0x02 & taken for taken in self.cells.values()):
                    self.cells[lease] = 0x03
                    await mps.give(lease, self.here.part(0x03))
            case "start" if ours:
                lease = self.rng.choice(ours)
                await mps.give(lease, self.here.part(self.cells[lease]))
            case "linger" if ours:
                self.linger(self.rng.choice(ours))
            case "daemon" if self.here.folder / "pipe" in self.here.tools.daemons:
                self.here.end_daemon()
            case "server" if self.here.mps().book.exists:
                with contextlib.suppress(KeyError, Refused):
                    self.here.ask("lose", self.here.server)

    def linger(self, lease: int) -> None:
        """Or those of before have ended."""
        for other in self.lingers:
            (self.here.groups.path(other) / "cgroup.events").unlink(missing_ok=True)
        self.lingers.clear()
        if self.here.groups.path(lease).is_dir():
            self.lingers.add(lease)
            (self.here.groups.path(lease) / "cgroup.events").write_text("populated 1")

    def check(self) -> None:
        """Whoever gets in has a limit, and all limits together are no more than the card."""
        parts = self.here.mps().book.load()
        doors = self.here.folder / "doors"
        reached = (
            {int(door.name) for door in doors.iterdir() if any(door.iterdir())} if doors.is_dir() else set()
        )
        assert reached <= parts.keys()
        assert sum(part.portion.cells for part in parts.values()) <= 8
        for lease in reached:
            assert self.here.limit(lease) == f"0,{parts[lease].portion.mib}"
            assert self.here.groups.path(lease).is_dir()
        for lease in self.here.groups.leases() - parts.keys():
            assert lease not in self.cells
        if parts:
            assert not takes_many(self.here.card.uuid)


@pytest.mark.parametrize("seed", range(3))
async def test_whoever_comes_and_goes(here: Here, seed: int) -> None:
    crowd = Crowd(here, Random(seed))
    together = 0
    for _ in range(80):
        await crowd.step()
        together = max(together, len(here.mps().book.load()))
    assert together > 1, "several were on the card at once"
    assert crowd.opened > 3
    crowd.cells.clear()
    crowd.linger(0)
    mps = here.mps()
    for lease in mps.book.load():
        await mps.take_back(lease)
    await mps.clear(here.card.uuid)
    assert (mps.book.load(), here.groups.leases(), takes_many(here.card.uuid)) == ({}, set(), True)
