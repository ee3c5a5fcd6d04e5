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
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import asyncssh
import pytest
from structlog.testing import capture_logs

from devnet.kubo import Kubo
from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.serving import certificate
from leasehold.chain import (
    AccountsContract,
    ClosingOrder,
    LeaseClosed,
    LeaseRejected,
    LocalSigner,
    Rpc,
    Sender,
    decode_log,
    parse_lease,
)
from leasehold.cli import entering
from leasehold.cli import rent as renting
from leasehold.client import SshDoor
from leasehold.market import canonical
from leasehold.market.wire import AgentUnreachable
from leasehold_agent._runtime import LeaseHandle, PublishedPort, ServeContext, VolumeFacts
from leasehold_agent.api import ApiServer
from leasehold_agent.ssh import SshServer
from leasehold_agent.store import LeaseSample

from .conftest import Cli, Host, Pool
from .people import add_wallets
from .test_group import Lab

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
        is_authorized=asks(pool),
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
        api = await ApiServer.open(context)
        ssh = SshServer(context, certificates=api.api.certificates)
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


def asks(pool: Pool) -> Callable[[str, bytes, bytes], Awaitable[bool]]:
    """The chain's word on groups' signatures."""

    async def is_authorized(account: str, digest: bytes, proof: bytes) -> bool:
        async with Rpc([pool.anvil.url]) as rpc:
            return await AccountsContract(rpc, pool.deployment.accounts).is_authorized(account, digest, proof)

    return is_authorized


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


@pytest.mark.slow
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
    agent.leases.change(1 << 16, phase="ended", container_state="exited", ended_with=0)
    assert served("logs", "1", wallet=RENTER).out == "one\ntwo\nthree\n"
    assert served("logs", "-f", "--tail", "1", "1", wallet=RENTER).out == "three\n"


BATCH = (
    "rent",
    "--for",
    "1h",
    "--image",
    "sha256:" + "ab" * 32,
    "--batch",
    "--allow-unverified",
    "--approve",
    "--yes",
)


@pytest.mark.slow
def test_a_job_is_ordered_to_close_and_its_end_is_shown_everywhere(
    served: Cli, agent: Agent, pool: Pool
) -> None:
    """The order is the wallet's `close` of that lease; the agent has it, and it lies here."""
    agent.hold("2", pool.anvil.accounts[1].address)
    opened = served(*BATCH, "--no-wait", "--json", wallet=RENTER).json
    assert (opened["lease"], opened["closes_when_done"], opened["agent_knows"]) == ("2", True, True)
    order, workload = agent.leases.orders[2 << 16]
    assert order.account == pool.anvil.accounts[1].address
    assert workload in agent.leases.workloads.kept
    assert ends(pool, order) == 2 << 16
    kept = next((served.home / "closing-orders").rglob(str(2 << 16)))
    assert kept.stat().st_mode & 0o077 == 0
    agent.do(agent.leases.say(2 << 16, b"done\n", end=True))
    agent.leases.change(2 << 16, phase="finished", container_state="exited", ended_with=3, reason="with 3")
    followed = served("logs", "-f", "2", wallet=RENTER, ok=False)
    assert (followed.code, followed.out) == (3, "done\n")
    assert "Its machine's agent closes it now" in followed.err
    shown = served("show", "2", wallet=RENTER).out
    assert "finished: with 3" in shown
    assert "exit code" in shown
    assert "its agent closes the lease" in shown
    agent.leases.change(1 << 16, phase="finished", container_state="exited", ended_with=0)
    (first,) = [each for each in served("leases", "--json", wallet=RENTER).json if each["id"] == "1"]
    assert first["exit_code"] == 0
    assert "active (finished with 0)" in served("leases", wallet=RENTER).out


