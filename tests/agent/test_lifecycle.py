"""A lease's life: real chain, real engine, real IPFS; the agent in this process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet.engine import Engine
from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold.workload import fetch_results, seal
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerSpec
from leasehold_agent.reconciling._names import GENESIS_LABEL, LEASE_LABEL
from leasehold_agent.reconciling._plan import DiskRoom, Stop

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
READER = new_identity()
RESULTS = {"path": "/results", "recipients": [recipient_of(READER)]}
ANSWER = "mkdir -p /results; echo 42 > /results/answer"


async def running(rig: Rig, lease: int) -> str:
    """Waits until it is billed; the id of its container."""
    await rig.reaches(lease, LeaseState.ACTIVE)
    container = await rig.container(lease)
    assert container is not None
    assert container.running
    return container.id


async def stopped(rig: Rig, lease: int) -> None:
    async def is_stopped() -> bool:
        container = await rig.container(lease)
        return container is not None and not container.running

    await rig.until(is_stopped)


async def up(rig: Rig, lease: int) -> None:
    async def is_up() -> bool:
        container = await rig.container(lease)
        return container is not None and container.running

    await rig.until(is_up)


async def result(rig: Rig, lease: int, tmp_path: Path) -> str:
    """Waits for the published result and fetches it as the reader."""

    async def published() -> bool:
        await rig.host.chain.snapshot([lease])
        return rig.host.leases.folder(lease).load().published

    await rig.until(published)
    cid = (await rig.handle(lease)).result_cid
    assert cid is not None
    await fetch_results(cid, READER, tmp_path / cid, rig.ipfs)
    return (tmp_path / cid / "results" / "answer").read_text()


async def test_from_open_to_results(rig: Rig, tmp_path: Path) -> None:
    """Opened, running, started on the chain, closed, stopped, outputs published; the data is kept."""
    lease = await rig.open(
        rig.workload(command=["sh", "-c", ANSWER + "; exec sleep 600"], outputs=[RESULTS], grace=1)
    )
    await rig.reaches(lease, LeaseState.ACTIVE)
    container = await running(rig, lease)
    handle = await rig.handle(lease)
    assert (handle.outputs, handle.machine, handle.container_id) == (("/results",), rig.machine, container)
    await rig.chain.pool(TENANT).close(lease)
    assert await result(rig, lease, tmp_path) == "42\n"
    await stopped(rig, lease)
    assert (await rig.handle(lease)).phase == "ended"


@pytest.mark.slow
async def test_what_the_index_does_not_hear_of_is_not_sent_without_a_pause(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that says the lease has started, and gives no event of it: `start` was looked at for ever, at once."""
    heard: list[int] = []

    async def start(lease: Desired, endpoint: bytes) -> None:
        heard.append(lease.lease)

    monkeypatch.setattr(rig.host.chain, "start", start)
    lease = await rig.open()
    await rig.until(lambda: len(heard) == 3)
    assert rig.reconciler._work[lease].backoff.failures >= 2


@pytest.mark.slow
async def test_a_job_that_ends_publishes_while_it_is_billed(rig: Rig, tmp_path: Path) -> None:
    lease = await rig.open(rig.workload(kind="batch", command=["sh", "-c", ANSWER], outputs=[RESULTS]))
    assert await result(rig, lease, tmp_path) == "42\n"
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    handle = await rig.handle(lease)
    assert (handle.phase, handle.exit_code) == ("finished", 0)


@pytest.mark.slow
async def test_an_output_that_is_too_large_does_not_hold_up_the_others(
    rig_of: Callable[..., Any], tmp_path: Path
) -> None:
    """A sparse file takes no room in the container, and all of it on the host that packs it."""
    rig: Rig = await rig_of(output_limit=1 << 20)
    hole = {"path": "/hole", "recipients": RESULTS["recipients"]}
    command = f"mkdir -p /hole; truncate -s 1G /hole/sparse; {ANSWER}"
    lease = await rig.open(rig.workload(kind="batch", command=["sh", "-c", command], outputs=[hole, RESULTS]))
    await rig.reaches(lease, LeaseState.ACTIVE)
    assert await result(rig, lease, tmp_path) == "42\n"
    assert "/hole is larger than" in rig.host.leases.folder(lease).load().failure_detail
    assert not (rig.host.leases.folder(lease).path / "outputs.tar").exists()


