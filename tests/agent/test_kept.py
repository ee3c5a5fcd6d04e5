"""What can be read of a lease that is over, by whom and for how long. Real chain, real engine."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docker
import pytest

from leasehold.chain import LeaseState
from leasehold.market.wire import TooManyRequests
from leasehold_agent._errors import EngineDown, EngineRefused, NoContainer, NotRead
from leasehold_agent.engine import ReaderSpec
from leasehold_agent.reading import Readers, _readers
from leasehold_agent.reconciling._names import READER_LABEL
from leasehold_agent.store import HELPER_MOUNT, ReadingTime

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC3LxRFhQcZJ8y5f0kWmWfTO8gkIl7nZ8t2hXbq3GkqT"
MIB = 1 << 20


async def over(rig: Rig, *commands: str, **fields: Any) -> int:
    """A lease that has run `commands` and is over, its container stopped."""
    lease = await rig.open(rig.workload(grace=0, **fields))
    await rig.reaches(lease, LeaseState.ACTIVE)
    for command in commands:
        assert (await rig.inside(lease, command))[0] == 0
    await rig.chain.pool(TENANT).close(lease)
    await rig.until(lambda: rests(rig, lease))
    return lease


async def rests(rig: Rig, lease: int) -> bool:
    container = await rig.container(lease)
    return (
        container is not None
        and container.exited
        and rig.host.leases.folder(lease).load().gone_at is not None
    )


def engine(rig: Rig) -> Any:
    return docker.APIClient(base_url=rig.settings.docker, version="auto")


def left_of_readers(rig: Rig) -> tuple[int, int]:
    """Containers and images of readers on the engine."""
    client = engine(rig)
    try:
        filters = {"label": READER_LABEL}
        containers = [c for c in client.containers(all=True) if c["Names"][0].endswith("-reader")]
        return len(containers), len(client.images(filters=filters, all=True))
    finally:
        client.close()


class TestLog:
    @pytest.mark.slow
    async def test_it_is_whole(self, rig: Rig) -> None:
        """Not its end alone: more than any tail that is looked at."""
        lease = await over(rig, command=["sh", "-c", "seq 1 200000; sleep 600"])
        lines = b"".join([data async for data in rig.runtime.logs(lease, None, False)]).split(b"\n")
        assert lines == [b"%d" % number for number in range(1, 200_001)] + [b""]

    @pytest.mark.slow
    async def test_who_follows_it_comes_to_its_end(self, rig: Rig) -> None:
        lease = await over(rig, command=["sh", "-c", "echo first; sleep 600"])
        assert [data async for data in rig.runtime.logs(lease, None, True)] == [b"first\n"]


class TestFiles:
    @pytest.mark.slow
    async def test_they_are_read_and_cannot_be_changed(self, rig: Rig) -> None:
        lease = await over(rig, "echo kept > /state; mkdir /own; chmod 777 /own; ln -s /state /own/link")
        assert await rig.inside(lease, "cat /state /own/link") == (0, "kept\nkept\n")
        for attempt in (
            "echo more >> /state",
            "rm /state",
            "mv /state /other",
            "touch /own/new",
            "chmod 600 /state",
            "ln -sf /etc/passwd /own/link",
            "mkdir /tmp/new",
            "mount -o remount,rw /",
        ):
            code, _ = await rig.inside(lease, attempt)
            assert code, attempt
        assert await rig.inside(lease, "cat /state") == (0, "kept\n")
        container = await rig.container(lease)
        assert container is not None
        assert container.exited  # what is kept has not run meanwhile

    @pytest.mark.slow
    async def test_nothing_leads_out(self, rig: Rig) -> None:
        """No network, no secret, no dataset's or host's path, no right to change users, no GPU."""
        secrets = {"token": "s3cret"}
        lease = await over(rig, "ln -s /proc/1/root/../../etc/shadow /out", secrets=secrets)
        assert (await rig.inside(lease, "cat /run/secrets/token"))[0] != 0
        assert await rig.inside(lease, "ls /sys/class/net") == (0, "lo\n")
        assert await rig.inside(lease, "echo $NVIDIA_VISIBLE_DEVICES") == (0, "void\n")
        code, capabilities = await rig.inside(lease, "grep CapEff /proc/self/status")
        assert (code, int(capabilities.split()[1], 16)) == (0, 1 << 1)  # DAC_OVERRIDE and no other
        reader = engine(rig).inspect_container(rig.host.containers.names.reader(lease))
        mounted = [(mount["Destination"], mount["RW"]) for mount in reader["Mounts"]]
        assert mounted == [(HELPER_MOUNT, False)]  # the shell that the host lends
        assert reader["HostConfig"]["ReadonlyRootfs"]
        assert reader["HostConfig"]["NetworkMode"] == "none"
        assert reader["HostConfig"]["Memory"] == 128 * MIB
        assert reader["HostConfig"]["PidsLimit"] == 64

    @pytest.mark.slow
    async def test_a_reader_is_no_lease_s_container(self, rig: Rig) -> None:
        """Its image remembers the labels of what it was made of: the loop must not take one for the other."""
        lease = await over(rig, "echo kept > /state")
        await rig.inside(lease, "true")
        await rig.reconciler.tick()
        known = rig.reconciler.containers
        assert known[lease].name == rig.host.containers.names.container(lease)
        assert len(known) == 1

    @pytest.mark.slow
    async def test_bombs_stay_in_it(self, rig: Rig) -> None:
        lease = await over(rig)
        await rig.inside(lease, "yes | head -c 100000000 > /dev/shm/full")
        code, size = await rig.inside(lease, "stat -c %s /dev/shm/full")
        assert (code, int(size)) == (0, 8 * MIB)
        code, _ = await rig.inside(lease, "x() { x | x & }; x; sleep 1; true")
        await rig.inside(lease, "tail /dev/zero; echo on")
        assert await rig.inside(lease, "echo again") == (0, "again\n")  # its memory was too little: a new one

    @pytest.mark.slow
    async def test_who_looks_together_looks_in_one(self, rig: Rig) -> None:
        lease = await over(rig, "echo kept > /state")
        found = await asyncio.gather(*(rig.inside(lease, "cat /state") for _ in range(5)))
        assert set(found) == {(0, "kept\n")}
        assert left_of_readers(rig) == (1, 1)

    @pytest.mark.slow
    async def test_of_a_job_that_is_done_while_it_is_paid_for(self, rig: Rig) -> None:
        """Its command will not run again, and nothing of its files was to be had before the lease was over."""
        lease = await rig.open(rig.workload(command=["sh", "-c", "echo kept > /state"]))
        await rig.reaches(lease, LeaseState.ACTIVE)
        await rig.until(lambda: rig.host.leases.folder(lease).load().ended)
        assert await rig.inside(lease, "cat /state") == (0, "kept\n")
        assert (await rig.inside(lease, "echo other > /state"))[0] != 0

    @pytest.mark.slow
    async def test_a_lease_that_runs_has_none(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0))
        await rig.reaches(lease, LeaseState.ACTIVE)
        await rig.inside(lease, "true")
        assert left_of_readers(rig) == (0, 0)


@pytest.mark.slow
class TestBounds:
    """A host is not paid any more: what it gives is little, and ends by itself."""

    async def test_off_by_a_setting(self, rig_of: Callable[..., Any]) -> None:
        rig = await rig_of(reading_seconds=0)
        lease = await over(rig, command=["sh", "-c", "echo first; sleep 600"])
        with pytest.raises(NotRead, match="its log and its results only"):
            await rig.inside(lease, "true")
        assert [data async for data in rig.runtime.logs(lease, None, False)] == [b"first\n"]
        assert left_of_readers(rig) == (0, 0)

    @pytest.mark.slow
    async def test_a_lease_has_its_time_and_no_more(self, rig: Rig) -> None:
        """It ends what runs in it, and stays used up when the agent begins anew."""
        lease = await over(rig)
        now = rig.host.readers.now
        stream = await rig.runtime.exec(lease, ["sleep", "600"])
        rig.host.readers.now = lambda: now() + rig.settings.reading_seconds
        await rig.until(lambda: left_of_readers(rig) == (0, 0))
        assert [data async for data in stream] == []
        await stream.close()
        with pytest.raises(NotRead, match=r"been read for 1h"):
            await rig.inside(lease, "true")
        await rig.restart()
        with pytest.raises(NotRead):
            await rig.inside(lease, "true")
        await rig.until(lambda: rig.reconciler.containers)
        assert (await rig.handle(lease)).read_seconds == 0

    @pytest.mark.slow
    async def test_it_goes_when_nobody_looks(self, rig: Rig) -> None:
        lease = await over(rig, "echo kept > /state")
        clock = rig.host.readers.clock
        stream = await rig.runtime.exec(lease, ["cat"])
        rig.host.readers.clock = lambda: clock() + _readers.IDLE_SECONDS
        await rig.reconciler.tick()
        await stream.write(b"still here")  # somebody does
        await stream.write_eof()
        assert [data async for data in stream] == [(1, b"still here")]
        await stream.close()
        rig.host.readers.clock = lambda: clock() + 2 * _readers.IDLE_SECONDS
        await rig.until(lambda: left_of_readers(rig) == (0, 0))
        assert await rig.inside(lease, "cat /state") == (0, "kept\n")

    @pytest.mark.slow
    async def test_too_much_to_be_copied(self, rig_of: Callable[..., Any]) -> None:
        rig = await rig_of(reading_limit=MIB)
        lease = await over(rig, "head -c 2000000 /dev/urandom > /large")
        with pytest.raises(NotRead, match="a lease that renews it has all"):
            await rig.inside(lease, "true")
        assert left_of_readers(rig) == (0, 0)

    @pytest.mark.slow
    async def test_no_room_for_a_copy(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        lease = await over(rig)
        monkeypatch.setattr(
            rig.host.facts, "settings", rig.settings.model_copy(update={"disk_reserve": 1 << 60})
        )
        with pytest.raises(NotRead, match="no room now"):
            await rig.host.readers.exec(lease, ["true"], tty=False, env={}, size=None)

    @pytest.mark.slow
    async def test_few_at_once_and_idle_ones_give_way(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_readers, "READERS_AT_ONCE", 1)
        one, two = await over(rig), await over(rig)
        stream = await rig.runtime.exec(one, ["sleep", "600"])
        with pytest.raises(TooManyRequests):
            await rig.inside(two, "true")
        await stream.close()
        assert await rig.inside(two, "echo mine") == (0, "mine\n")
        assert left_of_readers(rig) == (1, 1)

    @pytest.mark.slow
    async def test_who_goes_away_while_it_is_copied_has_it_copied_once(self, rig: Rig) -> None:
        """Coming and going costs no second copy, and none stays that nobody knows of."""
        lease = await over(rig, "echo kept > /state")
        real, copies, may = rig.host.containers.engine, list[str](), asyncio.Event()
        keep = real.keep

        async def slow(name: str, label: str) -> str:
            copies.append(name)
            await may.wait()
            return await keep(name, label)

        real.keep = slow  # type: ignore[method-assign]  # a copy that takes long
        for _ in range(5):
            visit = asyncio.create_task(rig.inside(lease, "cat /state"))
            await rig.until(lambda: copies)
            visit.cancel()
            await asyncio.gather(visit, return_exceptions=True)
        may.set()
        assert await rig.inside(lease, "cat /state") == (0, "kept\n")
        assert len(copies) == 1
        assert left_of_readers(rig) == (1, 1)

    @pytest.mark.slow
    async def test_an_image_that_nobody_waits_for_goes(self, rig: Rig) -> None:
        """The engine makes it to the end; whoever wanted it was cut off."""
        lease = await over(rig)
        names, real = rig.host.containers.names, rig.host.containers.engine
        keeping = asyncio.create_task(real.keep(names.container(lease), names.read(lease)))
        await asyncio.sleep(0)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await rig.until(lambda: left_of_readers(rig) == (0, 0))

    @pytest.mark.slow
    async def test_a_copy_costs_by_what_is_copied(self, rig: Rig) -> None:
        lease = await over(rig, "head -c 20000000 /dev/urandom > /large")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_readers, "_BYTES_A_SECOND", 20_000)
            await rig.inside(lease, "true")
        assert rig.host.readers.left(lease) < rig.settings.reading_seconds - 1_000

    @pytest.mark.slow
    async def test_its_memory_ends_it_and_it_begins_without_a_copy(self, rig: Rig) -> None:
        lease = await over(rig)
        await rig.inside(lease, "true")
        reader = rig.host.containers.names.reader(lease)
        before = engine(rig).inspect_container(reader)
        engine(rig).kill(reader)
        assert await rig.inside(lease, "echo again") == (0, "again\n")
        after = engine(rig).inspect_container(reader)
        assert (after["Image"], after["Id"] != before["Id"]) == (before["Image"], True)

    @pytest.mark.slow
    async def test_an_engine_that_is_away_as_it_ends_is_asked_again(self, rig: Rig) -> None:
        lease = await over(rig)
        await rig.inside(lease, "true")
        real = rig.host.containers.engine
        remove = real.remove

        async def away(name: str) -> None:
            real.remove = remove  # type: ignore[method-assign]  # the next call finds it
            raise EngineDown("The engine does not answer.")

        real.remove = away  # type: ignore[method-assign]  # played
        with pytest.raises(EngineDown):
            await rig.host.readers.close(lease)
        await rig.until(lambda: left_of_readers(rig) == (0, 0))

    @pytest.mark.slow
    async def test_an_agent_that_died_leaves_none_for_long(self, rig: Rig) -> None:
        """SIGKILL while somebody looks: the next run removes container and image, and counts the time."""
        lease = await over(rig)
        await rig.inside(lease, "true")
        folder, names = rig.host.leases.folder(lease), rig.host.containers.names
        await rig.stop()
        client = engine(rig)
        label = names.read(lease)
        image = client.commit(names.container(lease), changes=[f"LABEL {label}"])["Id"]
        client.create_container(image, ["true"], name=names.reader(lease), labels=names.reader_labels(lease))
        ReadingTime(10.0, rig.host.readers.now() - 100).save(folder.read)
        assert left_of_readers(rig) == (1, 1)
        await rig.start()
        await rig.until(lambda: left_of_readers(rig) == (0, 0))
        assert 0 < rig.host.readers.left(lease) <= rig.settings.reading_seconds - 110

    @pytest.mark.slow
    async def test_a_copy_that_comes_when_nobody_waits_any_more(self, rig: Rig) -> None:
        """The engine goes on with what an agent began that died, and is done after the next one has looked."""
        lease = await over(rig)
        await rig.until(lambda: rig.host.readers._looked > 0)
        names, client = rig.host.containers.names, engine(rig)
        client.commit(names.container(lease), changes=[f"LABEL {names.read(lease)}"])
        assert left_of_readers(rig) == (0, 1)
        clock = rig.host.readers.clock
        rig.host.readers.clock = lambda: clock() + 60
        await rig.until(lambda: left_of_readers(rig) == (0, 0))

    @pytest.mark.slow
    async def test_an_agent_that_ends_leaves_none(self, rig: Rig) -> None:
        lease = await over(rig)
        await rig.inside(lease, "true")
        await rig.stop()
        assert left_of_readers(rig) == (0, 0)
        await rig.start()
        assert ReadingTime.load(rig.host.leases.folder(lease).read).since is None

    @pytest.mark.slow
    async def test_an_image_without_a_shell(self, rig: Rig) -> None:
        """Where the host lends none it is said, and the copy does not stay."""
        lease = await over(rig, "rm /bin/sh /bin/busybox", command=["sleep", "600"])
        readers = rig.host.readers
        assert isinstance(readers, Readers)
        readers.lent = None
        with pytest.raises(NotRead, match="no shell"):
            await readers.exec(lease, ["/bin/ls"], tty=False, env={}, size=None)
        assert left_of_readers(rig) == (0, 0)

    @pytest.mark.slow
    async def test_an_image_without_a_shell_is_lent_one(self, rig: Rig) -> None:
        """A host may have one to lend: it is what waits in there, and is not the lease's."""
        lease = await over(rig, "echo kept > /state; rm -r /bin")
        busybox = shutil.which("busybox")
        assert busybox is not None  # the tiny image is made of it
        readers = rig.host.readers
        assert isinstance(readers, Readers)
        readers.lent = (Path(busybox), "/.lent/busybox")
        command = ["/.lent/busybox", "sh", "-c", "/.lent/busybox cat /state; : > /.lent/busybox"]
        stream = await readers.exec(lease, command, tty=False, env={}, size=None)
        assert [data async for fd, data in stream if fd == 1] == [b"kept\n"]
        assert await stream.wait() != 0
        await stream.close()


