"""`leasehold provider`: what a machine owes when it fails: `report`, `answer`, `recover`, `appeal`."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold import FaultState
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._completion import known_wallets
from leasehold.cli._faults import costs, fault_json, lasted
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, FaultId, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import payment_said, utc
from leasehold.client import (
    AnswerChallenge,
    Appeal,
    LockedWallet,
    PoolClient,
    Recovered,
    RecoverMachine,
    ReportOutage,
    ReportOutagePlan,
)
from leasehold.market import format_amount, format_duration

OperatorWallet = Annotated[
    str | None,
    typer.Option(
        "--operator-wallet",
        metavar="NAME",
        help="The wallet with the operator's key, if another one sends.",
        autocompletion=known_wallets,
    ),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (report, answer, recover, appeal):
        app.command()(command)


@shared(SENDS)
async def report(call: Invocation, machine: MachineId) -> None:
    """As the operator, say that a machine is down from now on: half as dear as when others prove it.

    Its leases are not billed from now on. `leasehold provider recover` ends it.
    """
    async with open_session(call, signs=True) as client:
        plan = await ReportOutage(machine).plan(client)
        call.out.pairs(
            f"Machine {machine} goes down; {client.money.show(plan.machine.stake)} are at stake", _scale(plan)
        )
        await carry_out(
            call,
            client,
            plan,
            question=f"Report machine {machine} down?",
            document={"machine": machine, "charged_bps": plan.charged},
            answer=lambda done: {"machine": machine, "charged_bps": plan.charged, "fault": done.fault},
            said=lambda done: (
                f"Machine {machine} is down (fault {done.fault}) until `leasehold provider recover {machine}`."
            ),
        )


def _scale(plan: ReportOutagePlan) -> tuple[tuple[str, str], ...]:
    rows = []
    for until, own, proven in plan.scale:
        amount = plan.client.money.show(plan.machine.stake * own // 10_000, places=6)
        name = "longer" if until is None else f"down for up to {format_duration(until)}"
        rows.append(
            (name, f"{amount} ({own / 100:g} % of the stake; {proven / 100:g} % if proven by others)")
        )
    return (*rows, ("less", f"what the last seven days cost already: {plan.charged / 100:g} %"))


@shared(SENDS)
async def answer(call: Invocation, machine: MachineId, operator_wallet: OperatorWallet = None) -> None:
    """Answer a tenant's challenge with the operator's key, as the machine's agent does by itself."""
    operator = None
    if operator_wallet is not None:
        operator = LockedWallet(call.keystore, call.known_wallet(operator_wallet), call.password)
    async with open_session(call, signs=True) as client:
        plan = await AnswerChallenge(machine, operator).plan(client)
        challenge = plan.challenge
        call.out.say(f"Challenge {challenge.id} by {challenge.challenger} stands until {utc(plan.until)}.")
        await carry_out(
            call,
            client,
            plan,
            question="Answer it?",
            document={"machine": machine, "challenge": challenge.id, "until": plan.until},
            said=lambda done: f"Challenge {challenge.id} is answered: a tenth of its bond is the provider's.",
        )


@shared(SENDS | PROPOSES)
async def recover(call: Invocation, machine: MachineId) -> None:
    """Say that a machine works again: ends its outage, or the stall after a lease that was not started.

    The end of an outage fixes what it costs. The provider or the operator sends this.
    """
    async with open_session(call, signs=True) as client:
        plan = await RecoverMachine(machine).plan(client)
        if plan.machine.down:
            since = utc(plan.machine.down_since)
            call.out.say(f"Machine {machine} is down since {since} (fault {plan.fault}).")
        await carry_out(
            call,
            client,
            plan,
            question=f"Does machine {machine} serve leases again?",
            document={"machine": machine},
            answer=lambda done: {
                "machine": machine,
                **({"fault": None} if done.fault is None else fault_json(done.fault, client.money)),
            },
            said=lambda done: _back(client, machine, done),
        )


def _back(client: PoolClient, machine: int, done: Recovered) -> str:
    if (fault := done.fault) is None:
        return f"Machine {machine} takes leases again."
    may = f"; `leasehold provider appeal {fault.id}` until {utc(fault.deadline)}"
    cost = costs(fault, client.money)
    return (
        f"Machine {machine} is back. The outage costs {cost}{may if fault.state is FaultState.FILED else ''}."
    )


@shared(SENDS | PROPOSES)
async def appeal(call: Invocation, fault: FaultId, approve: Approve = False) -> None:
    """Appeal against a fault, with a bond. Its arbiter rules; silence lets it stand and gives the bond back."""
    async with open_session(call, signs=True) as client:
        plan, money = await Appeal(fault).plan(client), client.money
        call.out.pairs(
            f"Appeal against fault {fault} of machine {plan.fault.machine}",
            (
                ("when", lasted(plan.fault)),
                ("costs", costs(plan.fault, money)),
                ("bond", payment_said(plan.payment, money)),
                ("arbiter", plan.arbiter),
                ("it is dropped", "nothing is slashed, and the bond comes back"),
                ("it stands", "the bond is lost"),
                ("nobody rules", "it stands, and the bond comes back"),
            ),
        )
        bond = plan.payment.amount
        document: dict[str, Json] = {
            "fault": fault,
            "bond": format_amount(bond, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Appeal, with {money.show(bond)}?",
            document=document,
            answer=lambda done: {**document, "deadline": done.fault.deadline},
            said=lambda done: f"{plan.arbiter} may rule until {utc(done.fault.deadline)}.",
            approve=approve,
        )
