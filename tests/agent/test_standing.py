"""What the agent says of how a lease's container stands, after each way in which it may have ended."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import AsyncMock

import pytest

from devnet.engine import Engine
from leasehold.chain import LeaseState
from leasehold_agent._errors import EngineDown
from leasehold_agent._runtime import Standing
from leasehold_agent.host import HostMemory
from leasehold_agent.reconciling import Reconciler
from leasehold_agent.store import Ends

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

GLOBAL_OOM = "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom"
UNTIL_TOLD = "while [ ! -e /go ]; do sleep 0.1; done; "


async def stands(rig: Rig, lease: int, **expected: object) -> Standing:
    """Waits until the agent says that; then what it says in all."""

    async def so() -> bool:
        said = await rig.runtime.standing(lease)
        return all(getattr(said, name) == value for name, value in expected.items())

    await rig.until(so, 60)
    return await rig.runtime.standing(lease)


@pytest.mark.slow
async def test_a_hand_on_the_host_is_owned_up_to(rig: Rig, docker_engine: Engine) -> None:
    """Killed, stopped and paused; counted once each, over a restart of the agent too; and begun again."""
    lease = await rig.open(rig.workload(command=["sh", "-c", "sleep 600"], grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    before = await stands(rig, lease, state="running", ends=0, kills=0, ended_by="")
    with docker_engine.client() as client:
        container = client.containers.get(before.container)
        await asyncio.to_thread(container.kill)
        again = await stands(rig, lease, state="running", ends=1, kills=1, ended_by="hand")
        assert again.container == before.container
        assert before.started_at <= again.ended_at <= again.started_at
        assert again.exit_code is None
        await rig.restart()
        await rig.until(lambda: lease in rig.reconciler.containers)
        assert await stands(rig, lease, state="running", ends=1, kills=1) == again
        await asyncio.to_thread(container.stop, timeout=0)
        await stands(rig, lease, state="running", ends=2, kills=2, ended_by="hand")
        await rig.stop()
        await asyncio.to_thread(container.pause)
        await rig.start()
    await stands(rig, lease, state="running", ends=2, kills=2)


@pytest.mark.slow
async def test_no_command_makes_its_end_look_like_anothers(rig: Rig) -> None:
    """A tenant who could would have the host slashed."""
    ends = {"kill -9 $$": 137, "kill -TERM $$": 143, "exit 3": 3, "exit 0": 0}
    for command, code in ends.items():
        lease = await rig.open(rig.workload(command=["sh", "-c", UNTIL_TOLD + command], grace=0), share=1)
        await rig.reaches(lease, LeaseState.ACTIVE)
        await rig.inside(lease, "touch /go")
        said = await stands(rig, lease, state="exited", ends=1, ended_by="command")
        assert (said.exit_code, said.kills) == (code, 0), command


@pytest.mark.slow
async def test_what_the_kernel_kills_of_it_looks_like_its_own_end(rig: Rig) -> None:
    """Evidence for docs/decisions/0194: whoever is root on the host and uses no engine leaves no trace in it."""
    lease = await rig.open(rig.workload(command=["sleep", "600"], grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    container = await rig.container(lease)
    assert container is not None
    os.kill(container.pid, signal.SIGKILL)
    said = await stands(rig, lease, state="exited", ends=1)
    assert (said.ended_by, said.exit_code, said.kills) == ("command", 137, 0)


@pytest.mark.slow
async def test_what_the_kernel_ends_for_want_of_the_hosts_memory_is_the_hosts_end(
    rig: Rig, tmp_path: Path
) -> None:
    """The kernel says so in its log, for which a file stands in; nobody lifted a hand, and it runs again."""
    os.mkfifo(tmp_path / "kmsg")
    log = os.open(tmp_path / "kmsg", os.O_RDWR | os.O_NONBLOCK)
    rig.host.memory = HostMemory(tmp_path / "kmsg")
    lease = await rig.open(rig.workload(command=["sleep", "600"], grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    container = await rig.container(lease)
    assert container is not None
    said = f"task_memcg=/system.slice/docker-{container.id}.scope,task=sleep,pid={container.pid},uid=0"
    os.write(log, f"{GLOBAL_OOM},{said}\n".encode())
    os.kill(container.pid, signal.SIGKILL)
    again = await stands(rig, lease, state="running", ends=1, kills=0, ended_by="host")
    assert again.container == container.id
    os.close(log)


@pytest.mark.slow
async def test_what_a_command_does_to_its_own_limit_is_its_own_end(rig: Rig) -> None:
    """By the real kernel's log: whoever could have it told as the host's would be begun again for nothing."""
    command = ["sh", "-c", UNTIL_TOLD + "exec tail /dev/zero"]
    lease = await rig.open(rig.workload(command=command, memory="64MiB", grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.inside(lease, "touch /go")
    said = await stands(rig, lease, state="exited", ends=1, ended_by="command")
    assert (said.exit_code, said.kills) == (137, 0)


@pytest.mark.slow
async def test_what_the_agent_stops_itself_is_nobodys_end(rig: Rig) -> None:
    lease = await rig.open(rig.workload(grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.chain.pool(2).close(lease)
    said = await stands(rig, lease, state="exited")
    assert (said.ends, said.kills, said.ended_by) == (0, 0, "")
    none = await rig.runtime.standing(lease + (1 << 16))
    assert none == Standing("", "none", 0, 0, "", None, 0, 0)


@pytest.mark.slow
def test_an_end_counts_once() -> None:
    once = Ends().with_one("a:1", "hand")
    assert once.with_one("a:1", "command") == once
    assert once.with_one("a:2", "command") == Ends("a:2", "command", 2, 1)


@pytest.mark.slow
async def test_a_heartbeat_says_that_it_serves_only_where_it_has_looked(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before the first look, nor where the engine does not answer or this may be a copy of a host."""
    await rig.until(lambda: rig.reconciler.seen().serves)
    seen = rig.reconciler.seen()
    assert (seen.block, seen.running) == (rig.host.snapshot.block, 0)
    assert seen.block_hash == (await rig.chain.rpc.header(seen.block)).hash
    assert not Reconciler(rig.host).seen().serves
    with monkeypatch.context() as patched:
        patched.setattr(rig.host.containers.engine, "containers", AsyncMock(side_effect=EngineDown("gone")))
        await rig.until(lambda: not rig.reconciler.seen().serves)
    await rig.until(lambda: rig.reconciler.seen().serves)
    rig.host.estranged = "this may be a copy"
    await rig.until(lambda: not rig.reconciler.seen().serves)