@pytest.mark.slow
async def test_data_goes_after_retention_and_not_before(rig_of: Callable[..., Any]) -> None:
    rig: Rig = await rig_of(retention_min=1_000, retention_max=2_000)
    command = ["sh", "-c", ANSWER + "; exec sleep 600"]
    lease = await rig.open(rig.workload(command=command, outputs=[RESULTS], grace=0))
    await running(rig, lease)
    await rig.chain.pool(TENANT).close(lease)
    await stopped(rig, lease)
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)
    published = rig.host.leases.folder(lease).load().result
    assert published in await rig.ipfs.pins()
    rig.chain.anvil.advance(900)
    rig.chain.anvil.mine()
    await rig.until(lambda: rig.host.snapshot.now >= rig.chain.anvil.timestamp)
    await rig.reconciler.settle()
    assert await rig.container(lease) is not None
    rig.chain.anvil.advance(200)
    rig.chain.anvil.mine()
    await rig.until(lambda: not rig.host.leases.folder(lease).exists)
    assert await rig.container(lease) is None
    assert rig.host.containers.names.network(lease) not in await rig.host.containers.engine.networks(
        rig.host.containers.names.filter
    )
    assert published not in await rig.ipfs.pins()
    # Planned on what was seen before it was deleted: nothing of it comes back.
    await rig.reconciler._ending.stop(Stop(lease, "ended"), rig.host.snapshot)
    assert not rig.host.leases.folder(lease).exists


@pytest.mark.slow
async def test_what_is_kept_makes_way_for_who_comes(rig: Rig, tmp_path: Path) -> None:
    """Filled, closed, rented again: what the former lease left is gone before the next one is declined for it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one").write_text("1")
    cid = (await rig.ipfs.add_folder(tmp_path / "data")).cid
    first = await rig.open(rig.workload(grace=0, datasets=[{"cid": cid, "path": "/data"}]))
    await running(rig, first)
    assert rig.host.datasets_in_use() == {cid}
    await rig.chain.pool(TENANT).close(first)
    await stopped(rig, first)
    await rig.until(lambda: rig.host.leases.folder(first).load().gone_block is not None)
    assert rig.host.datasets_in_use() == set()

    async def network_is_gone() -> bool:
        return rig.host.containers.names.network(first) not in await rig.host.containers.engine.networks(
            rig.host.containers.names.filter
        )

    await rig.until(network_is_gone)
    kept = await rig.handle(first)
    assert kept.paid_until is not None
    assert kept.kept_until == kept.paid_until + 86_400 - rig.host.leases.folder(first).load().billed
    rig.chain.anvil.advance(600)
    rig.chain.anvil.mine()
    await rig.until(lambda: rig.host.snapshot.now >= rig.chain.anvil.timestamp)
    assert await rig.container(first) is not None
    room = rig.host.facts.room
    rig.host.facts.room = lambda wanted=0: DiskRoom.WANTED if wanted == 1 << 20 else room(wanted)  # type: ignore[method-assign]
    second = await rig.open(rig.workload(grace=0, disk="1MiB"))
    await rig.until(lambda: not rig.host.leases.folder(first).exists)
    await running(rig, second)


@pytest.mark.slow
async def test_what_a_lease_ran_on_was_used_until_its_end(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when it was fetched: and while the lease runs it makes no room at all."""
    monkeypatch.setattr(rig.host.supplies.datasets, "lies_on", lambda _: True)
    cids = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        cids.append((await rig.ipfs.add_folder(tmp_path / name)).cid)
    leases = []
    for cid in cids:
        data = [{"cid": cid, "path": "/data"}]
        leases.append(await rig.open(rig.workload(datasets=data, grace=0), share=4))
        await running(rig, leases[-1])
    used, other = (rig.host.supplies.datasets.path(cid) for cid in cids)
    await rig.chain.pool(TENANT).close(leases[1])
    await stopped(rig, leases[1])
    for path in (used, other):
        os.utime(path, (1_000, 1_000))
    os.utime(used, (500, 500))

    async def makes_room() -> bool:
        return await rig.reconciler._forget_image()

    await rig.until(makes_room)
    assert (used.is_dir(), other.is_dir()) == (True, False)
    assert not await makes_room()
    await rig.chain.pool(TENANT).close(leases[0])
    await rig.until(lambda: used.stat().st_mtime > 1_000)


