"""A volume's disk and who has it: sealed where it lies, never two at once, and right again wherever a process died."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from leasehold.workload import VolumeMount
from leasehold_agent._errors import EngineDown, VolumeHeld, VolumeTrouble, WrongVolumeKey
from leasehold_agent.host import MountSpace, SealedDisk
from leasehold_agent.store import Volume, Volumes, volume_id

MIB = 1 << 20
A, B = "0x00000000000000000000000000000000000000A1", "0x00000000000000000000000000000000000000B2"
KEY, OTHER_KEY = bytes(range(32)), bytes(32)
SIZE = 32 * MIB
SECRET = b"the words that nobody else is to read"
SPACE = MountSpace()
MODELS = VolumeMount(name="models", path="/data", key=KEY.hex())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SealedDisk]:
    made = SealedDisk(tmp_path, SPACE)
    yield made
    made.close()


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[Volumes]:
    made = Volumes(tmp_path / "volumes", SPACE)
    yield made
    for volume in made.all():
        SealedDisk(made.root / volume, SPACE).close()


def loops_of(file: Path) -> str:
    return subprocess.run(["losetup", "-j", file], capture_output=True, text=True, check=True).stdout


class TestDisk:
    def test_nothing_of_it_can_be_read_without_the_key(self, disk: SealedDisk) -> None:
        disk.make(SIZE)
        disk.open(KEY)
        (disk.data / "a name that tells").write_bytes(SECRET * 1_000)
        (disk.data / "link").symlink_to("a target that tells")
        disk.close()
        lies_there = disk.file.read_bytes()
        assert not any(told in lies_there for told in (SECRET, b"a name that tells", b"a target that tells"))
        SPACE.mount(disk.file, disk.data.parent)  # as its owner could, who has the disk and no key
        names = os.listdir(disk.data)
        assert len(names) == 2
        assert not any("tells" in name or name == "link" for name in names)
        (sealed,) = (disk.data / name for name in names if not (disk.data / name).is_symlink())
        with pytest.raises(OSError, match="Required key"):
            sealed.open("rb")
        with pytest.raises(OSError, match="Required key"):
            (disk.data / "new").write_bytes(b"")
        disk.open(KEY)
        assert (disk.data / "a name that tells").read_bytes() == SECRET * 1_000

    def test_another_key_opens_nothing_and_changes_nothing(self, disk: SealedDisk) -> None:
        disk.make(SIZE)
        disk.open(KEY)
        (disk.data / "file").write_bytes(SECRET)
        disk.close()
        with pytest.raises(WrongVolumeKey):
            disk.open(OTHER_KEY)
        assert not disk.mounted
        disk.open(KEY)
        assert (disk.data / "file").read_bytes() == SECRET

    def test_its_size_is_a_limit_and_its_room_is_taken_at_once(self, disk: SealedDisk) -> None:
        disk.make(SIZE)
        assert disk.file.stat().st_blocks * 512 >= SIZE
        disk.open(KEY)
        with (disk.data / "holes").open("wb") as sparse:
            sparse.truncate(1 << 40)  # promises are no bytes
        with pytest.raises(OSError, match="No space left") as full:
            (disk.data / "full").write_bytes(bytes(2 * SIZE))
        assert full.value.errno == errno.ENOSPC
        (disk.data / "full").unlink()
        disk.close()
        status = disk.file.stat()
        assert (status.st_size, status.st_blocks * 512 >= SIZE) == (SIZE, True)

    def test_it_grows_and_keeps_what_it_holds(self, disk: SealedDisk) -> None:
        disk.make(SIZE)
        disk.open(KEY)
        (disk.data / "file").write_bytes(SECRET)
        disk.grow(3 * SIZE)
        assert not disk.mounted
        disk.open(KEY)
        assert (disk.data / "file").read_bytes() == SECRET
        (disk.data / "more").write_bytes(bytes(2 * SIZE))

    def test_odd_names_fit(self, disk: SealedDisk) -> None:
        disk.make(SIZE)
        disk.open(KEY)
        for name in ("x" * 255, "line\nbreak", "\udcff\udcfe", "é" * 127, " ", "..."):
            (disk.data / name).write_text(name[:1].encode("utf-8", "replace").decode())
        (disk.data / "far").symlink_to("t" * 4_090)
        names = set(os.listdir(disk.data))
        disk.close()
        disk.open(KEY)
        assert set(os.listdir(disk.data)) == names
        assert len(names) == 7

    def test_neither_mount_nor_loop_device_is_left(self, disk: SealedDisk) -> None:
        disk.make(SIZE)
        disk.open(KEY)
        disk.open(KEY)  # twice is once
        assert loops_of(disk.file).count("\n") == 1
        disk.close()
        disk.close()
        assert (disk.mounted, loops_of(disk.file)) == (False, "")

    def test_what_was_cut_off_is_done_again(self, disk: SealedDisk) -> None:
        """Killed while it was made; after it was mounted; after the folder was made and before it was sealed."""
        (disk.folder / "disk.part").write_bytes(b"half")
        disk.make(SIZE)
        place = disk.data.parent
        place.mkdir()
        SPACE.mount(disk.file, place)
        disk.open(KEY)
        disk.close()
        disk.file.unlink()
        disk.make(SIZE)
        SPACE.mount(disk.file, place)
        disk.data.mkdir()
        disk.open(KEY)
        (disk.data / "file").write_bytes(SECRET)
        disk.close()
        assert SECRET not in disk.file.read_bytes()

    def test_a_file_system_of_somebody_s_making_is_not_sealed_over(self, disk: SealedDisk) -> None:
        """What lies there without a key was not written by a tenant of ours: it is left alone, and not given out."""
        disk.make(SIZE)
        disk.data.parent.mkdir()
        SPACE.mount(disk.file, disk.data.parent)
        disk.data.mkdir()
        (disk.data / "planted").write_bytes(b"x")
        with pytest.raises(VolumeTrouble, match="not empty"):
            disk.open(KEY)
        assert not disk.mounted

    def test_rubbish_is_no_file_system(self, disk: SealedDisk) -> None:
        disk.file.write_bytes(os.urandom(MIB))
        with pytest.raises(VolumeTrouble, match="mount"):
            disk.open(KEY)
        assert loops_of(disk.file) == ""

    def test_more_than_the_disk_holds_leaves_nothing(self, disk: SealedDisk) -> None:
        with pytest.raises(VolumeTrouble, match="fallocate"):
            disk.make(1 << 60)
        assert list(disk.folder.iterdir()) == []


class TestSpace:
    def test_places_with_blanks_are_found(self, tmp_path: Path) -> None:
        disk = SealedDisk(tmp_path / "two words", SPACE)
        disk.folder.mkdir()
        disk.make(SIZE)
        disk.open(KEY)
        assert disk.mounted
        disk.close()
        assert not disk.mounted

    def test_nobody_at_the_socket(self, tmp_path: Path) -> None:
        with pytest.raises(EngineDown, match="Nobody listens"):
            MountSpace(tmp_path / "none").mounted(tmp_path)

    def test_the_view_is_the_listener_s(self, tmp_path: Path) -> None:
        """One in a mount namespace of its own, as a unit with `ProtectSystem` is to the engine."""
        disk, ready = SealedDisk(tmp_path / "volume", MountSpace(tmp_path / "socket")), tmp_path / "ready"
        disk.folder.mkdir()
        script = (
            "import socket,sys,pathlib;s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen();"
            "pathlib.Path(sys.argv[2]).touch();sys.stdin.read()"
        )
        command = ["unshare", "--mount", "--propagation", "private", "python3", "-c", script]
        with subprocess.Popen([*command, tmp_path / "socket", ready], stdin=subprocess.PIPE) as listener:
            try:
                while not ready.exists():
                    assert listener.poll() is None
                    os.sched_yield()
                disk.make(SIZE)
                disk.open(KEY)
                seen = Path(f"/proc/{listener.pid}/root{disk.data}")
                (seen / "file").write_bytes(SECRET)
                assert disk.mounted
                assert not SPACE.mounted(disk.data.parent)
                assert not disk.data.exists()
                disk.close()
                assert not seen.exists()
            finally:
                listener.communicate(b"")


class TestVolumes:
    async def test_of_one_tenant_one_name_and_one_lease_at_a_time(self, volumes: Volumes) -> None:
        data = await volumes.attach(1, A, MODELS, SIZE)
        (data / "file").write_bytes(SECRET)
        with pytest.raises(VolumeHeld):
            await volumes.attach(2, A, MODELS, SIZE)
        other = await volumes.attach(2, B, MODELS, SIZE)  # another tenant's of the same name
        assert list(other.iterdir()) == []
        assert volumes.held() == {1: {volume_id(A, "models")}, 2: {volume_id(B, "models")}}
        await volumes.detach(1)
        assert await volumes.attach(3, A, MODELS, SIZE) == data
        assert (data / "file").read_bytes() == SECRET

    def test_a_name_is_part_of_no_path(self, volumes: Volumes) -> None:
        for name in ("../../etc", "a/b", "", "."):
            assert volume_id(A, name).isalnum()
        assert volume_id(A, "x") == volume_id(A.lower(), "x") != volume_id(B, "x")

    async def test_it_goes_with_the_last_that_names_it(self, volumes: Volumes) -> None:
        data = await volumes.attach(1, A, MODELS, SIZE)
        file = data.parent.parent / "disk"
        await volumes.detach(1)
        await volumes.sweep(lambda: {volume_id(A, "models")})
        assert file.exists()
        await volumes.sweep(set)
        assert list(volumes.root.iterdir()) == []
        assert volumes.all() == {}

    async def test_what_a_crash_left_of_a_purge_is_swept_and_never_found_again(
        self, volumes: Volumes
    ) -> None:
        data = await volumes.attach(1, A, MODELS, SIZE)
        (data / "file").write_bytes(SECRET)
        await volumes.detach(1)
        (data.parent.parent / "disk").unlink()
        fresh = await volumes.attach(2, A, MODELS, SIZE)
        assert list(fresh.iterdir()) == []
        (volumes.root / volume_id(A, "models") / "volume.json").unlink()
        await volumes.sweep(set)  # mounted, and noted no more
        assert list(volumes.root.iterdir()) == []

    @pytest.mark.parametrize("note", ["", "[]", "{}", '{"tenant": "x"}'])
    async def test_a_note_that_a_power_cut_has_taken_takes_no_volume(
        self, volumes: Volumes, note: str
    ) -> None:
        data = await volumes.attach(1, A, MODELS, SIZE)
        (data / "file").write_bytes(SECRET)
        await volumes.detach(1)
        (volumes.root / "stray").write_bytes(b"")
        (data.parent.parent / "volume.json").write_text(note)
        assert volumes.held() == {}
        with pytest.raises(WrongVolumeKey):
            await volumes.attach(2, A, MODELS.model_copy(update={"key": OTHER_KEY.hex()}), SIZE)
        (data.parent.parent / "volume.json").write_text(note)
        await volumes.sweep(lambda: {volume_id(A, "models")})
        await volumes.attach(3, A, MODELS, 2 * SIZE)
        assert (data / "file").read_bytes() == SECRET
        assert volumes.all() == {volume_id(A, "models"): Volume(A, "models", 2 * SIZE, 3)}

    async def test_another_s_key_leaves_it_free(self, volumes: Volumes) -> None:
        await volumes.attach(1, A, MODELS, SIZE)
        await volumes.detach(1)
        with pytest.raises(WrongVolumeKey):
            await volumes.attach(2, A, MODELS.model_copy(update={"key": OTHER_KEY.hex()}), SIZE)
        assert volumes.held() == {}
        await volumes.attach(3, A, MODELS, SIZE)

    async def test_it_is_made_larger(self, volumes: Volumes) -> None:
        await volumes.attach(1, A, MODELS, SIZE)
        data = await volumes.attach(1, A, MODELS, 2 * SIZE)
        (data / "more").write_bytes(bytes(SIZE))
        assert volumes.all() == {volume_id(A, "models"): Volume(A, "models", 2 * SIZE, 1)}

    async def test_what_cannot_be_made_is_nobody_s(self, volumes: Volumes) -> None:
        with pytest.raises(VolumeTrouble):
            await volumes.attach(1, A, MODELS, 1 << 60)
        assert volumes.held() == {}

    async def test_who_waits_no_more_leaves_nothing_half_done(
        self, volumes: Volumes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A lease that ends while its volume is being opened: what closes it comes after what opened it."""
        opening, go_on, opened = threading.Event(), threading.Event(), SealedDisk.open

        def slow(disk: SealedDisk, key: bytes) -> None:
            opening.set()
            go_on.wait()
            opened(disk, key)

        monkeypatch.setattr(SealedDisk, "open", slow)
        attaching = asyncio.create_task(volumes.attach(1, A, MODELS, SIZE))
        await asyncio.to_thread(opening.wait)
        attaching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attaching
        detaching = asyncio.create_task(volumes.detach(1))
        go_on.set()
        await detaching
        assert volumes.held() == {}
        assert not SealedDisk(volumes.root / volume_id(A, "models"), SPACE).mounted

    async def test_one_that_takes_long_holds_up_nobody_else_s(
        self, volumes: Volumes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever fills his volume with small files and has it grow, has it checked for minutes."""
        growing, go_on, grown = threading.Event(), threading.Event(), SealedDisk.grow

        def slow(disk: SealedDisk, size: int) -> None:
            growing.set()
            go_on.wait()
            grown(disk, size)

        monkeypatch.setattr(SealedDisk, "grow", slow)
        await volumes.attach(1, A, MODELS, SIZE)
        await volumes.attach(2, B, MODELS, SIZE)
        attaching = asyncio.create_task(volumes.attach(1, A, MODELS, 2 * SIZE))
        await asyncio.to_thread(growing.wait)
        try:
            await volumes.detach(2)
            await volumes.attach(3, B, MODELS.model_copy(update={"name": "more"}), SIZE)
            await volumes.discard(B, "models")
            await volumes.sweep(lambda: set(volumes.all()) - {volume_id(B, "models")})
            assert not attaching.done()
        finally:
            go_on.set()
        await attaching
        assert volumes.held() == {1: {volume_id(A, "models")}, 3: {volume_id(B, "more")}}
