"""`peer`: what other hosts measure against."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Annotated

import typer

from leasehold_agent.checks import MeasuringPeer
from leasehold_agent.cli._console import terminal


def peer(
    listen: Annotated[str, typer.Option("--listen", metavar="ADDRESS", help="Where it listens.")] = "0.0.0.0",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, help="On which port.")] = 8703,
) -> None:
    """Serve hosts that name this one in `speed_peer`: they measure their speed, and have their ports tried.

    It needs no settings, keys or card. What a caller may have is bounded; ports are tried at the caller's own address.
    """
    asyncio.run(_serve(listen, port))


async def _serve(listen: str, port: int) -> None:
    serving = MeasuringPeer()
    await serving.start(listen, port)
    terminal(stderr=True).print(f"Hosts measure against http://{listen}:{port} until this is ended.")
    task = asyncio.ensure_future(serving.serve())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
