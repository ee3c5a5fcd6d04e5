"""What a container may not do, each tried from inside; and what it may, so that the tests can fail."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from ipaddress import IPv4Interface
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet.engine import Engine
from devnet.steward import steward
from leasehold.chain import LeaseState, format_lease

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

PUBLIC = "203.0.113.7"  # TEST-NET-3: no private range, and nobody's
PRIVATE = (
    "10.99.0.7",
    "172.20.0.7",
    "192.168.77.7",
    "100.64.0.7",
    "169.254.169.254",
    "198.18.0.7",
    "168.63.129.16",
)
PORT = 8080
SINK = 9000
"""Takes whatever comes."""
RUNTIMES = ("runc", "gvisor")
under_both = pytest.mark.parametrize("runtime", RUNTIMES)
under_runc_first = pytest.mark.parametrize(
    "runtime", ["runc", pytest.param("gvisor", marks=pytest.mark.slow)]
)
"""The quick lane tries one of them."""
_NOT_DISKS = ("proc", "tmpfs", "devpts", "mqueue", "sysfs", "cgroup", "cgroup2", "devtmpfs")
_SERVER = """
import selectors, socket, sys
chosen = selectors.DefaultSelector()
for port in (8080, 53, 25, 587, 9000):
    chosen.register(socket.create_server(("0.0.0.0", port), backlog=50), selectors.EVENT_READ)
print("up", flush=True)
while True:
    for key, _ in chosen.select():
        connection, _ = key.fileobj.accept()
        if key.fileobj.getsockname()[1] == 9000:
            while connection.recv(65536):
                pass
        else:
            connection.sendall(b"hello")
        connection.close()
