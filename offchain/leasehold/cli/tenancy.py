"""`leasehold extend`, `resize`, `reject`, `close`, `set-workload`, `rate`: what a tenant can do with a lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import FOR_ACCOUNT, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._finishing import say_ordered
from leasehold.cli._options import SECONDS, Approve, CloseWhenDone, LeaseId, ShareArgument, argument, option
from leasehold.cli._workload import CommandLine, WorkloadFlags, build_workload, say_image
from leasehold.client import Close, Extend, Outages, Rate, Reject, Resize, SetWorkload, Unfetched
from leasehold.client import CloseWhenDone as Order
from leasehold.market import format_duration, format_share, format_time

if TYPE_CHECKING:
    from leasehold.chain import Lease


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def extend(
    call: Invocation,
    lease: LeaseId,
    seconds: Annotated[int, argument("DURATION", "How much longer: 30m, 2h."), SECONDS],
    approve: Approve = False,
) -> None:
    """Pay for more time on a lease."""
    async with planned(call, Extend(lease, seconds)) as plan:
        shown, cost = format_lease(lease), plan.client.money.show(plan.payment.amount)
        more, end = format_duration(seconds), format_time(plan.end)
        call.out.say(f"{more} more on lease {shown} cost {cost}: it would end {end}.")
        await carry_out(
            call,
            plan,
            f"Pay {cost} more into escrow?",
            lambda extended: f"Lease {shown} is paid until {format_time(extended.lease.end)}.",
            approve=approve,
        )


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def resize(call: Invocation, lease: LeaseId, share: ShareArgument, approve: Approve = False) -> None:
    """Take another share of the same machine from now on, at the same price and until the same end.

    The provider is paid for the time until now at once. A larger share takes more into escrow, a smaller one
    gives some back.
    """
    async with planned(call, Resize(lease, share)) as plan:
        shown = f"Lease {format_lease(lease)}"
        say_outages(call, plan.outages)
        title = f"{shown}: {format_share(plan.lease.cells)} becomes {format_share(share)}"
        call.out.pairs(title, plan.rows())
        await carry_out(
            call,
            plan,
            "Change the share?",
            lambda resized: (
                f"{shown} has {format_share(resized.lease.cells)} now: its container follows, which is made anew "
                "where its GPUs are others."
            ),
            approve=approve,
        )


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def reject(call: Invocation, lease: LeaseId) -> None:
    """Give a lease back inside its trial: everything comes back but the hold fee."""
    async with planned(call, Reject(lease)) as plan:
        money = plan.client.money
        call.out.say(f"Rejecting costs {money.show(plan.fee)} so far; the rest comes back.")
        await carry_out(call, plan, f"Reject lease {format_lease(lease)}?", lambda ended: ended.said(money))


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def close(
    call: Invocation,
    lease: LeaseId,
    when_done: Annotated[
        bool, option("--when-done", "Not now: sign that it closes when its command has ended by itself.")
    ] = False,
) -> None:
    """End a lease now: pay for the seconds used, get the rest back."""
    if when_done:
        async with planned(call, Order(lease)) as order:
            if order.client.group is not None:
                call.out.warn(
                    "Executed, the proposal closes the lease at once. Once it is signed, `leasehold group order FILE "
                    "SIGNATURE...` gives it to the machine's agent instead."
                )
            await carry_out(call, order, None, waiting=None, on_step=lambda step: say_ordered(call, step))
        return
    async with planned(call, Close(lease)) as plan:
        money, shown = plan.client.money, format_lease(lease)
        say_outages(call, plan.outages)
        call.out.say(plan.said())
        if plan.trial is not None:
            call.out.warn(
                f"It is in its trial until {format_time(plan.trial.until)}: `leasehold reject {shown}` ends it for "
                f"{money.show(plan.trial.fee)} instead."
            )
        warn_of_results(call, plan.lease, plan.unfetched)
        await carry_out(call, plan, f"Close lease {shown}?", lambda ended: ended.said(money))


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def set_workload(
    call: Invocation,
    lease: LeaseId,
    *,
    command: CommandLine = None,
    flags: WorkloadFlags,
    close_when_done: CloseWhenDone = None,
) -> None:
    """Run something else on a lease that you have. Its time and price stay."""
    request = SetWorkload(lease, build_workload(call, flags, command), close_when_done)
    async with planned(call, request) as plan:
        shown = format_lease(lease)
        say_image(call, plan.pinned)
        await carry_out(
            call,
            plan,
            f"Stop what runs on lease {shown} and run this instead?",
            lambda changed: f"Lease {shown} has a new workload.",
            waiting="Handing over the workload",
            on_step=lambda step: say_ordered(call, step),
        )


@shared(SENDS | PROPOSES)
async def rate(
    call: Invocation,
    lease: LeaseId,
    stars: Annotated[int, argument("STARS", "1 to 5.", min=1, max=5)],
    comment: Annotated[
        str, option("--comment TEXT", "Pinned on your IPFS node; the chain has its digest.")
    ] = "",
) -> None:
    """Rate a lease of yours that has ended and was paid, once. It weighs as much as the fee that it paid."""
    async with planned(call, Rate(lease, stars, comment)) as plan:
        call.out.say(f"{stars} of 5 stars for {plan.provider}, for everybody to see and for good.")
        await carry_out(
            call, plan, "Publish this rating?", lambda rated: f"Lease {format_lease(lease)} is rated."
        )


def say_outages(call: Invocation, outages: Outages) -> None:
    """Which are taken off the bill before anything else, or what to do about them first."""
    if outages.left:
        commands = ", ".join(f"`leasehold compensate {fault} --everyone`" for fault in outages.left)
        call.out.warn(
            f"An outage is not off its bill yet, and would stay on it: first run {commands}, with any wallet."
        )
    for fault in outages.faults:
        call.out.say(f"Outage {fault} is taken off its bill first, in a transaction of its own.")


def warn_of_results(call: Invocation, lease: Lease, unfetched: Unfetched | None) -> None:
    """Says so if results of a lease that is about to end are not fetched yet."""
    fetch = f"`leasehold results {format_lease(lease.id)} DIR`"
    if unfetched is not None and unfetched.cid is not None:
        call.out.warn(f"Its results were not fetched here yet: {fetch} does that.")
    elif unfetched is not None:
        call.out.warn(
            "Nobody has its results yet: they are packed once it is closed, and the machine keeps its files for as "
            f"long as the lease was billed, longer where it has the room. Fetch them with {fetch}."
        )
