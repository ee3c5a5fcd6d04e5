"""`leasehold group rotate`, `session` and `rescue`: other signers, a key for the agents, and tokens gone astray."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from leasehold.agreements import LIFETIME, AcceptanceFile, FileRefused, Proposal, propose_calls, read_file
from leasehold.chain import Call, LeaseRecord, format_lease, parse_lease
from leasehold.chain.typed import AcceptTransfer, Group, Session
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AmountOrAll
from leasehold.cli._proposing import write_proposal
from leasehold.cli._shared import ANSWERS, PROPOSAL, shared
from leasehold.cli._shown import utc
from leasehold.cli.group.book import GroupName, Salt, make_group
from leasehold.client import PoolClient, parse_address
from leasehold.market import InvalidInput, NotEnoughFunds, parse_amount, parse_duration
from leasehold.market.wire import OPS

MOST = 64  # leases that one proposal moves


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (rotate, session, rescue):
        app.command()(command)


@shared(ANSWERS | PROPOSAL)
async def rotate(
    call: Invocation,
    name: GroupName,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The other group; made if it is not known yet.")],
    replaced: Annotated[
        list[str] | None,
        typer.Option("--replace", metavar="OLD=NEW", help="One signer in another's place; else --signer."),
    ] = None,
    signers: Annotated[
        list[str] | None, typer.Option("--signer", "-s", metavar="ADDRESS", help="All signers of NEW.")
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option("--threshold", "-t", metavar="N", min=1, max=16, help="By default as before."),
    ] = None,
    salt: Salt = None,
    acceptance: Annotated[
        Path | None,
        typer.Option("--acceptance", metavar="FILE", help="That NEW takes the leases over."),
    ] = None,
) -> None:
    """Give all that a group has to another group: how a signer is replaced, or the threshold changed.

    Leases have to be accepted first: the first run writes what NEW has to approve, the second one (with
    `--acceptance`) what the old group has to. What reaches the old group's ledger later stays there.
    """
    old = call.groups.get(name)
    async with open_session(call, account=False) as session:
        target = _target(call, old, new, replaced or [], signers or [], threshold, salt)
        account = old.address(session.deployment.accounts)
        to = target.address(session.deployment.accounts)
        index = await session.index()
        leases = await index.leases(tenant=account, live=True)
        balance = await session.pool.balance_of(account)
        if len(leases) > MOST:
            call.out.warn(
                f"The first {MOST} of {len(leases)} leases: run this again for the rest and the ledger."
            )
            leases, balance = leases[:MOST], 0
        if not leases and not balance:
            raise NotEnoughFunds(f"Group {name} has no lease and nothing in its ledger: use {new} instead.")
        call.out.say(
            f"From {name} ({account}) to {new} ({to}): {shown_leases(leases)} and {session.money.show(balance)}."
        )
        if leases and acceptance is None:
            path = await write_proposal(call, session, await _acceptance(session, target, leases))
            call.out.say(
                f"This one is for {new}. With what `leasehold group execute {path}` makes of it, run: "
                f"leasehold group rotate {name} {new} --acceptance FILE"
            )
            return
        calls = await _moves(session, to, leases, balance, acceptance)
        deadline = await session.now() + LIFETIME
        made = await propose_calls(session.accounts, session.deployment, old, calls, deadline=deadline)
        await write_proposal(call, session, made)


def _target(
    call: Invocation,
    old: Group,
    new: str,
    replaced: list[str],
    signers: list[str],
    threshold: int | None,
    salt: str | None,
) -> Group:
    """The group that takes over: as the options say, or as it is known."""
    if replaced and signers:
        raise InvalidInput("Say --replace or name all with --signer, not both.")
    if not (replaced or signers or threshold or salt):
        return call.groups.get(new)
    names = signers or list(old.signers)
    for each in replaced:
        before, equals, after = each.partition("=")
        gone = parse_address(before)
        if not equals or gone not in names:
            raise InvalidInput(
                f"'{each}' replaces no signer: write --replace OLD=NEW with one of {', '.join(names)}."
            )
        names[names.index(gone)] = parse_address(after)
    group = make_group(threshold or old.threshold, names, salt)
    if group == old:
        raise InvalidInput("That is the same group: change a signer, the threshold or the salt.")
    call.groups.add(new, group)
    return group


def shown_leases(leases: Sequence[LeaseRecord]) -> str:
    """The leases' names in a row."""
    return f"leases {', '.join(format_lease(each.lease.id) for each in leases)}" if leases else "no lease"


