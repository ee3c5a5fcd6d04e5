"""`leasehold extend`, `resize`, `reject`, `close`, `set-workload`, `rate`: what a tenant can do with a lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._choosing import meant, shown_all
from leasehold.cli._command import FOR_ACCOUNT, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import (
    SECONDS,
    Approve,
    CloseWhenDone,
    EndedLeases,
    RunningLease,
    RunningLeases,
    Several,
    ShareArgument,
    argument,
    option,
)
from leasehold.cli._together import carry_out_all, together
from leasehold.cli._workload import (
    CommandLine,
    WorkloadFlags,
    build_workload,
    code_folder,
    show_code,
    show_image,
)
from leasehold.client import (
    Close,
    ClosePlan,
    CloseWhenDonePlan,
    Extend,
    Extended,
    Outages,
    Rate,
    Reject,
    Resize,
    SetWorkload,
    Together,
    Unfetched,
    Which,
    choose_lease,
)
from leasehold.client import CloseWhenDone as Order
from leasehold.market import format_share, format_time

if TYPE_CHECKING:
    from leasehold.chain import Lease


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def extend(
    call: Invocation,
    leases: RunningLeases = None,
    *,
    seconds: Annotated[int, argument("DURATION", "How much longer: 30m, 2h."), SECONDS],
    several: Several,
    approve: Approve = False,
) -> None:
    """Pay for more time on leases."""
    async with together(call, leases, several, lambda lease: Extend(lease, seconds)) as (plan, _):
        cost = plan.client.money.show(plan.payment.amount if plan.payment else 0)
        await carry_out_all(call, plan, f"Pay {cost} more into escrow?", _extended, approve=approve)


def _extended(extended: Extended) -> str:
    return f"Lease {format_lease(extended.lease.id)} is paid until {format_time(extended.lease.end)}."


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def resize(
    call: Invocation, lease: RunningLease, share: ShareArgument, approve: Approve = False
) -> None:
    """Take another share of the same machine from now on, at the same price and until the same end.

    The provider is paid for the time until now at once. A larger share takes more into escrow, a smaller one
    gives some back.
    """
    async with open_session(call, signs=True) as client:
        plan = await client.plan(Resize(await choose_lease(client, lease, Which.LIVE), share))
        shown = f"Lease {format_lease(plan.lease.id)}"
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
async def reject(call: Invocation, leases: RunningLeases = None, *, several: Several) -> None:
    """Give leases back inside their trial: everything comes back but the hold fee."""
    async with together(call, leases, several, Reject) as (plan, chosen):
        money = plan.client.money
        await carry_out_all(call, plan, f"Reject {chosen}?", lambda ended: ended.said(money))


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def close(
    call: Invocation,
    leases: RunningLeases = None,
    *,
    several: Several,
    when_done: Annotated[
        bool, option("--when-done", "Not now: sign that each closes when its command has ended by itself.")
    ] = False,
) -> None:
    """End leases now: pay for the seconds used, get the rest back. Several are closed in one transaction."""
    async with open_session(call, signs=True) as client:
        chosen = await meant(client, leases, several)
        if when_done:
            for lease in chosen:
                await _order(call, await client.plan(Order(lease)))
            return
        plan = await client.plan(Together([Close(lease) for lease in chosen]))
        for one in plan.plans:
            _say_closing(call, one)
        if len(chosen) > 1:
            back = sum(one.bill.unused for one in plan.plans)
            call.out.say(f"Of these {len(chosen)} leases {client.money.show(back)} come back together.")
        await carry_out_all(call, plan, f"Close {shown_all(chosen)}?", lambda ended: ended.said(client.money))


async def _order(call: Invocation, order: CloseWhenDonePlan) -> None:
    if order.client.group is not None:
        call.out.warn(
            "Executed, the proposal closes the lease at once. Once it is signed, `leasehold group order FILE "
            "SIGNATURE...` gives it to the machine's agent instead."
        )
    await carry_out(call, order, None, waiting=None)


def _say_closing(call: Invocation, plan: ClosePlan) -> None:
    """What closing one lease would do, and what to think of first."""
    say_outages(call, plan.outages)
    call.out.say(plan.said())
    if plan.trial is not None:
        call.out.warn(
            f"It is in its trial until {format_time(plan.trial.until)}: `leasehold reject "
            f"{format_lease(plan.lease.id)}` ends it for {plan.client.money.show(plan.trial.fee)} instead."
        )
    warn_of_results(call, plan.lease, plan.unfetched)


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def set_workload(
    call: Invocation,
    lease: RunningLease,
    *,
    command: CommandLine = None,
    flags: WorkloadFlags,
    close_when_done: CloseWhenDone = None,
) -> None:
    """Run something else on a lease that you have. Its time and price stay."""
    workload = build_workload(call, flags, command)
    async with open_session(call, signs=True) as client:
        number = await choose_lease(client, lease, Which.LIVE)
        request = SetWorkload(number, workload, close_when_done, code_folder(flags))
        plan, shown = await client.plan(request), format_lease(number)
        show_image(call.out, plan.pinned.rows())
        if plan.code is not None:
            show_code(call.out, plan.code)
        question, said = (
            f"Stop what runs on lease {shown} and run this instead?",
            f"Lease {shown} has a new workload.",
        )
        await carry_out(call, plan, question, said, waiting="Handing over the workload")


@shared(SENDS | PROPOSES)
async def rate(
    call: Invocation,
    leases: EndedLeases = None,
    *,
    stars: Annotated[int, argument("STARS", "1 to 5.", min=1, max=5)],
    several: Several,
    comment: Annotated[
        str, option("--comment TEXT", "Pinned on your IPFS node; the chain has its digest.")
    ] = "",
) -> None:
    """Rate leases of yours that have ended and were paid, each once. It weighs as much as the fee that it paid."""
    of = lambda lease: Rate(lease, stars, comment)  # noqa: E731
    async with together(call, leases, several, of, Which.OVER) as (plan, _):
        many = len(plan.plans)
        question = "Publish this rating?" if many == 1 else f"Publish these {many} ratings?"
        await carry_out_all(
            call, plan, question, lambda rated: f"Lease {format_lease(rated.lease)} is rated."
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