"""


@pytest.fixture(scope="module")
def outside(docker_engine: Engine) -> Iterator[None]:
    """A host beyond the engine's namespace that holds a public address and one of every private range,
    and serves on a few ports; and another server on the engine's own namespace, which is the lease's
    host."""
    name, undo = f"lht-outside-{os.getpid()}", contextlib.ExitStack()  # others may test here too
    inside = list(docker_engine.in_netns("ip"))
    with undo:
        _ip("netns", "add", name)
        undo.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        _run(*inside, "link", "add", "lht0", "type", "veth", "peer", "name", "out0", "netns", name)
        undo.callback(subprocess.run, [*inside, "link", "delete", "lht0"], check=False)
        _run(*inside, "address", "add", "192.0.2.1/24", "dev", "lht0")
        _run(*inside, "link", "set", "lht0", "up")
        _ip("-netns", name, "address", "add", "192.0.2.2/24", "dev", "out0")
        _ip("-netns", name, "link", "set", "out0", "up")
        _ip("-netns", name, "link", "set", "lo", "up")
        _ip("-netns", name, "route", "add", "default", "via", "192.0.2.1")
        for address in (PUBLIC, *PRIVATE):
            _ip("-netns", name, "address", "add", f"{address}/32", "dev", "lo")
            _run(*inside, "route", "add", f"{address}/32", "via", "192.0.2.2")
        for enter in (["nsenter", f"--net=/run/netns/{name}"], list(docker_engine.in_netns())):
            undo.enter_context(_serving(enter))
        yield


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def _serving(enter: list[str]) -> Iterator[None]:
    with subprocess.Popen([*enter, sys.executable, "-c", _SERVER], stdout=subprocess.PIPE) as process:
        steward().process(process.pid)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            yield
        finally:
            process.kill()


async def reached(rig: Rig, lease: int, address: str, port: int = PORT) -> bool:
    """Whether the container can open a connection to `address`."""
    code, text = await rig.inside(lease, f"echo | timeout 2 nc {address} {port}")
    return code == 0 and "hello" in text


async def running(rig: Rig, **fields: object) -> int:
    share = int(fields.pop("share_cells", 4))  # type: ignore[call-overload]  # an int
    lease = await rig.open(rig.workload(**fields), share=share)
    await rig.reaches(lease, LeaseState.ACTIVE)
    return lease


@pytest.mark.usefixtures("outside")
@pytest.mark.slow
class TestNetwork:
    @under_both
    async def test_internet_and_nothing_private(self, rig: Rig, docker_engine: Engine, runtime: str) -> None:
        lease = await running(rig, runtime=runtime)
        assert await reached(rig, lease, PUBLIC)
        for address in PRIVATE:
            assert not await reached(rig, lease, address), address
        container = await rig.container(lease)
        assert container is not None
        assert container.address is not None
        block = IPv4Interface(f"{container.address}/28").network  # the bridge has its first address
        for address in (
            str(block[1]),
            str(block[-1]),
            docker_engine.address,
            docker_engine.gateway,
            "192.0.2.1",
        ):
            assert not await reached(rig, lease, address), address

    @under_both
    async def test_none_reaches_nothing(self, rig: Rig, runtime: str) -> None:
        lease = await running(rig, egress="none", runtime=runtime)
        assert not await reached(rig, lease, PUBLIC)

    @under_both
    async def test_an_allow_list_is_all_there_is(self, rig: Rig, runtime: str) -> None:
        lease = await running(rig, egress=[f"{PUBLIC}:53", "10.99.0.7"], runtime=runtime)
        assert await reached(rig, lease, PUBLIC, 53)
        assert not await reached(rig, lease, PUBLIC, PORT)
        assert not await reached(rig, lease, "10.99.0.7")  # no list opens a private range

    @under_both
    async def test_the_hosts_policy_is_over_the_tenants(
        self, rig_of: Callable[..., Any], runtime: str
    ) -> None:
        rig: Rig = await rig_of(egress="none")
        lease = await running(rig, runtime=runtime)
        assert not await reached(rig, lease, PUBLIC)

    @under_both
    async def test_what_the_host_denies(self, rig_of: Callable[..., Any], runtime: str) -> None:
        rig: Rig = await rig_of(egress_deny=["203.0.113.0/24"])
        lease = await running(rig, runtime=runtime)
        assert not await reached(rig, lease, PUBLIC)

    @under_both
    async def test_not_another_lease_not_even_by_its_published_port(
        self, rig: Rig, docker_engine: Engine, runtime: str
    ) -> None:
        serve = ["sh", "-c", "while true; do echo hello | nc -l -p 80; done"]
        served = await running(rig, command=serve, ports=[{"container": 80}], runtime=runtime)
        other = await running(rig, runtime=runtime)
        container = await rig.container(served)
        assert container is not None
        assert container.address is not None
        (port,) = (await rig.handle(served)).ports
        # From outside the port answers, so that a failure below means something.
        assert _from_here(docker_engine.address, port.host) == "hello\n"
        assert not await reached(rig, other, container.address, 80)
        assert not await reached(rig, other, docker_engine.address, port.host)

    async def test_rules_that_were_taken_away_come_back(self, rig: Rig) -> None:
        lease = await running(rig)
        await rig.host.containers.firewall.remove()

        async def closed() -> bool:
            return not await reached(rig, lease, PRIVATE[0])

        await rig.until(closed)

    @under_both
    async def test_one_lease_does_not_take_all_connections(
        self, rig_of: Callable[..., Any], docker_engine: Engine, runtime: str
    ) -> None:
        """The kernel remembers a limited number for the whole host; a socket that sends to every port is one each."""
        rig: Rig = await rig_of(connections_limit=16)
        lease, other = await running(rig, runtime=runtime), await running(rig, runtime=runtime)
        before = _connections(docker_engine)
        asked = f"timeout 1 nslookup name {PUBLIC} >/dev/null 2>&1"
        spray = f"for i in $(seq 5); do for j in $(seq 8); do {asked} & done; wait; done"
        await rig.inside(lease, spray)
        await rig.reconciler.tick()  # rules put in place again do not begin to count anew
        await rig.inside(lease, spray)
        assert 8 < _connections(docker_engine) - before <= 16
        assert not await reached(rig, lease, PUBLIC)
        assert await reached(rig, other, PUBLIC)

    async def test_after_a_reboot_nothing_runs_before_the_rules(
        self, rig_of: Callable[..., Any], docker_engine: Engine
    ) -> None:
        """The engine comes up first, and with no table: it must leave to the agent what is to run again."""
        rig: Rig = await rig_of()
        lease = await running(rig, egress="none", restart="always")
        before = await rig.container(lease)
        assert before is not None
        await rig.stop()
        docker_engine.kill()
        os.kill(before.pid, signal.SIGKILL)
        _run(*docker_engine.in_netns("nft", "delete", "table", "inet", "leasehold"))
        docker_engine.start()
        with docker_engine.client() as client:
            container = client.containers.get(before.id)
            assert container.attrs["HostConfig"]["RestartPolicy"]["Name"] in (
                "",
                "no",
            )  # which engines say alike
            assert container.status == "exited"
        await rig.start()

        async def runs_again() -> bool:
            now = await rig.container(lease)
            return now is not None and now.running and now.pid != before.pid

        await rig.until(runs_again)
        assert not await reached(rig, lease, PUBLIC)

    async def test_rules_go_with_the_lease(self, rig: Rig, docker_engine: Engine) -> None:
        lease = await running(rig)
        bridge = rig.host.containers.names.bridge(lease)
        assert bridge in _rules(docker_engine)
        await rig.chain.pool(2).close(lease)
        await rig.until(lambda: f'"{bridge}" : jump' not in _rules(docker_engine))


@pytest.mark.usefixtures("outside")
@pytest.mark.slow
class TestResidential:
    """What a home lends of its line, tried from inside; the test hosts are in network namespaces."""

    @under_both
    async def test_no_mail(self, rig_of: Callable[..., Any], runtime: str) -> None:
        rig: Rig = await rig_of(egress="residential")
        lease = await running(rig, runtime=runtime)
        assert await reached(rig, lease, PUBLIC)
        for port in (25, 587):
            assert not await reached(rig, lease, PUBLIC, port), port

    async def test_no_list_of_a_tenants_opens_it(self, rig_of: Callable[..., Any]) -> None:
        rig: Rig = await rig_of(egress="residential")
        lease = await running(rig, egress=[f"{PUBLIC}:25", f"{PUBLIC}:8080"])
        assert await reached(rig, lease, PUBLIC)
        assert not await reached(rig, lease, PUBLIC, 25)

    async def test_where_mail_is_let_through_it_arrives(self, rig_of: Callable[..., Any]) -> None:
        rig: Rig = await rig_of(egress="residential", egress_refused_ports=[587])
        lease = await running(rig)
        assert await reached(rig, lease, PUBLIC, 25)
        assert not await reached(rig, lease, PUBLIC, 587)

    @under_both
    async def test_no_scan(self, rig_of: Callable[..., Any], docker_engine: Engine, runtime: str) -> None:
        """Of twelve ports few are reached; what the lease had reached before stays reachable, and neighbours have their
        own count.
        """
        rig: Rig = await rig_of(egress="residential", egress_destinations=1)
        lease, other = await running(rig, runtime=runtime), await running(rig, runtime=runtime)
        assert await reached(rig, lease, PUBLIC)
        before = _connections(docker_engine)
        for address, ports in ((PUBLIC, 12), ("10.99.0.7", 4)):
            scan = f"for i in $(seq 2001 {2000 + ports}); do echo | timeout 1 nc {address} $i; done"
            await rig.inside(lease, scan)
        assert _connections(docker_engine) - before < 8
        assert await reached(rig, lease, PUBLIC)
        assert await reached(rig, other, PUBLIC)

    async def test_so_many_bytes_a_second(self, rig_of: Callable[..., Any], docker_engine: Engine) -> None:
        """What is too much is dropped, and the rest arrives: of one way only, where the other is not limited."""
        rig: Rig = await rig_of(egress="residential", egress_down=0, egress_up=1 << 20)
        lease = await running(rig)
        assert _dropped(docker_engine, "up") == 0
        sent = f"head -c 4194304 /dev/zero | timeout 30 nc {PUBLIC} {SINK}; true"
        await rig.inside(lease, sent)
        assert _dropped(docker_engine, "up") > 0
        assert await reached(rig, lease, PUBLIC)
        assert "@down" not in _rules(docker_engine, "leasehold_counts")


def _dropped(engine: Engine, name: str) -> int:
    """How many packets were one too many."""
    rules = json.loads(_rules(engine, "leasehold_counts"))["nftables"]
    counted = [rule["rule"]["expr"] for rule in rules if "rule" in rule and f"@{name}" in json.dumps(rule)]
    ((counter,),) = ([part["counter"] for part in parts if "counter" in part] for parts in counted)
    return int(counter["packets"])


def _connections(engine: Engine) -> int:
    """How many connections to `PUBLIC` the kernel remembers in the engine's namespace."""
    listed = subprocess.run(
        engine.in_netns("cat", "/proc/net/nf_conntrack"), capture_output=True, text=True, check=True
    )
    return sum(f"dst={PUBLIC} " in line for line in listed.stdout.splitlines())


