"""`leasehold provider`: what a machine owes when it fails: `report`, `answer`, `recover`, `appeal`."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import ZERO_ADDRESS, FaultState, Machine, Params
from leasehold.chain.typed import Answer, Domain, sign
from leasehold.cli._completion import known_wallets
from leasehold.cli._doing import Done, carry_out, pay_in
from leasehold.cli._faults import costs, fault_json, lasted
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, FaultId, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.provider._tending import tended
from leasehold.client import PROVE_TIME, PoolClient, answer_until, arbiter_of
from leasehold.errors import (
    AlreadyDown,
    AppealOver,
    ChallengeLapsed,
    ChallengeStands,
    MachineNotStalled,
    NobodyRules,
    NoChallenge,
    WrongFaultState,
)
from leasehold.market import Money, format_amount

OperatorWallet = Annotated[
    str | None,
    typer.Option(
        "--operator-wallet",
        metavar="NAME",
        help="The wallet with the operator's key, if another one sends.",
        autocompletion=known_wallets,
    ),
]
# (up to so long, self-reported, proven by others), basis points of the stake
SCALE = (("7m", 200, 400), ("2d", 400, 800), ("5d", 3_000, 6_000), ("longer", 5_000, 10_000))


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (report, answer, recover, appeal):
        app.command()(command)


@shared(SENDS)
async def report(call: Invocation, machine: MachineId) -> None:
    """As the operator, say that a machine is down from now on: half as dear as when others prove it.

    Its leases are not billed from now on. `leasehold provider recover` ends it.
    """
    async with open_session(call, signs=True) as session:
        found = await tended(session, machine, operator_only=True)
        faults = await session.pool.faults()
        if running := await faults.running_fault(machine):
            raise AlreadyDown(machine=machine, fault=running)
        rules = await session.pool.params(found.params)
        challenge = await faults.challenge_of(machine)
        until = await answer_until(session, machine, challenge) if challenge.at else 0
        if challenge.at and await session.now() <= until + PROVE_TIME:  # later it is over, and gives way
            raise ChallengeStands(machine=machine, until=until)
        window = await faults.window_of(machine)
        call.out.pairs(
            f"Machine {machine} goes down; {session.money.show(found.stake)} are at stake",
            (
                *_scale(found, rules, session.money),
                ("less", f"what the last seven days cost already: {window.charged_bps / 100:g} %"),
            ),
        )

        async def send() -> Done:
            fault, receipt = await faults.report_outage(machine)
            said = f"Machine {machine} is down (fault {fault}) until `leasehold provider recover {machine}`."
            return Done(receipt, said, {"fault": fault})

        document: dict[str, Json] = {"machine": machine, "charged_bps": window.charged_bps}
        await carry_out(call, f"Report machine {machine} down?", document, send)


def _scale(machine: Machine, rules: Params, money: Money) -> tuple[tuple[str, str], ...]:
    rows = []
    for until, reported, proven in SCALE:
        mine, others = min(reported, rules.max_slash_bps), min(proven, rules.max_slash_bps)
        amount = money.show(machine.stake * mine // 10_000, places=6)
        name = until if until == "longer" else f"down for up to {until}"
        rows.append(
            (name, f"{amount} ({mine / 100:g} % of the stake; {others / 100:g} % if proven by others)")
        )
    return tuple(rows)


@shared(SENDS)
async def answer(call: Invocation, machine: MachineId, operator_wallet: OperatorWallet = None) -> None:
    """Answer a tenant's challenge with the operator's key, as the machine's agent does by itself."""
    async with open_session(call, signs=True) as session:
        faults = await session.pool.faults()
        challenge = await faults.challenge_of(machine)
        if challenge.challenger == ZERO_ADDRESS:
            raise NoChallenge(machine=machine)
        if operator_wallet is None:
            await tended(session, machine, operator_only=True)
        until = await answer_until(session, machine, challenge)
        if await session.now() > until:
            raise ChallengeLapsed(machine=machine, deadline=until)
        call.out.say(f"Challenge {challenge.id} by {challenge.challenger} stands until {utc(until)}.")

        async def send() -> Done:
            if operator_wallet is None:
                receipt = await faults.answer(machine)
            else:
                issued_at, proof = await _answer(call, session, operator_wallet, machine, challenge.id)
                receipt = await faults.answer(machine, issued_at, proof)
            return Done(
                receipt, f"Challenge {challenge.id} is answered: a tenth of its bond is the provider's."
            )

        document: dict[str, Json] = {"machine": machine, "challenge": challenge.id, "until": until}
        await carry_out(call, "Answer it?", document, send)


