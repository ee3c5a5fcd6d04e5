"""Faults of the host, which are not the tenant's: engines restarted, containers killed or paused, ports taken."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet import images
from devnet.engine import Engine
from leasehold.chain import LeaseState
from leasehold_agent.documents import read_status, write_status
from leasehold_agent.engine import ContainerFacts, how_it_ended
from leasehold_agent.host._netns import socket_in
from leasehold_agent.reconciling import HostFacts

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

DEAF_TO_NOTHING = 'trap "exit 0" TERM; echo began >> /began; while :; do sleep 1 & wait $!; done'


@pytest.fixture
def mortal_engine() -> Iterator[Engine]:
    """An engine as Docker comes: its containers end with it."""
    with Engine(size_gib=4) as engine:
        engine.stop()
        config = engine.folder / "daemon.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | {"live-restore": False}))
        engine.start()
        images.load(engine.url, images.tiny())
        yield engine


async def running(rig: Rig, lease: int) -> ContainerFacts:
    async def up() -> ContainerFacts | None:
        found = await rig.container(lease)
        return found if found is not None and found.running else None

    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.until(up)
    found = await rig.container(lease)
    assert found is not None
    return found


async def began(rig: Rig, lease: int, times: int) -> None:
    async def so() -> bool:
        with contextlib.suppress(Exception):
            return (await rig.inside(lease, "wc -l < /began"))[1].strip() == str(times)
        return False

    await rig.until(so, 60)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's, as an engine ends
@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_an_engine_that_takes_its_containers_along_is_no_end_of_theirs(
    mortal_engine: Engine, rig_of: Callable[..., Any], how: str
) -> None:
    """Neither one that ends with 0 when it is asked to, nor one that is killed."""
    rig: Rig = await rig_of(docker=mortal_engine.url, engine_netns=mortal_engine.netns)
    lease = await rig.open(rig.workload(command=["sh", "-c", DEAF_TO_NOTHING], grace=1))
    await running(rig, lease)
    await began(rig, lease, 1)
    getattr(mortal_engine, how)()
    mortal_engine.start()
    await began(rig, lease, 2)
    await rig.stop()
    getattr(mortal_engine, how)()
    mortal_engine.start()
    await rig.start()
    await began(rig, lease, 3)
    assert not rig.host.leases.folder(lease).load().published


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's, as an engine ends
async def test_an_engine_that_begins_anew_while_it_is_looked_at_has_ended_what_was_seen_to_run(
    mortal_engine: Engine, rig_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that the container runs, and ends it before the agent looks at which run of the engine that was."""
    rig: Rig = await rig_of(docker=mortal_engine.url, engine_netns=mortal_engine.netns)
    lease = await rig.open(rig.workload(command=["sh", "-c", DEAF_TO_NOTHING], grace=1))
    await running(rig, lease)
    await began(rig, lease, 1)
    engine = rig.host.containers.engine
    networks, restarts = engine.networks, 0

    async def anew(label: str) -> list[str]:
        nonlocal restarts
        found = await networks(label)
        if not restarts and rig.reconciler.containers[lease].running:
            restarts += 1
            mortal_engine.stop()
            mortal_engine.start()
        return found

    monkeypatch.setattr(engine, "networks", anew)
    await rig.until(lambda: restarts)
    await began(rig, lease, 2)
    assert not rig.host.leases.folder(lease).load().published


async def test_an_engine_that_never_stays_is_waited_for_and_not_looked_at_for_ever(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await rig.open(rig.workload(grace=0))
    before = await running(rig, lease)
    runs = itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(HostFacts, "boot", property(lambda facts: str(next(runs))))
        assert await rig.reconciler.tick() == []
    assert (await running(rig, lease)).pid == before.pid


async def test_killed_from_outside_it_runs_again(rig: Rig, docker_engine: Engine) -> None:
    lease = await rig.open(rig.workload(command=["sh", "-c", DEAF_TO_NOTHING], grace=1))
    before = await running(rig, lease)
    await began(rig, lease, 1)
    with docker_engine.client() as client:
        client.containers.get(before.id).kill()
    await began(rig, lease, 2)
    with docker_engine.client() as client:
        client.containers.get(before.id).stop(timeout=5)
    await began(rig, lease, 3)
    assert (await running(rig, lease)).id == before.id


async def test_what_its_own_program_kills_has_ended_by_itself(rig: Rig) -> None:
    lease = await rig.open(
        rig.workload(command=["sh", "-c", "while [ ! -e /go ]; do sleep 0.1; done; kill -9 $$"])
    )
    await running(rig, lease)
    await rig.inside(lease, "touch /go")
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)
    assert (await rig.handle(lease)).reason == "The command has ended with 137 (SIGKILL)."


