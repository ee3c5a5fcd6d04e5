"""A proposal as a signer reads it: every call with its arguments, and what can leave the ledger by it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.agreements import AcceptTransfer, CallReader, Offer, Proposal, Session, call_json
from leasehold.chain import format_lease
from leasehold.chain.typed import Struct
from leasehold.client._outflow import Outflow
from leasehold.client._proposals import calls_of, read_calls
from leasehold.market import Json, Money, format_duration, format_share, format_time

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_TITLES = {
    "execute": "Make these calls",
    "acceptance": "Take these leases over",
    "offer": "Offer these terms",
    "session": "Let this key talk to machines' agents for the group",
}


@dataclass(frozen=True)
class ProposalText:
    """All of a proposal: rows for people, and the same for a program."""

    title: str
    rows: tuple[tuple[str, str], ...]
    document: Mapping[str, Json]


async def read_proposal(client: PoolClient, proposal: Proposal) -> ProposalText:
    """What is shown of a proposal before it is signed. Raises ChainError: a call that cannot be read."""
    known, names = client.home.groups.name_of(proposal.group), _names(client)
    who = f"group {known}" if known else "a group that is not in your address book: compare its signers"
    rows = [
        ("for", f"{proposal.account} ({who})"),
        ("signers", f"{proposal.group.threshold} of {len(proposal.group.signers)}"),
        *((f"  {place}", signer) for place, signer in enumerate(proposal.group.signers, 1)),
    ]
    document: dict[str, Json] = {
        **_head(proposal),
        "group": known,
        "messages": [_message(message) for message in proposal.messages],
    }
    if proposal.kind == "execute":
        read, reader = await read_calls(client, proposal), CallReader(client.money, names)
        for number, call in enumerate(read.calls, 1):
            rows += [(f"call {number}", ""), *reader.rows(call, "  ")]
        nonce = str(proposal.execution.nonce)
        rows += [
            (
                "leaves the ledger",
                f"{_leaving(read.leaves, client.money)}; it holds {client.money.show(read.ledger)}",
            ),
            *(("and besides", thing) for thing in read.leaves.besides),
            ("nonce", f"{nonce}: {read.ahead} other proposals come first" if read.ahead > 0 else nonce),
        ]
        document["calls"] = [call_json(call) for call in read.calls]
        document["leaves_ledger"] = client.money.exact(read.leaves.units)
        document["leaves_more"] = read.leaves.unknown
        document["besides"] = list(read.leaves.besides)
    rows += [row async for row in _other_rows(client, proposal)]
    rows.append(("works until", format_time(proposal.deadline)))
    rows += [("digest", "0x" + digest.hex()) for digest in proposal.digests]
    return ProposalText(_TITLES[proposal.kind], tuple(rows), document)


async def proposal_json(client: PoolClient, proposal: Proposal) -> dict[str, Json]:
    """A proposal that was just made, for a program."""
    if proposal.kind != "execute":
        return _head(proposal)
    return {**_head(proposal), "calls": [call_json(call) for call in await calls_of(client, proposal)]}


def _names(client: PoolClient) -> dict[str, str]:
    """What the addresses are called that are known here."""
    home, deployment = client.home, client.deployment
    own = {wallet.address: f"your wallet {wallet.name}" for wallet in home.keystore.list()}
    groups = {
        group.address(deployment.accounts): f"group {name}" for name, group in home.groups.all().items()
    }
    pool = {deployment.controller: "the pool", deployment.accounts: "Accounts"}
    return {**own, **groups, **pool, deployment.token: client.money.symbol}


def _leaving(outflow: Outflow, money: Money) -> str:
    """What leaves the ledger, for people."""
    if outflow.unknown:
        return f"{money.show(outflow.units)}, and whatever the calls above say that is not priced here"
    return f"{money.show(outflow.units)} at most"


def _head(proposal: Proposal) -> dict[str, Json]:
    return {
        "kind": proposal.kind,
        "account": proposal.account,
        "threshold": proposal.group.threshold,
        "signers": list(proposal.group.signers),
        "digests": ["0x" + digest.hex() for digest in proposal.digests],
        "deadline": proposal.deadline,
    }


def _message(message: Struct) -> Json:
    """A message by wire names."""
    told: dict[str, Json] = {}
    for name, value in message.to_json().items():
        if isinstance(value, str | int | bool):
            told[name] = value
        elif isinstance(value, list):
            told[name] = [part if isinstance(part, str | int) else dict(part) for part in value]
    return told


async def _other_rows(client: PoolClient, proposal: Proposal) -> AsyncIterator[tuple[str, str]]:
    """What a proposal says that makes no calls."""
    money = client.money
    for message in proposal.messages:
        if isinstance(message, AcceptTransfer):
            lease = await client.pool.lease_of(message.lease)
            yield (
                f"lease {format_lease(message.lease)}",
                f"share {format_share(lease.cells)} of machine {lease.machine} until {format_time(lease.end)}, now "
                f"{lease.tenant}'s; {money.show(lease.deposit - lease.settled)} of escrow with it",
            )
        elif isinstance(message, Offer):
            most = f"{format_share(message.cells)} GPU for {format_duration(message.duration)}"
            yield "machine", f"{message.machine}, terms of revision {message.revision}"
            yield "price", f"{money.show(message.price)} per GPU-hour" + (", spot" if message.spot else "")
            yield "at most", f"{most}, to {message.tenant}"
        elif isinstance(message, Session):
            yield "key", message.key
            yield "may", ", ".join(message.ops)
            yield "on", ", ".join(map(format_lease, message.leases)) or "all leases of the group"
