"""Leases of cards on a real chain and a real engine: each container is asked for with the cards that were paid for.

NVML and `nvidia-smi` stand in, and so does the hook by which the engine's own NVIDIA driver would add what a container
needs: the engine hands the cards on all the same, and what it hands on is what the container finds in its environment.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from structlog.testing import capture_logs
from tests.agent.nvml.smi import install
from tests.agent.nvml.standin import StandIn

from devnet import images
from devnet.engine import Engine
from leasehold.chain import LeaseState, Terms
from leasehold.market import canonical
from leasehold_agent.cards import MemoryGroups, MpsHost
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import hash_of, mig_devices, mig_enabled, take_inventory, takes_many

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

pytestmark = pytest.mark.slow

PROVIDER, TENANT = 1, 2
TERMS = Terms(10**18, 0, 1, 30 * 86_400, 0, 60_000)
SEEN = "printf %s $NVIDIA_VISIBLE_DEVICES"


@pytest.fixture(scope="module")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that can be asked for cards."""
    folder = tmp_path_factory.mktemp("hook")
    hook = folder / "nvidia-container-runtime-hook"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        engine = Engine(size_gib=4)
        with engine:
            images.load(engine.url, images.tiny())
            yield engine


class Named(Protocol):
    """A card, by what it is known."""

    @property
    def uuid(self) -> str: ...