@pytest.mark.slow
async def test_who_comes_back_has_a_network_again(rig: Rig) -> None:
    """A reorganisation ends a lease and brings it back, with the container that it had."""
    lease = await rig.open(rig.workload(grace=0))
    before = await running(rig, lease)
    state = rig.chain.anvil.request("evm_snapshot")
    await rig.chain.pool(TENANT).close(lease)
    await stopped(rig, lease)
    await rig.until(lambda: rig.host.containers.names.network(lease) not in rig.reconciler.networks)
    rig.chain.anvil.request("evm_revert", state)
    rig.chain.anvil.mine()

    async def back() -> bool:
        container = await rig.container(lease)
        return container is not None and container.running and container.address is not None

    await rig.until(back)
    now = await rig.container(lease)
    assert now is not None
    assert now.id == before


@pytest.mark.slow
async def test_another_workload_on_the_same_lease(rig: Rig, tmp_path: Path) -> None:
    first = rig.workload(command=["sh", "-c", ANSWER + "; exec sleep 600"], outputs=[RESULTS], grace=0)
    lease = await rig.open(first)
    before = await running(rig, lease)
    second = seal(rig.workload(env={"SECOND": "yes"}), rig.identity.age_recipient)
    await rig.host.supplies.uploads.put(_digest(second), second)
    await rig.chain.pool(TENANT).set_workload(lease, _digest(second))

    async def replaced() -> bool:
        container = await rig.container(lease)
        return container is not None and container.running and container.id != before

    await rig.until(replaced)
    assert await rig.inside(lease, "echo $SECOND") == (0, "yes\n")
    published = rig.host.snapshot.leases[lease].result or (await _result_of(rig, lease))
    assert published


async def test_a_machine_that_missed_a_start_recovers_by_itself(rig: Rig) -> None:
    await rig.stop()
    lease = await rig.open_sealed(b"nobody will ever see this", upload=False)
    rig.chain.anvil.advance(86_400)
    rig.chain.anvil.mine()
    await rig.chain.pool(TENANT).cancel_unstarted(lease)
    assert (await rig.chain.pool().machine_of(rig.machine)).stalled
    await rig.start()

    async def recovered() -> bool:
        return not (await rig.chain.pool().machine_of(rig.machine)).stalled

    await rig.until(recovered)


# -------------------------------------------------------------------------------------------- reorganisations


async def test_a_lease_that_is_reorganised_away_stops_and_comes_back_with_its_data(rig: Rig) -> None:
    anvil = rig.chain.anvil
    sealed = seal(rig.workload(grace=0), rig.identity.age_recipient)
    anvil.mine(2)
    before = anvil.block_number
    lease = await rig.open_sealed(sealed)
    container = await running(rig, lease)
    await rig.inside(lease, "echo precious > /kept")
    raw = [_raw(anvil, number) for number in range(before + 1, anvil.block_number + 1)]
    depth = anvil.block_number - before
    anvil.rollback(depth)
    anvil.mine(depth + 1)
    await stopped(rig, lease)
    assert rig.host.leases.folder(lease).load().gone_at is not None
    for transaction in [t for block in raw for t in block]:
        anvil.request("eth_sendRawTransaction", transaction)

    async def is_back() -> bool:
        found = await rig.container(lease)
        return found is not None and found.running and found.id == container

    await rig.until(is_back)
    assert await rig.inside(lease, "cat /kept") == (0, "precious\n")
    await rig.reaches(lease, LeaseState.ACTIVE)


@pytest.mark.slow
async def test_a_result_that_a_reorganisation_undoes_is_published_again(rig: Rig, tmp_path: Path) -> None:
    """Nobody but the agent knows what its transaction said, and its notes say that it has been sent."""
    lease = await rig.open(rig.workload(kind="batch", command=["sh", "-c", ANSWER], outputs=[RESULTS]))
    assert await result(rig, lease, tmp_path) == "42\n"
    await rig.until(lambda: rig.host.snapshot.leases[lease].result)
    cid = rig.host.snapshot.leases[lease].result
    rig.chain.anvil.reorg(1)
    await rig.until(lambda: rig.host.snapshot.leases[lease].result is None)
    rig.chain.anvil.mine(4)
    await rig.until(lambda: rig.host.snapshot.leases[lease].result == cid)


