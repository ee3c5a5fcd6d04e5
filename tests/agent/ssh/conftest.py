"""The SSH server on loopback, leases made of local processes, and the OpenSSH client."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.serving import MACHINE, Chain, Clock, serve_context
from leasehold.chain import LocalSigner
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.ssh import SshServer

LEASE = 12 << 16
OTHER = (12 << 16) + 1
TENANT = "0x00000000000000000000000000000000000000AA"


@dataclass
class Result:
    code: int
    out: bytes
    err: bytes


@dataclass
class Ssh:
    """The OpenSSH client with one key, talking to one server."""

    folder: Path
    port: int
    server: SshServer
    leases: LocalLeases
    key: str = "mine"

    @property
    def home(self) -> Path:
        """Where the lease's commands start."""
        return self.leases.root / str(LEASE)

    def options(self) -> list[str]:
        return [
            "-F", "none",
            "-o", f"IdentityFile={self.folder / self.key}",
            "-o", "IdentitiesOnly=yes",
            "-o", "IdentityAgent=none",
            "-o", f"UserKnownHostsFile={self.folder / 'known_hosts'}",
            "-o", "GlobalKnownHostsFile=/dev/null",
            "-o", "StrictHostKeyChecking=yes",
            "-o", "BatchMode=yes",
            "-o", "LogLevel=ERROR",
        ]  # fmt: skip

    async def start(self, program: str, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            program,
            *self.options(),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
            start_new_session=True,
        )

    async def run(self, program: str, *arguments: str, stdin: bytes = b"") -> Result:
        process = await self.start(program, *arguments)
        try:
            async with asyncio.timeout(patient(60)):
                out, err = await process.communicate(stdin)
        except BaseException:
            process.kill()
            await process.wait()
            raise
        assert process.returncode is not None
        return Result(process.returncode, out, err)

    async def ssh(self, *arguments: str, user: str = "12", stdin: bytes = b"") -> Result:
        return await self.run("ssh", "-p", str(self.port), f"{user}@127.0.0.1", *arguments, stdin=stdin)

    async def sftp(self, script: str, user: str = "12") -> Result:
        return await self.run(
            "sftp", "-P", str(self.port), "-b", "-", f"{user}@127.0.0.1", stdin=script.encode()
        )


async def keygen(path: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)
    )
    assert await process.wait() == 0
    return path.with_suffix(".pub").read_text().strip()


@pytest.fixture(scope="session")
def openssh() -> None:
    if shutil.which("ssh") is None or shutil.which("sftp") is None:
        pytest.fail("the OpenSSH client is needed: install openssh-client")


@pytest.fixture
async def ssh(tmp_path: Path, openssh: None) -> AsyncIterator[Ssh]:
    root = tmp_path / "leases"
    root.mkdir()
    leases = LocalLeases(root)
    agent = tmp_path / "agent"
    agent.mkdir(mode=0o700)
    context = serve_context(agent, leases, LocalSigner(b"\3" * 32), Clock(), Chain(set()))
    mine, theirs = await keygen(tmp_path / "mine"), await keygen(tmp_path / "theirs")
    running = {"phase": "running", "container_id": "c", "machine": MACHINE, "tenant": TENANT}
    leases.add(LeaseHandle(LEASE, ssh_keys=("not a key", mine), **running))  # type: ignore[arg-type]
    leases.add(LeaseHandle(OTHER, ssh_keys=(theirs,), **running))  # type: ignore[arg-type]
    server = SshServer(context)
    port = await server.start("127.0.0.1", 0)
    host_key = (await public(context.ssh_host_key)).strip()
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
    yield Ssh(tmp_path, port, server, leases)
    await server.close()
    await leases.close()


async def public(key: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-y", "-f", str(key), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode()


def hang_up(process: asyncio.subprocess.Process) -> None:
    """The client's host goes away: no goodbye."""
    process.send_signal(signal.SIGKILL)


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
