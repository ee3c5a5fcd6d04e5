"""`leasehold provider`: stake, notice, collecting."""

from __future__ import annotations

from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import LEASE, AmountOrAll, Approve, LeaseId, MachineId, argument, option
from leasehold.cli.wallet import To, withdraw_from_ledger
from leasehold.client import AddStake, Claim, GiveNotice
from leasehold.market import Due, Money


@shared(SENDS | PROPOSES)
async def stake(
    call: Invocation,
    machine: MachineId,
    amount: Annotated[str, argument("AMOUNT", "Whole tokens to add.")],
    approve: Approve = False,
) -> None:
    """Add to a machine's stake, for instance after the minimum was raised."""
    async with planned(call, AddStake(machine, amount)) as plan:
        money = plan.client.money
        what = f"{money.show(plan.payment.amount)} to the stake of machine {machine}"
        if call.dry_run:
            call.out.say(f"Would add {what}.")
        await carry_out(
            call,
            plan,
            f"Add {what}?",
            lambda done: f"Machine {machine} has {money.show(done.machine.stake)} at stake.",
            approve=approve,
        )


@shared(SENDS | PROPOSES)
async def terminate(call: Invocation, lease: LeaseId) -> None:
    """Give a tenant notice: the lease ends early, and you pay the penalty from your ledger.

    Ending a spot lease costs nothing, and its machine's operator may do it too.
    """
    async with planned(call, GiveNotice(lease)) as plan:
        call.out.say(plan.said())
        await carry_out(call, plan, "Give notice?")


@shared(SENDS | PROPOSES)
async def claim(
    call: Invocation,
    leases: Annotated[tuple[int, ...], argument("[LEASE]...", "By default all that pay."), LEASE] = (),
    forgo: Annotated[
        bool, option("--forgo", "Close those that wait for an outage too, and give its time back.")
    ] = False,
) -> None:
    """Collect what your machines have earned, and close the leases whose end has passed, in one transaction.

    A lease that an outage touched stays open for its tenant while that may still be taken off the bill. With --forgo
    you give that time back at once, and have the cells.
    """
    async with planned(call, Claim(frozenset(leases), forgo)) as plan:
        money = plan.client.money
        if plan.held:
            held = " ".join(map(format_lease, plan.held))
            call.out.say(f"Over, and held for their tenants by an outage: {held}. --forgo closes them now.")
        say_due(call, plan.due, money)
        if plan.due.empty or call.dry_run:
            call.out.answer({"claimed": [], "closed": [], "dry_run": call.dry_run})
            return
        await carry_out(
            call, plan, "Collect?", lambda done: f"{money.show(done.gained)} came into your ledger."
        )


@shared(SENDS | PROPOSES)
async def withdraw(call: Invocation, amount: AmountOrAll, to: To = None) -> None:
    """Pay earnings out of the pool's ledger, as `leasehold wallet withdraw` does."""
    await withdraw_from_ledger(call, amount, to)


def say_due(call: Invocation, due: Due, money: Money) -> None:
    """What can be collected, for people."""
    for sentence in due.sentences(money):
        call.out.say(sentence)