@pytest.mark.slow
async def test_a_lease_whose_end_is_reorganised_away_publishes_what_it_leaves_at_last(
    rig: Rig, tmp_path: Path
) -> None:
    """It had ended, its results were published, and then it had not: what it writes from then on is a result too."""
    anvil, write = rig.chain.anvil, "mkdir -p /results; echo {} > /results/answer"
    lease = await rig.open(rig.workload(outputs=[RESULTS], grace=0))
    await running(rig, lease)
    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.inside(lease, write.format("early"))
    before = anvil.block_number
    await rig.chain.pool(TENANT).close(lease)
    assert await result(rig, lease, tmp_path) == "early\n"
    await rig.until(lambda: rig.host.snapshot.leases[lease].result)
    anvil.reorg(anvil.block_number - before)
    await rig.reaches(lease, LeaseState.ACTIVE)
    await up(rig, lease)
    await rig.inside(lease, write.format("late"))
    early = rig.host.leases.folder(lease).load().result
    await rig.chain.pool(TENANT).close(lease)
    await rig.until(lambda: rig.host.leases.folder(lease).load().result != early)
    assert await result(rig, lease, tmp_path) == "late\n"


def _raw(anvil: Any, number: int) -> list[str]:
    """A block's transactions, as they were sent."""
    block = anvil.request("eth_getBlockByNumber", hex(number), False)
    return [anvil.request("eth_getRawTransactionByHash", hash_) for hash_ in block["transactions"]]


@pytest.mark.slow
async def test_containers_of_another_history_are_left_alone(rig: Rig) -> None:
    """A development chain repeats ids and addresses; only the genesis tells."""
    names = rig.host.containers.names
    earlier = replace(names, genesis="0x" + "ee" * 32)
    labels = {LEASE_LABEL: names.label(1 << 16, rig.machine), GENESIS_LABEL: earlier.genesis}
    await rig.host.containers.engine.create(_spec(earlier.container(1 << 16), rig.image, labels))
    await rig.host.containers.engine.start(earlier.container(1 << 16))
    try:
        lease = await rig.open()
        assert lease == 1 << 16
        ours = await running(rig, lease)
        foreign = await rig.host.containers.engine.inspect(earlier.container(lease))
        assert foreign is not None
        assert foreign.running
        assert foreign.id != ours
        assert names.lease_of(foreign.labels) is None
    finally:
        await rig.host.containers.engine.remove(earlier.container(1 << 16))


@pytest.mark.slow
async def test_containers_of_another_agent_s_machine_are_left_alone(rig: Rig) -> None:
    """Two agents may share an engine. The other's lease is over, and what becomes of it is the other's to say."""
    names, theirs = rig.host.containers.names, 9 << 16
    labels = {LEASE_LABEL: names.label(theirs, rig.machine + 1), GENESIS_LABEL: names.genesis}
    await rig.host.containers.engine.create(_spec(names.container(theirs), rig.image, labels))
    await rig.host.containers.engine.start(names.container(theirs))
    try:
        await running(rig, await rig.open())
        other = await rig.host.containers.engine.inspect(names.container(theirs))
        assert other is not None
        assert other.running
        assert theirs not in rig.reconciler.containers
    finally:
        await rig.host.containers.engine.remove(names.container(theirs))


async def test_a_container_has_the_files_of_its_cards_and_no_others(rig: Rig) -> None:
    """It may open the one (EPERM would say that its control group forbids that), and does not see the other."""
    engine, name = rig.host.containers.engine, "leasehold-cards-files"
    spec = _spec(name, rig.image, {})
    look = "exec 3<>/dev/loop-control && test ! -e /dev/net/tun && exit 7"
    await engine.create(replace(spec, command=["sh", "-c", look], devices=("/dev/loop-control",)))
    try:
        await engine.start(name)

        async def ended() -> bool:
            container = await engine.inspect(name)
            return container is not None and container.exit_code == 7

        await rig.until(ended)
    finally:
        await engine.remove(name)


def _spec(name: str, image: str, labels: dict[str, str]) -> ContainerSpec:
    return ContainerSpec(
        name=name,
        image=image,
        network="bridge",
        labels=labels,
        command=["sleep", "600"],
        environment={},
        hostname="h",
        cpus=0.1,
        memory_bytes=1 << 26,
        pids=16,
        shm_bytes=1 << 20,
        disk_bytes=None,
        runtime=None,
        gpu_uuids=(),
        cdi=False,
        mounts=(),
        ports={},
        dns=(),
        grace=0,
    )


# ----------------------------------------------------------------------------------------------- what
# goes away


