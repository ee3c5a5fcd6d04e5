"""Into a lease by OpenSSH, with its machine's host key pinned."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.client._tenant_errors import NoSsh
from leasehold.datasets import stream_address
from leasehold.files import write_private
from leasehold.market import near, peer_of
from leasehold.market.stdio import proxy_command
from leasehold.market.wire import ssh_stream

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

DIRECT_SECONDS: Final = 3.0
_KEY_BYTES: Final = 32


@dataclass(frozen=True)
class SshDoor:
    """How OpenSSH gets to a lease. user: the lease as it is shown. known_hosts: a file with the machine's key alone.

    identity: the private key, if not OpenSSH's own choice. forward: as its -L. proxy: what carries it there, where the
    host is no address. minted: a throw-away key beside its certificate, which is offered besides.
    """

    user: str
    host: str
    port: int
    known_hosts: Path
    identity: Path | None = None
    forward: tuple[str, ...] = ()
    proxy: tuple[str, ...] = ()
    minted: Path | None = None

    def copying(self) -> tuple[str, ...]:
        """What copies files, up to the names of these."""
        return ("scp", "-P", *self._options()[1:])

    def command(self, arguments: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line that runs `arguments` there, or without them a shell."""
        options = self._options()
        for forwarded in self.forward:
            options += ["-L", forwarded]
        return ("ssh", *options, f"{self.user}@{self.host}", *(("--", *arguments) if arguments else ()))

    def _options(self) -> list[str]:
        """Nothing but the pinned key is believed, whatever the user's own configuration says."""
        options = [
            "-p", str(self.port),
            "-o", f'UserKnownHostsFile="{self.known_hosts}"',
            "-o", "GlobalKnownHostsFile=/dev/null",
            "-o", "StrictHostKeyChecking=yes",
            "-o", "UpdateHostKeys=no",
            "-o", "ForwardAgent=no",  # whoever owns the machine could sign with every key in it
            "-o", "ForwardX11=no",
        ]  # fmt: skip
        if self.proxy:
            options += ["-o", f"ProxyCommand={shlex.join(self.proxy).replace('%', '%%')}"]
        if self.minted is not None:
            options += ["-i", str(self.minted), "-o", f'CertificateFile="{self.minted}-cert.pub"']
        if self.identity is not None:
            options += ["-i", str(self.identity), "-o", "IdentitiesOnly=yes"]
        return options


async def ssh_door(
    client: PoolClient, lease: int, *, identity: Path | None = None, forward: Sequence[str] = ()
) -> SshDoor:
    """The way into a lease, by the key that its machine's contact document names. Needs no wallet.

    At the machine's address if it answers there, else through its IPFS node and one's own.

    Raises:
        UnknownLease. MarketError: the document cannot be had. NoSsh: it names no SSH server.
    """
    await client.index()
    record, contact = await client.reach(lease)
    if contact.ssh is None:
        raise NoSsh(record.machine.id, lease)
    machine, server = record.machine, contact.ssh
    peer = peer_of(contact, machine.operator)
    proxy: tuple[str, ...] = ()
    host, port = server.host, server.port
    if peer is not None and (host is None or not await _answers(host, port)):
        address = stream_address(peer, ssh_stream(machine.operator))
        proxy = proxy_command(client.ipfs_address, address, near(contact, peer))
        host, port = f"machine-{machine.id}", 22
    if host is None:
        raise NoSsh(machine.id, lease)
    known_hosts = client.home.known_hosts / str(machine.id)
    name = host if port == 22 else f"[{host}]:{port}"
    write_private(known_hosts, f"{name} {server.host_key}\n")
    return SshDoor(format_lease(lease), host, port, known_hosts, identity, tuple(forward), proxy)


async def _answers(host: str, port: int) -> bool:
    """Whether anything does, before the other way is taken."""
    try:
        async with asyncio.timeout(DIRECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:  # and TimeoutError
        return False
    writer.close()
    return True


async def mint_key(client: PoolClient, door: SshDoor, lease: int, folder: Path) -> SshDoor:
    """The same way in, with a key that the agent lets in for some minutes because the wallet, or a session of it, says
    so. The key lies in `folder` and can be deleted as soon as one is in.

    Raises:
        AgentError: it cannot be reached, or lets nobody in. WalletError: nobody signs. CannotAct.
    """
    import asyncssh

    key = asyncssh.generate_private_key("ssh-ed25519")
    async with client.agent_of(lease) as agent:
        given = await agent.ssh_certificate(lease, key.public_data[-_KEY_BYTES:])
    path = folder / "key"
    write_private(path, key.export_private_key())
    write_private(path.with_name("key-cert.pub"), given.certificate.encode() + b"\n")
    return replace(door, minted=path)
