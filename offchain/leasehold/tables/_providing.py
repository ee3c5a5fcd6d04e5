"""A provider's machines and leases, and the hosts of a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.client import PROVE_TIME, HostLeft, ProviderDuty
from leasehold.market import (
    Money,
    fault_cost,
    format_amount,
    format_cells,
    format_duration,
    format_time,
    machine_state,
)
from leasehold.tables._measuring import Naming
from leasehold.tables._table import Pairs, Table

if TYPE_CHECKING:
    from leasehold.client import ChangingHost, FleetJoinPlan, HostStatus, ProviderStatus

OWN_MACHINE_COLUMNS: Final = ("machine", "state", ">stake", ">leased", "withheld", ">operator's gas")
OWN_LEASE_COLUMNS: Final = ("lease", ">machine", "state", ">left")
JOINING_COLUMNS: Final = ("host", "model", ">GPUs or units", ">price", ">stake", ">smallest share")
CHANGING_COLUMNS: Final = ("host", ">machine", "changes")
HOST_COLUMNS: Final = ("host", "", "what it said")


def own_machines_table(known: ProviderStatus, money: Money) -> Table:
    """A provider's machines: what is at stake, leased and withheld, and for how much gas their operators are good."""
    rows = [
        (
            str(machine.id),
            machine_state(machine),
            format_amount(machine.stake, money.decimals, places=6),
            f"{machine.leased.bit_count() / 8:g}/{machine.gpus}",
            f"GPU {format_cells(machine.withheld)}" if machine.withheld else "none",
            format_amount(known.gas[machine.id], 18, places=6),
        )
        for machine in known.machines
    ]
    return Table(OWN_MACHINE_COLUMNS, rows)


def own_leases_table(known: ProviderStatus) -> Table:
    """Leases that run on them."""
    rows = [
        (
            format_lease(lease.id),
            str(lease.machine),
            lease.state.word,
            format_duration(max(0, lease.end - known.now)),
        )
        for lease in known.leases
    ]
    return Table(OWN_LEASE_COLUMNS, rows)


def joining_table(plan: FleetJoinPlan) -> Table:
    """Hosts that would join: what each asks, and what it takes."""
    money = plan.client.money
    rows = [
        (
            host.name,
            host.model,
            str(host.plan.quote.gpus),
            format_amount(host.plan.terms.price, money.decimals),
            money.show(host.plan.quote.stake),
            f"{host.plan.smallest_share}/8",
        )
        for host in plan.joining
    ]
    return Table(JOINING_COLUMNS, rows)


def joining_rows(plan: FleetJoinPlan) -> Pairs:
    """What all of them take, earn and can lose together."""
    money, payment = plan.client.money, plan.payment
    stake, pulled = (payment.amount, payment.pulled) if payment is not None else (0, 0)
    lost = sum(host.plan.quote.lost_at_most for host in plan.joining)
    daily = sum(host.plan.quote.daily for host in plan.joining)
    return (
        ("stake", f"{money.show(stake)}, of which {money.show(pulled)} from the wallet"),
        ("earns, wholly leased", f"{money.show(daily)} a day after the pool's fee"),
        ("can be lost", f"at most {money.show(lost)} in seven days, for proven faults only"),
        ("gas for the operators", f"{format_amount(plan.gas, 18, places=6)} of the chain's own coin"),
    )


def changing_table(changing: Iterable[ChangingHost]) -> Table:
    """Hosts whose machines would change."""
    rows = [(host.name, str(host.machine.id), ", ".join(host.changes)) for host in changing]
    return Table(CHANGING_COLUMNS, rows)


def duty_sentence(duty: ProviderDuty, money: Money, named: Naming | None = None) -> str:
    """What a provider should do about a machine, and until when. named: how this face names `answer`, `recover` a
    machine and `appeal` against a fault of that number.
    """
    number, until = duty.machine.id, format_time(duty.until or 0)
    what = duty.what if named is None else named(duty.what, duty.fault.id if duty.fault else number)
    if duty.fault is not None:
        cost = fault_cost(duty.fault, money)
        return f"Fault {duty.fault.id} will cost {cost}: {what} until {until}, or let it stand."
    if duty.what == "answer":
        return f"Machine {number} is challenged until {until}: {what}."
    if duty.what == "wait":
        answered = format_time((duty.until or 0) - PROVE_TIME)
        return (
            f"Machine {number} did not answer by {answered}: anybody may prove it until {until}, then the question is "
            "over. See that its agent runs."
        )
    if duty.machine.down:
        return f"Machine {number} is down since {format_time(duty.machine.down_since)}: {what}."
    return f"Machine {number} left a lease unstarted: {what}."


def hosts_table(results: Mapping[str, str | HostLeft]) -> Table:
    """What hosts have said, by their names, or why one says nothing that counts."""
    rows = [
        (name, "failed", said.why) if isinstance(said, HostLeft) else (name, "ok", said)
        for name, said in results.items()
    ]
    return Table(HOST_COLUMNS, rows)


def host_line(seen: HostStatus) -> str:
    """What a host's agent sees, in a line."""
    down = [
        f"machine {machine.machine}{' is down' if machine.down_since else ''}" for machine in seen.machines
    ]
    gas = f"gas for {seen.gas.leases} leases" if seen.gas is not None else "gas unknown"
    chain = "" if seen.current else ", the chain does not answer"
    running = f"{len(seen.running)} of {len(seen.leases)} leases run"
    return f"{', '.join(down) or 'no machine'}; {running}; {gas}{chain}; seen {format_time(seen.at)}"
