"""The way into a lease by OpenSSH: only the key that the machine's document names is believed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leasehold import ssh_door
from leasehold.client._tenant_errors import NoSsh
from leasehold.home import Home
from leasehold.market import Ssh
from leasehold.market.stdio import proxy_command

OPERATOR = "0x00000000000000000000000000000000000000AA"
PEER = "12D3KooWJAApDbhJqBgkja6vrQg51kci1WmYsjamCRhvWLFUBizJ"
ENDPOINT = f"/p2p/{PEER}/x/leasehold/agent/1/{OPERATOR.lower()}"


class Reaching:
    """As much of a client as the door asks for."""

    ipfs_address = "/ip4/127.0.0.1/tcp/5001"

    def __init__(self, home: Path, ssh: Ssh | None, *endpoints: str) -> None:
        self.home, self._ssh, self._endpoints = Home(home), ssh, endpoints

    async def index(self) -> None: ...

    async def reach(self, lease: int) -> tuple[Any, Any]:
        contact = SimpleNamespace(
            ssh=self._ssh,
            endpoints=self._endpoints,
            peer_id=PEER,
            ipfs=("/ip4/192.0.2.7/tcp/4001", "/ip4/192.0.2.8/tcp/80/p2p/12D3KooWother"),
        )
        return SimpleNamespace(machine=SimpleNamespace(id=7, operator=OPERATOR)), contact


async def test_one_key_is_pinned_and_another_replaces_it(tmp_path: Path) -> None:
    ssh = Ssh(host="host.example", port=2222, host_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHg=")
    client: Any = Reaching(tmp_path, ssh)
    door = await ssh_door(client, 12 << 16, forward=("8080:localhost:80",))
    assert door.known_hosts.read_text() == f"[host.example]:2222 {ssh.host_key}\n"
    assert door.known_hosts.stat().st_mode & 0o777 == 0o600
    command = door.command(("ls",))
    assert command[-4:] == ("8080:localhost:80", "12@host.example", "--", "ls")
    assert {"StrictHostKeyChecking=yes", "ForwardAgent=no", "GlobalKnownHostsFile=/dev/null"} <= set(command)
    assert "-i" not in command
    assert door.copying()[:3] == ("scp", "-P", "2222")
    client._ssh = ssh.model_copy(update={"port": 22})
    assert (await ssh_door(client, 12 << 16)).known_hosts.read_text() == f"host.example {ssh.host_key}\n"


async def test_a_machine_without_a_server(tmp_path: Path) -> None:
    client: Any = Reaching(tmp_path, None)
    with pytest.raises(NoSsh, match="through its agent"):
        await ssh_door(client, 1 << 16)
    assert not Home(tmp_path).known_hosts.exists()


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHg="


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
async def test_where_no_address_answers_the_way_is_through_its_node(tmp_path: Path, host: str | None) -> None:
    client: Any = Reaching(tmp_path, Ssh(host=host, port=1, host_key=KEY), ENDPOINT)
    door = await ssh_door(client, 12 << 16)
    assert door.known_hosts.read_text() == f"machine-7 {KEY}\n"
    assert door.command()[-1] == "12@machine-7"
    (proxy,) = (option for option in door.command() if option.startswith("ProxyCommand="))
    ssh_endpoint = ENDPOINT.replace("agent", "ssh")
    assert proxy.endswith(
        f" -P -m leasehold.market.stdio {client.ipfs_address} {ssh_endpoint} /ip4/192.0.2.7/tcp/4001/p2p/{PEER}"
    )
    assert "StrictHostKeyChecking=yes" in door.command()
    assert f"ProxyCommand={proxy.partition('=')[2]}" in door.copying()


@pytest.mark.parametrize("planted", ["leasehold/__init__.py", "socket.py", "sitecustomize.py"])
async def test_nothing_is_run_of_the_folder_in_which_one_is(tmp_path: Path, planted: str) -> None:
    """Results that a host has sent may lie there, with whatever names it likes: OpenSSH runs the proxy in it."""
    file = tmp_path / "results" / planted
    file.parent.mkdir(parents=True)
    file.write_text("import os; os.write(1, b'run by the host')")
    command = proxy_command("/ip4/127.0.0.1/tcp/1", "no address of a stream")
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=tmp_path / "results",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, problem = await process.communicate()
    assert said == b""
    assert b"names no stream" in problem
    assert process.returncode == 1


async def test_where_an_address_answers_nobody_is_between(tmp_path: Path) -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client: Any = Reaching(tmp_path, Ssh(host="127.0.0.1", port=port, host_key=KEY), ENDPOINT)
        assert "@127.0.0.1" in (await ssh_door(client, 12 << 16)).command()[-1]


@pytest.mark.parametrize(
    "endpoint",
    [
        ENDPOINT.replace("agent/1", "agent/2"),
        ENDPOINT[:-1] + "b",  # another operator's agent
        f"/ip4/192.0.2.9/tcp/22{ENDPOINT}",
        "https://host.example",
    ],
)
async def test_no_other_address_is_gone_to(tmp_path: Path, endpoint: str) -> None:
    client: Any = Reaching(tmp_path, Ssh(host_key=KEY), endpoint)
    with pytest.raises(NoSsh):
        await ssh_door(client, 12 << 16)
