"""What operators sign of leases: asked for, kept, and looked at by whoever is to judge (docs/decisions/0194)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.market import Contradiction, Json, Span, checked, contradictions, owned_up
from leasehold.market.wire import Heartbeat, LeaseStanding, SignedStatement

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

CLOCKS_APART = 300
"""Seconds between a host's clock and the block it names, up to which its times are taken for what they say."""


@dataclass(frozen=True)
class StatementSeen:
    """A statement, by whose word and when. by_operator: it is the machine's operator's now. apart: seconds by which the
    host's clock was ahead of the block that it names; `None` where the chain has no such block.
    """

    said: LeaseStanding | Heartbeat
    signer: str
    by_operator: bool
    apart: int | None

    @property
    def counts(self) -> bool:
        """Whether it is the operator's word, and its times mean something."""
        return self.by_operator and self.apart is not None and abs(self.apart) <= CLOCKS_APART

    def to_json(self) -> dict[str, Json]:
        return {
            **self.said.model_dump(mode="json"),
            "signer": self.signer,
            "by_operator": self.by_operator,
            "clock_apart": self.apart,
        }


@dataclass(frozen=True)
class StatementsView:
    """Statements of one pool, and what follows from those that count. owned_up: when an operator says that leases did
    not run by a hand on his host. contradictions: what of its words cannot be true together.
    """

    seen: tuple[StatementSeen, ...]
    owned_up: tuple[Span, ...]
    contradictions: tuple[Contradiction, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "statements": [one.to_json() for one in self.seen],
            "owned_up": [{"lease": s.lease, "from": s.from_, "to": s.to} for s in self.owned_up],
            "contradictions": [
                {"lease": c.later.lease, "earlier": c.earlier.time, "later": c.later.time, "why": c.why}
                for c in self.contradictions
            ],
        }


async def ask_statement(client: PoolClient, lease: int) -> list[SignedStatement]:
    """Have the agent sign how the lease's container stands, and keep that; gives all that is kept of the lease.

    Raises:
        UnknownLease, AgentError, MarketError: nothing was signed.
    """
    record, contact = await client.reach(lease)
    async with client.agent(record.machine.id, record.machine.operator, contact) as agent:
        signed = await agent.statement(lease)
    return client.home.statements(client.deployment).keep(lease, signed)


async def look_at(client: PoolClient, statements: Sequence[SignedStatement]) -> StatementsView:
    """Hold statements against the chain and one another. Raises StatementInvalid for one that nobody signed."""
    seen = tuple([await _seen(client, signed) for signed in statements])
    standings = [one.said for one in seen if one.counts and isinstance(one.said, LeaseStanding)]
    return StatementsView(seen, tuple(owned_up(standings)), tuple(contradictions(standings)))


async def _seen(client: PoolClient, signed: SignedStatement) -> StatementSeen:
    known = checked(signed, client.domain)
    machine = await client.pool.machine_of(known.said.machine)
    header = await client.rpc.header(known.said.block)
    there = header is not None and header.hash == known.said.block_hash
    return StatementSeen(
        known.said,
        known.signer,
        machine.operator.lower() == known.signer.lower(),
        known.said.time - header.timestamp if header is not None and there else None,
    )
