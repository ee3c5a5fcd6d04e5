"""Moments that pass quickly, for tests that kill somebody in one."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from devnet.patience import patient
from devnet.world import World


def at_once(holds: Callable[[], Any], timeout: float = patient(30)) -> None:
    """Looks without pause until `holds()`. Raises TimeoutError."""
    deadline, never = time.monotonic() + timeout, threading.Event()
    while not holds():
        if time.monotonic() >= deadline:
            raise TimeoutError("the moment did not come")
        never.wait(0.002)


@contextlib.contextmanager
def standing_still(pid: int | None) -> Iterator[None]:
    """A process stopped meanwhile: requests to it hang, and are served after. It may have ended by then."""
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def no_mining(world: World) -> Iterator[None]:
    """Transactions wait in the pool meanwhile; what is there at the end is mined."""
    world.anvil.request("evm_setAutomine", False)
    try:
        yield
    finally:
        world.anvil.request("evm_setAutomine", True)
        world.anvil.mine()


def in_the_pool(world: World) -> bool:
    """Whether a transaction waits to be mined."""
    return int(world.anvil.request("txpool_status")["pending"], 16) > 0