class Fleet:
    """A host with cards, whose machines are described and joined one by one."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._revisions: dict[int, int] = {}

    async def join(self, *cards: Named, host_units: int = 4, isolation: tuple[str, ...] = ()) -> int:
        chain, operator = self.rig.chain, self.rig.identity.operator
        consent = await chain.consent(PROVIDER, operator)
        number, _ = await chain.pool(PROVIDER).register(
            TERMS,
            len(cards),
            1,
            self._kept(cards, host_units, isolation),
            bytes(32),
            operator.address,
            consent,
        )
        await self.rig.until(lambda: number in self.rig.host.snapshot.hardware)
        self._revisions[number] = 1
        return int(number)

    async def describe_again(self, machine: int, *cards: Named, host_units: int = 4) -> None:
        digest = self._kept(cards, host_units)
        await self.rig.chain.pool(PROVIDER).set_hardware(machine, digest)
        self._revisions[machine] += 1
        await self.rig.until(lambda: self.rig.host.snapshot.hardware.get(machine) == digest)

    def _kept(self, cards: tuple[Named, ...], host_units: int, isolation: tuple[str, ...] = ()) -> bytes:
        gpus = [{"uuid_hash": hash_of(card.uuid)} for card in cards]
        document = {"gpus": gpus, "host_units": host_units, "isolation": list(isolation)}
        return self.rig.host.facts.hardware.keep(canonical(document))

    async def open(self, machine: int, cells: int = 8, **fields: object) -> int:
        self.rig.machine = machine
        workload = self.rig.workload(**{"grace": 0, **fields})
        return await self.rig.open(workload, share=cells, revision=self._revisions[machine])

    async def has(self, lease: int) -> str:
        """What its container was given, once it runs."""
        await self.rig.reaches(lease, LeaseState.ACTIVE)
        return (await self.rig.inside(lease, SEEN))[1]

    async def close(self, lease: int) -> None:
        await self.rig.chain.pool(TENANT).close(lease)
        await self.rig.until(lambda: self.rig.host.leases.folder(lease).load().gone_at is not None)


@pytest.fixture
async def fleet(nvml: StandIn, rig_of: Callable[..., Any]) -> Fleet:
    rig: Rig = await rig_of()
    await rig.until(lambda: rig.host.snapshot.current)
    await rig.chain.pool(PROVIDER).retire(rig.machine)
    return Fleet(rig)


def look(fleet: Fleet) -> None:
    fleet.rig.host.facts.inventory = take_inventory()


async def test_two_machines_one_that_joins_again_and_a_card_that_is_replaced(
    nvml: StandIn, fleet: Fleet
) -> None:
    """Every lease has the cards that it paid for, and no other."""
    first, second, third = (nvml.add() for _ in range(3))
    look(fleet)
    one, two = await fleet.join(second), await fleet.join(third, first)
    leases = [await fleet.open(machine) for machine in (one, two, two)]
    assert [await fleet.has(lease) for lease in leases] == [second.uuid, third.uuid, first.uuid]

    await fleet.close(leases[0])
    await fleet.rig.chain.pool(PROVIDER).retire(one)
    again = await fleet.join(second)
    assert await fleet.has(await fleet.open(again)) == second.uuid

    third.lose()
    look(fleet)
    assert fleet.rig.host.facts.allocation(fleet.rig.host.snapshot).withheld == {two: 0xFF, again: 0}
    assert await fleet.has(leases[2]) == first.uuid
    await fleet.close(leases[1])
    lost = await fleet.open(two)
    await fleet.rig.reaches(lost, LeaseState.CANCELLED)
    assert fleet.rig.host.leases.folder(lost).load().failure == "no-card"

    spare = nvml.add()
    look(fleet)
    await fleet.describe_again(two, spare, first)
    assert await fleet.has(await fleet.open(two)) == spare.uuid
    await fleet.rig.restart()
    await fleet.rig.until(lambda: fleet.rig.host.snapshot.current)
    container = await fleet.rig.container(leases[2])
    assert container is not None
    assert (container.running, container.devices) == (True, (first.uuid,))


async def test_a_card_that_somebody_computes_on_is_waited_for(nvml: StandIn, fleet: Fleet) -> None:
    card = nvml.add()
    card.run((4_711, 1 << 30))
    look(fleet)
    lease = await fleet.open(await fleet.join(card))

    async def waits() -> bool:
        handle = await fleet.rig.runtime.lookup(lease)
        return handle is not None and handle.reason == "A process still computes on the card."

    await fleet.rig.until(waits)
    assert await fleet.rig.container(lease) is None
    card.run()
    assert await fleet.has(lease) == card.uuid


async def test_a_grace_keeps_nobody_else_from_the_card(nvml: StandIn, fleet: Fleet) -> None:
    """Ten minutes of it after the lease, for nothing: and the next one would be declined, its start window over."""
    card, rig = nvml.add(), fleet.rig
    look(fleet)
    machine = await fleet.join(card)
    deaf = await fleet.open(
        machine, grace=600, command=["sh", "-c", "trap : TERM; while :; do sleep 1; done"]
    )
    await fleet.has(deaf)
    await rig.chain.pool(TENANT).close(deaf)
    await rig.until(lambda: rig.host.leases.record(deaf).stopping is not None)
    after = await fleet.open(machine)
    assert await fleet.has(after) == card.uuid
    gone = await rig.container(deaf)
    assert gone is not None
    assert not gone.running


async def test_slices_are_made_and_destroyed_by_leases(
    nvml: StandIn, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "bin", nvml)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    card = nvml.add()
    card.partition([])
    look(fleet)
    machine = await fleet.join(card)
    small, large = await fleet.open(machine, 1, share="mig"), await fleet.open(machine, 4)
    given = {await fleet.has(small), await fleet.has(large)}
    assert given == set(mig_devices(card.uuid).values())
    assert all(device.startswith("MIG-") for device in given)

    await fleet.close(small)
    await fleet.rig.until(lambda: len(mig_devices(card.uuid)) == 1)
    after = await fleet.open(machine, 1)
    assert await fleet.has(after) not in given

    await fleet.rig.chain.pool(TENANT).resize(after, 2)

    async def resized() -> bool:
        container = await fleet.rig.container(after)
        made_for = fleet.rig.host.leases.folder(after).load().placement
        placed = (await fleet.rig.lease(after)).placement
        return container is not None and container.running and made_for == placed

    await fleet.rig.until(resized)
    assert (await fleet.rig.inside(after, SEEN))[1] in mig_devices(card.uuid).values()
    assert len(mig_devices(card.uuid)) == 2

    for lease in (large, after):
        await fleet.close(lease)
    await fleet.rig.until(lambda: mig_devices(card.uuid) == {})
    whole = await fleet.open(machine, 8)
    assert [await fleet.has(whole)] == list(mig_devices(card.uuid).values())


async def test_several_whole_cards_that_are_had_in_slices_otherwise(
    nvml: StandIn, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process could use one slice only: so there are none while one lease has both cards, and again after it."""
    install(tmp_path / "bin", nvml)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    cards = [nvml.add(), nvml.add()]
    for card in cards:
        card.partition([])
    look(fleet)
    machine = await fleet.join(*cards, isolation=("mig",))
    part = await fleet.open(machine, 1)
    assert (await fleet.has(part)).startswith("MIG-")
    await fleet.close(part)

    both = await fleet.open(machine, 16)
    assert await fleet.has(both) == ",".join(card.uuid for card in cards)
    assert [mig_enabled(card.uuid) for card in cards] == [False, False]
    look(fleet)
    await fleet.close(both)
    parts = [await fleet.open(machine, 4), await fleet.open(machine, 8)]
    given = [await fleet.has(lease) for lease in parts]
    assert all(device.startswith("MIG-") for device in given)
    assert [mig_enabled(card.uuid) for card in cards] == [True, True]


