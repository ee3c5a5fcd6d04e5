"""By which ways a machine's agent answers from here, before anybody has rented it."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leasehold.chain import LocalSigner
from leasehold.market import (
    AgentClient,
    Contact,
    Json,
    MachineFile,
    PeerTunnel,
    agent_tunnel,
    canonical,
    direct_endpoints,
    parse_document,
)
from leasehold.market.wire import AgentUnreachable

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

DIRECT_SECONDS: Final = 5.0
NODE_SECONDS: Final = 20.0


@dataclass(frozen=True)
class ReachFound:
    """direct: at an address of its own; through_node: through its IPFS node and one's own. None where its contact
    document names no such way.
    """

    direct: bool | None
    through_node: bool | None
    addresses: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What was found, and what to do where nothing was."""
        if self.direct and self.through_node:
            return "at its address, and through its IPFS node"
        if self.direct:
            return "at its address"
        if self.through_node:
            unless = "" if self.direct is None else f"; nothing answers at {self.addresses[0]}"
            return f"through its IPFS node alone, which takes renters a node of their own{unless}"
        if self.direct is None and self.through_node is None:
            return "not yet: its contact document names no way; describe the host again"
        return f"not yet: start its agent, {self._mend}"

    @property
    def _mend(self) -> str:
        if self.direct is None:
            return "and see that its IPFS node and yours find one another"
        node = "" if self.through_node is None else ", or that its IPFS node is found"
        return f"and see that {self.addresses[0]} is open to the world{node}"

    def to_json(self) -> dict[str, Json]:
        return {"direct": self.direct, "through_node": self.through_node}


async def find_reach(client: PoolClient, described: MachineFile) -> ReachFound:
    """Try the ways that a machine.json names, which takes some seconds where none answers.

    Raises:
        DocumentInvalid: its contact document has another form.
    """
    contact = parse_document(Contact, canonical(described.contact), "The contact document")
    tunnel = agent_tunnel(client.ipfs, contact, described.operator)
    addresses = direct_endpoints(contact)
    direct, through_node = await asyncio.gather(
        _answers(client, described, contact, None, DIRECT_SECONDS) if addresses else _nothing(),
        _answers(client, described, contact, tunnel, NODE_SECONDS) if tunnel else _nothing(),
    )
    return ReachFound(direct, through_node, addresses)


async def _answers(
    client: PoolClient, described: MachineFile, contact: Contact, tunnel: PeerTunnel | None, seconds: float
) -> bool:
    """Whether the agent that the document means does, by this way alone. Nothing is signed."""
    ways = contact if tunnel is None else contact.model_copy(update={"endpoints": ()})
    nobody = LocalSigner(secrets.token_bytes(32))
    try:
        agent = AgentClient(
            ways, client.domain, 0, described.operator, nobody, tunnel=tunnel, sleep=lambda _: _nothing()
        )
        async with agent, asyncio.timeout(seconds):
            await agent.health()
    except (AgentUnreachable, TimeoutError):
        return False
    return True


async def _nothing() -> None:
    return None
