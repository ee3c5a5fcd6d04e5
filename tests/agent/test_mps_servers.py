"""MPS of version 3: a namespace for each lease, and whatever dies beside it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from tests.agent.nvml.smi import use_memory
from tests.agent.programs.mps_control import Refused
from tests.agent.programs.mps_here import GIB, AgentDied, Here, started, write

from leasehold_agent.cards import (
    CardBusy,
    CardPart,
    Mps,
    ToolFailed,
)
from leasehold_agent.host import processes_on, takes_many

CARD = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65"


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
    @pytest.mark.slow
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
        begins = here.tools.daemons[here.folder / "pipe"].servers[here.server]  # type: ignore[union-attr]
        begins.pid = 0  # and a server that is there, and has not begun
        late = await asyncio.create_subprocess_exec("sleep", "600")
        (tmp_path / "proc" / str(late.pid)).mkdir(parents=True)
        write(tmp_path / "proc" / str(late.pid) / "cgroup", "0::/leasehold/ab/9/f00\n")
        here.card.run((late.pid, GIB))
        await mps.mend()
        assert await late.wait() == -signal.SIGKILL
        assert await processes[0].wait() == -signal.SIGKILL
        assert processes[1].returncode is None, "not one of this agent's leases'"
        processes[1].kill()
        await processes[1].wait()
        assert here.namespaces == {"lease_7", "lease_9"}

    async def test_a_server_whose_daemon_has_died(self, here: Here, tmp_path: Path) -> None:
        """It holds the card, which lets in no other. A process that only has its number is let be."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        server, other = await started(tmp_path / "nvidia-cuda-mps-server"), await started(tmp_path / "other")
        here.end_daemon()
        here.card.run((server.pid, GIB), (other.pid, GIB))
        await mps.mend()
        assert await server.wait() == -signal.SIGKILL
        assert other.returncode is None
        other.kill()
        await other.wait()

    async def test_a_daemon_that_hangs(self, here: Here, tmp_path: Path) -> None:
        """It lives, and answers nobody: one slow answer is no reason to end all leases' work, four are."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        daemon = await started(tmp_path / "nvidia-cuda-mps-control")
        write(here.folder / "pipe/nvidia-cuda-mps-control.pid", str(daemon.pid))
        here.tools.hung.add(here.folder / "pipe")
        server = await started(tmp_path / "nvidia-cuda-mps-server")
        here.card.run((server.pid, GIB))
        for _ in range(3):
            with pytest.raises(ToolFailed, match="does not answer"):
                await mps.mend()
            assert daemon.returncode is None
        with pytest.raises(ToolFailed, match="does not answer"):
            await here.mps().give(9, here.part(0x30))
        assert server.returncode is None, "it has leases' work"
        with pytest.raises(ToolFailed):
            await mps.mend()
        assert await daemon.wait() == -signal.SIGKILL
        here.end_daemon()
        here.tools.hung.clear()
        here.card.run((server.pid, GIB))
        await mps.mend()
        assert await server.wait() == -signal.SIGKILL
        assert here.namespaces == {"lease_7", "lease_9"}

    async def test_a_card_that_is_lost(self, here: Here) -> None:
        """The leases of others have nothing to do with it."""
        lost, mps = here.nvml.add(), here.mps()
        for lease, card in ((7, lost), (9, here.card)):
            await mps.give(lease, replace(here.part(0x01), card=card.uuid))
        here.end_daemon()
        lost.lose()
        with pytest.raises(OSError, match="does not answer"):
            await mps.mend()
        assert here.namespaces == {"lease_9"}

    async def test_a_driver_that_was_loaded_anew(self, here: Here) -> None:
        """It has forgotten that the card lets in one process."""
        mps = here.mps()
        await mps.give(7, here.part(0x01))
        here.card.set(compute_mode=0)
        await mps.mend()
        assert not takes_many(here.card.uuid)

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


@pytest.mark.parametrize(
    "seed", [*range(1), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))]
)
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
