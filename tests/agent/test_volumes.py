"""Volumes of leases: kept from one to the next, through retention and reboots, and never anybody else's."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import docker
import pytest

from leasehold.chain import LeaseState
from leasehold.workload import VolumeMount, digest, load_workload, seal
from leasehold_agent._errors import Declined
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import MountSpace, SealedDisk
from leasehold_agent.reconciling._attaching import NEW_VOLUME_BYTES, kept_volumes, wanted_size
from leasehold_agent.reconciling._plan import Actual, Delete, Rules, Stop, plan
from leasehold_agent.store import LeaseDir, Notes, Volumes, volume_id

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agent.conftest import Rig

TENANT = 2
MIB = 1 << 20
NOW = 1_000_000
KEY, OTHER_KEY = "ab" * 32, "cd" * 32
VOLUME = {"name": "models", "path": "/data", "size": 32 * MIB, "key": KEY}
SECRET = "the words that nobody else is to read"


class TestPlan:
    """What is over is stopped until its volumes are closed, whatever else is left of it."""

    rules = Rules(boot="b1", confirmations=0, start_margin=20, retention_min=0, retention_max=0)
    notes = Notes(tenant="A", author="A", machine=1, workload="00", launched=True, gone_at=NOW, gone_block=1)
    stopped = ContainerFacts("id", "name", {}, "exited", 0, 0, None, ())

    def act(self, actual: Actual, *, current: bool = True) -> list[Any]:
        ended = Desired(
            lease=7,
            machine=1,
            tenant="A",
            state=LeaseState.ENDED,
            placement=0x01FF,
            workload=bytes(32),
            start=0,
            end=NOW,
            window_ends=NOW,
            author="A",
        )
        chain = ChainSnapshot(current=current, block=100, now=NOW + 1, leases={7: ended})
        return plan(chain, {7: actual}, self.rules)

    @pytest.mark.parametrize("published", [True, False])
    def test_before_anything_else(self, published: bool) -> None:
        actual = Actual(replace(self.notes, published=published), self.stopped, attached=True)
        assert self.act(actual) == [Stop(7, "ended")]
        assert (
            self.act(actual, current=False) == []
        )  # nothing is taken away on the word of an index that may lag

    def test_what_is_known_of_by_its_volumes_alone(self) -> None:
        """Its folder went, and the agent was killed before its volumes were closed."""
        assert self.act(Actual(Notes(), attached=True)) == [Stop(7, "ended")]
        assert self.act(Actual(Notes())) == []

    def test_then_it_goes_its_way(self) -> None:
        assert self.act(Actual(replace(self.notes, published=True), self.stopped)) == [Delete(7)]


class TestSize:
    @pytest.mark.parametrize(
        ("asked", "known", "size"),
        [
            (64 * MIB, None, 64 * MIB),
            (64 * MIB, 32 * MIB, 64 * MIB),
            (None, 32 * MIB, 32 * MIB),
            (None, None, NEW_VOLUME_BYTES),
        ],
    )
    def test_as_asked_as_it_is_or_as_a_new_one(self, asked: int | None, known: int | None, size: int) -> None:
        mount = VolumeMount(name="models", path="/data", size=asked)
        assert wanted_size(mount, known, 100 << 30) == size

    def test_never_more_than_half_of_the_lease_s_disk_unasked(self) -> None:
        assert wanted_size(VolumeMount(name="models", path="/data"), None, 1 << 30) == 1 << 29

    def test_it_becomes_no_smaller(self) -> None:
        mount = VolumeMount(name="models", path="/data", size=32 * MIB)
        with pytest.raises(Declined, match=r"has 67\.1 MB here and becomes no smaller"):
            wanted_size(mount, 64 * MIB, 1 << 30)


def test_what_a_lease_keeps_of_volumes_that_it_names_no_more(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path, MountSpace())
    notes = Notes(volumes=tuple(volume_id("A", name) for name in ("models", "old", "away", "gone")))
    for name, size, holder in (("models", 1, 7), ("old", 2, None), ("away", 4, 8), ("foreign", 8, None)):
        (tmp_path / volume_id("A", name)).mkdir()
        note = json.dumps({"tenant": "A", "name": name, "size": size * MIB, "holder": holder})
        (tmp_path / volume_id("A", name) / "volume.json").write_text(note)
    lease = Desired(
        lease=7, machine=1, tenant="A", state=LeaseState.ACTIVE, placement=0x01FF, workload=bytes(32),
        start=0, end=NOW, window_ends=NOW, author="A",
    )  # fmt: skip
    made = load_workload({"version": 1, "image": "i@sha256:" + "0" * 64, "volumes": [VOLUME]})
    assert kept_volumes(volumes, lease, made, notes) == 2 * MIB


def disk_of(rig: Rig, name: str = "models") -> SealedDisk:
    volume = volume_id(rig.chain.address(TENANT), name)
    return SealedDisk(rig.host.volumes.root / volume, rig.host.volumes.space)


def workload(rig: Rig, *volumes: dict[str, object], **fields: object) -> Any:
    return rig.workload(grace=0, volumes=list(volumes) or [VOLUME], **fields)


async def started(rig: Rig, *volumes: dict[str, object], **request: Any) -> int:
    made = request.pop("workload", None) or workload(rig, *volumes)
    lease = await rig.open(made, **request)
    await rig.reaches(lease, LeaseState.ACTIVE, 60)
    return lease


async def closed(rig: Rig, lease: int) -> None:
    await rig.chain.pool(TENANT).close(lease)
    await rig.until(lambda: lease not in rig.host.volumes.held())


async def refused(rig: Rig, lease: int) -> str:
    """Why it cannot run here, once the chain has that too."""
    await rig.until(lambda: rig.host.leases.folder(lease).load().failure is not None)
    detail = rig.host.leases.folder(lease).load().failure_detail
    await rig.reaches(lease, LeaseState.CANCELLED)
    await rig.until(lambda: lease not in rig.host.volumes.held())
    return detail


@pytest.mark.slow
class TestOnAHost:
    async def test_from_one_lease_to_the_next_and_gone_with_the_last(self, rig: Rig) -> None:
        first = await started(rig)
        assert (await rig.inside(first, f"echo '{SECRET}' > /data/file; chmod 600 /data/file"))[0] == 0
        await closed(rig, first)
        disk = disk_of(rig)
        assert SECRET.encode() not in disk.file.read_bytes()
        assert not disk.mounted
        second = await started(rig)  # in another slot: what carries it is its name
        assert await rig.inside(second, "cat /data/file; stat -c %a /data/file") == (0, f"{SECRET}\n600\n")
        await closed(rig, second)
        kept = rig.host.leases.folder(second).load()
        assert disk.made
        assert kept.volumes == (volume_id(rig.chain.address(TENANT), "models"),)
        days = rig.settings.retention_max + 86_400
        rig.chain.anvil.request("evm_increaseTime", days)
        rig.chain.anvil.request("anvil_mine", "0x2")
        await rig.until(lambda: not rig.host.leases.folders())
        await rig.until(lambda: not disk.folder.exists())

    async def test_a_reboot_with_the_key_from_the_chain_alone(self, rig: Rig) -> None:
        """Engine and agent begin anew, nothing is mounted, and the sealed workload comes from IPFS."""
        made = workload(rig, command=["sh", "-c", "ls /data; sleep 600"])
        sealed = seal(made, rig.identity.age_recipient)
        await rig.ipfs.put_block(sealed)
        lease = await rig.open_sealed(sealed, upload=False)
        await rig.reaches(lease, LeaseState.ACTIVE, 60)
        await rig.inside(lease, f"echo '{SECRET}' > /data/kept; sync")
        await rig.restart()  # as after an upgrade: it runs on, and is left alone
        assert (await rig.inside(lease, "cat /data/kept"))[1] == f"{SECRET}\n"
        await rig.stop()
        await restart_host(rig, lease)
        assert not list(rig.settings.state_dir.glob("leases/*/*/workload.age"))
        await rig.start()

        async def back() -> bool:
            container = await rig.container(lease)
            return container is not None and container.running

        await rig.until(back, 60)
        assert (await rig.inside(lease, "cat /data/kept"))[1] == f"{SECRET}\n"

    async def test_a_second_lease_waits_for_nobody(self, rig: Rig) -> None:
        first = await started(rig, share=1)
        second = await rig.open(workload(rig), share=1)
        assert "close that one first" in await refused(rig, second)
        assert rig.host.leases.folder(second).load().failure == "volume-held"
        assert (await rig.inside(first, "echo x > /data/x"))[0] == 0
        await rig.until(lambda: rig.host.leases.folder(second).load().cleared)
        assert rig.host.volumes.held() == {first: {volume_id(rig.chain.address(TENANT), "models")}}

    async def test_its_size_is_of_the_lease_s_disk(self, rig: Rig) -> None:
        lease = await rig.open(workload(rig, VOLUME | {"size": 1 << 50}))
        assert "lease's cells buy" in await refused(rig, lease)
        full = await started(rig)
        code, _ = await rig.inside(full, "dd if=/dev/zero of=/data/full bs=1M count=64")
        assert code != 0
        assert (await rig.inside(full, "echo x > /elsewhere; cat /elsewhere"))[1] == "x\n"

    async def test_whoever_names_others_each_time_has_paid_for_one_disk(self, rig: Rig) -> None:
        """A volume that the workload does not name any more stays as long as the lease: it counts."""
        lease = await started(rig)
        volume = volume_id(rig.chain.address(TENANT), "models")
        share = rig.host.share(rig.host.snapshot.leases[lease]).disk_bytes
        fields: dict[str, Any]
        for fields in ({"volumes": [VOLUME | {"name": "more"}]}, {"disk": 64 * MIB}):
            made = rig.workload(grace=0, **fields)
            sealed = seal(made, rig.identity.age_recipient)
            await rig.host.supplies.uploads.put(digest(sealed), sealed)
            note = rig.host.volumes.root / volume / "volume.json"
            known = json.loads(note.read_text())
            note.write_text(json.dumps(known | {"size": share - 16 * MIB}))
            await rig.chain.pool(TENANT).set_workload(lease, digest(sealed))
            folder = rig.host.leases.folder(lease)

            def declined(wanted: str = digest(sealed).hex(), folder: LeaseDir = folder) -> bool:
                notes = folder.load()
                return notes.workload == wanted and "does not name any more" in notes.failure_detail

            await rig.until(declined, 60)
            assert not (rig.host.volumes.root / volume_id(rig.chain.address(TENANT), "more")).exists()

    async def test_another_key_opens_nothing(self, rig: Rig) -> None:
        first = await started(rig)
        await closed(rig, first)
        thief = await rig.open(workload(rig, VOLUME | {"key": OTHER_KEY}))
        assert "another key" in await refused(rig, thief)
        again = await started(rig)
        assert (await rig.inside(again, "ls /data"))[0] == 0

    async def test_a_link_at_the_mount_s_place_leads_nowhere_on_the_host(self, rig: Rig) -> None:
        """What a tenant has left at /data is a way inside his own container."""
        marker = rig.settings.state_dir / "marker"
        marker.mkdir()
        first = await started(rig, workload=rig.workload(grace=0))
        await rig.inside(first, f"ln -s {marker} /data; ln -s ../../../../../..{marker} /deep")
        await rig.chain.pool(TENANT).close(first)
        await rig.until(lambda: rig.host.leases.folder(first).load().gone_at is not None)
        volumes = [VOLUME, VOLUME | {"name": "deep", "path": "/deep"}]
        second = await rig.open(workload(rig, *volumes), reuse=first)

        async def settled() -> bool:
            failed = rig.host.leases.folder(second).load().failure is not None
            return failed or (await rig.lease(second)).state is LeaseState.ACTIVE

        await rig.until(settled, 60)
        if (await rig.lease(second)).state is LeaseState.ACTIVE:
            await rig.inside(second, "echo x > /data/x; echo x > /deep/x")
        assert list(marker.iterdir()) == []

    async def test_another_workload_keeps_them_and_lets_go_of_what_it_does_not_name(self, rig: Rig) -> None:
        lease = await started(rig)
        await rig.inside(lease, "echo kept > /data/file")
        for fields in ({}, {"volumes": [VOLUME | {"path": "/elsewhere"}]}):
            sealed = seal(rig.workload(grace=0, **fields), rig.identity.age_recipient)
            await rig.host.supplies.uploads.put(digest(sealed), sealed)
            await rig.chain.pool(TENANT).set_workload(lease, digest(sealed))
            wanted = digest(sealed).hex()

            async def runs(wanted: str = wanted) -> bool:
                container = await rig.container(lease)
                labels = container.labels if container is not None and container.running else {}
                return labels.get("leasehold.workload") == wanted

            await rig.until(runs, 60)
            assert (lease in rig.host.volumes.held()) == bool(fields)
        assert (await rig.inside(lease, "cat /elsewhere/file"))[1] == "kept\n"

    async def test_under_gvisor(self, rig: Rig) -> None:
        if "runsc" not in rig.host.facts.engine.runtimes:
            pytest.skip("no runsc on this machine")
        lease = await started(rig, workload=workload(rig, runtime="gvisor"))
        assert (await rig.inside(lease, "echo x > /data/x && cat /data/x"))[1] == "x\n"
        await closed(rig, lease)
        again = await started(rig)
        assert (await rig.inside(again, "cat /data/x"))[1] == "x\n"

    @pytest.mark.parametrize("step", ["volumes noted", "disk made", "mounted", "stopping"])
    async def test_killed_between(self, rig: Rig, step: str) -> None:
        disk, tenant = disk_of(rig), rig.chain.address(TENANT)
        await rig.stop()
        sealed = seal(workload(rig), rig.identity.age_recipient)
        await rig.ipfs.put_block(sealed)
        lease = await rig.open_sealed(sealed, upload=False)
        if step != "stopping":
            folder = rig.host.leases.folder(lease)
            notes = Notes(tenant=tenant, author=tenant, machine=rig.machine, workload=digest(sealed).hex())
            notes.volumes = (disk.folder.name,)
            folder.save(notes)
            disk.folder.mkdir(parents=True)
            note = f'{{"tenant": "{tenant}", "name": "models", "size": {32 * MIB}, "holder": {lease}}}'
            (disk.folder / "volume.json").write_text(note)
        if step in ("disk made", "mounted"):
            disk.make(32 * MIB)
        if step == "mounted":
            disk.open(bytes.fromhex(KEY))
        await rig.start()
        await rig.reaches(lease, LeaseState.ACTIVE, 60)
        await rig.inside(lease, "echo kept > /data/file")
        if step == "stopping":  # its container is gone, its volumes are open
            await rig.stop()
            await rig.chain.pool(TENANT).close(lease)
            notes = rig.host.leases.folder(lease).load()
            notes.stopped, notes.gone_at, notes.gone_block = True, 1, 1
            rig.host.leases.folder(lease).save(notes)
            await rig.start()
            await rig.until(lambda: not rig.host.volumes.held())
            assert not disk.mounted
            return
        assert (await rig.inside(lease, "cat /data/file"))[1] == "kept\n"


async def restart_host(rig: Rig, lease: int) -> None:
    """What a reboot does: no container runs, nothing is mounted, no key is in memory; nor is the workload here."""
    client = docker.APIClient(base_url=rig.settings.docker, version="auto")
    try:
        client.kill(rig.host.containers.names.container(lease))
    finally:
        client.close()
    disk = disk_of(rig)
    disk.close()
    assert not disk.data.exists()
    (sealed,) = rig.settings.state_dir.glob(f"leases/*/{lease}/workload.age")
    sealed.unlink()
