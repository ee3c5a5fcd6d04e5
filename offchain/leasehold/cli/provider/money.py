"""`leasehold provider`: stake, notice, collecting, and where everything stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from leasehold.chain import FaultState, Lease, LeaseState, Machine, format_lease, parse_lease
from leasehold.cli._faults import costs
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AmountOrAll, Approve, LeaseId, MachineId
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import machine_state, transaction, utc
from leasehold.cli.provider._tending import tended
from leasehold.cli.wallet import To, withdraw_from_ledger
from leasehold.client import PROVE_TIME, PoolClient, answer_until
from leasehold.errors import UnderNotice
from leasehold.market import (
    Due,
    InvalidInput,
    format_amount,
    format_cells,
    format_duration,
    parse_amount,
    stake_shortfall,
)


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (stake, terminate, claim, withdraw, status):
        app.command()(command)


@shared(SENDS | PROPOSES)
async def stake(
    call: Invocation,
    machine: MachineId,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="Whole tokens to add.")],
    approve: Approve = False,
) -> None:
    """Add to a machine's stake, for instance after the minimum was raised."""
    async with open_session(call, signs=True) as session:
        money, provider = session.money, session.provider()
        units = parse_amount(amount, money.decimals)
        await provider.own(machine)
        funds = await provider.funds()
        pulled = max(0, units - funds.ledger)
        if problem := stake_shortfall(pulled, funds, money):
            raise problem
        missing = max(0, pulled - funds.allowance)
        if not approve:
            provider.check_allowance(pulled, missing)
        if call.dry_run:
            call.out.say(f"Would add {money.show(units)} to the stake of machine {machine}.")
            call.out.answer(
                {"machine": machine, "adds": format_amount(units, money.decimals), "dry_run": True}
            )
            return
        call.out.confirm(f"Add {money.show(units)} to the stake of machine {machine}?")
        with call.out.working("Waiting for the transaction"):
            if missing:
                await provider.approve(pulled)
            receipt = await session.pool.add_stake(machine, units)
        after = await session.pool.machine_of(machine)
        call.out.answer(
            {
                "machine": machine,
                "stake": format_amount(after.stake, money.decimals),
                **transaction(receipt),
            }
        )
        call.out.say(f"Machine {machine} has {money.show(after.stake)} at stake.")


@shared(SENDS | PROPOSES)
async def terminate(call: Invocation, lease: LeaseId) -> None:
    """Give a tenant notice: the lease ends early, and you pay the penalty from your ledger.

    Ending a spot lease costs nothing, and its machine's operator may do it too.
    """
    number = parse_lease(lease)
    async with open_session(call, signs=True) as session:
        money, provider = session.money, session.provider()
        found = await session.lease(number)
        if found.state is not LeaseState.ACTIVE:
            raise InvalidInput(
                f"Lease {format_lease(number)} is {found.state.word}: only an active lease is given notice."
            )
        if found.noticed:
            raise UnderNotice(lease=number)
        if found.spot:
            await tended(session, found.machine)
        else:
            await provider.own(found.machine)
        given = await provider.notice(found)
        penalty = "no penalty, since it is a spot lease,"
        if not found.spot:
            penalty = f"a penalty of {money.show(given.penalty)} from your ledger"
        call.out.say(
            f"Lease {format_lease(number)} would end {utc(given.end)}; its tenant gets {penalty} and everything it "
            "has not used."
        )
        if call.dry_run:
            call.out.answer(
                {
                    "end": given.end,
                    "penalty": format_amount(given.penalty, money.decimals),
                    "spot": found.spot,
                }
            )
            return
        call.out.confirm("Give notice?")
        with call.out.working("Waiting for the transaction"):
            receipt = await session.pool.terminate(number)
        call.out.answer(
            {"lease": format_lease(number), "penalty": format_amount(given.penalty, money.decimals),
             **transaction(receipt)}
        )  # fmt: skip


@shared(SENDS | PROPOSES)
async def claim(
    call: Invocation,
    leases: Annotated[
        list[str] | None, typer.Argument(metavar="[LEASE]...", help="By default all that pay.")
    ] = None,
    forgo: Annotated[
        bool, typer.Option("--forgo", help="Close those that wait for an outage too, and give its time back.")
    ] = False,
) -> None:
    """Collect what your machines have earned, and close the leases whose end has passed, in one transaction.

    A lease that an outage touched stays open for its tenant while that may still be taken off the bill. With --forgo
    you give that time back at once, and have the cells.
    """
    wanted = {parse_lease(each) for each in leases or ()}
    async with open_session(call, signs=True) as session:
        money = session.money
        mine = await own_leases(call, session)
        due = await session.provider().due([each for each in mine if not wanted or each.id in wanted])
        if due.disputed and not forgo:
            named = " ".join(format_lease(each) for each in due.disputed)
            call.out.say(f"Over, and held for their tenants by an outage: {named}. --forgo closes them now.")
        due = due.forgoing() if forgo else due
        _say_due(call, session, due)
        if due.empty or call.dry_run:
            call.out.answer({"claimed": [], "closed": [], "dry_run": call.dry_run})
            return
        call.out.confirm("Collect?")
        before = await session.pool.balance_of(session.account)
        with call.out.working("Waiting for the transaction"):
            receipt = await session.provider().collect(due)
        gained = await session.pool.balance_of(session.account) - before
        call.out.answer(
            {
                "claimed": [format_lease(each) for each in due.claimable],
                "closed": [format_lease(each) for each in due.overdue],
                "gained": format_amount(gained, money.decimals),
                "token": money.symbol,
                **transaction(receipt),
            }
        )
        call.out.say(f"{money.show(gained)} came into your ledger.")


