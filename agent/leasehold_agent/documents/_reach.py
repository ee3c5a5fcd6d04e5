"""By which ways renters reach this host: at its address, through its IPFS node, or both."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from ipaddress import ip_address

from leasehold.datasets import Ipfs, Streams, stream_address
from leasehold.errors import DatasetError
from leasehold.market.wire import agent_stream
from leasehold_agent._config import AgentSettings
from leasehold_agent.host import Identity, default_address


@dataclass(frozen=True)
class Reach:
    """host: the name or address at which it answers, if it does. peer: the IPFS node that leads to it, if one does."""

    host: str | None
    peer: str | None

    @property
    def sentence(self) -> str:
        """For the host's owner."""
        if self.host is None:
            return f"Renters reach this host through its IPFS node, {self.peer}."
        return f"Renters reach this host at {self.host}{' and through its IPFS node' if self.peer else ''}."


async def reach_of(settings: AgentSettings, ipfs: Ipfs) -> Reach:
    """What `reach` says, or finds out.

    An address of a private network that nobody has named leads nowhere from outside: it is only given where there is no
    other way. Raises DatasetError where the node is to be the only way and carries no streams.
    """
    if settings.reach == "direct":
        return Reach(public_host(settings), None)
    peer = None
    with contextlib.nullcontext() if settings.reach == "libp2p" else contextlib.suppress(DatasetError):
        await Streams(ipfs).mounted()
        peer = (await ipfs.id()).peer_id
    return Reach(None if peer and not _is_open(settings) else public_host(settings), peer)


def _is_open(settings: AgentSettings) -> bool:
    if settings.reach == "libp2p":
        return False
    return bool(settings.public_host or settings.endpoints) or ip_address(default_address()).is_global


def endpoints(settings: AgentSettings, identity: Identity, reach: Reach) -> list[str]:
    """Where the agent's API answers, as documents name it."""
    named: list[str] = []
    if reach.host is not None:
        shown = f"[{reach.host}]" if ":" in reach.host else reach.host
        named += settings.endpoints or (f"https://{shown}:{settings.api_port}",)
    if reach.peer is not None:
        named.append(stream_address(reach.peer, agent_stream(identity.operator.address)))
    return named


def ssh_of(settings: AgentSettings, identity: Identity, reach: Reach) -> dict[str, object]:
    """Its SSH server. Without a host it is behind the same IPFS node as the API."""
    place = {} if reach.host is None else {"host": reach.host, "port": settings.ssh_port}
    return {**place, "host_key": identity.ssh_public_key}


def kept_contact(settings: AgentSettings) -> dict[str, object]:
    """The contact document that this host gave out last; empty if there is none."""
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads((settings.state_dir / "contact.json").read_bytes())
        if isinstance(kept, dict):
            return kept
    return {}


def public_host(settings: AgentSettings) -> str:
    return settings.public_host or default_address()
