"""`leasehold provider`: what a machine owes when it fails: `report`, `answer`, `recover`, `appeal`."""

from __future__ import annotations

from typing import Annotated

from leasehold import FaultState
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._completion import known_wallets
from leasehold.cli._options import Approve, FaultId, MachineId, option
from leasehold.client import AnswerChallenge, Appeal, LockedWallet, Recovered, RecoverMachine, ReportOutage
from leasehold.market import Money, fault_cost, format_time

OperatorWallet = Annotated[
    str | None,
    option(
        "--operator-wallet NAME",
        "The wallet with the operator's key, if another one sends.",
        autocompletion=known_wallets,
    ),
]


@shared(SENDS)
async def report(call: Invocation, machine: MachineId) -> None:
    """As the operator, say that a machine is down from now on: half as dear as when others prove it.

    Its leases are not billed from now on. `leasehold provider recover` ends it.
    """
    async with planned(call, ReportOutage(machine)) as plan:
        stake, recover = plan.client.money.show(plan.machine.stake), f"`leasehold provider recover {machine}`"
        call.out.pairs(f"Machine {machine} goes down; {stake} are at stake", plan.rows())
        await carry_out(
            call,
            plan,
            f"Report machine {machine} down?",
            lambda reported: f"Machine {machine} is down (fault {reported.fault}) until {recover}.",
        )


@shared(SENDS)
async def answer(call: Invocation, machine: MachineId, operator_wallet: OperatorWallet = None) -> None:
    """Answer a tenant's challenge with the operator's key, as the machine's agent does by itself."""
    operator = None
    if operator_wallet is not None:
        operator = LockedWallet(call.home, call.known_wallet(operator_wallet), call.password, call.out.warn)
    async with planned(call, AnswerChallenge(machine, operator)) as plan:
        challenge, until = plan.challenge, format_time(plan.until)
        call.out.say(f"Challenge {challenge.id} by {challenge.challenger} stands until {until}.")
        said = f"Challenge {challenge.id} is answered: a tenth of its bond is the provider's."
        await carry_out(call, plan, "Answer it?", said)


@shared(SENDS | PROPOSES)
async def recover(call: Invocation, machine: MachineId) -> None:
    """Say that a machine works again: ends its outage, or the stall after a lease that was not started.

    The end of an outage fixes what it costs. The provider or the operator sends this.
    """
    async with planned(call, RecoverMachine(machine)) as plan:
        if plan.machine.down:
            since = format_time(plan.machine.down_since)
            call.out.say(f"Machine {machine} is down since {since} (fault {plan.fault}).")
        question, money = f"Does machine {machine} serve leases again?", plan.client.money
        await carry_out(call, plan, question, lambda recovered: _back(machine, recovered, money))


def _back(machine: int, recovered: Recovered, money: Money) -> str:
    if (fault := recovered.fault) is None:
        return f"Machine {machine} takes leases again."
    may = f"; `leasehold provider appeal {fault.id}` until {format_time(fault.deadline)}"
    cost = fault_cost(fault, money) + (may if fault.state is FaultState.FILED else "")
    return f"Machine {machine} is back. The outage costs {cost}."


@shared(SENDS | PROPOSES)
async def appeal(call: Invocation, fault: FaultId, approve: Approve = False) -> None:
    """Appeal against a fault, with a bond. Its arbiter rules; silence lets it stand and gives the bond back."""
    async with planned(call, Appeal(fault)) as plan:
        call.out.pairs(f"Appeal against fault {fault} of machine {plan.fault.machine}", plan.rows())
        await carry_out(
            call,
            plan,
            f"Appeal, with {plan.client.money.show(plan.payment.amount)}?",
            lambda filed: f"{plan.arbiter} may rule until {format_time(filed.fault.deadline)}.",
            approve=approve,
        )
