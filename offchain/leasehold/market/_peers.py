"""A machine's IPFS node, as its contact document names it, and the agent behind it.

The document is a stranger's: our node calls the one peer that it names, and is told no other multiaddr.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from typing import Final

from leasehold.datasets import Ipfs, Streams, parse_stream_address
from leasehold.errors import DatasetError
from leasehold.market._documents import Contact
from leasehold.market.wire import AgentUnreachable, agent_stream

MOST_ADDRESSES: Final = 8
CONNECT: Final = "15s"
_ADDRESS: Final = re.compile(
    r"/(ip4|ip6|dns|dns4|dns6)/[A-Za-z0-9.:_-]{1,253}/(tcp|udp)/[0-9]{1,5}(/quic|/quic-v1|/ws|/wss)?"
)


def dialled(contact: Contact) -> tuple[str, ...]:
    """Where our node may look for the machine's: addresses of that peer alone, and no more than a few.

    What the document names otherwise (another peer, a relay, a path of the computer) is left alone.
    """
    return at_peer(contact.peer_id, contact.ipfs)


def at_peer(peer: str | None, addresses: Iterable[str]) -> tuple[str, ...]:
    """Those of the addresses at which that peer may be called, with its name; none without one."""
    if peer is None or not re.fullmatch(r"[A-Za-z0-9]{20,100}", peer):
        return ()
    plain = (address.removesuffix(f"/p2p/{peer}") for address in addresses)
    return tuple(f"{address}/p2p/{peer}" for address in plain if _ADDRESS.fullmatch(address))[:MOST_ADDRESSES]


def peer_of(contact: Contact, operator: str) -> str | None:
    """The peer through whose node `operator`'s agent is reached; None where the document names none."""
    for endpoint in contact.endpoints:
        stream = parse_stream_address(endpoint)
        if stream is not None and stream[1] == agent_stream(operator):
            return stream[0]
    return None


def direct_endpoints(contact: Contact) -> tuple[str, ...]:
    """Where the agent answers without anybody between."""
    return tuple(endpoint for endpoint in contact.endpoints if endpoint.startswith("https://"))


def near(contact: Contact, peer: str) -> tuple[str, ...]:
    """Where our node may look for `peer`."""
    return dialled(contact) if contact.peer_id == peer else ()


class PeerTunnel:
    """To what `peer` has mounted as `protocol`, through one's own node. That node sees nothing but ciphertext: whoever
    goes through checks the agent's certificate, or its SSH key, as on any other way.
    """

    def __init__(self, ipfs: Ipfs, contact: Contact, peer: str, protocol: str) -> None:
        self._ipfs = ipfs
        self._streams = Streams(ipfs)
        self._contact = contact
        self._peer = peer
        self._protocol = protocol
        self._port: int | None = None

    async def port(self) -> int:
        """A port of the loopback that leads there, until `close`. Raises `AgentUnreachable`."""
        try:
            if self._port is None or not await self._streams.leads(self._port):
                await self._bring_near()
                self._port = await self._streams.forward(self._peer, self._protocol)
        except DatasetError as error:
            raise AgentUnreachable(f"{error.problem};", error.advice) from error
        return self._port

    async def open(self) -> str:
        """The same, as an address of the agent's API."""
        return f"https://127.0.0.1:{await self.port()}"

    async def close(self) -> None:
        """Nobody new goes through. What runs over it goes on."""
        port, self._port = self._port, None
        if port is not None:
            with contextlib.suppress(DatasetError):  # a node that is gone leads nowhere
                await self._streams.close(port)

    async def _bring_near(self) -> None:
        """Where it is not found at these addresses, the node looks for it itself."""
        if addresses := near(self._contact, self._peer):
            with contextlib.suppress(DatasetError):
                await self._ipfs.command("swarm/connect", *addresses, timeout=CONNECT)


def agent_tunnel(ipfs: Ipfs, contact: Contact, operator: str) -> PeerTunnel | None:
    """The way to an agent through its IPFS node, where its document names one."""
    peer = peer_of(contact, operator)
    return None if peer is None else PeerTunnel(ipfs, contact, peer, agent_stream(operator))