def ends(pool: Pool, order: ClosingOrder) -> int:
    """The lease that anybody ends by sending it; the chain is as it was afterwards."""

    async def go() -> int:
        async with Rpc([pool.anvil.url]) as rpc:
            anybody = Sender(rpc, LocalSigner(pool.anvil.accounts[7].key), poll=0.01)
            accounts = AccountsContract(rpc, pool.deployment.accounts, anybody)
            receipt = await accounts.execute(
                order.account, order.calls, order.nonce, order.deadline, order.proof
            )
            told = [decode_log(log) for log in receipt.logs]
            return next(event.lease for event in told if isinstance(event, LeaseRejected | LeaseClosed))

    state = pool.anvil.snapshot()
    try:
        return asyncio.run(go())
    finally:
        pool.anvil.revert(state)


@pytest.mark.slow
def test_an_agent_that_lost_the_order_gets_it_again(served: Cli, agent: Agent, pool: Pool) -> None:
    """One that did not take it says why, and the lease is open all the same."""
    agent.hold("2", pool.anvil.accounts[1].address)
    agent.leases.takes_orders = False
    opened = served(*BATCH, "--no-wait", wallet=RENTER)
    assert "does not have the order to close lease 2" in opened.err
    assert not agent.leases.orders
    agent.leases.takes_orders = True
    agent.do(agent.leases.say(2 << 16, b"done\n", end=True))
    agent.leases.change(2 << 16, phase="finished", container_state="exited", ended_with=0)
    served("logs", "-f", "2", wallet=RENTER)
    assert list(agent.leases.orders) == [2 << 16]


@pytest.mark.slow
def test_nobody_pays_on_for_a_job_that_is_done(served: Cli, agent: Agent) -> None:
    keep = (
        "auto-extend",
        "1",
        "--by",
        "1h",
        "--at-most",
        "5h",
        "--before",
        "2h",
        "--once",
        "--yes",
        "--json",
    )
    agent.leases.change(1 << 16, phase="finished", container_state="exited", ended_with=0)
    done = served(*keep, wallet=RENTER)
    assert done.json["extended"] == 0
    assert "has finished with 0: it is kept no longer" in done.err
    agent.leases.change(1 << 16, phase="running", container_state="running", ended_with=None)
    served("wallet", "approve", "10", "--yes", wallet=RENTER)
    assert served(*keep, wallet=RENTER).json["extended"] == 3_600


@pytest.mark.slow
def test_a_service_is_kept_open_unless_it_is_wished(served: Cli, agent: Agent, pool: Pool) -> None:
    agent.hold("2", pool.anvil.accounts[1].address)
    agent.hold("3", pool.anvil.accounts[1].address)
    assert "closes_when_done" not in served(*BATCH, "--keep-open", "--no-wait", "--json", wallet=RENTER).json
    assert not agent.leases.orders
    said = served("close", "2", "--when-done", wallet=RENTER).out
    assert "Lease 2 closes when its job is done" in said
    stranger = served("close", "2", "--when-done", wallet="provider", ok=False)
    assert "Lease 2 is 0x" in stranger.err
    served("close", "2", "--yes", wallet=RENTER)
    service = [each for each in BATCH if each != "--batch"]
    assert served(*service, "--no-wait", "--json", wallet=RENTER).json["lease"] == "3"
    assert list(agent.leases.orders) == [2 << 16]


