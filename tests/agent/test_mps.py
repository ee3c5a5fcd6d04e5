"""Parts of cards by MPS, over tools that stand in for NVIDIA's: they take the arguments of its documents alone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.nvml.smi import TRANSCRIPTS, said
from tests.agent.nvml.standin import StandIn
from tests.agent.programs.mps_here import GIB, Here, groups_of, kill_daemon, read

from leasehold_agent.cards import (
    CardBusy,
    CardPart,
    MemoryGroups,
    Mps,
    MpsDaemons,
    MpsHost,
    PartsBook,
    ToolFailed,
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
from leasehold_agent.cards._tools import Program
from leasehold_agent.host import takes_many

CARD = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65"


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
        assert servers_of("idle,0,-,Stopped,/run,-,-") == {"idle": Server(0, "Stopped")}
        assert mib_of(said("mps-v3", "nvidia-cuda-mps-control namespace get high_priority training "
                                     "pinned-memory-limit")) == 4_096  # fmt: skip
        limit = said("memory-limits", "nvidia-smi memory-limits --get -n /sys/fs/cgroup/mygroup -i 0")
        assert limit_of(limit) == MemoryLimit(8_192, 512)

    @pytest.mark.parametrize("text", ["", "\n", "a,b", "," * 10_000, "Cannot find it"])
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
    async def test_as_processes(
        self, nvml: StandIn, mps_tools: Path, mps_folder: Path, tmp_path: Path
    ) -> None:
        """A daemon that is begun outlives who began it; it is killed, and begins again with what there is to be."""
        card, groups = nvml.add(), groups_of(tmp_path)
        mps = MpsHost("615.71.05", "13.4", groups).parts(mps_folder)
        await mps.give(7, CardPart(card.uuid, 0x0F, 16 * GIB))
        assert not takes_many(card.uuid)
        ((door, _),) = mps.service.place(7, card.uuid).mounts
        kill_daemon(mps_folder / "pipe/nvidia-cuda-mps-control.pid")
        await mps.mend()
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(door / "control"))
        await mps.take_back(7)
        assert takes_many(card.uuid)
        assert groups.leases() == set()
        assert f"server delete {server_name(card.uuid)} --force" in read(mps_tools)

    @pytest.mark.slow
    async def test_as_processes_of_version_2(
        self, nvml: StandIn, mps_tools: Path, mps_folder: Path, tmp_path: Path
    ) -> None:
        card = nvml.add()
        mps = Mps(MpsDaemons(mps_folder, tmp_path / "shm"), PartsBook(mps_folder))
        await mps.give(7, CardPart(card.uuid, 0x0F, 16 * GIB))
        ((door, _),) = mps.service.place(7, card.uuid).mounts
        assert {entry.name for entry in door.iterdir()} == {"control", "log"}
        daemon = int((mps_folder / "pipe/7/nvidia-cuda-mps-control.pid").read_text())
        assert read(Path(f"/proc/{daemon}/comm")) == "nvidia-cuda-mps\n"
        while True:  # it ends in its own time
            with contextlib.suppress(CardBusy):
                await mps.take_back(7)
                break
        assert not (mps_folder / "pipe/7").exists()
        assert f"< set_default_device_pinned_mem_limit {card.uuid} 7936M" in read(mps_tools)

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
