"""The disks of a host, over trees that are written as the kernel's: what counts as one, and what lies on which."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devnet.patience import patient
from leasehold.market import Hardware
from leasehold_agent.checks._disk import measure_reading
from leasehold_agent.checks._parts import look_at_disks
from leasehold_agent.host import Disks, HostDisk

GIB = 1 << 30


class Kernel:
    """`/sys` and what is mounted. A device node is only a name: `source` gives the path that a mount has of it."""

    def __init__(self, root: Path) -> None:
        self.sys, self.mounts = root / "sys", root / "mountinfo"
        self._lines: list[str] = []
        for folder in ("block", "class/block", "fs/btrfs"):
            (self.sys / folder).mkdir(parents=True)

    def disk(
        self, name: str, *, model: str = "A disk", gib: int = 1, turns: bool = False, out: bool = False
    ) -> None:
        folder = self._device(name, self.sys / "devices")
        (folder / "device").mkdir()
        (folder / "device" / "model").write_text(f"{model}\n")
        (folder / "queue").mkdir()
        (folder / "queue" / "rotational").write_text(f"{int(turns)}\n")
        (folder / "removable").write_text(f"{int(out)}\n")
        (folder / "size").write_text(f"{gib * GIB // 512}\n")
        (self.sys / "block" / name).symlink_to(folder)

    def part(self, disk: str, name: str) -> None:
        (self._device(name, self.sys / "devices" / disk) / "partition").write_text("1\n")

    def made_of(self, name: str, *devices: str) -> None:
        folder = self._device(name, self.sys / "devices")
        (self.sys / "block" / name).symlink_to(folder)
        (folder / "slaves").mkdir()
        for device in devices:
            (folder / "slaves" / device).symlink_to(self.sys / "class" / "block" / device)

    def loop(self, name: str, file: str) -> None:
        folder = self._device(name, self.sys / "devices")
        (folder / "loop").mkdir()
        (folder / "loop" / "backing_file").write_text(f"{file}\n")

    def btrfs(self, *devices: str) -> None:
        folder = self.sys / "fs" / "btrfs" / "a-uuid" / "devices"
        folder.mkdir(parents=True)
        for device in devices:
            (folder / device).symlink_to(self.sys / "class" / "block" / device)

    def mount(self, at: str, source: str, kind: str = "ext4") -> None:
        self._lines.append(f"22 27 8:1 / {at} rw,relatime shared:1 - {kind} {source} rw\n")
        self.mounts.write_text("".join(self._lines))

    def _device(self, name: str, above: Path) -> Path:
        folder = above / name
        folder.mkdir(parents=True)
        (self.sys / "class" / "block" / name).symlink_to(folder)
        return folder

    @property
    def disks(self) -> Disks:
        return Disks(self.sys, self.mounts)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def names(disks: tuple[HostDisk, ...]) -> list[str]:
    return [disk.name for disk in disks]


def test_what_is_plugged_in_is_a_disk(kernel: Kernel) -> None:
    kernel.disk("nvme0n1", model=" Samsung  990 PRO\t", gib=2)
    kernel.disk("sda", turns=True)
    kernel.disk("sdb")
    kernel.disk("sdc", out=True)  # a stick, gone tomorrow
    kernel.disk("sr0", gib=0)
    kernel.disk("vda", turns=True)
    kernel.made_of("md0", "sda", "sdb")
    found = kernel.disks.all()
    assert [(disk.name, disk.kind) for disk in found] == [
        ("nvme0n1", "nvme"),
        ("sda", "hdd"),
        ("sdb", "ssd"),
        ("vda", "virtual"),
    ]
    assert found[0].document() == {"model": "Samsung 990 PRO", "bytes": 2 * GIB, "kind": "nvme"}


def test_a_folder_lies_on_the_disk_of_the_nearest_mount(kernel: Kernel) -> None:
    kernel.disk("sda")
    kernel.part("sda", "sda1")
    kernel.disk("nvme0n1")
    kernel.mount("/", "/dev/sda1")
    kernel.mount("/var/lib/docker", "/dev/nvme0n1")
    kernel.mount("/var/lib/dock", "/dev/sda1")
    assert names(kernel.disks.holding(Path("/var/lib/docker/btrfs"))) == ["nvme0n1"]
    assert names(kernel.disks.holding(Path("/var/lib/dockerland"))) == ["sda"]
    assert [disk.mounts for disk in kernel.disks.all()] == [("/var/lib/docker",), ("/", "/var/lib/dock")]


def test_through_volumes_arrays_and_files_down_to_the_disks(kernel: Kernel) -> None:
    """A file that is mounted, on an encrypted volume, on an array of two."""
    kernel.disk("sda")
    kernel.disk("sdb")
    kernel.part("sda", "sda1")
    kernel.made_of("md0", "sda1", "sdb")
    kernel.made_of("dm-0", "md0")
    kernel.mount("/srv", "/dev/dm-0", "xfs")
    kernel.loop("loop3", "/srv/engine.btrfs")
    kernel.mount("/var/lib/docker", "/dev/loop3", "btrfs")
    assert names(kernel.disks.holding(Path("/var/lib/docker"))) == ["sda", "sdb"]


def test_btrfs_names_one_of_its_devices_and_lies_on_all(kernel: Kernel) -> None:
    kernel.disk("sda")
    kernel.disk("sdb")
    kernel.btrfs("sda", "sdb")
    kernel.mount("/data", "/dev/sdb", "btrfs")
    assert names(kernel.disks.holding(Path("/data"))) == ["sda", "sdb"]


def test_what_goes_round_in_a_circle_ends(kernel: Kernel) -> None:
    kernel.loop("loop0", "/round/file")
    kernel.mount("/round", "/dev/loop0")
    kernel.made_of("dm-0", "dm-1")
    kernel.made_of("dm-1", "dm-0")
    kernel.mount("/and/round", "/dev/dm-0")
    for folder in ("/round", "/and/round"):
        assert kernel.disks.holding(Path(folder)) == ()


def test_what_lies_on_no_disk_of_this_host(kernel: Kernel, tmp_path: Path) -> None:
    kernel.disk("sda")
    kernel.mount("/net", "server:/share", "nfs4")
    kernel.mount("/odd\\040name", "/dev/sda")
    kernel._lines.append("nonsense\n")
    kernel.mount("/pool", "tank", "zfs")
    assert kernel.disks.holding(Path("/net/a")) == kernel.disks.holding(Path("/pool")) == ()
    assert kernel.disks.all()[0].mounts == ("/odd name",)
    assert Disks(tmp_path / "none", tmp_path / "none").all() == ()


def test_each_is_told_with_its_speed_and_the_engines_is_named(kernel: Kernel, tmp_path: Path) -> None:
    kernel.disk("sda", model="\x1b[2JRust", turns=True)
    kernel.disk("nvme0n1", model="Quick")
    for number in range(9):
        kernel.mount(f"/{number}" + "long/" * 40, "/dev/nvme0n1")
    kernel.mount("/var/lib/docker", "/dev/sda")
    devices = tmp_path / "dev"
    devices.mkdir()
    (devices / "sda").write_bytes(bytes(8 << 20))
    found = look_at_disks(Path("/var/lib/docker"), kernel.disks, devices)
    quick, rust, advice = found
    assert [finding.state for finding in found] == ["ok", "ok", "warning"]
    assert "its speed is not known (No such file or directory)" in quick.text
    assert len(quick.text) < 1_000
    assert "…" in quick.text
    assert rust.text.startswith("sda ([2JRust, hard disk, ")
    assert "has /var/lib/docker, the engine's data among it; reads " in rust.text
    assert "moved there" in advice.text
    assert "nvme0n1 is here" in advice.text


def test_reading_changes_nothing_and_ends(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.write_bytes(os.urandom(12 << 20))
    before = device.stat()
    assert measure_reading(device, seconds=patient(30), most=64 << 20)
    times = iter([0.0, 0.0, 2.0, 4.0])
    assert measure_reading(device, seconds=1, most=64 << 20, clock=lambda: next(times)) == (4 << 20) // 4
    assert (device.stat().st_mtime_ns, device.stat().st_size) == (before.st_mtime_ns, before.st_size)
    (tmp_path / "empty").touch()
    assert measure_reading(tmp_path / "empty", seconds=1, most=64 << 20) is None


def test_this_host() -> None:
    disks = Disks()
    assert set(disks.holding(Path("/"))) <= set(disks.all())
    document = {"version": 1, "gpus": [], "cpu": {"model": "", "cores": 1}, "memory_bytes": 1}
    told = [disk.document() for disk in disks.all()]
    Hardware.model_validate(document | {"disk": {"bytes": 1, "quota": True}, "disks": told})