async def _answer(
    call: Invocation, session: PoolClient, name: str, machine: int, challenge: int
) -> tuple[int, bytes]:
    """The time and the operator's proof of an answer. The head's time: a proof from the future is refused."""
    signer = await call.keystore.unlock(name, call.password(name))
    header = await session.rpc.header()
    issued_at = header.timestamp if header else await session.now()
    domain = Domain(session.deployment.chain_id, session.deployment.controller)
    return issued_at, await sign(Answer(signer.address, machine, challenge, issued_at), domain, signer)


@shared(SENDS | PROPOSES)
async def recover(call: Invocation, machine: MachineId) -> None:
    """Say that a machine works again: ends its outage, or the stall after a lease that was not started.

    The end of an outage fixes what it costs. The provider or the operator sends this.
    """
    async with open_session(call, signs=True) as session:
        found = await tended(session, machine)
        if not (found.down or found.stalled):
            raise MachineNotStalled(machine=machine)
        faults = await session.pool.faults()
        running = await faults.running_fault(machine) if found.down else 0
        if found.down:
            call.out.say(f"Machine {machine} is down since {utc(found.down_since)} (fault {running}).")

        async def send() -> Done:
            if not found.down:
                receipt = await session.pool.recover(machine)
                return Done(receipt, f"Machine {machine} takes leases again.", {"fault": None})
            receipt = await faults.recover(machine)
            fault = await session.fault(running)
            said = f"Machine {machine} is back. The outage costs {costs(fault, session.money)}"
            may = f"; `leasehold provider appeal {running}` until {utc(fault.deadline)}"
            said += may if fault.state is FaultState.FILED else ""
            return Done(receipt, f"{said}.", fault_json(fault, session.money))

        question = f"Does machine {machine} serve leases again?"
        await carry_out(call, question, {"machine": machine}, send)


@shared(SENDS | PROPOSES)
async def appeal(call: Invocation, fault: FaultId, approve: Approve = False) -> None:
    """Appeal against a fault, with a bond. Its arbiter rules; silence lets it stand and gives the bond back."""
    async with open_session(call, signs=True) as session:
        found, money = await session.fault(fault), session.money
        await session.provider().own(found.machine)
        if found.state is not FaultState.FILED:
            raise WrongFaultState(fault=fault, state=found.state)
        if await session.now() > found.deadline:
            raise AppealOver(fault=fault, deadline=found.deadline)
        rules = await session.pool.params(found.rules)
        if (arbiter := await arbiter_of(session, found)) is None:
            raise NobodyRules(fault=fault)
        paid = await pay_in(session, rules.bond, approve=approve or call.dry_run)
        call.out.pairs(
            f"Appeal against fault {fault} of machine {found.machine}",
            (
                ("when", lasted(found)),
                ("costs", costs(found, money)),
                ("bond", paid.said(session)),
                ("arbiter", arbiter),
                ("it is dropped", "nothing is slashed, and the bond comes back"),
                ("it stands", "the bond is lost"),
                ("nobody rules", "it stands, and the bond comes back"),
            ),
        )

        async def send() -> Done:
            await paid.send(session)
            receipt = await (await session.pool.faults()).appeal(fault)
            after = await session.fault(fault)
            said = f"{arbiter} may rule until {utc(after.deadline)}."
            return Done(receipt, said, {"deadline": after.deadline})

        document: dict[str, Json] = {
            "fault": fault,
            "bond": format_amount(rules.bond, money.decimals),
            "token": money.symbol,
        }
        await carry_out(call, f"Appeal, with {money.show(rules.bond)}?", document, send)
