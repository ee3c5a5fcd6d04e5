"""A file for OpenSSH by which every tool that uses it finds a lease: `ssh lease-12`, or by the lease's name.

What lies in it is where each lease is and which key is believed. The key that lets one in is signed for anew each time,
by a command that OpenSSH runs before it connects: the wallet's session must be there by then.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.client._ssh import SshDoor, ssh_door
from leasehold.client._views import leases_of
from leasehold.errors import LeaseholdError
from leasehold.files import replace_file, write_private

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_HEAD: Final = (
    "# Written by `leasehold ssh-config`, which writes it anew: nothing that is changed here stays.\n"
)
_ALIAS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_KEY_BYTES: Final = 32


@dataclass(frozen=True)
class SshHost:
    """A lease as OpenSSH is told of it. aliases: what it is called; the first always works."""

    aliases: tuple[str, ...]
    door: SshDoor


@dataclass(frozen=True)
class SshFiles:
    """Where the parts lie. own: what is written for all leases; users: the user's configuration, which includes it."""

    folder: Path
    users: Path

    @property
    def own(self) -> Path:
        return self.folder / "config"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    def certificate(self, lease: str) -> Path:
        return self.folder / f"{lease}-cert.pub"

    @property
    def line(self) -> str:
        return f'Include "{self.own}"\n'


async def ssh_hosts(client: PoolClient) -> list[SshHost]:
    """The live leases of the client's account whose machines have an SSH server. One whose documents cannot be had is
    left out. A name that two leases have is neither's.
    """
    found = list[tuple[str, str | None, SshDoor]]()
    for rented in await leases_of(client):
        with contextlib.suppress(LeaseholdError):
            door = await ssh_door(client, rented.lease.id)
            found.append((format_lease(rented.lease.id), rented.name, door))
    called = [name for _, name, _ in found]
    return [
        SshHost(
            (f"lease-{shown}", *([name] if name and called.count(name) == 1 and _speaks(name) else [])), door
        )
        for shown, name, door in found
    ]


def _speaks(name: str) -> bool:
    """Whether a name can stand in the file, and means no other host by a pattern."""
    return _ALIAS.fullmatch(name) is not None


def ssh_config(hosts: Iterable[SshHost], files: SshFiles, mint: Callable[[str], Sequence[str]]) -> str:
    """The file's text. mint: the command that has the key let into a lease, as it is shown."""
    return _HEAD + "".join(_block(host, files, mint(host.door.user)) for host in hosts)


def _block(host: SshHost, files: SshFiles, mint: Sequence[str]) -> str:
    door = host.door
    lines = [
        f'Match originalhost "{",".join(host.aliases)}" exec "{_quoted(mint)}"',
        f'  CertificateFile "{files.certificate(door.user)}"',
        f"Host {' '.join(host.aliases)}",
        f"  HostName {door.host}",
        f"  Port {door.port}",
        f"  User {door.user}",
        f'  IdentityFile "{files.key}"',
        f'  UserKnownHostsFile "{door.known_hosts}"',
        "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes",
        "  UpdateHostKeys no",
        "  ForwardAgent no",  # whoever owns the machine could sign with every key in it
        "  ForwardX11 no",
    ]
    if door.proxy:
        lines.append(f"  ProxyCommand {shlex.join(door.proxy).replace('%', '%%')}")
    return "\n" + "\n".join(lines) + "\n"


def _quoted(command: Sequence[str]) -> str:
    """As it stands between double quotes, for OpenSSH and then for a shell."""
    return shlex.join(command).replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')


def include(files: SshFiles, text: str) -> None:
    """Write the file, and have the user's own configuration begin with it. Raises OSError."""
    write_private(files.own, text)
    there = files.users.read_text() if files.users.exists() else ""
    if files.line not in there:
        files.users.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(files.users, (files.line + there).encode())


def exclude(files: SshFiles) -> bool:
    """Undo it; whether there was anything. Raises OSError."""
    there = files.users.read_text() if files.users.exists() else ""
    if files.line in there:
        replace_file(files.users, there.replace(files.line, "", 1).encode())
    was = files.own.exists()
    for path in files.folder.iterdir() if files.folder.is_dir() else ():
        path.unlink()
    return was or files.line in there


async def let_in(client: PoolClient, lease: int, files: SshFiles) -> None:
    """Have this computer's key let into a lease for some minutes. The key stays; connections that begin together have
    the same. Raises AgentError, WalletError, CannotAct.
    """
    import asyncssh

    if files.key.exists():
        key = asyncssh.read_private_key(files.key)
    else:
        key = asyncssh.generate_private_key("ssh-ed25519")
        write_private(files.key, key.export_private_key())
    await client.index()
    async with client.agent_of(lease) as agent:
        given = await agent.ssh_certificate(lease, key.public_data[-_KEY_BYTES:])
    write_private(files.certificate(format_lease(lease)), given.certificate.encode() + b"\n")
