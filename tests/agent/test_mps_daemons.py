"""MPS of version 2: a daemon for each lease."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.agent.programs.mps_here import Here

from leasehold_agent.cards import (
    CardBusy,
    Mps,
    MpsDaemons,
    PartsBook,
    ToolFailed,
)

CARD = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65"


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
            patch.setattr("leasehold_agent.cards._mps_daemons.end_mps", lambda pid: True)
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
