"""A port of a lease's container on this computer, carried by OpenSSH."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from leasehold.client._ssh import mint_key, ssh_door
from leasehold.errors import AgentError
from leasehold.market import InvalidInput

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

READY_SECONDS: Final = 30.0
"""In which OpenSSH has to listen, or to give up."""
_LOOK_EVERY: Final = 0.1


@dataclass(frozen=True)
class ForwardedPort:
    """A port here that leads to one in a container, as long as `process`, which is OpenSSH, runs."""

    port: int
    process: asyncio.subprocess.Process

    @property
    def address(self) -> str:
        """Where a browser finds what listens there."""
        return f"http://localhost:{self.port}"

    async def listens(self) -> bool:
        """Whether OpenSSH has begun to listen, once it has, or has ended instead. Raises TimeoutError."""
        async with asyncio.timeout(READY_SECONDS):
            while self.process.returncode is None:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return True
                await asyncio.sleep(_LOOK_EVERY)
        return False


@asynccontextmanager
async def forwarded_port(
    client: PoolClient, lease: int, inside: int, here: int | None = None
) -> AsyncIterator[ForwardedPort]:
    """Bring a port of the lease's container here, for as long as the context is open: OpenSSH is ended with it. here:
    by default the same port, or where that is taken a free one.

    Raises:
        As `ssh_door` and `mint_key`. AgentError: OpenSSH is not here. InvalidInput: no port is free.
    """
    port = here or _free(inside)
    with TemporaryDirectory(prefix="leasehold-port-") as folder:
        door = await ssh_door(client, lease, forward=(f"127.0.0.1:{port}:localhost:{inside}",))
        program, *rest = (await mint_key(client, door, lease, Path(folder))).command()
        try:
            process = await asyncio.create_subprocess_exec(
                program, "-N", "-o", "ExitOnForwardFailure=yes", *rest
            )
        except FileNotFoundError:
            raise AgentError("There is no `ssh` here: install OpenSSH's client.") from None
        try:
            yield ForwardedPort(port, process)
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


def _free(wanted: int) -> int:
    """That port of the loopback, or where it is taken another."""
    for candidate in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", candidate))
            return int(probe.getsockname()[1])
    raise InvalidInput("No port of this computer is free.")