@shared(SENDS | PROPOSES)
async def withdraw(
    call: Invocation,
    amount: AmountOrAll,
    to: To = None,
) -> None:
    """Pay earnings out of the pool's ledger, as `leasehold wallet withdraw` does."""
    await withdraw_from_ledger(call, amount, to)


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your machines, their leases, what they have earned and what can be collected."""
    async with open_session(call) as session:
        money = session.money
        index = await session.index()
        machines = [r.machine for r in await index.machines() if _same(r.machine.provider, session.account)]
        mine = await own_leases(call, session)
        due = await session.provider().due(mine)
        ledger = await session.pool.balance_of(session.account)
        gas = {each.id: await session.rpc.balance(each.operator) for each in machines}
        now = await session.now()
        running = [each for each in mine if each.state.live]
        duties = [duty for each in machines for duty in await _duties(session, each, now)]
        call.out.answer(
            {
                "account": session.account,
                "token": money.symbol,
                "ledger": format_amount(ledger, money.decimals),
                "claimable": format_amount(sum(due.claimable.values()), money.decimals),
                "overdue": [format_lease(each) for each in due.overdue],
                "machines": [
                    {
                        "id": each.id,
                        "state": machine_state(each),
                        "stake": format_amount(each.stake, money.decimals),
                        "operator": each.operator,
                        "operator_gas": format_amount(gas[each.id], 18),
                        "leased_cells": each.leased.bit_count(),
                        "withheld": format_cells(each.withheld),
                    }
                    for each in machines
                ],
                "leases": [
                    {"id": format_lease(each.id), "machine": each.machine, "end": each.end}
                    for each in running
                ],
                "duties": [
                    {"machine": each.machine, "what": each.what, "until": each.until} for each in duties
                ],
            }
        )
        call.out.table(
            ("machine", "state", ">stake", ">leased", "withheld", ">operator's gas"),
            [
                (
                    str(each.id),
                    machine_state(each),
                    format_amount(each.stake, money.decimals, places=6),
                    f"{each.leased.bit_count() / 8:g}/{each.gpus}",
                    f"GPU {format_cells(each.withheld)}" if each.withheld else "none",
                    format_amount(gas[each.id], 18, places=6),
                )
                for each in machines
            ],
            empty="You have no machine in this pool: join with `leasehold provider join`.",
        )
        call.out.table(
            ("lease", ">machine", "state", ">left"),
            [
                (
                    format_lease(each.id),
                    str(each.machine),
                    each.state.word,
                    format_duration(max(0, each.end - now)),
                )
                for each in running
            ],
            empty="No leases are running.",
        )
        for duty in duties:
            call.out.warn(duty.said)
        if not call.out.as_json:
            _say_due(call, session, due)
            call.out.say(f"In the ledger: {money.show(ledger)}.")


@dataclass(frozen=True)
class _Duty:
    """What a machine's provider should do, and until when (unix seconds, or `None`)."""

    machine: int
    what: str
    until: int | None
    said: str


async def _duties(session: PoolClient, machine: Machine, now: int) -> list[_Duty]:
    """Challenges, outages and faults that wait for the provider."""
    faults, number, found = await session.pool.faults(), machine.id, list[_Duty]()
    challenge = await faults.challenge_of(number)
    until = await answer_until(session, number, challenge) if challenge.at else 0
    if challenge.at and now <= until:
        said = f"Machine {number} is challenged until {utc(until)}: `leasehold provider answer {number}`."
        found.append(_Duty(number, "answer", until, said))
    elif challenge.at and now <= until + PROVE_TIME:
        said = (
            f"Machine {number} did not answer by {utc(until)}: anybody may prove it until {utc(until + PROVE_TIME)}, "
            "then the question is over. See that its agent runs."
        )
        found.append(_Duty(number, "wait", until + PROVE_TIME, said))
    if machine.down:
        said = f"Machine {number} is down since {utc(machine.down_since)}: `leasehold provider recover {number}`."
        found.append(_Duty(number, "recover", None, said))
    if machine.stalled:
        said = f"Machine {number} left a lease unstarted: `leasehold provider recover {number}`."
        found.append(_Duty(number, "recover", None, said))
    for record in await (await session.index()).faults(machine=number):
        if record.state is not FaultState.FILED:
            continue
        fault = await session.fault(record.fault)
        if fault.state is FaultState.FILED and now <= fault.deadline:
            said = (
                f"Fault {fault.id} will cost {costs(fault, session.money)}: `leasehold provider appeal {fault.id}` "
                f"until {utc(fault.deadline)}, or let it stand."
            )
            found.append(_Duty(number, "appeal", fault.deadline, said))
    return found


async def own_leases(call: Invocation, session: PoolClient) -> list[Lease]:
    """The leases on the account's machines, as the index has them."""
    index = await session.index()
    found: list[Lease] = []
    for record in await index.machines():
        if _same(record.machine.provider, session.account):
            found.extend(each.lease for each in await index.leases(machine=record.machine.id))
    return found


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _say_due(call: Invocation, session: PoolClient, due: Due) -> None:
    for lease, units in due.claimable.items():
        call.out.say(
            f"Lease {format_lease(lease)}: {session.money.show(units, places=6)} to claim, before the fee."
        )
    for lease in due.overdue:
        call.out.say(f"Lease {format_lease(lease)} is past its end: closing it pays what is left.")
    if due.empty:
        call.out.say("There is nothing to collect now.")
