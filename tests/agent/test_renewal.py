"""A lease that renews another goes on with its data: that of its own tenant, on its own machine, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import docker
import pytest

from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.reconciling._plan import Actual, BringUp, Delete, DiskRoom, Rules, gives_way, plan
from leasehold_agent.reconciling._renewed import renewed
from leasehold_agent.store import Notes

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT, OTHER = 2, 3
MIB = 1 << 20
A = "0x00000000000000000000000000000000000000A1"
B = "0x00000000000000000000000000000000000000B2"
FIRST = 7 << 16
NOW = 1_000_000
RAN = Notes(tenant=A, author=A, machine=1, workload="00", placement=0x01FF, launched=True, billed=3_600)
NEXT = Desired(
    lease=FIRST + 1,
    machine=1,
    tenant=A,
    state=LeaseState.OPENED,
    placement=0x01FF,
    workload=bytes(32),
    start=NOW - 10,
    end=NOW + 3_590,
    window_ends=NOW + 590,
    author=A,
)
FAILED = replace(RAN, failure="not-ready", billed=0)


class TestWhich:
    @pytest.mark.parametrize(
        ("desired", "noted", "found"),
        [
            (NEXT, {FIRST: RAN}, FIRST),
            (
                replace(NEXT, lease=FIRST),
                {FIRST - 1: RAN, FIRST: RAN},
                None,
            ),  # the slot before is another one
            (NEXT, {}, None),
            (replace(NEXT, tenant=B), {FIRST: RAN}, None),  # reorganised: the number is somebody else's
            (NEXT, {FIRST: replace(RAN, tenant=B)}, None),  # transferred, and noted
            (replace(NEXT, machine=2), {FIRST: RAN}, None),  # another machine on this host
            (NEXT, {FIRST: replace(RAN, launched=False)}, None),
            (replace(NEXT, lease=FIRST + 2), {FIRST: RAN}, None),  # what lies between is not known here
            (replace(NEXT, lease=FIRST + 2), {FIRST: RAN, FIRST + 1: FAILED}, FIRST),
            (replace(NEXT, lease=FIRST + 2), {FIRST: RAN, FIRST + 1: replace(FAILED, tenant=B)}, None),
            (replace(NEXT, lease=FIRST + 2), {FIRST: RAN, FIRST + 1: RAN}, FIRST + 1),
        ],
    )
    def test_of_its_slot_its_machine_and_its_tenant(
        self, desired: Desired, noted: dict[int, Notes], found: int | None
    ) -> None:
        assert renewed(desired, noted) == found


class TestPlan:
    rules = Rules(boot="b1", confirmations=0, start_margin=20, retention_min=0, retention_max=0)
    gone = replace(RAN, gone_at=NOW - 86_400, gone_block=1, published=True)
    stopped = ContainerFacts("id", "name", {}, "exited", 0, 0, None, ())
    ended = replace(NEXT, lease=FIRST, state=LeaseState.ENDED, end=NOW - 86_400)

    def chain(self, *leases: Desired) -> ChainSnapshot:
        return ChainSnapshot(
            current=True, block=100, now=NOW, leases={desired.lease: desired for desired in leases}
        )

    def test_data_waits_for_the_lease_that_begins_and_no_longer(self) -> None:
        """Its time is over at the very moment at which it is renewed."""
        here = {FIRST: Actual(self.gone, self.stopped)}
        assert plan(self.chain(self.ended), here, self.rules) == [Delete(FIRST)]
        begins = self.chain(self.ended, NEXT)
        assert plan(begins, here, self.rules) == [BringUp(FIRST + 1)]
        assert gives_way(begins, here, self.rules, DiskRoom.SHORT) == []
        made = here | {FIRST + 1: Actual(replace(RAN, renews=FIRST))}
        assert Delete(FIRST) in plan(begins, made, self.rules)

    @pytest.mark.parametrize("thief", [replace(NEXT, tenant=B, author=B), replace(NEXT, machine=2)])
    def test_it_waits_for_nobody_else(self, thief: Desired) -> None:
        here = {FIRST: Actual(self.gone, self.stopped)}
        assert Delete(FIRST) in plan(self.chain(self.ended, thief), here, self.rules)

    def test_what_goes_on_in_another_makes_way_first(self) -> None:
        rules = replace(self.rules, retention_min=86_400 * 10, retention_max=86_400 * 10)
        other = replace(self.ended, lease=9 << 16)
        runs = replace(NEXT, state=LeaseState.ACTIVE)
        gone = replace(self.gone, gone_at=NOW - 1_000)
        here = {
            FIRST: Actual(gone, self.stopped),
            FIRST + 1: Actual(replace(RAN, renews=FIRST)),
            other.lease: Actual(replace(gone, gone_at=NOW - 4_000), self.stopped),
        }
        chain = self.chain(self.ended, other, runs)
        assert gives_way(chain, here, rules, DiskRoom.WANTED) == [FIRST, other.lease]
        here[FIRST + 1] = Actual(RAN)
        assert gives_way(chain, here, rules, DiskRoom.WANTED) == [other.lease]


async def started(rig: Rig, **request: Any) -> int:
    lease = await rig.open(request.pop("workload", None), **request)
    await rig.reaches(lease, LeaseState.ACTIVE)
    return lease


async def closed(rig: Rig, lease: int) -> None:
    await rig.chain.pool(TENANT).close(lease)
    await rig.until(lambda: rig.host.leases.folder(lease).load().gone_at is not None)


def kept_images(rig: Rig) -> int:
    """Those that were made for the first leases of this chain."""
    client = docker.APIClient(base_url=rig.settings.docker, version="auto")
    try:
        labels = [rig.host.containers.names.kept((1 << 16) + number) for number in range(8)]
        return sum(len(client.images(filters={"label": label}, all=True)) for label in labels)
    finally:
        client.close()


class TestData:
    @pytest.mark.slow
    async def test_it_goes_on_and_the_rest_is_the_new_lease_s(self, rig: Rig) -> None:
        """Files stay; command, environment, secrets, name and limits are the new workload's."""
        before = rig.workload(
            grace=0, env={"OLD": "1", "PATH": "/bin:/old"}, secrets={"old": "1"}, memory="64MiB"
        )
        first = await started(rig, workload=before)
        await rig.inside(first, "echo kept > /state; chmod 600 /state")
        await closed(rig, first)
        after = rig.workload(grace=0, env={"NEW": "2"}, secrets={"new": "2"}, command=["sleep", "601"])
        second = await started(rig, workload=after, reuse=first)
        assert second == first + 1
        assert await rig.inside(second, "cat /state; stat -c %a /state") == (0, "kept\n600\n")
        assert await rig.inside(second, "echo $OLD$NEW; ls /run/secrets") == (0, "2\nnew\n")
        assert "/old" not in (await rig.inside(second, "echo $PATH"))[1]
        assert (await rig.inside(second, "grep -a -c 'sleep.601' /proc/1/cmdline"))[0] == 0
        handle = await rig.handle(second)
        assert handle.renews == first
        container = await rig.container(second)
        assert container is not None
        assert rig.host.containers.names.lease_of(container.labels) == (second, rig.machine)

    @pytest.mark.slow
    async def test_the_lease_before_can_still_be_read(self, rig: Rig) -> None:
        first = await started(rig)
        await rig.inside(first, "echo kept > /state")
        await closed(rig, first)
        second = await started(rig, reuse=first)
        await rig.inside(second, "echo changed > /state")
        assert await rig.inside(first, "cat /state") == (0, "kept\n")
        assert (await rig.handle(first)).tenant == rig.chain.address(TENANT)

    @pytest.mark.slow
    async def test_again_and_again(self, rig: Rig) -> None:
        """What each has written adds up, against the disk of the last one, and leaves no image behind at the end."""
        lease = await started(rig)
        await rig.inside(lease, "echo 0 > /state")
        for number in range(1, 4):
            await closed(rig, lease)
            lease = await started(rig, reuse=lease)
            await rig.inside(lease, f"echo {number} >> /state")
        assert await rig.inside(lease, "cat /state") == (0, "0\n1\n2\n3\n")
        await closed(rig, lease)
        await rig.stop()
        rig.settings = rig.settings.model_copy(update={"retention_min": 0, "retention_max": 0})
        await rig.start()
        await rig.until(lambda: not rig.host.leases.folders())
        assert kept_images(rig) == 0

    @pytest.mark.slow
    async def test_another_image_begins_anew(self, rig: Rig) -> None:
        first = await started(rig)
        await rig.inside(first, "echo kept > /state")
        await closed(rig, first)
        client = docker.APIClient(base_url=rig.settings.docker, version="auto")
        made = client.create_container(rig.image, ["true"])["Id"]
        other = client.commit(made, repository="other", tag="1", changes=["LABEL other=1"])["Id"]
        client.remove_container(made)
        second = await started(rig, workload=rig.workload(grace=0, image=other), reuse=first)
        assert (await rig.inside(second, "cat /state"))[0] != 0
        assert (await rig.handle(second)).renews is None
        assert await rig.inside(first, "cat /state") == (0, "kept\n")
        await closed(rig, second)
        await rig.until(lambda: rests(rig, second))
        await rig.host.containers.remove(second)
        client.remove_image("other:1", force=True)
        client.close()

    @pytest.mark.slow
    async def test_another_s_slot_gives_nothing(self, rig: Rig) -> None:
        """The contract gives a slot to its tenant alone; were it not so, his data would stay where it is."""
        first = await started(rig)
        await rig.inside(first, "echo mine > /state")
        await closed(rig, first)
        folder = rig.host.leases.folder(first)
        notes = folder.load()
        notes.tenant = rig.chain.address(OTHER)
        folder.save(notes)
        second = await started(rig, reuse=first)
        assert (await rig.inside(second, "cat /state"))[0] != 0
        assert kept_images(rig) == 0

    @pytest.mark.slow
    async def test_nodes_that_do_not_agree_give_nothing(self, rig: Rig) -> None:
        """One node says what is to run, and would have it read what another lease has left."""
        first = await started(rig)
        await rig.inside(first, "echo mine > /state")
        await closed(rig, first)

        async def no(*_: object) -> bool:
            return False

        rig.host.chain.has_workload = no  # type: ignore[method-assign]  # the second node's word
        second = await rig.open(reuse=first)
        await rig.until(
            lambda: (rig.host.leases.record(second).trouble or "").startswith("The nodes do not agree")
        )
        assert await rig.container(second) is None

    @pytest.mark.slow
    async def test_it_is_published_although_the_slot_is_taken(self, rig: Rig) -> None:
        """The chain forgets the lease before: the agent tells where its results are as long as it is kept."""
        out = {"path": "/out", "recipients": [recipient_of(new_identity())]}
        first = await started(rig, workload=rig.workload(grace=0, outputs=[out]))
        await rig.inside(first, "mkdir -p /out; echo result > /out/file")
        await rig.chain.pool(TENANT).close(first)
        second = await started(rig, reuse=first)
        assert await rig.inside(second, "cat /out/file") == (0, "result\n")

        async def packed() -> bool:
            return (await rig.handle(first)).result_cid is not None

        await rig.until(packed)


