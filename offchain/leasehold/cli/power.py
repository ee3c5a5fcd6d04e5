"""`leasehold stop`, `start` and `restart`: a lease's container, while the lease goes on."""

from __future__ import annotations

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import OF_GROUP, SENDS, Invocation, shared
from leasehold.cli._options import LeaseId
from leasehold.client import SwitchContainer
from leasehold.market.wire import PowerWish


@shared(SENDS | OF_GROUP)
async def stop(call: Invocation, lease: LeaseId) -> None:
    """Stop a lease's container until you start it. The lease is billed all the same.

    Its files, volumes, ports and cards stay yours, through a reboot of the host too. `leasehold close` ends the bill.
    """
    await _switch(call, lease, "stop", "Stop its container all the same?", "is stopped")


@shared(SENDS | OF_GROUP)
async def start(call: Invocation, lease: LeaseId) -> None:
    """Start a container that you have stopped, or whose command has ended."""
    await _switch(call, lease, "start", None, "starts")


@shared(SENDS | OF_GROUP)
async def restart(call: Invocation, lease: LeaseId) -> None:
    """Stop a lease's container and start it again, with its files as they are."""
    shown = format_lease(lease)
    await _switch(
        call, lease, "restart", f"Stop what lease {shown} runs, and start it again?", "starts again"
    )


async def _switch(call: Invocation, lease: int, wish: PowerWish, question: str | None, said: str) -> None:
    async with planned(call, SwitchContainer(lease, wish), signs=False) as plan:
        told = f"Lease {format_lease(lease)}: its container {said}."
        await carry_out(call, plan, question, told, waiting=None)