@pytest.mark.slow
def test_a_group_orders_by_a_proposal_that_nobody_executes(
    served: Cli, agent: Agent, pool: Pool, tmp_path: Path
) -> None:
    """It signs nothing as the lease is opened, and is told so; a delegate signs nothing at all."""
    people = add_wallets(served, pool)
    signers = [part for name in ("ada", "grace", "edsger") for part in ("--signer", people[name])]
    made = served("group", "create", "lab", "--threshold", "2", *signers, "--json").json
    served("wallet", "deposit", "20", "--to", made["address"], "--approve", "--yes", wallet="barbara")
    lab = Lab(served, people, made["address"], tmp_path)
    agent.hold("2", lab.address)
    wish = [each for each in BATCH if each not in ("--approve", "--yes")]
    proposed = served(*wish, "--no-wait", "--as-group", "lab", "--dry-run", wallet="ada")
    assert "does not end the bill" in proposed.err
    refused = served(*wish, "--close-when-done", "--as-group", "lab", wallet="ada", ok=False)
    assert "signs nothing as the lease is opened" in refused.err
    assert lab.run(lab.propose("rent", *wish, "--no-wait"), "ada", "grace")["leases"] == ["2"]
    session = tmp_path / "session.json"
    served("group", "session", "lab", "--proposal", str(session))
    served("group", "execute", str(session), *lab.signed(session, "ada", "grace"))
    order = lab.propose("order", "close", "2", "--when-done")
    signatures = lab.signed(order, "ada", "edsger")
    too_few = served("group", "order", str(order), signatures[0], wallet="ada", ok=False)
    assert "signature" in too_few.err
    other = lab.propose("close", "close", "2")
    no_order = served(
        "group", "order", str(other), *lab.signed(other, "ada", "grace"), wallet="ada", ok=False
    )
    assert "no order to close a lease" in no_order.err
    assert not agent.leases.orders
    said = served("group", "order", str(order), *signatures, wallet="ada")
    assert "Lease 2 closes when its job is done" in said.out, said.err
    assert ends(pool, agent.leases.orders[2 << 16][0]) == 2 << 16
    served("delegate", "set", people["ada"], "--cap", "10", "--yes", wallet="barbara")
    account = ("--for-account", people["barbara"])
    refused = served(*wish, "--close-when-done", *account, wallet="ada", ok=False)
    assert "close the lease when its job is done" in refused.err


