"""Standard input and output, carried to what a peer of one's own IPFS node has mounted: OpenSSH's `ProxyCommand`.

    python -P -m leasehold.market.stdio /ip4/127.0.0.1/tcp/5001 /p2p/PEER/x/leasehold/ssh/1/OPERATOR [ADDRESS…]

ADDRESS: where the node may look for the peer. What is spoken is between the two ends, who check one another's keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Final

from leasehold.datasets import Ipfs, Streams, parse_stream_address
from leasehold.errors import DatasetError, LeaseholdError

CONNECT: Final = "15s"
_PIECE: Final = 64 * 1024


def proxy_command(api: str, address: str, near: Sequence[str] = ()) -> tuple[str, ...]:
    """The command line of this, by the interpreter that runs now. It runs wherever its user is, such as among what a
    host has sent him: nothing is imported from there (`-P`).
    """
    return (sys.executable, "-P", "-m", "leasehold.market.stdio", api, address, *near)


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 once either side has closed."""
    try:
        api, address, *near = arguments
        connection = asyncio.run(_connected(api, address, near))
    except ValueError:
        print("An IPFS node's address and a peer's are needed.", file=sys.stderr)
        return 2
    except (LeaseholdError, OSError) as error:
        print(f"leasehold: {error}", file=sys.stderr)
        return 1
    with connection:
        _carry(connection)
    return 0


async def _connected(api: str, address: str, near: Sequence[str]) -> socket.socket:
    """Raises DatasetError, OSError."""
    stream = parse_stream_address(address)
    if stream is None:
        raise DatasetError(f"`{address}` names no stream of a peer", "correct it.")
    async with Ipfs(api) as ipfs:
        streams = Streams(ipfs)
        if near:
            with contextlib.suppress(DatasetError):  # the node then looks for it itself
                await ipfs.command("swarm/connect", *near, timeout=CONNECT)
        port = await streams.forward(*stream)
        try:
            return await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port))
        finally:
            await streams.close(port)  # what runs goes on, and nobody else comes in


def _carry(connection: socket.socket) -> None:
    """Threads and not the loop: standard input may be anything, a file too."""
    threading.Thread(target=_outward, args=(connection,), daemon=True).start()
    with contextlib.suppress(OSError):
        while data := connection.recv(_PIECE):
            _write(data)


def _outward(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, _PIECE):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