@pytest.mark.slow
class TestVolumes:
    """What an image declares as a volume lies beside the container, and no limit of the disk holds there."""

    @pytest.fixture
    def kept(self, rig: Rig) -> Iterator[tuple[Any, str]]:
        """A container of an image with two volumes, at one of which something of the host's was mounted."""
        client = engine(rig)
        plain = client.create_container(rig.image, ["true"])["Id"]
        image = client.commit(plain, changes=["VOLUME /own /other"])["Id"]
        mounts = [docker.types.Mount("/other", "/usr/share", type="bind", read_only=True)]
        name = client.create_container(
            image,
            ["sh", "-c", "echo kept > /own/state"],
            host_config=client.create_host_config(mounts=mounts),
        )["Id"]
        client.start(name)
        client.wait(name)
        yield client, name
        for container in (plain, name):
            client.remove_container(container, force=True, v=True)
        client.remove_image(image, force=True)
        client.close()

    @pytest.mark.slow
    async def test_its_own_are_read_and_nothing_can_be_written(self, rig: Rig, kept: tuple[Any, str]) -> None:
        client, name = kept
        real = rig.host.containers.engine
        image = await real.keep(name, "leasehold.test=1")
        spec = ReaderSpec("volumes-reader", image, {}, await real.volumes_of(name), None, None, 600)
        reader = await real.open_reader(spec)
        assert reader is not None
        for command, code in (
            ("grep kept /own/state", 0),
            ('test -z "$(ls /other)"', 0),
            ("touch /own/new", 1),
            ("touch /other/new", 1),
        ):
            started = client.exec_create(reader, ["sh", "-c", command])["Id"]
            client.exec_start(started)
            assert client.exec_inspect(started)["ExitCode"] == code, command
        await real.remove("volumes-reader")
        assert client.inspect_volume(spec.volumes[0][0])  # it is still the container's
        await real.forget("leasehold.test=1")

    @pytest.mark.slow
    async def test_one_that_could_be_written_to_is_not_started(self, rig: Rig, kept: tuple[Any, str]) -> None:
        _, name = kept
        real = rig.host.containers.engine
        image = await real.keep(name, "leasehold.test=1")
        spec = ReaderSpec("volumes-reader", image, {}, (), None, None, 600)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("leasehold_agent.engine._kept._hidden", lambda *_: [])
            with pytest.raises(EngineRefused):
                await real.open_reader(spec)
        await real.remove("volumes-reader")
        await real.forget("leasehold.test=1")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("runsc") is None, reason="needs gVisor (Debian: runsc)")
