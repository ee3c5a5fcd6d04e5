"""`leasehold rent`: from a wish to a running lease."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.agreements import OfferFile, read_file
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._choosing import read_labels
from leasehold.cli._command import FOR_ACCOUNT, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._finishing import say_finish
from leasehold.cli._options import (
    AllowUnverified,
    Approve,
    CloseWhenDone,
    MaxPrice,
    OneLease,
    Search,
    Seconds,
    Spot,
    WishedShare,
    WithoutAgent,
    option,
)
from leasehold.cli._workload import (
    CommandLine,
    WorkloadFlags,
    build_workload,
    code_folder,
    show_code,
    show_quotes,
)
from leasehold.cli.entering import SETTLING, print_log
from leasehold.client import (
    CLOSING_PATIENCE,
    HandedOver,
    LeasesOpened,
    PoolClient,
    Rent,
    Rented,
    RentPlan,
    Step,
    finish_of,
    first_time,
)
from leasehold.copying import CodeHandedIn
from leasehold.market import InvalidInput, Money, Opened, format_duration, format_size, format_time, per_hour


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def rent(
    call: Invocation,
    *,
    command: CommandLine = None,
    seconds: Annotated[
        Seconds, option("--for DURATION", "How long: 90m, 2h, 1d; by default all of an --offer.")
    ] = None,
    at_most: Annotated[
        Seconds,
        option("--at-most DURATION", "Have your guard keep it so long, by --for at a time (by default 1h)."),
    ] = None,
    search: Search = None,
    machine: Annotated[
        list[int] | None,
        option("--machine -m MACHINE", "This machine and no other; several for a gang.", min=1),
    ] = None,
    gang: Annotated[
        int | None, option("--gang N", "A lease on each of N machines, all or none.", min=1, max=64)
    ] = None,
    share: WishedShare = None,
    spot: Spot = False,
    backup: Annotated[
        int | None, option("--backup MACHINE", "Who takes over while the machine is down.", min=1)
    ] = None,
    offer: Annotated[Path | None, option("--offer FILE", "At terms that a provider has signed.")] = None,
    again: Annotated[
        OneLease, option("--again LEASE", "What an ended lease of yours had, in its slot, with its data.")
    ] = None,
    max_price: MaxPrice = None,
    allow_unverified: AllowUnverified = False,
    flags: WorkloadFlags,
    reuse: Annotated[
        OneLease, option("--reuse LEASE", "An ended lease of yours, whose slot is cheaper.")
    ] = None,
    no_wait: Annotated[bool, option("--no-wait", "Do not wait until it has started.")] = False,
    follow: Annotated[
        bool, option("--follow", "Print the log, wait for the job's end, and leave with its exit code.")
    ] = False,
    label: Annotated[
        list[str] | None, option("--label WORD=VALUE", "Put a label on it: `close --label` chooses by it.")
    ] = None,
    close_when_done: CloseWhenDone = None,
    without_agent: WithoutAgent = False,
    approve: Approve = False,
) -> int:
    """Rent a machine, or part of one, and run a workload on it.

    Billing begins when the workload is ready, and goes by the second. The provider of a machine can read what
    runs on it. With `--again` the same machine runs the same workload, unless another is named.

    A batch job's lease closes when the job is done, and the rest comes back: the wallet signs that once more, and the
    machine's agent sends it. The provider could send it sooner.
    """
    machines, as_before = tuple(machine or ()), bool(again and not flags.names_a_workload)
    if gang is not None and machines and gang != len(machines):
        raise InvalidInput(
            f"A gang of {gang} is on {gang} machines and {len(machines)} are named: correct either."
        )
    if follow and (
        no_wait or call.out.as_json or call.group or call.account or max(gang or 1, len(machines)) > 1
    ):
        raise InvalidInput(
            "--follow prints the log of one lease of your own: leave --no-wait, --json, the gang or the other account "
            "away."
        )
    if label and call.group:
        raise InvalidInput(
            "A proposal opens nothing yet: label the lease once it is open, with `leasehold label`."
        )
    request = Rent(
        workload=None if as_before else build_workload(call, flags, command),
        seconds=seconds if at_most is None else seconds or first_time(at_most),
        at_most=at_most,
        share=share,
        max_price=max_price,
        search=search or "",
        machines=machines,
        gang=gang or max(1, len(machines)),
        spot=spot,
        backup=backup,
        offer=read_file(offer, OfferFile).signed(call.deployment) if offer else None,
        again=again or 0,
        reuse=reuse or 0,
        allow_unverified=allow_unverified,
        without_agent=without_agent,
        wait=not no_wait,
        close_when_done=close_when_done,
        code=code_folder(flags),
        labels=read_labels(label or ()),
    )
    async with planned(call, request) as plan:
        _show(call, plan)
        rented = await carry_out(
            call,
            plan,
            f"Pay {plan.client.money.show(plan.payment.amount)} into escrow and rent?",
            lambda rented: _started(plan.client, rented),
            approve=approve,
            waiting=None,
            on_step=lambda step: _say(call, plan, step),
        )
        return await _follow(call, plan.client, rented.numbers[0]) if follow and rented is not None else 0


async def _follow(call: Invocation, client: PoolClient, lease: int) -> int:
    """The log to its end, then what became of the job and its lease; its exit code."""
    shown = format_lease(lease)
    call.out.if_interrupted = f"Interrupted: lease {shown} goes on. See `leasehold logs -f {shown}`."
    async with client.agent_of(lease) as agent:
        await print_log(agent.logs(lease, follow=True))
    with call.out.working(f"Waiting until lease {shown} is closed"):
        finish = await finish_of(client, lease, patience=SETTLING, closing=CLOSING_PATIENCE)
    return say_finish(call, finish)


def _show(call: Invocation, plan: RentPlan) -> None:
    """The quotes, for people."""
    out, money = call.out, plan.client.money
    show_quotes(out, plan, lambda number, model: f"Machine {number}: {model}")
    if plan.code is not None:
        show_code(call.out, plan.code)
    if plan.backup is not None:
        price = money.show(plan.wish.price_on(plan.backup.machine))
        rate = f"{price} {per_hour(plan.backup.sells_gpus)}"
        out.say(f"Standby: machine {plan.backup.id}, at {rate}, out of what is refunded.")
    if plan.request.at_most is not None:
        longest, most = format_duration(plan.request.at_most), money.show(plan.most)
        out.say(f"A guard extends it until it has lasted {longest}: {most} in all at most.")
        if not call.home.guard_notes(call.deployment, plan.client.account).held:
            out.warn("No guard of yours is at work here: it ends after the first time unless one is.")
    if len(plan.openings) > 1:
        out.say(f"Together {money.show(plan.payment.amount)}, all {len(plan.openings)} or none.")


def _say(call: Invocation, plan: RentPlan, step: Step) -> None:
    """What has happened, as it happens."""
    if isinstance(step, HandedOver):
        if step.unpinned:
            call.out.warn(
                "No IPFS node of yours has the workload, and the machine keeps it for an hour only: have the "
                "proposal executed in that time, or from this computer."
            )
        if step.delivery.by == "ipfs":
            why = step.delivery.why
            call.out.warn(f"The workload waits on your IPFS node, since the agent did not take it: {why}")
    elif isinstance(step, CodeHandedIn):
        call.out.say(f"The code is there; {format_size(step.sent)} of it had to be sent.")
    elif isinstance(step, LeasesOpened):
        for opened in step.opened:
            call.out.say(f"Lease {format_lease(opened.lease)} is open (block {opened.receipt.block_number}).")
        if plan.request.wait:
            call.out.if_interrupted = _goes_on(step.opened, plan.client.money)


def _goes_on(opened: Sequence[Opened], money: Money) -> str:
    """What Ctrl-C leaves while the leases are waited for: they are open, and cost money once they start."""
    first, shown = opened[0].quote, ", ".join(format_lease(one.lease) for one in opened)
    hourly = money.show(sum(one.quote.hourly for one in opened))
    held = money.show(sum(one.quote.hold_fee_per_hour for one in opened))
    they = f"leases {shown} are open and go on" if len(opened) > 1 else f"lease {shown} is open and goes on"
    return (
        f"Interrupted: {they}, for {hourly} per hour once started. See it with `leasehold show "
        f"{format_lease(opened[0].lease)}`; end it with `leasehold close`, which before the start costs {held} per "
        f"hour held, and nothing once {format_duration(first.start_window)} have passed without one."
    )


def _started(client: PoolClient, rented: Rented) -> str | None:
    """What is said once they have started, and what to do with them."""
    lines = []
    for lease in rented.leases:
        shown = format_lease(lease.id)
        lines.append(f"Lease {shown} has started and is paid until {format_time(lease.end)}.")
        if client.other is None:
            lines.append(f"Try: leasehold logs -f {shown}; leasehold ssh {shown}; leasehold close {shown}")
        else:  # the tenant alone reads logs
            close = f"leasehold close {shown} --for-account {client.other}"
            lines.append(f"Try: leasehold ssh {shown}; {close}")
    return "\n".join(lines) or None
