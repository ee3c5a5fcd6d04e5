"""The real `ssh` against a real server: how a fleet's hosts are reached, and what of the caller's they do not get."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh
import pytest

from devnet.patience import patient
from leasehold.provider import AskedTerms, Fleet, FleetHost, OpenSsh, ask_hosts


@dataclass
class Server:
    """Hosts behind one door, told apart by the account that is asked for."""

    folder: Path
    port: int = 0
    agents: int = 0
    seen: list[tuple[str, str | None, dict[str, str]]] = field(default_factory=list)

    async def serve(self, process: asyncssh.SSHServerProcess[str]) -> None:
        user = process.get_extra_info("username")
        self.seen.append((user, process.command, dict(process.env)))
        self.agents += process.channel.get_agent_path() is not None
        process.stdout.write(f"{user} was asked: {process.command}\n")
        process.exit(0)

    def fleet(self, *users: str, known: bool = True) -> Fleet:
        config = self.folder / "ssh_config"
        config.write_text(
            f"Host *\n HostName 127.0.0.1\n Port {self.port}\n IdentityFile {self.folder}/mine\n"
            f" UserKnownHostsFile {self.folder / 'known' if known else os.devnull}\n"
            " GlobalKnownHostsFile /dev/null\n SendEnv LEASEHOLD_* LC_*\n ForwardAgent yes\n"
        )
        hosts = tuple(
            FleetHost(user, f"{user}@here", (), sudo=user == "sudo", asked=AskedTerms()) for user in users
        )
        return Fleet(hosts, seconds=int(patient(30)), ssh_config=config)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with the caller's key and the hosts'."""
    for name in ("mine", "theirs"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return tmp_path


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The caller's ssh agent."""
    with tempfile.TemporaryDirectory() as folder:  # a socket's path is short
        socket = Path(folder, "agent")
        command = ["ssh-agent", "-D", "-a", str(socket)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            process.stdout.readline()
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            yield
            process.terminate()


@pytest.fixture
async def server(keys: Path) -> AsyncIterator[Server]:
    made, tmp_path = Server(keys), keys
    async with asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[str(tmp_path / "theirs")],
        authorized_client_keys=str(tmp_path / "mine.pub"),
        process_factory=made.serve,
    ) as listening:
        made.port = listening.get_port()
        theirs = " ".join((tmp_path / "theirs.pub").read_text().split()[:2])
        (tmp_path / "known").write_text(f"[127.0.0.1]:{made.port} {theirs}\n")
        yield made


@pytest.mark.usefixtures("agent")
async def test_hosts_are_reached_as_ssh_is_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEHOLD_PASSWORD", "correct horse")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    fleet = server.fleet("one", "sudo", "three")
    answers = {
        answer.host.name: answer
        async for answer in ask_hosts(fleet, OpenSsh.of(fleet), ("leasehold-agent", "status", "--json"))
    }
    assert {name: answer.said.decode() for name, answer in answers.items()} == {
        "one": "one was asked: leasehold-agent status --json\n",
        "sudo": "sudo was asked: sudo --non-interactive leasehold-agent status --json\n",
        "three": "three was asked: leasehold-agent status --json\n",
    }
    assert all(answer.well for answer in answers.values())
    for _, _, environment in server.seen:
        assert environment.get("LC_ALL") == "C.UTF-8"
        assert "LEASEHOLD_PASSWORD" not in environment
    assert server.agents == 0, "who owns a host must not sign in elsewhere as its caller"


async def test_a_host_whose_key_is_unknown_is_refused(server: Server) -> None:
    fleet = server.fleet("one", known=False)
    (answer,) = [answer async for answer in ask_hosts(fleet, OpenSsh.of(fleet), ("true",))]
    assert (answer.well, answer.why) == (False, "Host key verification failed.")
    assert server.seen == []
