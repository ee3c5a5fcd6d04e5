"""`leasehold move` and `failover`: on another machine, by one's own wish or because the machine is down."""

from __future__ import annotations

from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import (
    AllowUnverified,
    Approve,
    Cells,
    CloseWhenDone,
    MachineId,
    MaxPrice,
    RunningLease,
    Seconds,
    WithoutAgent,
    option,
)
from leasehold.cli._workload import CommandLine, WorkloadFlags, build_workload
from leasehold.cli.tenancy import say_outages, warn_of_results
from leasehold.client import FailedOver, Failover, Move, Which, choose_lease
from leasehold.market import InvalidInput, format_duration, format_time


@shared(SENDS | PROPOSES)
async def move(
    call: Invocation,
    lease: RunningLease,
    machine: MachineId,
    *,
    command: CommandLine = None,
    seconds: Annotated[Seconds, option("--for DURATION", "By default the time that is left.")] = None,
    share: Annotated[Cells, option("--share SHARE", "By default as much as the lease has.")] = None,
    max_price: MaxPrice = None,
    allow_unverified: AllowUnverified = False,
    flags: WorkloadFlags,
    without_agent: WithoutAgent = False,
    close_when_done: CloseWhenDone = None,
    approve: Approve = False,
) -> None:
    """Close a lease and open one on another machine instead, in one transaction: both happen, or neither.

    The new lease is paid out of what the old one gives back first. What runs there has to be named as for
    `leasehold rent`: workloads are sealed to one machine. Volumes that it names are carried along, and nothing else:
    the container is stopped first, and runs again where the move fails.
    """
    if flags.code is not None:
        raise InvalidInput(
            "A move takes no folder along: rent there with --code, or copy it in with `leasehold cp`."
        )
    workload = build_workload(call, flags, command)
    async with open_session(call, signs=True) as client:
        number = await choose_lease(client, lease, Which.LIVE)
        request = Move(
            number,
            machine,
            workload,
            share,
            seconds,
            max_price,
            allow_unverified,
            without_agent,
            close_when_done,
        )
        plan = await client.plan(request)
        shown, there = format_lease(number), plan.listing
        say_outages(call, plan.outages)
        title = f"From machine {plan.lease.machine} to machine {machine}: {there.model or 'unknown model'}"
        call.out.pairs(title, plan.rows())
        warn_of_results(call, plan.lease, plan.unfetched)
        await carry_out(
            call,
            plan,
            f"Close lease {shown} and rent this instead?",
            lambda moved: (
                f"Lease {shown} is closed, and lease {format_lease(moved.lease)} is open on machine {machine}."
            ),
            approve=approve,
        )


@shared(SENDS | PROPOSES)
async def failover(call: Invocation, lease: RunningLease) -> None:
    """While a lease's machine is down, open the standby that the lease named with `rent --backup`.

    The lease ends, billed to the begin of the outage, and its refund pays for the standby. Anyone may send it; while
    an earlier outage may still be taken off the bill, only the tenant.
    """
    async with open_session(call, signs=True) as client:
        plan = await client.plan(Failover(await choose_lease(client, lease, Which.LIVE)))
        shown, there = format_lease(plan.lease.id), f"machine {plan.standby.machine}"
        say_outages(call, plan.outages)
        since = format_time(plan.here.down_since)
        call.out.pairs(f"From machine {plan.here.id}, down since {since}, to {there}", plan.rows())
        await carry_out(
            call,
            plan,
            f"Open the standby of lease {shown}?",
            lambda done: (
                f"Lease {shown} is over, and lease {format_lease(done.lease.id)} is open on {there} for "
                f"{format_duration(done.lease.end - done.lease.start)}.{_began_with(done)}"
            ),
        )


def _began_with(done: FailedOver) -> str:
    if done.unrestored:
        return f" It was not given the last checkpoint: {done.unrestored}."
    return " It goes on from the last checkpoint." if done.restored else ""