def _rules(engine: Engine, table: str = "leasehold") -> str:
    listed = subprocess.run(
        engine.in_netns("nft", "-j", "list", "table", "inet", table),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.dumps(json.loads(listed.stdout))


def _from_here(address: str, port: int) -> str:
    import socket

    with socket.create_connection((address, port), timeout=5) as connection:
        return connection.makefile().readline()


@pytest.mark.slow
class TestLimits:
    async def test_memory(self, rig: Rig) -> None:
        lease = await running(rig, memory="64MiB")
        code, _ = await rig.inside(lease, "head -c 32m /dev/zero | tail -c 1 >/dev/null; true")
        assert code == 0
        code, _ = await rig.inside(lease, "head -c 200m /dev/zero | tail -c 190000000 >/dev/null")
        assert code != 0
        container = await rig.container(lease)
        assert container is not None
        assert container.running

    async def test_shared_memory_counts(self, rig: Rig) -> None:
        lease = await running(rig, memory="128MiB", shm="16MiB")
        code, _ = await rig.inside(lease, "head -c 8m /dev/zero > /dev/shm/a")
        assert code == 0
        code, text = await rig.inside(lease, "head -c 32m /dev/zero > /dev/shm/a")
        assert code != 0, text

    async def test_processes(self, rig_of: Callable[..., Any]) -> None:
        rig: Rig = await rig_of(pids_limit=32)
        lease = await running(rig)
        code, text = await rig.inside(lease, "for i in $(seq 64); do sleep 30 & done; echo all")
        assert code != 0 or "all" not in text
        assert "can't fork" in text or "Resource temporarily unavailable" in text

    async def test_disk(self, rig: Rig) -> None:
        lease = await running(rig, disk="64MiB")
        code, text = await rig.inside(lease, "dd if=/dev/zero of=/small bs=1M count=32 2>&1")
        assert code == 0, text
        code, text = await rig.inside(lease, "dd if=/dev/zero of=/big bs=1M count=128 2>&1; sync")
        assert "quota exceeded" in text.lower() or "no space" in text.lower()

    async def test_disk_has_no_other_door(self, rig: Rig) -> None:
        """What can be written to is the container's own layer, which its limit holds, or memory."""
        lease = await running(rig, disk="64MiB", egress="none")
        for name in ("hosts", "hostname", "resolv.conf"):
            code, text = await rig.inside(lease, f"echo more >> /etc/{name}")
            assert code != 0, name
            assert "Read-only" in text, name
        _, text = await rig.inside(lease, "cat /proc/mounts")
        mounts = [line.split()[:4] for line in text.splitlines()]
        doors = [at for _, at, kind, how in mounts if how.startswith("rw") and kind not in _NOT_DISKS]
        assert doors == ["/"]
        name = f"lease-{format_lease(lease).replace('.', '-')}"
        _, text = await rig.inside(
            lease, "cat /etc/hostname /etc/resolv.conf; hostname; grep -c $(hostname) /etc/hosts"
        )
        assert text.splitlines() == [name, "nameserver 127.0.0.1", name, "1"]

    async def test_a_core_is_not_dumped(self, rig: Rig) -> None:
        """Where the host hands them to a program, they would lie outside of any lease's limit."""
        lease = await running(rig)
        _, text = await rig.inside(
            lease, "grep 'core file' /proc/self/limits; cd /; sh -c 'kill -SEGV $$'; ls"
        )
        # What the shell says of the signal comes on the other stream, and may come first.
        assert [line.split()[4:6] for line in text.split("\n") if "core file" in line] == [["1", "1"]]
        assert "\ncore" not in text

    async def test_what_is_too_slow_to_die_is_hastened(self, rig: Rig, docker_engine: Engine) -> None:
        lease = await running(rig, cpu=0.01)
        container = await rig.container(lease)
        assert container is not None
        await rig.host.containers.engine.hasten(container.name)
        with docker_engine.client() as client:
            now = client.containers.get(container.id)
            assert now.attrs["HostConfig"]["NanoCpus"] == client.info()["NCPU"] * 10**9
        await rig.host.containers.engine.hasten(container.name)  # which has ended already
        await rig.host.containers.engine.hasten("lht-no-such-container")

    async def test_processors(self, rig: Rig) -> None:
        """The engine was told; that the kernel holds to it is the kernel's, and cannot be timed on a busy
        machine.
        """
        lease = await running(rig, cpu=0.5)
        quota, period = (await _cgroup(rig, lease)).split()
        assert int(quota) / int(period) == 0.5


async def _cgroup(rig: Rig, lease: int) -> str:
    """`cpu.max` of the container, in version 2's form."""
    _, text = await rig.inside(
        lease,
        "cat /sys/fs/cgroup/cpu.max 2>/dev/null || "
        "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us",
    )
    return text.replace("\n", " ").strip()


class TestHost:
    @under_runc_first
    async def test_no_docker_socket_no_host_path(self, rig: Rig, runtime: str) -> None:
        lease = await running(rig, runtime=runtime)
        code, text = await rig.inside(lease, "find / -xdev -name '*.sock' 2>/dev/null; cat /proc/mounts")
        assert code == 0
        assert "docker.sock" not in text
        assert str(rig.settings.state_dir) not in text

    async def test_few_capabilities_and_no_new_privileges(self, rig: Rig) -> None:
        lease = await running(rig)
        _, text = await rig.inside(lease, "cat /proc/self/status")
        status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        held = int(status["CapBnd"], 16)
        for dangerous in (
            12,
            13,
            16,
            17,
            19,
            21,
            25,
        ):  # net_admin, net_raw, module, rawio, ptrace, admin, time
            assert not held >> dangerous & 1, dangerous
        assert status["NoNewPrivs"] == "1"
        assert status["Seccomp"] == "2"

    @pytest.mark.slow
    @under_runc_first
    async def test_datasets_are_read_only_and_secrets_are_in_files_only(
        self, rig: Rig, tmp_path: Path, docker_engine: Engine, runtime: str
    ) -> None:
        folder = tmp_path / "digits"
        folder.mkdir()
        (folder / "one").write_text("1")
        added = await rig.ipfs.add_folder(folder)
        datasets = [{"cid": added.cid, "path": "/data"}]
        lease = await running(rig, datasets=datasets, secrets={"token": "hush-hush"}, runtime=runtime)
        assert await rig.inside(lease, "cat /data/one /run/secrets/token") == (0, "1hush-hush")
        code, text = await rig.inside(lease, "echo 2 > /data/one; rm /data/one; touch /data/two")
        assert code != 0
        assert "Read-only" in text
        container = await rig.container(lease)
        assert container is not None
        with docker_engine.client() as client:
            assert "hush-hush" not in json.dumps(client.api.inspect_container(container.id))

    @pytest.mark.slow
    async def test_gvisor(self, rig: Rig) -> None:
        lease = await running(rig, runtime="gvisor", share_cells=8)
        _, text = await rig.inside(lease, "dmesg 2>/dev/null; cat /proc/version")
        assert "gvisor" in text.lower() or "4.4.0" in text