@pytest.mark.slow
class TestRoom:
    async def test_the_disk_limit_counts_what_is_carried(self, rig: Rig) -> None:
        first = await started(rig, workload=rig.workload(grace=0, disk="64MiB"))
        assert (await rig.inside(first, "head -c 40000000 /dev/urandom > /large && sync"))[0] == 0
        await closed(rig, first)
        second = await started(rig, workload=rig.workload(grace=0, disk="64MiB"), reuse=first)
        assert (await rig.inside(second, "head -c 40000000 /dev/urandom > /more && sync"))[0] != 0
        await closed(rig, second)
        third = await rig.open(rig.workload(grace=0, disk="32MiB"), reuse=second)
        await rig.reaches(third, LeaseState.CANCELLED)
        handle = await rig.handle(third)
        assert handle.phase == "declined"
        assert "and this one has 33.5 MB" in (handle.reason or "")
        # What could not run is passed over: nothing is lost by it.
        fourth = await started(rig, workload=rig.workload(grace=0, disk="128MiB"), reuse=third)
        assert (await rig.inside(fourth, "test -s /large"))[0] == 0
        assert (await rig.handle(fourth)).renews == second

    @pytest.mark.slow
    async def test_a_full_host_declines(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        first = await started(rig)
        await rig.inside(first, "head -c 2000000 /dev/urandom > /state")
        await closed(rig, first)
        room = rig.host.facts.room
        facts = type(rig.host.facts)
        monkeypatch.setattr(
            facts, "room", lambda self, wanted=0: DiskRoom.WANTED if wanted > MIB else room(wanted)
        )
        second = await rig.open(reuse=first)
        await rig.reaches(second, LeaseState.CANCELLED)
        assert "has no room for the" in ((await rig.handle(second)).reason or "")


@pytest.mark.slow
class TestDeath:
    async def test_an_agent_that_dies_as_it_copies(self, rig: Rig) -> None:
        """A copy that nobody noted is not the one that is used, and does not stay."""
        first = await started(rig)
        await rig.inside(first, "echo kept > /state")
        await closed(rig, first)
        await rig.until(lambda: rests(rig, first))
        client = docker.APIClient(base_url=rig.settings.docker, version="auto")
        label = rig.host.containers.names.kept(first + 1)
        client.commit(rig.host.containers.names.container(first), changes=[f"LABEL {label}"])
        assert kept_images(rig) == 1
        second = await started(rig, reuse=first)
        assert await rig.inside(second, "cat /state") == (0, "kept\n")
        assert kept_images(rig) == 1

    @pytest.mark.slow
    async def test_a_restart_makes_it_once(self, rig: Rig) -> None:
        first = await started(rig)
        await rig.inside(first, "echo kept > /state")
        await closed(rig, first)
        second = await started(rig, reuse=first)
        await rig.inside(second, "echo more >> /state")
        await rig.restart()
        await rig.until(lambda: rig.reconciler.containers)
        assert await rig.inside(second, "cat /state") == (0, "kept\nmore\n")

    @pytest.mark.slow
    async def test_it_waits_until_the_one_before_has_stopped(self, rig: Rig) -> None:
        """Closed and renewed at once, while its command takes its grace."""
        command = ["sh", "-c", "trap 'sleep 1; echo last > /state; exit' TERM; while :; do sleep 0.1; done"]
        first = await started(rig, workload=rig.workload(command=command, grace=30))
        await rig.chain.pool(TENANT).close(first)
        second = await started(rig, reuse=first)
        assert await rig.inside(second, "cat /state") == (0, "last\n")

    @pytest.mark.slow
    async def test_a_renewal_that_is_reorganised_away_costs_nothing(self, rig_of: Callable[..., Any]) -> None:
        """The lease before runs again, with its own data: it was copied, and not moved."""
        rig = await rig_of(confirmations=12)
        first = await started(rig)
        await rig.inside(first, "echo kept > /state")
        block = rig.chain.anvil.request("evm_snapshot")
        await closed(rig, first)
        second = await started(rig, reuse=first)
        await rig.inside(second, "echo changed > /state")
        rig.chain.anvil.request("evm_revert", block)
        rig.chain.anvil.mine(8)

        async def runs() -> bool:
            container = await rig.container(first)
            return container is not None and container.running

        await rig.until(runs)
        assert await rig.inside(first, "cat /state") == (0, "kept\n")


async def rests(rig: Rig, lease: int) -> bool:
    container = await rig.container(lease)
    return container is not None and container.exited
