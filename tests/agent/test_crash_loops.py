"""Commands that only crash: real chain, real engine; pauses between starts pass faster than on a wall."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from devnet.engine import Engine
from leasehold.chain import LeaseState
from leasehold.workload import digest, seal
from leasehold_agent.documents import read_status, write_status
from leasehold_agent.reconciling._plan import MOST_CRASHES

from .test_closing import give, reaches

if TYPE_CHECKING:
    from .conftest import Rig

pytestmark = pytest.mark.slow

TENANT = 2
FASTER = 500
CRASHES = ["sh", "-c", "until [ -e /go ]; do sleep 0.1; done; exit 7"]


def hurry(rig: Rig) -> None:
    rig.host.clock = lambda: FASTER * time.monotonic()


async def crashing(rig: Rig, restart: str) -> int:
    """A lease whose command ran well until it was billed, and from now on ends at once, whenever it is started."""
    hurry(rig)
    lease = await rig.open(rig.workload(command=CRASHES, restart=restart, grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    await reaches(rig, lease, "running")
    await rig.inside(lease, "touch /go")
    return lease


async def test_it_is_not_started_for_ever_and_that_is_said(rig: Rig) -> None:
    """An agent that is restarted does not begin anew; another workload does."""
    lease = await crashing(rig, "always")
    await reaches(rig, lease, "finished")
    handle, last = await rig.handle(lease), await rig.container(lease)
    assert handle.ended_with == 7
    assert f"ended {MOST_CRASHES} times in a row within seconds, the last time with 7" in (
        handle.reason or ""
    )
    await write_status(rig.host, rig.runtime, None)
    told = read_status(rig.settings.state_dir)
    assert told is not None
    assert "not started again" in told["leases"][0]["reason"]
    await rig.restart()
    hurry(rig)
    await reaches(rig, lease, "finished")
    await rig.reconciler.settle()
    now = await rig.container(lease)
    assert last is not None
    assert now is not None
    assert (now.id, now.started_at) == (last.id, last.started_at)
    assert rig.host.leases.folder(lease).load().crashes == MOST_CRASHES
    again = seal(rig.workload(restart="always", grace=0), rig.identity.age_recipient)
    await rig.host.supplies.uploads.put(digest(again), again)
    await rig.chain.pool(TENANT).set_workload(lease, digest(again))
    await rig.until(lambda: not rig.host.leases.folder(lease).load().crashes)
    await reaches(rig, lease, "running")


async def test_its_lease_is_closed_where_its_tenant_ordered_that(rig: Rig) -> None:
    lease = await crashing(rig, "on-failure")
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ENDED, 60)
    assert (await rig.handle(lease)).ended_with == 7


async def test_what_the_host_kills_is_no_crash_of_its_tenants(rig: Rig, docker_engine: Engine) -> None:
    hurry(rig)
    lease = await rig.open(rig.workload(restart="on-failure", grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    for _ in range(3):
        await reaches(rig, lease, "running")
        before = await rig.container(lease)
        assert before is not None
        with docker_engine.client() as client:
            client.containers.get(before.id).kill()

        async def again(started: float = before.started_at) -> bool:
            now = await rig.container(lease)
            return now is not None and now.running and now.started_at != started

        await rig.until(again)
    assert rig.host.leases.folder(lease).load().crashes == 0