async def test_a_part_of_a_card_that_cannot_be_kept_apart(nvml: StandIn, fleet: Fleet) -> None:
    card = nvml.add()
    look(fleet)
    lease = await fleet.open(await fleet.join(card), 4)
    await fleet.rig.reaches(lease, LeaseState.CANCELLED)
    assert "rent whole GPUs" in fleet.rig.host.leases.folder(lease).load().failure_detail


async def test_parts_of_a_card_by_mps(
    nvml: StandIn, fleet: Fleet, mps_folder: Path, mps_tools: Path, tmp_path: Path
) -> None:
    """Two are on a card at once, each with its own way to the server and limits that were there before it: one grows
    while it runs, and begins anew where it becomes less. The whole card is had once both have gone.
    """
    (tmp_path / "cgroup").mkdir()
    card, rig, groups = nvml.add(), fleet.rig, MemoryGroups("ab", "cgroupfs", tmp_path / "cgroup")

    def sell() -> None:
        rig.host.facts.settings = rig.host.facts.settings.model_copy(update={"isolation": "mps"})
        rig.host.facts.mps = "hard"
        rig.host.devices.mps = MpsHost("615.71.05", "13.4", groups).parts(mps_folder)
        look(fleet)

    sell()
    machine = await fleet.join(card)
    first, second = await fleet.open(machine, 1), await fleet.open(machine, 2, share="mps")
    assert [await fleet.has(lease) for lease in (first, second)] == [card.uuid, card.uuid]
    ways = [
        await rig.inside(lease, "ls $CUDA_MPS_PIPE_DIRECTORY; ls ${CUDA_MPS_PIPE_DIRECTORY%/*}")
        for lease in (first, second)
    ]
    assert [said.split() for _, said in ways] == [["control", f"lease_{lease}"] for lease in (first, second)]
    assert (
        await rig.inside(first, "touch $CUDA_MPS_PIPE_DIRECTORY/x || rm $CUDA_MPS_PIPE_DIRECTORY/control")
    )[0]
    assert card.get(f"limit.{groups.path(second)}") == f"0,{(85_520_809_984 // (1 << 20) - 512) // 4}"
    assert not takes_many(card.uuid)

    await rig.restart()
    sell()
    before = await rig.container(first)
    await rig.chain.pool(TENANT).resize(first, 4)
    await rig.until(lambda: rig.host.leases.folder(first).load().placement & 0xFF == 0xF0)
    after = await rig.container(first)
    assert before is not None
    assert after is not None
    assert (after.id, after.running, after.sharing) == (before.id, True, "mps")
    assert card.get(f"limit.{groups.path(first)}") == f"0,{(85_520_809_984 // (1 << 20) - 512) // 2}"

    await rig.chain.pool(TENANT).resize(first, 1)

    async def anew() -> bool:
        container = await rig.container(first)
        return container is not None and container.running and container.id != before.id

    await rig.until(anew)
    assert card.get(f"limit.{groups.path(first)}") == f"0,{(85_520_809_984 // (1 << 20) - 512) // 8}"

    for lease in (first, second):
        await fleet.close(lease)
    whole = await fleet.open(machine, 8)
    assert await fleet.has(whole) == card.uuid
    assert (await rig.inside(whole, "echo $CUDA_MPS_PIPE_DIRECTORY"))[1].strip() == ""
    assert takes_many(card.uuid)
    assert groups.leases() == set()


