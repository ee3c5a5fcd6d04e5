"""`leasehold group rotate`, `session` and `rescue`: other signers, a key for the agents, and tokens gone astray."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.agreements import AcceptanceFile, read_file
from leasehold.cli._carrying_out import open_session, write_proposal
from leasehold.cli._command import ANSWERS, PROPOSAL, Invocation, shared
from leasehold.cli._options import LEASE, AmountOrAll, Read, argument, option
from leasehold.cli.group.book import GroupName, Salt
from leasehold.client import AskForSession, RescueTokens, RotateGroup, successor
from leasehold.market import InvalidInput, parse_duration


def _replacing(text: str) -> tuple[str, str]:
    gone, equals, comes = text.partition("=")
    if not equals:
        raise InvalidInput("Write --replace OLD=NEW, once for each signer that goes.")
    return gone, comes


@shared(ANSWERS | PROPOSAL)
async def rotate(
    call: Invocation,
    name: GroupName,
    new: Annotated[str, argument("NEW", "The other group; made if it is not known yet.")],
    replaced: Annotated[
        tuple[tuple[str, str], ...],
        option("--replace OLD=NEW", "One signer in another's place; else --signer."),
        Read(_replacing),
    ] = (),
    signers: Annotated[list[str] | None, option("--signer -s ADDRESS", "All signers of NEW.")] = None,
    threshold: Annotated[
        int | None, option("--threshold -t N", "By default as before.", min=1, max=16)
    ] = None,
    salt: Salt = None,
    acceptance: Annotated[Path | None, option("--acceptance FILE", "That NEW takes the leases over.")] = None,
) -> None:
    """Give all that a group has to another group: how a signer is replaced, or the threshold changed.

    Leases have to be accepted first: the first run writes what NEW has to approve, the second one (with
    `--acceptance`) what the old group has to. What reaches the old group's ledger later stays there.
    """
    old = call.home.groups.get(name)
    accepted = read_file(acceptance, AcceptanceFile) if acceptance else None
    if replaced and signers:
        raise InvalidInput("Say --replace or name all with --signer, not both.")
    if replaced or signers or threshold or salt:
        target = successor(
            old, replaced=dict(replaced), signers=signers or (), threshold=threshold, salt=salt or bytes(32)
        )
        call.home.groups.add(new, target)
    else:
        target = call.home.groups.get(new)
    async with open_session(call, account=False) as client:
        plan = await client.plan(RotateGroup(old, target, accepted))
        if plan.rest:
            call.out.warn(
                f"The first {len(plan.leases)} of {len(plan.leases) + plan.rest} leases: run this again for the rest "
                "and the ledger."
            )
        shown = ", ".join(format_lease(record.lease.id) for record in plan.leases)
        what = f"{f'leases {shown}' if plan.leases else 'no lease'} and {client.money.show(plan.ledger)}"
        call.out.say(f"From {name} ({plan.account}) to {new} ({plan.to}): {what}.")
        path = await write_proposal(call, client, (await client.carry_out(plan)).proposal)
        if plan.accepts:
            call.out.say(
                f"This one is for {new}. With what `leasehold group execute {path}` makes of it, run: "
                f"leasehold group rotate {name} {new} --acceptance FILE"
            )


@shared(ANSWERS | PROPOSAL)
async def session(
    call: Invocation,
    name: GroupName,
    duration: Annotated[str, option("--for DURATION", "How long the key works.")] = "7d",
    leases: Annotated[
        tuple[int, ...], option("--lease LEASE", "Only on these; by default on all."), LEASE
    ] = (),
) -> None:
    """Propose a throw-away key of this computer, which may talk to the agents of the group's leases.

    With it `show`, `logs`, `exec` and `results` work with `--as-group`. It can move no money.
    """
    request = AskForSession(call.home.groups.get(name), leases, parse_duration(duration))
    async with open_session(call, account=False) as client:
        await write_proposal(call, client, (await client.carry_out(request)).proposal)


@shared(ANSWERS | PROPOSAL)
async def rescue(
    call: Invocation,
    name: GroupName,
    amount: AmountOrAll,
    to: Annotated[str | None, option("--to ADDRESS", "Who gets them; by default the first signer.")] = None,
) -> None:
    """Propose to send on what somebody sent to the group's address itself instead of to its ledger."""
    request = RescueTokens(call.home.groups.get(name), amount, to)
    async with open_session(call, account=False) as client:
        await write_proposal(call, client, (await client.carry_out(request)).proposal)
