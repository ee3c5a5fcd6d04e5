"""The agent's real servers, over leases made of local processes: upload, status, logs, exec and ssh from
outside.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import asyncssh
import pytest
from structlog.testing import capture_logs

from devnet.kubo import Kubo
from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.serving import Chain, certificate
from leasehold.chain import LocalSigner, parse_lease
from leasehold.market import canonical
from leasehold_agent._runtime import LeaseHandle, PublishedPort, ServeContext
from leasehold_agent.api import ApiServer
from leasehold_agent.ssh import SshServer
from leasehold_agent.store import LeaseSample

from .conftest import Cli, Host, Pool

RENTER = "renter"
T = TypeVar("T")


@dataclass
class Agent:
    """API and SSH server of machine 1 in a thread of their own, as the command line is synchronous."""

    loop: asyncio.AbstractEventLoop
    leases: LocalLeases
    context: ServeContext

    def do(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=patient(30))

    def hold(self, lease: str, tenant: str, keys: tuple[str, ...] = ()) -> None:
        """The lease runs here."""
        handle = LeaseHandle(
            parse_lease(lease), tenant, 1, "running", container_id="c", container_state="running", ssh_keys=keys,
            ports=(PublishedPort(8080, 18080),), outputs=("/out",),
        )  # fmt: skip
        self.do(self._add(handle))

    async def _add(self, handle: LeaseHandle) -> None:
        self.leases.add(handle)


@pytest.fixture
def agent(pool: Pool, host: Host, tmp_path: Path) -> Iterator[Agent]:
    """Started before the machine joins: machine.json names where it listens."""
    folder, root = tmp_path / "agent", tmp_path / "leases"
    folder.mkdir(mode=0o700)
    root.mkdir()
    pem, key = certificate(folder)
    ssh_key = asyncssh.generate_private_key("ssh-ed25519")
    (folder / "ssh_host_key").write_bytes(ssh_key.export_private_key())
    (folder / "ssh_host_key").chmod(0o600)
    described = json.loads(host.path.read_text())
    leases = LocalLeases(root)
    context = ServeContext(
        runtime=leases,
        chain_id=pool.deployment.chain_id,
        controller=pool.deployment.controller,
        machines=lambda: [1],
        contact=lambda: canonical(described["contact"]),
        operator=LocalSigner(pool.anvil.accounts[3].key),
        is_authorized=Chain(set()).is_authorized,
        state_dir=folder,
        tls_certificate=pem,
        tls_key=key,
        ssh_host_key=folder / "ssh_host_key",
        now=lambda: int(time.time()),
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = Agent(loop, leases, context)

    async def start() -> tuple[ApiServer, SshServer, int, int]:
        api, ssh = await ApiServer.open(context), SshServer(context)
        return api, ssh, await api.start("127.0.0.1", 0), await ssh.start("127.0.0.1", 0)

    async def stop() -> None:
        await api.close()
        await ssh.close()
        await leases.close()

    api, ssh, api_port, ssh_port = running.do(start())
    public = ssh_key.export_public_key().decode().strip()
    described["contact"] |= {
        "endpoints": [f"https://127.0.0.1:{api_port}"],
        "certificate": pem.read_text(),
        "ssh": {"host": "127.0.0.1", "port": ssh_port, "host_key": public},
    }
    host.path.write_text(json.dumps(described))
    with capture_logs():  # the agent's own, which would mix with what the command line says
        yield running
    running.do(stop())
    loop.call_soon_threadsafe(loop.stop)
    thread.join(patient(10))
    loop.close()


@pytest.fixture
def served(agent: Agent, cli: Cli, host: Host, kubo: Kubo, pool: Pool, tmp_path: Path) -> Cli:
    """A renter with lease 1 running on that machine, and an SSH key of their own."""
    cli.ipfs = kubo.api
    cli("provider", "join", str(host.path), "--price", "2.5", "--approve", "--yes", wallet="provider")
    key = asyncssh.generate_private_key("ssh-ed25519")
    private = tmp_path / "id"
    private.write_bytes(key.export_private_key())
    private.chmod(0o600)
    public = key.export_public_key().decode().strip()
    image = "sha256:" + "ab" * 32
    wish = (
        "--for",
        "1h",
        "--image",
        image,
        "--allow-unverified",
        "--approve",
        "--no-wait",
        "--yes",
        "--json",
    )
    opened = cli("rent", *wish, wallet=RENTER).json
    assert opened["delivered_by"] == "agent"
    host.start()
    agent.hold(opened["lease"], pool.anvil.accounts[1].address, (public,))
    return cli


def test_the_agent_is_asked_with_one_session_and_no_second_password(served: Cli, agent: Agent) -> None:
    assert len(agent.leases.workloads.kept) == 1
    served.env["LEASEHOLD_PASSWORD"] = ""
    shown = served("show", "1", "--json", wallet=RENTER).json
    assert shown["agent"]["phase"] == "running"
    assert "8080/tcp at host port 18080" in served("show", "1", wallet=RENTER).out
    sessions = list((served.home / "sessions").iterdir())
    assert len(sessions) == 1
    assert sessions[0].stat().st_mode & 0o077 == 0


def test_logs_are_printed_as_they_were_written(served: Cli, agent: Agent) -> None:
    agent.do(agent.leases.say(1 << 16, b"one\ntwo\nthree\n", end=True))
    assert served("logs", "1", wallet=RENTER).out == "one\ntwo\nthree\n"
    assert served("logs", "-f", "--tail", "1", "1", wallet=RENTER).out == "three\n"


def test_what_a_lease_uses_is_shown(served: Cli, agent: Agent, pool: Pool) -> None:
    assert (
        served("metrics", "1", wallet=RENTER).out
        == "Its machine's agent has read nothing of this lease yet.\n"
    )
    renter = pool.anvil.accounts[1].address
    agent.leases.samples[1 << 16] = [
        (renter, LeaseSample(60, cpu_seconds=10.0, memory=1 << 30)),
        (renter, LeaseSample(120, cpu_seconds=100.0, memory=2 << 30, processes=12, card_busy=97.4)),
        (renter, LeaseSample(180, cpu_seconds=1.0)),  # its container was started again
    ]
    lines = served("metrics", "1", wallet=RENTER).out.splitlines()
    assert lines[0].split()[:3] == ["UTC", "cores", "memory"]
    assert lines[2].split()[:6] == ["1970-01-01", "00:02:00", "1.50", "2.1", "GB", "12"]
    assert "97%" in lines[2]
    assert lines[3].split() == ["1970-01-01", "00:03:00", "/", "/"]
    answer = json.loads(served("metrics", "1", "--json", wallet=RENTER).out)
    assert [reading["at"] for reading in answer["readings"]] == [60, 120, 180]


def test_commands_run_with_their_input_output_and_exit_code(served: Cli) -> None:
    ran = served("exec", "1", "--env", "WHO=me", "--", "sh", "-c", "cat; echo $WHO; echo bad >&2", wallet=RENTER,
                 typed="piped\n")  # fmt: skip
    assert ran.out == "piped\nme\n"
    assert "bad" in ran.err
    assert served("exec", "1", "--", "sh", "-c", "exit 7", wallet=RENTER, ok=False).code == 7
    assert served("exec", "1", "--env", "WHO", "--", "true", wallet=RENTER, ok=False).code == 2
    with_terminal = served("exec", "1", "--tty", "--", "sh", "-c", "test -t 1 && echo seated", wallet=RENTER)
    assert "seated" in with_terminal.out


def test_a_stranger_is_told_nothing(served: Cli) -> None:
    refused = served("logs", "1", wallet="provider", ok=False)
    assert refused.code == 8
    assert len(refused.err.strip().splitlines()) == 1
    assert served("show", "1", "--json", wallet="provider").json["agent"] is None


def test_ssh_pins_the_key_of_the_contact_document(
    served: Cli, agent: Agent, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    key = ("-i", str(tmp_path / "id"))
    printed = served("ssh", "1", "--print", *key, "-L", "8080:localhost:80", "--", "ls", wallet=RENTER)
    assert printed.out.startswith("ssh -p ")
    assert "StrictHostKeyChecking=yes" in printed.out
    assert "ForwardAgent=no" in printed.out
    assert "-L 8080:localhost:80" in printed.out
    assert printed.out.rstrip().endswith("1@127.0.0.1 -- ls")
    capfd.readouterr()
    served("ssh", "1", *key, "--", "echo from inside", wallet=RENTER)
    assert "from inside" in capfd.readouterr().out
    assert served("ssh", "1", *key, "--", "exit 9", wallet=RENTER, ok=False).code == 9
    document = served("ssh", "1", "--json", wallet=RENTER).json
    assert Path(document["known_hosts"]).read_text().startswith("[127.0.0.1]:")


def test_closing_warns_of_results_that_nobody_has(served: Cli) -> None:
    warned = served("close", "1", "--dry-run", wallet=RENTER)
    assert "Nobody has its results yet" in warned.err


def test_waiting_shows_what_the_agent_is_doing(served: Cli, agent: Agent, host: Host, pool: Pool) -> None:
    tenant = pool.anvil.accounts[1].address

    def start() -> None:
        agent.hold("2", tenant)
        agent.do(_phase(agent, 2 << 16))
        looked = agent.leases.lookups
        deadline = time.monotonic() + patient(20)
        while agent.leases.lookups == looked and time.monotonic() < deadline:
            agent.do(asyncio.sleep(0.02))
        host.start()

    image = "sha256:" + "ab" * 32
    with host.meanwhile(start):
        ran = served(
            "rent", "--for", "1h", "--image", image, "--allow-unverified", "--approve", "--yes", wallet=RENTER
        )
    assert "Lease 2 is fetching: 3 of 9 GB" in ran.err
    assert "Lease 2 has started" in ran.out


async def _phase(agent: Agent, lease: int) -> None:
    agent.leases.handles[lease] = replace(
        agent.leases.handles[lease], phase="fetching", progress="3 of 9 GB", container_id=None
    )


def test_at_a_terminal_keys_go_through_and_the_window_is_known(served: Cli, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    before = termios.tcgetattr(theirs)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm",
        **served.environment(RENTER),
    }
    script = "stty size; echo ready; read line; echo got $line; exit 5"
    command = [str(Path(sys.executable).with_name("leasehold")), "exec", "1", "--", "sh", "-c", script]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    seen = bytearray()
    try:
        read_until(ours, seen, b"ready")
        assert b"33 77" in seen
        os.write(ours, b"hello\r")
        read_until(ours, seen, b"got hello\r\n")
        assert process.wait(patient(30)) == 5
        assert termios.tcgetattr(theirs) == before  # the terminal is as it was
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def read_until(descriptor: int, seen: bytearray, wanted: bytes) -> None:
    deadline = time.monotonic() + patient(60)
    while wanted not in seen:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"{wanted!r} never came: {bytes(seen)!r}"
        seen += os.read(descriptor, 4_096)


def test_a_file_can_be_standard_input(served: Cli, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("from a file\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **served.environment(RENTER)}
    command = [str(Path(sys.executable).with_name("leasehold")), "exec", "1", "--", "cat"]
    with (tmp_path / "input").open() as source:
        done = subprocess.run(
            command, stdin=source, capture_output=True, env=environment, timeout=patient(60), check=True
        )
    assert done.stdout == b"from a file\n"


def test_following_logs_ends_with_ctrl_c(served: Cli, agent: Agent, tmp_path: Path) -> None:
    agent.do(agent.leases.say(1 << 16, b"first line\n"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **served.environment(RENTER)}
    command = [str(Path(sys.executable).with_name("leasehold")), "logs", "-f", "1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first line\n"
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=patient(30))
        finally:
            process.kill()
        assert process.returncode == 130
        assert b"Traceback" not in said