@pytest.mark.slow
def test_whoever_follows_leaves_with_the_jobs_exit_code(
    served: Cli, agent: Agent, host: Host, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And closes the lease himself, where its agent does not."""
    monkeypatch.setattr(renting, "CLOSING_PATIENCE", 0.5)
    agent.hold("2", pool.anvil.accounts[1].address)

    def job() -> None:
        agent.do(agent.leases.say(2 << 16, b"working\n"))
        host.start()
        agent.leases.change(2 << 16, phase="finished", container_state="exited", ended_with=5)
        agent.leases.change(2 << 16, outputs=(), result_cid=None)
        agent.do(agent.leases.say(2 << 16, b"done\n", end=True))

    with host.meanwhile(job):
        ran = served(*BATCH, "--follow", wallet=RENTER, ok=False)
    assert ran.code == 5
    assert "working\ndone\n" in ran.out
    assert "Lease 2 has finished: its command ended with 5. The lease is ended." in ran.err
    assert served("show", "2", "--json", wallet=RENTER).json["state"] == "ended"
    for wrong in (("--json",), ("--no-wait",), ("--gang", "2")):
        assert "--follow" in served(*BATCH, "--follow", *wrong, wallet=RENTER, ok=False).err


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_container_is_stopped_and_started_by_its_tenant_who_pays_all_the_same(
    served: Cli, agent: Agent
) -> None:
    shown = served("stop", "1", "--dry-run", wallet=RENTER)
    assert "goes on being billed until it ends" in shown.err
    assert agent.leases.powered == []
    assert served("stop", "1", wallet=RENTER, ok=False).code != 0  # nobody is there to say yes
    assert served("stop", "1", "--yes", wallet=RENTER).out == "Lease 1: its container is stopped.\n"
    assert served("start", "1", "--json", wallet=RENTER).json == {
        "lease": "1",
        "wish": "start",
        "phase": "running",
    }
    served("restart", "1", "--yes", wallet=RENTER)
    assert [wish for _, wish in agent.leases.powered] == ["stop", "start", "restart"]
    assert "is 0x" in served("stop", "1", "--yes", wallet="provider", ok=False).err
    served("close", "1", "--yes", wallet=RENTER)
    over = served("start", "1", wallet=RENTER, ok=False).err
    assert "is ended" in over
    assert "only one that is billed" in over


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_ssh_without_a_key_of_the_workload(
    served: Cli, agent: Agent, capfd: pytest.CaptureFixture[str]
) -> None:
    """The wallet's session lets a throw-away key in, without a password; nothing of it is left behind."""
    agent.leases.change(1 << 16, ssh_keys=())
    served.env |= {"LEASEHOLD_PASSWORD": "", "TMPDIR": str(served.home)}
    capfd.readouterr()
    served("ssh", "1", "--", "echo from inside", wallet=RENTER)
    assert "from inside" in capfd.readouterr().out
    assert served("ssh", "1", "--", "exit 9", wallet=RENTER, ok=False).code == 9
    assert not list(served.home.glob("leasehold-ssh-*"))


@pytest.mark.slow
def test_ssh_to_an_agent_that_is_gone_is_one_sentence(
    served: Cli, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """OpenSSH is not even begun: it would say that a connection was refused."""

    async def nobody(*_: object) -> SshDoor:
        raise AgentUnreachable("Machine 1's agent does not answer:", "see `leasehold show`.")

    monkeypatch.setattr(entering, "mint_key", nobody)
    refused = served("ssh", "1", "--", "true", wallet=RENTER, ok=False)
    assert refused.err.count("\n") == 1
    assert "does not answer" in refused.err
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_ssh_where_no_certificate_is_had_says_why(served: Cli, agent: Agent) -> None:
    """A stranger's wallet; and a lease that is over. Plain keys are tried all the same, and do not do."""
    agent.leases.change(1 << 16, ssh_keys=())
    refused = served("ssh", "1", "--", "true", wallet="provider", ok=False)
    assert refused.code == 255
    assert "No certificate was offered: The lease belongs to another account" in refused.err
    agent.leases.change(1 << 16, phase="stopping")
    refused = served("ssh", "1", "--", "true", wallet=RENTER, ok=False)
    assert "lets no new key in" in refused.err
    assert "use a key of its workload, or run commands" in refused.err


@pytest.mark.slow
def test_ssh_takes_no_password_from_what_is_meant_for_the_command(served: Cli, tmp_path: Path) -> None:
    for session in (served.home / "sessions").iterdir():
        session.unlink()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **served.environment(RENTER)}
    del environment["LEASEHOLD_PASSWORD"]
    command = [str(Path(sys.executable).with_name("leasehold")), "ssh", "1", "--", "cat"]
    done = subprocess.run(
        command,
        input=b"no password\n",
        capture_output=True,
        env=environment,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 255
    assert b"There is nobody to ask for the password" in done.stderr


@pytest.mark.slow
def test_closing_warns_of_results_that_nobody_has(served: Cli) -> None:
    warned = served("close", "1", "--dry-run", wallet=RENTER)
    assert "Nobody has its results yet" in warned.err


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_file_can_be_standard_input(served: Cli, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("from a file\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **served.environment(RENTER)}
    command = [str(Path(sys.executable).with_name("leasehold")), "exec", "1", "--", "cat"]
    with (tmp_path / "input").open() as source:
        done = subprocess.run(
            command, stdin=source, capture_output=True, env=environment, timeout=patient(60), check=True
        )
    assert done.stdout == b"from a file\n"


@pytest.mark.slow
def test_a_log_that_nobody_reads_any_more_ends_without_a_word(
    served: Cli, agent: Agent, tmp_path: Path
) -> None:
    agent.do(agent.leases.say(1 << 16, b"first line\n"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **served.environment(RENTER)}
    command = [str(Path(sys.executable).with_name("leasehold")), "logs", "1"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, env=environment, timeout=patient(60), check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
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


@pytest.mark.slow
def test_volumes_are_listed_exported_imported_and_removed(
    served: Cli, agent: Agent, kubo: Kubo, tmp_path: Path
) -> None:
    assert (
        "no volume" in served("volume", "ls", wallet=RENTER).out + served("volume", "ls", wallet=RENTER).err
    )
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "file").write_text("kept")
    imported = served("volume", "import", "models", str(folder), "--json", wallet=RENTER).json["cid"]
    assert (
        "is no volume's name" in served("volume", "import", "a/b", str(folder), wallet=RENTER, ok=False).err
    )
    assert (
        "is no folder" in served("volume", "import", "x", str(folder / "file"), wallet=RENTER, ok=False).err
    )
    agent.leases.cid = imported
    agent.leases.volumes_of[1 << 16] = [VolumeFacts("models", "/data", 1 << 30, 1 << 20, attached=True)]
    listed = served("volume", "ls", wallet=RENTER).out
    assert "models" in listed
    assert "1 MB" in listed
    exported = served("volume", "export", "1", "models", wallet=RENTER).out.split()
    assert exported[0] == imported
    assert f"models={imported}" in exported
    agent.leases.change(1 << 16, volumes=("models",))
    assert "models: attached" in served("show", "1", wallet=RENTER).out
    closing = served("close", "1", "--dry-run", wallet=RENTER).err
    assert "Its volumes (models) stay on machine 1" in closing
    (told,) = served("volume", "ls", "--json", wallet=RENTER).json
    assert (told["lease"], told["export"]["cid"]) == ("1", imported)
    assert "attached" in served("volume", "export", "1", "other", "--no-keep", wallet=RENTER, ok=False).err
    assert served("volume", "rm", "1", "models", wallet=RENTER, ok=False).code != 0  # nobody says yes
    assert served("volume", "rm", "1", "models", "--yes", wallet=RENTER).out == "Volume models is gone.\n"
    assert "is 0x" in served("volume", "rm", "1", "models", "--yes", wallet="provider", ok=False).err


@pytest.mark.slow
def test_a_colleague_sees_a_lease_and_no_more(served: Cli, agent: Agent, tmp_path: Path) -> None:
    """From a home without a wallet, by a file that was handed over; until the tenant takes it back."""
    ada = Cli(tmp_path / "ada", served.deployment, served.rpc, served.ipfs)
    file = tmp_path / "for-ada.json"
    key = ada("access", "key", "--json").json["key"]
    refused = served("access", "share", "1", "--to", key, "--yes", wallet=RENTER, ok=False)
    assert "pass --read or --logs" in refused.err
    served("access", "share", "1", "--to", key, "--read", "-o", str(file), "--yes", wallet=RENTER)
    assert "see how it is" in served("access", "list").out
    assert "wallet" in ada("logs", "1", ok=False).err
    ada("access", "accept", str(file))
    agent.do(agent.leases.say(1 << 16, b"one\n", end=True))
    assert ada("logs", "1").out == "one\n"
    assert ada("show", "1", "--json").json["agent"]["phase"] == "running"
    assert ada("metrics", "1", "--json").json["readings"] == []
    for command in (
        ("exec", "1", "true"),
        ("stop", "1", "--yes"),
        ("audit", "1"),
        ("access", "revoke", "1", "--yes"),
    ):
        told = ada(*command, ok=False)
        assert len(told.err.strip().splitlines()) == 1, told.err
    audit = served("audit", "1", "--json", wallet=RENTER).json
    assert {act["op"] for act in audit["acts"] if act["session"] == key} == {
        "lease.logs", "lease.status", "lease.metrics",
    }  # fmt: skip
    assert "session-scope" in served("audit", "1", wallet=RENTER).err
    assert f"closed to {key}" in served("access", "revoke", "1", "--yes", wallet=RENTER).out
    assert "withdrawn this session" in ada("logs", "1", ok=False).err
    assert served("access", "list", "--json").json == []
