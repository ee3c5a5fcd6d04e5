"""Connections made from inside another network namespace.

The engine may live in a namespace of its own (rootless Docker does). A container's address is reachable
from there only: newer engines drop what is routed to a container from elsewhere. A socket belongs for
life to the namespace that it was made in, so one thread steps over, makes it, and ends; the rest of the
process stays where it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import socket
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000


async def connect(
    address: str, port: int, *, netns: Path | None, seconds: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A TCP connection to `address` as seen from `netns`. Raises OSError, which TimeoutError is."""
    async with asyncio.timeout(seconds):
        if netns is None:
            return await asyncio.open_connection(address, port)
        made = await asyncio.to_thread(socket_in, netns)
        try:
            made.setblocking(False)
            await asyncio.get_running_loop().sock_connect(made, (address, port))
            return await asyncio.open_connection(sock=made)
        except BaseException:
            made.close()
            raise


def busy_ports(ports: Collection[int], netns: Path | None) -> set[int]:
    """Those of `ports` at which something listens already, over TCP or UDP, in that namespace or the agent's own."""
    busy = set()
    for port in ports:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            probe = socket.socket(socket.AF_INET, kind) if netns is None else socket_in(netns, kind)
            with contextlib.closing(probe):
                if kind is socket.SOCK_STREAM:  # what has just ended there keeps nobody out
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("0.0.0.0", port))
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                    busy.add(port)
    return busy


def socket_in(netns: Path, kind: int = socket.SOCK_STREAM) -> socket.socket:
    """An IPv4 socket of that namespace, TCP unless `kind` says otherwise. Raises OSError."""
    return inside(netns, lambda: socket.socket(socket.AF_INET, kind))


def inside(netns: Path | None, ask: Callable[[], T]) -> T:
    """What `ask` finds in that network namespace; None is the process's own. Raises OSError."""
    if netns is None:
        return ask()
    made: list[T | OSError] = []

    def step_over() -> None:
        try:
            with contextlib.closing(_Descriptor(netns)) as there:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(there.number, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(netns))
            made.append(ask())
        except OSError as error:
            made.append(error)

    # A thread of its own, never one of a pool: it would serve others from the wrong namespace afterwards.
    thread = threading.Thread(target=step_over, name="leasehold-netns")
    thread.start()
    thread.join()
    (result,) = made
    if isinstance(result, OSError):
        raise result
    return result


class _Descriptor:
    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.number)