async def test_a_restarted_agent_takes_its_leases_over(rig: Rig) -> None:
    lease = await rig.open()
    container = await running(rig, lease)
    await rig.restart()
    await rig.until(lambda: lease in rig.host.snapshot.leases)
    await rig.reconciler.tick()
    await rig.reconciler.settle()
    assert await running(rig, lease) == container

    async def taken_over() -> bool:
        return (await rig.handle(lease)).phase == "running"

    await rig.until(taken_over)


@pytest.mark.slow
async def test_a_lease_that_ends_while_the_agent_is_down(rig: Rig, tmp_path: Path) -> None:
    lease = await rig.open(
        rig.workload(command=["sh", "-c", ANSWER + "; exec sleep 600"], outputs=[RESULTS], grace=0)
    )
    await running(rig, lease)
    await rig.stop()
    await rig.chain.pool(TENANT).close(lease)
    await rig.start()
    assert await result(rig, lease, tmp_path) == "42\n"


@pytest.mark.slow
async def test_lost_notes_are_worked_out_anew(rig: Rig) -> None:
    lease = await rig.open()
    container = await running(rig, lease)
    await rig.stop()
    rig.host.leases.folder(lease).remove()
    await rig.start()
    await rig.until(lambda: rig.host.leases.folder(lease).load().launched)
    assert await running(rig, lease) == container
    assert (await rig.handle(lease)).tenant == rig.chain.address(TENANT)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's, as an engine dies
async def test_the_engine_goes_and_comes_back(rig: Rig, docker_engine: Engine) -> None:
    lease = await rig.open()
    container = await running(rig, lease)
    found = await rig.container(lease)
    assert found is not None
    docker_engine.kill()
    try:
        await rig.until(lambda: rig.reconciler._engine_down)
        assert Path("/proc", str(found.pid)).exists()  # noqa: ASYNC240
    finally:
        docker_engine.start()
    await rig.until(lambda: not rig.reconciler._engine_down)
    again = await rig.container(lease)
    assert again is not None
    assert (again.id, again.pid, again.running) == (container, found.pid, True)


@pytest.mark.slow
async def test_the_chain_goes_and_nothing_is_torn_down(rig: Rig) -> None:
    lease = await rig.open(duration=60)
    container = await running(rig, lease)
    await rig.reconciler.settle()  # what has begun would wait for the chain to come back
    rig.chain.anvil.stop()
    await rig.until(lambda: not rig.host.snapshot.current)
    rig.host.chain._seen_time += 1_000  # type: ignore[attr-defined]  # far past the lease's end, as far as it knows
    await rig.reconciler.tick()
    await rig.reconciler.settle()
    found = await rig.container(lease)
    assert found is not None
    assert found.running
    assert found.id == container


@pytest.mark.slow
async def test_a_network_of_the_lease_that_is_missing_is_no_end(rig: Rig) -> None:
    """Steps begin with a look: an agent killed anywhere in bringing up finds what it made and goes on."""
    lease = await rig.open(rig.workload(readiness={"command": ["test", "-f", "/go"], "timeout": 60}))
    await rig.until(lambda: rig.host.leases.record(lease).progress == "waiting until it is ready")
    await rig.restart()
    await rig.until(lambda: rig.host.leases.record(lease).progress == "waiting until it is ready")
    assert (await rig.lease(lease)).state is LeaseState.OPENED
    await rig.inside(lease, "touch /go")
    await running(rig, lease)


def _digest(sealed: bytes) -> bytes:
    from leasehold.workload import digest

    return digest(sealed)


async def _result_of(rig: Rig, lease: int) -> bytes | None:
    async with asyncio.timeout(patient(20)):
        while (found := (await rig.host.chain.snapshot([lease])).leases[lease].result) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return found


@pytest.mark.slow
async def test_ready_when_a_port_answers(rig: Rig) -> None:
    answer = "HTTP/1.1 $(cat /status) x\\r\\nContent-Length: 0\\r\\n\\r\\n"
    serve = f'echo 503 > /status; while true; do printf "{answer}" | nc -l -p 8000; done'
    readiness = {"http": {"port": 8000, "path": "/health"}, "timeout": 60}
    lease = await rig.open(rig.workload(command=["sh", "-c", serve], readiness=readiness))
    await rig.until(lambda: rig.host.leases.record(lease).progress == "waiting until it is ready")
    assert (await rig.lease(lease)).state is LeaseState.OPENED
    await rig.inside(lease, "echo 204 > /status")
    await running(rig, lease)
