"""The same servers over a real lease: a real chain, a real engine, a container of the tiny image."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest

from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.serving import CHAIN, CONTROLLER, Chain, Clock, serve_context
from leasehold.chain import LeaseState, LocalSigner, format_lease
from leasehold.chain.typed import Domain
from leasehold.market._agent_client import AgentClient
from leasehold.market._documents import Contact
from leasehold.market.wire import UnknownLease
from leasehold_agent._errors import NoContainer
from leasehold_agent.api import ApiServer
from leasehold_agent.ssh import SshServer

from .conftest import Ssh, keygen, public, unused_port

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2


@dataclass
class Machine:
    """A lease that runs, its SSH and its client."""

    rig: Rig
    lease: int
    ssh: Ssh
    client: AgentClient

    @property
    def user(self) -> str:
        return format_lease(self.lease)


@pytest.fixture
async def machine(rig_of: Callable[..., Any], tmp_path: Path, openssh: None) -> AsyncIterator[Machine]:
    rig = await rig_of()
    key = await keygen(tmp_path / "mine")
    command = ["sh", "-c", "i=0; while :; do i=$((i+1)); echo line $i; sleep 1; done"]
    lease = await rig.open(rig.workload(command=command, ssh_keys=[key]))
    await rig.reaches(lease, LeaseState.ACTIVE)
    async with served(rig, lease, tmp_path) as machine:
        yield machine


@asynccontextmanager
async def served(rig: Rig, lease: int, tmp_path: Path) -> AsyncIterator[Machine]:
    """The API and SSH of a lease that runs. Whoever is let in has his key in `tmp_path`."""
    folder = tmp_path / "serving"
    folder.mkdir(mode=0o700)
    operator, wallet = LocalSigner(b"\3" * 32), LocalSigner(rig.chain.anvil.accounts[TENANT].key)
    context = serve_context(folder, rig.runtime, operator, Clock(), Chain(set()))
    context = replace(context, machines=lambda: [rig.machine])
    api, server = await ApiServer.open(context), SshServer(context)
    ports = await api.start("127.0.0.1", 0), await server.start("127.0.0.1", 0)
    host_key = (await public(context.ssh_host_key)).strip()
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{ports[1]} {host_key}\n")
    document = orjson.loads(context.contact()) | {"endpoints": [f"https://127.0.0.1:{ports[0]}"]}
    client = AgentClient(
        Contact.model_validate(document),
        Domain(CHAIN, CONTROLLER),
        rig.machine,
        operator.address,
        wallet,
        now=context.now,
    )
    ssh = Ssh(tmp_path, ports[1], server, cast(LocalLeases, None))
    try:
        yield Machine(rig, lease, ssh, client)
    finally:
        await client.close()
        await server.close()
        await api.close()


async def test_ssh_into_a_container(machine: Machine) -> None:
    found = await machine.ssh.ssh("hostname; cat; exit 7", user=machine.user, stdin=b"in\n")
    assert found.code == 7, found.err
    hostname, *rest = found.out.splitlines()
    assert rest == [b"in"]
    assert hostname.decode() != os.uname().nodename
    shell = await machine.ssh.ssh(user=machine.user, stdin=b"echo $((6*7)); exit 3\n")
    assert (shell.code, shell.out) == (3, b"42\n")


@pytest.mark.slow
async def test_files_in_and_out_of_a_container(machine: Machine) -> None:
    body = os.urandom(2_000_003)
    (machine.ssh.folder / "f").write_bytes(body)
    (machine.ssh.folder / "folder").mkdir()
    (machine.ssh.folder / "folder" / "a file").write_text("x")
    (machine.ssh.folder / "secret").write_text("of the host")
    script = (
        "put f /tmp/f\nget /tmp/f back\nput -r folder /tmp/folder\nls -l /tmp/folder\n"
        f"ln -s {machine.ssh.folder}/secret /tmp/out\n-get /tmp/out stolen\n"
    )
    found = await machine.ssh.sftp(script, user=machine.user)
    assert found.code == 0, found.err
    assert (machine.ssh.folder / "back").read_bytes() == body
    assert b"a file" in found.out
    assert not (machine.ssh.folder / "stolen").exists()
    scp = await machine.ssh.run(
        "scp",
        "-P",
        str(machine.ssh.port),
        f"{machine.user}@127.0.0.1:/tmp/f",
        str(machine.ssh.folder / "again"),
    )
    assert (scp.code, (machine.ssh.folder / "again").read_bytes() == body) == (0, True), scp.err


@pytest.mark.slow
async def test_forwarding_into_a_container(machine: Machine) -> None:
    here = unused_port()
    process = await machine.ssh.start(
        "ssh", "-L", f"127.0.0.1:{here}:localhost:8000", "-p", str(machine.ssh.port), f"{machine.user}@127.0.0.1",
        "mkdir -p /tmp/w; echo hello >/tmp/w/index.html; busybox httpd -p 127.0.0.1:8000 -h /tmp/w; echo up; cat",
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(patient(60)):
        assert await process.stdout.readline() == b"up\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", here)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert b"hello" in await reader.read()
        writer.close()
        await process.communicate(b"")


@pytest.mark.slow
async def test_the_client_on_a_container(machine: Machine) -> None:
    status = await machine.client.status(machine.lease)
    assert (status.phase, status.machine) == ("running", machine.rig.machine)
    pieces = machine.client.logs(machine.lease, follow=True)
    async with asyncio.timeout(patient(60)):
        seen = b""
        while b"line 2\n" not in seen:
            seen += await anext(pieces)
    assert seen.startswith(b"line 1\nline 2\n")
    await pieces.aclose()  # type: ignore[attr-defined]  # an async generator
    async with machine.client.exec(
        machine.lease, ["sh", "-c", "read x; stty size; exit 5"], tty=True, size=(40, 100)
    ) as stream:
        await stream.write(b"\n")  # the engine sets the size once the command runs, not before
        assert b"40 100\r\n" in b"".join([data async for _, data in stream])
        assert await stream.wait() == 5
    async with machine.client.exec(machine.lease, ["cat"]) as stream:
        await stream.write(b"x" * 1_000_000)
        await stream.write_eof()
        assert sum([len(data) async for _, data in stream]) == 1_000_000
        assert await stream.wait() == 0


@pytest.mark.slow
async def test_a_client_that_vanishes_ends_its_command_in_the_container(machine: Machine) -> None:
    script = "echo up; exec sleep 98765"
    async with machine.client.exec(machine.lease, ["sh", "-c", script]) as stream:
        await anext(aiter(stream))
        assert (await machine.rig.inside(machine.lease, "ps | grep -c '[s]leep 98765'"))[1] == "1\n"

    async def gone() -> bool:
        return (await machine.rig.inside(machine.lease, "ps | grep -c '[s]leep 98765'"))[1] == "0\n"

    await machine.rig.until(gone)


@pytest.mark.slow
async def test_a_process_number_that_is_another_s_leads_nowhere(machine: Machine) -> None:
    """Between asking the engine and connecting, the container's process number may become the host's."""
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    container = await machine.rig.container(machine.lease)
    assert container is not None
    ours = replace(container, pid=os.getpid())
    with pytest.raises(OSError, match="just stopped"):
        await machine.rig.runtime._connect_inside(ours, listening.sockets[0].getsockname()[1])
    listening.close()
    await listening.wait_closed()


@pytest.mark.slow
async def test_what_a_lease_has_left_is_read_and_not_changed(machine: Machine) -> None:
    """Over the same ways as while it ran, until it is purged: then nobody is let in."""
    body, here = os.urandom(2_000_003), machine.ssh.folder
    (here / "f").write_bytes(body)
    (here / "secret").write_text("of the host")
    before = (
        f"put f /f\nmkdir /folder\nput f /folder/f\nln -s {here}/secret /folder/out\nln -s /proc/1/root /up\n"
    )
    assert (await machine.ssh.sftp(before, user=machine.user)).code == 0
    await machine.rig.chain.pool(TENANT).close(machine.lease)

    async def over() -> bool:
        container = await machine.rig.container(machine.lease)
        gone = machine.rig.host.leases.folder(machine.lease).load().gone_at is not None
        return gone and container is not None and container.exited

    await machine.rig.until(over)
    status = await machine.client.status(machine.lease)
    assert status.kept is not None
    assert status.kept.read_seconds == 3_600

    read = f"get /f {here}/back\nget -r /folder {here}/folder\nls -l /folder\ndf /\n-get /folder/out {here}/stolen\n"
    found = await machine.ssh.sftp(read, user=machine.user)
    assert (here / "back").read_bytes() == (here / "folder" / "f").read_bytes() == body, found.err
    assert not (here / "stolen").exists()
    for change in ("put f /f", "put f /new", "rm /f", "rename /f /g", "mkdir /new", "rmdir /folder", "chmod 600 /f",
                   "ln -s /f /new", "put f /up/new", "put f /proc/1/root/new"):  # fmt: skip
        refused = await machine.ssh.sftp(f"{change}\n", user=machine.user)
        assert refused.code, change
    scp = ("scp", "-P", str(machine.ssh.port))
    taken = await machine.ssh.run(*scp, f"{machine.user}@127.0.0.1:/f", str(here / "again"))
    assert (taken.code, (here / "again").read_bytes() == body) == (0, True), taken.err
    given = await machine.ssh.run(*scp, str(here / "secret"), f"{machine.user}@127.0.0.1:/f")
    assert given.code
    async with machine.client.exec(machine.lease, ["sh", "-c", "cat /f; echo x > /f"]) as stream:
        assert b"".join([data async for fd, data in stream if fd == 1]) == body
        assert await stream.wait()
    assert b"".join([data async for data in machine.client.logs(machine.lease)]).startswith(b"line 1\n")
    shell = await machine.ssh.ssh("cat /f", user=machine.user)
    assert shell.out == body

    await machine.rig.reconciler._ending.delete(machine.lease)  # its time is over
    assert (await machine.ssh.ssh("true", user=machine.user)).code == 255
    with pytest.raises(UnknownLease, match="goes with what was kept of it"):
        await machine.client.status(machine.lease)
    with pytest.raises(UnknownLease):
        async with machine.client.exec(machine.lease, ["true"]):
            pass


@pytest.mark.slow
async def test_a_port_of_what_is_over_leads_nowhere(machine: Machine) -> None:
    """A reader has no network, and no forwarded connection ends in one."""
    await machine.rig.chain.pool(TENANT).close(machine.lease)
    await machine.rig.until(lambda: machine.rig.host.leases.folder(machine.lease).load().gone_at is not None)
    await machine.rig.reconciler.settle()
    await machine.rig.inside(machine.lease, "true")
    with pytest.raises(NoContainer):
        await machine.rig.runtime.connect(machine.lease, 8000)