async def test_under_gvisor_if_it_ran_there(rig: Rig) -> None:
    lease = await over(rig, "echo kept > /state", runtime="gvisor")
    assert await rig.inside(lease, "cat /state") == (0, "kept\n")
    assert (await rig.inside(lease, "echo other > /state"))[0] != 0
    reader = engine(rig).inspect_container(rig.host.containers.names.reader(lease))
    assert reader["HostConfig"]["Runtime"] == "runsc"


class TestPurge:
    @pytest.mark.slow
    async def test_it_takes_the_reader_along(self, rig_of: Callable[..., Any]) -> None:
        """In the middle of a look: the stream ends, and nobody is let in any more."""
        rig = await rig_of(retention_min=3, retention_max=3)
        lease = await over(rig)
        stream = await rig.runtime.exec(lease, ["sleep", "600"])
        rig.chain.anvil.advance(60)
        await rig.until(lambda: not rig.host.leases.folder(lease).exists)
        assert [data async for data in stream] == []
        await stream.close()
        assert left_of_readers(rig) == (0, 0)
        assert await rig.runtime.lookup(lease) is None  # at once, and not with the loop's next look
        with pytest.raises(NoContainer):
            await rig.inside(lease, "true")

    @pytest.mark.slow
    async def test_one_that_opens_meanwhile_does_not_stay(self, rig: Rig) -> None:
        """The container goes while its files are being copied: the copy goes too, and nobody reads it."""
        lease = await over(rig)
        names, real = rig.host.containers.names, rig.host.containers.engine
        keep = real.keep

        async def kept(name: str, label: str) -> str:
            image = await keep(name, label)
            await real.remove(names.container(lease))
            return image

        real.keep = kept  # type: ignore[method-assign]  # the moment in between
        with pytest.raises(NoContainer):
            await rig.inside(lease, "true")
        assert left_of_readers(rig) == (0, 0)


