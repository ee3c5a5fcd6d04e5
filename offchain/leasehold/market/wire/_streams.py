"""How an agent is called over libp2p: a protocol for each agent, so that one IPFS node may serve several."""

from __future__ import annotations

from typing import Final

P2P_AGENT: Final = "/x/leasehold/agent/1"
P2P_SSH: Final = "/x/leasehold/ssh/1"


def agent_stream(operator: str) -> str:
    """The protocol that leads to the API of `operator`'s agent: HTTPS, as at an address."""
    return f"{P2P_AGENT}/{operator.lower()}"


def ssh_stream(operator: str) -> str:
    """The protocol that leads to its SSH server."""
    return f"{P2P_SSH}/{operator.lower()}"