async def test_paused_it_goes_on(rig: Rig, docker_engine: Engine) -> None:
    lease = await rig.open(rig.workload(grace=0))
    before = await running(rig, lease)
    with docker_engine.client() as client:
        client.containers.get(before.id).pause()
    rig.reconciler.wake()

    async def up() -> bool:
        found = await rig.container(lease)
        return found is not None and found.running

    await rig.until(up)
    assert (await running(rig, lease)).pid == before.pid


async def test_paused_it_ends_with_its_lease(rig: Rig, docker_engine: Engine) -> None:
    lease = await rig.open(rig.workload(grace=0))
    before = await running(rig, lease)
    await rig.stop()
    with docker_engine.client() as client:
        client.containers.get(before.id).pause()
    await rig.chain.pool(TENANT).close(lease)
    await rig.start()

    async def ended() -> bool:
        found = await rig.container(lease)
        return found is not None and found.exited

    await rig.until(ended)


TENANT = 2


async def test_a_command_that_keeps_ending_is_started_again_and_it_is_said(rig: Rig) -> None:
    lease = await rig.open(
        rig.workload(command=["sh", "-c", "echo began >> /began; sleep 1; exit 3"], restart="on-failure")
    )
    await rig.reaches(lease, LeaseState.ACTIVE)

    async def said() -> bool:
        reason = (await rig.handle(lease)).reason or ""
        return "has ended" in reason and "times" in reason

    await rig.until(said, 60)
    assert not rig.host.leases.folder(lease).load().published


async def test_services_on_the_first_ports_are_no_reason_to_decline(
    rig_of: Callable[..., Any], docker_engine: Engine
) -> None:
    """Each lease would try the same few, whatever else of the range is free."""
    rig: Rig = await rig_of(first_port=24_100, last_port=24_120)
    with contextlib.ExitStack() as services:
        for port in range(24_100, 24_112):
            taken = services.enter_context(contextlib.closing(socket_in(Path(docker_engine.netns))))
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("0.0.0.0", port))
            taken.listen()
        lease = await rig.open(rig.workload(ports=[{"container": 80}, {"container": 81}]))
        found = await running(rig, lease)
    assert [host for _, _, host in found.ports] == [24_112, 24_113]


async def test_a_result_that_is_not_from_here_stands(rig: Rig) -> None:
    """A copy of this host may have run the lease as well, and only one of the two has the tenant's data."""
    command = ["sh", "-c", "mkdir /results; while [ ! -e /go ]; do sleep 0.1; done"]
    lease = await rig.open(rig.workload(command=command, outputs=[{"path": "/results", "public": True}]))
    await running(rig, lease)
    theirs = bytes.fromhex("01551220") + bytes(range(32))
    await rig.host.chain.publish(rig.host.snapshot.leases[lease], theirs)
    await rig.until(lambda: rig.host.snapshot.leases[lease].result == theirs)
    await rig.inside(lease, "touch /go")
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)
    found = (await rig.host.chain.snapshot([lease])).leases[lease]
    assert found.result == theirs


async def test_beside_another_engine_it_lives_and_leaves_the_leases_alone(rig: Rig) -> None:
    """An engine that was set up anew, or a copy of this host: which of them, somebody has to say. A silent machine
    would cost stake meanwhile, and a copy that runs its leases again the tenants' results.
    """
    billed = await rig.open(rig.workload(grace=0), share=4)
    note = rig.settings.state_dir / "engine"
    await rig.host.containers.engine.remove((await running(rig, billed)).name)
    await rig.stop()
    note.write_text("the engine of before")
    await rig.start()

    pool = rig.chain.pool(TENANT)
    faults = await pool.faults()
    await pool.deposit(
        rig.chain.address(TENANT), await faults.bond_of(rig.machine, rig.chain.address(TENANT))
    )
    await faults.challenge(rig.machine, billed)

    async def answered() -> bool:
        return not (await faults.challenge_of(rig.machine)).id

    await rig.until(answered)
    new = await rig.open(share=4)
    await rig.until(lambda: new in rig.host.snapshot.leases)
    left = rig.host.snapshot.leases[new].window_ends - rig.host.snapshot.now
    rig.chain.anvil.advance(left - 5)
    await rig.reaches(new, LeaseState.CANCELLED)
    assert await rig.container(billed) is None
    assert await rig.container(new) is None
    await write_status(rig.host, rig.runtime, None)
    status = read_status(rig.settings.state_dir)
    assert status is not None
    assert f"delete {note}" in status["lacks"][0]

    note.unlink()
    await rig.restart()
    await running(rig, billed)
    assert note.exists()


@pytest.mark.parametrize(
    ("code", "memory", "said"),
    [
        (3, False, "with 3"),
        (139, False, "with 139 (SIGSEGV)"),
        (255, False, "with 255"),
        (137, True, "with 137: it used more memory than its lease has"),
    ],
)
def test_an_end_is_said(code: int, memory: bool, said: str) -> None:
    found = ContainerFacts("c", "n", {}, "exited", code, 0, None, (), memory)
    assert how_it_ended(found) == said
