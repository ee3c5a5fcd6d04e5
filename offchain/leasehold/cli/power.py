"""`leasehold stop`, `start` and `restart`: a lease's container, while the lease goes on."""

from __future__ import annotations

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import OF_GROUP, SENDS, Invocation, shared
from leasehold.cli._options import RunningLease
from leasehold.client import SwitchContainer, Which, choose_lease
from leasehold.market.wire import PowerWish


@shared(SENDS | OF_GROUP)
async def stop(call: Invocation, lease: RunningLease) -> None:
    """Stop a lease's container until you start it. The lease is billed all the same.

    Its files, volumes, ports and cards stay yours, through a reboot of the host too. `leasehold close` ends the bill.
    """
    await _switch(call, lease, "stop", "Stop its container all the same?", "is stopped")


@shared(SENDS | OF_GROUP)
async def start(call: Invocation, lease: RunningLease) -> None:
    """Start a container that you have stopped, or whose command has ended."""
    await _switch(call, lease, "start", None, "starts")


@shared(SENDS | OF_GROUP)
async def restart(call: Invocation, lease: RunningLease) -> None:
    """Stop a lease's container and start it again, with its files as they are."""
    await _switch(call, lease, "restart", "Stop what it runs, and start it again?", "starts again")


async def _switch(call: Invocation, lease: str, wish: PowerWish, question: str | None, said: str) -> None:
    async with open_session(call) as client:
        await client.index()
        number = await choose_lease(client, lease, Which.LIVE)
        told = f"Lease {format_lease(number)}: its container {said}."
        plan = await client.plan(SwitchContainer(number, wish))
        await carry_out(call, plan, question, told, waiting=None)