async def _acceptance(session: PoolClient, target: Group, leases: Sequence[LeaseRecord]) -> Proposal:
    """What the new group has to sign, so that it gets the leases."""
    deployment, deadline = session.deployment, await session.now() + LIFETIME
    messages = tuple(
        AcceptTransfer(
            account=target.address(deployment.accounts),
            controller=deployment.controller,
            lease=each.lease.id,
            deadline=deadline,
        )
        for each in leases
    )
    return Proposal("acceptance", deployment, target, messages)


async def _moves(
    session: PoolClient, to: str, leases: Sequence[LeaseRecord], balance: int, acceptance: Path | None
) -> list[Call]:
    calls: list[Call] = []
    if leases:
        assert acceptance is not None
        accepted = read_file(acceptance, AcceptanceFile)
        if accepted.account != to:
            raise FileRefused(
                f"The acceptance is {accepted.account}'s, not {to}'s: have the new group make it."
            )
        if accepted.deadline < await session.now():
            raise FileRefused(
                f"The acceptance worked until {utc(accepted.deadline)}: have the new group make another."
            )
        for each in leases:
            proof = accepted.proof_of(each.lease.id, session.deployment)
            calls.append(session.pool.call("transferLease", each.lease.id, to, accepted.deadline, proof))
    if balance:
        calls.append(session.pool.call("transfer", to, balance))
    return calls


@shared(ANSWERS | PROPOSAL)
async def session(
    call: Invocation,
    name: GroupName,
    duration: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long the key works.")
    ] = "7d",
    leases: Annotated[
        list[str] | None, typer.Option("--lease", metavar="LEASE", help="Only on these; by default on all.")
    ] = None,
) -> None:
    """Propose a throw-away key of this computer, which may talk to the agents of the group's leases.

    With it `show`, `logs`, `exec` and `results` work with `--as-group`. It can move no money.
    """
    group, lifetime = call.groups.get(name), parse_duration(duration)
    numbers = tuple(map(parse_lease, leases or ()))
    async with open_session(call, account=False) as opened:
        deployment = opened.deployment
        message = Session(
            account=group.address(deployment.accounts),
            chain=deployment.chain_id,
            controller=deployment.controller,
            leases=numbers,
            ops=tuple(OPS),
            key=call.home.pending_sessions.make(),
            expires_at=await opened.now() + lifetime,
        )
        await write_proposal(call, opened, Proposal("session", deployment, group, (message,)))


@shared(ANSWERS | PROPOSAL)
async def rescue(
    call: Invocation,
    name: GroupName,
    amount: AmountOrAll,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="ADDRESS", help="Who gets them; by default the first signer."),
    ] = None,
) -> None:
    """Propose to send on what somebody sent to the group's address itself instead of to its ledger."""
    group = call.groups.get(name)
    target = parse_address(to) if to else group.signers[0]
    async with open_session(call, account=False) as opened:
        account, money = group.address(opened.deployment.accounts), opened.money
        strayed = await opened.token.balance(account)
        units = strayed if amount == "all" else parse_amount(amount, money.decimals)
        if not 0 < units <= strayed:
            raise NotEnoughFunds(
                f"{money.show(strayed)} lie at the address of group {name} itself: rescue what is there. Its "
                "ledger is for `leasehold wallet withdraw --as-group`."
            )
        accounts = opened.accounts
        calls = (
            accounts.call("deployGroup", group.threshold, list(group.signers), group.salt),
            accounts.rescue(opened.deployment.token, target, units),
        )
        deadline = await opened.now() + LIFETIME
        made = await propose_calls(accounts, opened.deployment, group, calls, deadline=deadline)
        await write_proposal(call, opened, made)
