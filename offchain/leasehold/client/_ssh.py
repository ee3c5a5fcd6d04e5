"""Into a lease by OpenSSH, with its machine's host key pinned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import format_lease
from leasehold.client._tenant_errors import NoSsh
from leasehold.files import write_private
from leasehold.market import Ssh

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class SshDoor:
    """How OpenSSH gets to a lease. user: the lease as it is shown. known_hosts: a file with the machine's key alone.

    identity: the private key, if not OpenSSH's own choice. forward: as its -L.
    """

    user: str
    ssh: Ssh
    known_hosts: Path
    identity: Path | None = None
    forward: tuple[str, ...] = ()

    def copying(self) -> tuple[str, ...]:
        """What copies files, up to the names of these."""
        return ("scp", "-P", *self._options()[1:])

    def command(self, arguments: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line that runs `arguments` there, or without them a shell."""
        options = self._options()
        for forwarded in self.forward:
            options += ["-L", forwarded]
        return ("ssh", *options, f"{self.user}@{self.ssh.host}", *(("--", *arguments) if arguments else ()))

    def _options(self) -> list[str]:
        """Nothing but the pinned key is believed, whatever the user's own configuration says."""
        options = [
            "-p", str(self.ssh.port),
            "-o", f'UserKnownHostsFile="{self.known_hosts}"',
            "-o", "GlobalKnownHostsFile=/dev/null",
            "-o", "StrictHostKeyChecking=yes",
            "-o", "UpdateHostKeys=no",
            "-o", "ForwardAgent=no",  # whoever owns the machine could sign with every key in it
            "-o", "ForwardX11=no",
        ]  # fmt: skip
        if self.identity is not None:
            options += ["-i", str(self.identity), "-o", "IdentitiesOnly=yes"]
        return options


async def ssh_door(
    client: PoolClient, lease: int, *, identity: Path | None = None, forward: Sequence[str] = ()
) -> SshDoor:
    """The way into a lease, by the key that its machine's contact document names. Needs no wallet.

    Raises:
        UnknownLease. MarketError: the document cannot be had. NoSsh: it names no SSH server.
    """
    await client.index()
    record, contact = await client.reach(lease)
    if contact.ssh is None:
        raise NoSsh(record.machine.id, lease)
    host = contact.ssh
    known_hosts = client.home.known_hosts / str(record.machine.id)
    name = host.host if host.port == 22 else f"[{host.host}]:{host.port}"
    write_private(known_hosts, f"{name} {host.host_key}\n")
    return SshDoor(format_lease(lease), host, known_hosts, identity, tuple(forward))
