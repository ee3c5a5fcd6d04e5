"""What a signer is shown of a proposal before signing it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from leasehold import format_lease
from leasehold.agreements import AcceptTransfer, Offer, Proposal, Session
from leasehold.cli._decoded import Reader
from leasehold.cli._invocation import Invocation
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import PoolClient, read_calls
from leasehold.market import format_duration, format_share

if TYPE_CHECKING:
    from leasehold.chain.typed import Struct

Rows = list[tuple[str, str]]


def names_of(call: Invocation, session: PoolClient) -> dict[str, str]:
    """What the addresses are called that are known here."""
    own = {each.address: f"your wallet {each.name}" for each in call.keystore.list()}
    groups = {
        group.address(session.deployment.accounts): f"group {name}"
        for name, group in call.groups.all().items()
    }
    pool = {session.deployment.controller: "the pool", session.deployment.accounts: "Accounts"}
    return {**own, **groups, **pool, session.deployment.token: session.money.symbol}


async def show_proposal(call: Invocation, session: PoolClient, proposal: Proposal) -> dict[str, Json]:
    """Print all of a proposal for people; the same as JSON is returned."""
    reader = Reader(session, names_of(call, session))
    known = call.groups.name_of(proposal.group)
    who = f"group {known}" if known else "a group that is not in your address book: compare its signers"
    rows: Rows = [
        ("for", f"{proposal.account} ({who})"),
        ("signers", f"{proposal.group.threshold} of {len(proposal.group.signers)}"),
        *((f"  {place}", signer) for place, signer in enumerate(proposal.group.signers, 1)),
    ]
    document: dict[str, Json] = {
        "kind": proposal.kind,
        "account": proposal.account,
        "group": known,
        "threshold": proposal.group.threshold,
        "signers": list(proposal.group.signers),
        "deadline": proposal.deadline,
        "digests": ["0x" + each.hex() for each in proposal.digests],
        "messages": [message_json(each) for each in proposal.messages],
    }
    if proposal.kind == "execute":
        read = await read_calls(session, proposal)
        for number, each in enumerate(read.calls, 1):
            rows += [(f"call {number}", ""), *reader.rows(each, "  ")]
        nonce = str(proposal.execution.nonce)
        rows += [
            ("leaves the ledger", f"{reader.show(read.leaves)}; it holds {session.money.show(read.ledger)}"),
            *(("and besides", each) for each in read.leaves.besides),
            ("nonce", f"{nonce}: {read.ahead} other proposals come first" if read.ahead > 0 else nonce),
        ]
        document["calls"] = [reader.json(each) for each in read.calls]
        document["leaves_ledger"] = reader.amount(read.leaves)
        document["leaves_more"] = read.leaves.unknown
        document["besides"] = list(read.leaves.besides)
    else:
        async for row in _other(session, proposal):
            rows.append(row)
    rows.append(("works until", utc(proposal.deadline)))
    rows += [("digest", "0x" + each.hex()) for each in proposal.digests]
    call.out.pairs(_TITLES[proposal.kind], rows)
    return document


_TITLES = {
    "execute": "Make these calls",
    "acceptance": "Take these leases over",
    "offer": "Offer these terms",
    "session": "Let this key talk to machines' agents for the group",
}


def message_json(message: Struct) -> Json:
    """A message by wire names."""
    found: dict[str, Json] = {}
    for name, value in message.to_json().items():
        if isinstance(value, str | int | bool):
            found[name] = value
        elif isinstance(value, list):
            found[name] = [each if isinstance(each, str | int) else dict(each) for each in value]
    return found


async def _other(session: PoolClient, proposal: Proposal) -> AsyncIterator[tuple[str, str]]:
    money = session.money
    for message in proposal.messages:
        if isinstance(message, AcceptTransfer):
            lease = await session.pool.lease_of(message.lease)
            yield (
                f"lease {format_lease(message.lease)}",
                f"share {format_share(lease.cells)} of machine {lease.machine} until {utc(lease.end)}, now "
                f"{lease.tenant}'s; {money.show(lease.deposit - lease.settled)} of escrow with it",
            )
        elif isinstance(message, Offer):
            yield "machine", f"{message.machine}, terms of revision {message.revision}"
            yield "price", f"{money.show(message.price)} per GPU-hour" + (", spot" if message.spot else "")
            yield (
                "at most",
                f"{format_share(message.cells)} GPU for {format_duration(message.duration)}, to {message.tenant}",
            )
        elif isinstance(message, Session):
            yield "key", message.key
            yield "may", ", ".join(message.ops)
            yield "on", ", ".join(map(format_lease, message.leases)) or "all leases of the group"