async def test_time_on_a_card_for_those_who_ask_for_it(nvml: StandIn, fleet: Fleet) -> None:
    """Two are on the card together, who grow without a new container; whoever does not say so is not let in beside
    them, nor left alone with all of it for the price of a part.
    """
    card, rig = nvml.add(), fleet.rig
    rig.host.facts.settings = rig.host.facts.settings.model_copy(update={"isolation": "time-slice"})
    look(fleet)
    machine = await fleet.join(card)
    leases = [await fleet.open(machine, cells, share="time-slice") for cells in (1, 2)]
    assert [await fleet.has(lease) for lease in leases] == [card.uuid, card.uuid]
    unsaid = await fleet.open(machine, 1)
    await rig.reaches(unsaid, LeaseState.CANCELLED)
    assert "`time-slice` by name" in rig.host.leases.folder(unsaid).load().failure_detail

    before = await rig.container(leases[0])
    await rig.chain.pool(TENANT).resize(leases[0], 4)
    await rig.until(lambda: rig.host.leases.folder(leases[0]).load().placement == 0x01F0)
    after = await rig.container(leases[0])
    assert before is not None
    assert after is not None
    assert (after.id, after.running, after.sharing) == (before.id, True, "time-slice")

    for lease in leases:
        await fleet.close(lease)
    whole = await fleet.open(machine, 8)
    assert await fleet.has(whole) == card.uuid
    await rig.chain.pool(TENANT).resize(whole, 1)

    async def told() -> bool:
        handle = await rig.runtime.lookup(whole)
        return handle is not None and "`time-slice` by name" in (handle.reason or "")

    await rig.until(told)
    container = await rig.container(whole)
    assert container is None or not container.running


# ------------------------------------------------------------------------- the owner's job on cards that nobody leases

JOB = """version = 1
image = "{image}"
command = ["sh", "-c", "trap : TERM; while true; do sleep 1; done"]
"""
FENCES = (
    "CapAdd", "CapDrop", "DeviceRequests", "Devices", "Dns", "Init", "IpcMode", "LogConfig", "MaskedPaths", "Memory",
    "MemorySwap", "NanoCpus", "PidMode", "PidsLimit", "Privileged", "ReadonlyPaths", "Runtime", "SecurityOpt",
    "ShmSize", "StorageOpt", "Ulimits", "UsernsMode",
)  # fmt: skip


def nft_rules(engine: Engine) -> str:
    listed = engine.in_netns("nft", "list", "table", "inet", "leasehold")
    return subprocess.run(listed, capture_output=True, text=True, check=True).stdout


async def jobs(rig: Rig) -> list[ContainerFacts]:
    found = await rig.host.containers.engine.containers("leasehold.idle")
    return [container for container in found if container.running]


async def working(rig: Rig, number: int = 1) -> list[ContainerFacts]:
    """The owner's jobs, once there are so many."""

    async def are_there() -> bool:
        return len(await jobs(rig)) == number

    await rig.until(are_there)
    return await jobs(rig)


