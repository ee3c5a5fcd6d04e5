"""The way into a lease by OpenSSH: only the key that the machine's document names is believed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leasehold import ssh_door
from leasehold.client._tenant_errors import NoSsh
from leasehold.home import Home
from leasehold.market import Ssh


class Reaching:
    """As much of a client as the door asks for."""

    def __init__(self, home: Path, ssh: Ssh | None) -> None:
        self.home, self._ssh = Home(home), ssh

    async def index(self) -> None: ...

    async def reach(self, lease: int) -> tuple[Any, Any]:
        return SimpleNamespace(machine=SimpleNamespace(id=7)), SimpleNamespace(ssh=self._ssh)


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