class TestWhose:
    @pytest.mark.slow
    async def test_a_lease_that_was_transferred(self, rig: Rig) -> None:
        """Who has it at its end reads it, by requests; the former tenant's keys open nothing any more."""
        lease = await over(rig, ssh_keys=[KEY])
        other, folder = rig.chain.address(3), rig.host.leases.folder(lease)
        desired = replace(rig.host.snapshot.leases[lease], tenant=other)
        rig.host.snapshot = replace(rig.host.snapshot, leases={lease: desired})
        assert (await rig.handle(lease)).tenant == ""  # it is not noted yet whose it is
        notes = folder.load()
        notes.tenant = other
        folder.save(notes)
        handle = await rig.handle(lease)
        assert (handle.tenant, handle.ssh_keys) == (other, ())

    @pytest.mark.slow
    async def test_a_lease_that_is_another_s_by_now(self, rig: Rig) -> None:
        """A reorganisation has given the id to somebody else: he finds nothing, and neither do the keys."""
        lease = await over(rig, ssh_keys=[KEY])
        assert (await rig.handle(lease)).ssh_keys == (KEY,)
        desired = rig.host.snapshot.leases[lease]
        other = rig.chain.address(3)
        rig.host.snapshot = replace(
            rig.host.snapshot, leases={lease: replace(desired, tenant=other, author=other)}
        )
        handle = await rig.handle(lease)
        assert (handle.tenant, handle.ssh_keys, handle.outputs) == ("", (), ())
