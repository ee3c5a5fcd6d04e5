"""`run`: the agent itself."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
from collections.abc import Coroutine

from leasehold_agent._config import load_settings
from leasehold_agent._logs import configure_logs
from leasehold_agent._serve import serve
from leasehold_agent.chain import sentinel_beside

_M_ARENA_MAX, _ARENAS = -8, 2


def run() -> None:
    """Run the agent until it is stopped. Leases go on running without it."""
    settings = load_settings()
    configure_logs()
    _few_arenas()
    with sentinel_beside(settings) as told:
        asyncio.run(_until_signalled(serve(settings, told)))


def _few_arenas() -> None:
    """The C library gives threads arenas of their own, each of which keeps what it once took: the agent's are many, and
    wait most of the time. Another library than glibc has none.
    """
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


async def _until_signalled(work: Coroutine[None, None, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
