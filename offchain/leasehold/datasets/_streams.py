"""Streams between two IPFS nodes: a protocol of one leads to a port beside it, and a port beside the other to that.

Kubo calls it `p2p`, and does it where its setting `Experimental.Libp2pStreamMounting` is on. All ports are of this
host's loopback: a node elsewhere would open them there.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from leasehold.errors import DatasetError, IpfsElsewhere, IpfsError, StreamsOff

if TYPE_CHECKING:
    from leasehold.datasets._ipfs import Ipfs

LOOPBACK: Final = "/ip4/127.0.0.1/tcp/"
_PEER: Final = re.compile(r"12D3KooW[1-9A-HJ-NP-Za-km-z]{44}|Qm[1-9A-HJ-NP-Za-km-z]{44}")
_PROTOCOL: Final = re.compile(r"/x/[a-z0-9/]{1,120}")
_FIELDS: Final = ("Protocol", "ListenAddress", "TargetAddress")
_TRIES: Final = 5


class Streams:
    """What `ipfs` carries to and from ports of this host. Every call raises IpfsUnreachable, IpfsError, StreamsOff,
    IpfsElsewhere.
    """

    def __init__(self, ipfs: Ipfs) -> None:
        self._ipfs = ipfs

    async def mounted(self) -> dict[str, str]:
        """Which protocols lead here, and to which address."""
        return {
            entry["Protocol"]: entry["TargetAddress"]
            for entry in await self._listeners()
            if entry["ListenAddress"].startswith("/p2p/")
        }

    async def mount(self, protocol: str, port: int) -> None:
        """Let whoever speaks `protocol` to the node reach `port`. Its first line there is the peer that calls.

        One mount of a protocol takes the place of another; what runs over that goes on.
        """
        await self.unmount(protocol)
        await self._call("p2p/listen", protocol, f"{LOOPBACK}{port}", **{"report-peer-id": "true"})

    async def unmount(self, protocol: str) -> None:
        """Nobody new reaches a port by `protocol`. Does nothing where it leads nowhere."""
        if (target := (await self.mounted()).get(protocol)) is not None:
            # By its address too: a forward of this node's own may have the same protocol.
            await self._call("p2p/close", protocol=protocol, **{"target-address": target})

    async def forward(self, peer: str, protocol: str) -> int:
        """A port of the loopback that leads to what `peer` has mounted as `protocol`, until `close`."""
        for _ in range(_TRIES):
            port = _free_port()
            try:
                await self._call("p2p/forward", protocol, f"{LOOPBACK}{port}", f"/p2p/{peer}")
            except IpfsError as error:
                if "in use" not in error.reason:
                    raise
            except asyncio.CancelledError:  # the node may have done it all the same
                with contextlib.suppress(DatasetError):
                    await self.close(port)
                raise
            else:
                return port
        raise IpfsError("p2p/forward", "no port of the loopback stays free")

    async def close(self, port: int) -> None:
        """Nobody new goes through `port`."""
        await self._call("p2p/close", **{"listen-address": f"{LOOPBACK}{port}"})

    async def leads(self, port: int) -> bool:
        """Whether `port` is still the node's: one that was started anew has forgotten."""
        return any(entry["ListenAddress"] == f"{LOOPBACK}{port}" for entry in await self._listeners())

    async def _listeners(self) -> list[dict[str, str]]:
        answers = await self._call("p2p/ls")
        try:
            return [{key: str(entry[key]) for key in _FIELDS} for entry in answers[0].get("Listeners") or ()]
        except (LookupError, TypeError, AttributeError):
            raise IpfsError("p2p/ls", "its answer is not understood") from None

    async def _call(self, name: str, *arguments: str, **options: str) -> list[dict[str, Any]]:
        if not _is_local(self._ipfs.api):
            raise IpfsElsewhere(self._ipfs.api)
        try:
            return await self._ipfs.command(name, *arguments, **options)
        except IpfsError as error:
            if "not enabled" in error.reason:
                raise StreamsOff(self._ipfs.api) from error
            raise


def stream_address(peer: str, protocol: str) -> str:
    """How a document writes that `peer` has mounted `protocol`."""
    return f"/p2p/{peer}{protocol}"


def parse_stream_address(address: str) -> tuple[str, str] | None:
    """The peer and the protocol of such an address; None for any other multiaddr."""
    empty, kind, peer, *rest = [*address.split("/", 3), "", "", ""][:4]
    protocol = f"/{rest[0]}"
    if empty or kind != "p2p" or not _PEER.fullmatch(peer) or not _PROTOCOL.fullmatch(protocol):
        return None
    return peer, protocol


def _is_local(api: str) -> bool:
    _, kind, host, *_ = [*api.split("/"), "", "", ""]
    if kind in ("ip4", "ip6"):
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return False
    return host == "localhost"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
