"""`leasehold provider status`: where everything of a provider's stands."""

from __future__ import annotations

import typer

from leasehold import format_lease
from leasehold.cli._faults import costs
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, WALLET, shared
from leasehold.cli._shown import machine_state, utc
from leasehold.cli.provider.money import say_due
from leasehold.client import PROVE_TIME, PoolClient, ProviderDuty, ProviderStatus, provider_status
from leasehold.market import Money, format_amount, format_cells, format_duration


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(status)


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your machines, their leases, what they have earned and what can be collected."""
    async with open_session(call) as client:
        found, money = await provider_status(client), client.money
        call.out.answer(_json(client, found))
        call.out.table(
            ("machine", "state", ">stake", ">leased", "withheld", ">operator's gas"),
            [
                (
                    str(machine.id),
                    machine_state(machine),
                    format_amount(machine.stake, money.decimals, places=6),
                    f"{machine.leased.bit_count() / 8:g}/{machine.gpus}",
                    f"GPU {format_cells(machine.withheld)}" if machine.withheld else "none",
                    format_amount(found.gas[machine.id], 18, places=6),
                )
                for machine in found.machines
            ],
            empty="You have no machine in this pool: join with `leasehold provider join`.",
        )
        call.out.table(
            ("lease", ">machine", "state", ">left"),
            [
                (
                    format_lease(lease.id),
                    str(lease.machine),
                    lease.state.word,
                    format_duration(max(0, lease.end - found.now)),
                )
                for lease in found.leases
            ],
            empty="No leases are running.",
        )
        for duty in found.duties:
            call.out.warn(_said(duty, money))
        if not call.out.as_json:
            say_due(call, found.due, money)
            call.out.say(f"In the ledger: {money.show(found.ledger)}.")


def _json(client: PoolClient, found: ProviderStatus) -> dict[str, Json]:
    money = client.money
    return {
        "account": client.account,
        "token": money.symbol,
        "ledger": format_amount(found.ledger, money.decimals),
        "claimable": format_amount(sum(found.due.claimable.values()), money.decimals),
        "overdue": [format_lease(lease) for lease in found.due.overdue],
        "machines": [
            {
                "id": machine.id,
                "state": machine_state(machine),
                "stake": format_amount(machine.stake, money.decimals),
                "operator": machine.operator,
                "operator_gas": format_amount(found.gas[machine.id], 18),
                "leased_cells": machine.leased.bit_count(),
                "withheld": format_cells(machine.withheld),
            }
            for machine in found.machines
        ],
        "leases": [
            {"id": format_lease(lease.id), "machine": lease.machine, "end": lease.end}
            for lease in found.leases
        ],
        "duties": [
            {"machine": duty.machine.id, "what": duty.what, "until": duty.until} for duty in found.duties
        ],
    }


def _said(duty: ProviderDuty, money: Money) -> str:
    number, until = duty.machine.id, duty.until or 0
    if duty.fault is not None:
        return (
            f"Fault {duty.fault.id} will cost {costs(duty.fault, money)}: `leasehold provider appeal {duty.fault.id}` "
            f"until {utc(until)}, or let it stand."
        )
    if duty.what == "answer":
        return f"Machine {number} is challenged until {utc(until)}: `leasehold provider answer {number}`."
    if duty.what == "wait":
        return (
            f"Machine {number} did not answer by {utc(until - PROVE_TIME)}: anybody may prove it until {utc(until)}, "
            "then the question is over. See that its agent runs."
        )
    if duty.machine.down:
        return f"Machine {number} is down since {utc(duty.machine.down_since)}: `leasehold provider recover {number}`."
    return f"Machine {number} left a lease unstarted: `leasehold provider recover {number}`."