@pytest.fixture
async def idling(nvml: StandIn, fleet: Fleet, tmp_path: Path) -> AsyncIterator[Fleet]:
    """Its owner has a job for idle cards, which ends by no signal but the last."""
    rig, file = fleet.rig, tmp_path / "idle.toml"
    file.write_text(JOB.format(image=rig.image))
    nvml.add()
    rig.settings = rig.settings.model_copy(update={"idle_job": file})
    await rig.restart()
    yield fleet
    rig.settings = rig.settings.model_copy(update={"idle_job": None})
    await rig.restart()
    await working(rig, 0)


async def test_a_lease_finds_its_card_free(nvml: StandIn, idling: Fleet, docker_engine: Engine) -> None:
    """The job is dead before the lease's container is made; the lease waits for nothing, and is tried once."""
    rig, card = idling.rig, nvml.card(0)
    machine = await idling.join(card)
    (job,) = await working(rig)
    assert job.devices == (card.uuid,)
    assert rig.reconciler.containers == {}, "it is no lease"
    with docker_engine.client() as client, capture_logs() as logs:
        since = int(job.started_at)
        lease = await idling.open(machine)
        assert await idling.has(lease) == card.uuid
        events = client.events(
            since=since, until=int(time.time()) + 1, decode=True, filters={"type": "container"}
        )
        told = [(event["Action"], event["Actor"]["Attributes"]["name"]) for event in events]
    ours = rig.host.containers.names.container(lease)
    assert told.index(("die", job.name)) < told.index(("create", ours))
    assert ("stop", job.name) not in told, "nobody waited for its grace"
    assert not [entry for entry in logs if entry["event"] == "retry"]
    assert await jobs(rig) == []
    await idling.close(lease)
    await working(rig)


async def test_there_is_one_however_often_the_agent_begins(nvml: StandIn, idling: Fleet) -> None:
    rig = idling.rig
    await idling.join(nvml.card(0))
    (job,) = await working(rig)
    await rig.restart()
    await rig.until(lambda: rig.host.snapshot.current and rig.host.idle.shown())
    await rig.reconciler.settle()
    assert [now.id for now in await working(rig)] == [job.id]
    rig.settings.idle_job.write_text(JOB.format(image=rig.image).replace("sleep 1", "sleep 2"))
    await rig.restart()

    async def another() -> bool:
        return [now.id for now in await jobs(rig)] not in ([], [job.id])

    await rig.until(another)


async def test_what_is_out_of_sale_is_the_owners_own(nvml: StandIn, idling: Fleet) -> None:
    """He pauses to use the card himself: his job goes, too."""
    rig = idling.rig
    machine = await idling.join(nvml.card(0))
    await working(rig)
    await rig.chain.pool(PROVIDER).withhold(machine, 0xFF)
    await working(rig, 0)
    await rig.chain.pool(PROVIDER).withhold(machine, 0)
    await working(rig)


async def test_it_has_the_fences_of_a_tenant(nvml: StandIn, idling: Fleet, docker_engine: Engine) -> None:
    rig = idling.rig
    machine = await idling.join(nvml.card(0))
    (job,) = await working(rig)
    with docker_engine.client() as client:
        its = client.containers.get(job.id).attrs
        rules = nft_rules(docker_engine)
        (network,) = its["NetworkSettings"]["Networks"].values()
        bridge = client.networks.get(network["NetworkID"]).attrs["Options"]["com.docker.network.bridge.name"]
        lease = await idling.open(machine)
        await idling.has(lease)
        theirs = client.containers.get(rig.host.containers.names.container(lease)).attrs
    assert {name: its["HostConfig"][name] for name in FENCES} == {
        name: theirs["HostConfig"][name] for name in FENCES
    }
    assert f'"{bridge}" : jump' in rules
    assert {mount["Destination"] for mount in its["Mounts"]} <= {
        mount["Destination"] for mount in theirs["Mounts"]
    }
    assert not any(mount["RW"] for mount in its["Mounts"])
