"""Where the engine may fetch images from: the one place that decides it.

The engine fetches as root, from the host's own network, past every rule that holds for containers, and a tenant
chooses the name. So only registries that the host's owner has named are asked, by name and on the port of https; an
address, a port or a name of the host's own network counts only where it is named just so.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Sequence
from ipaddress import ip_address, ip_network

from leasehold.images import registry_of
from leasehold_agent._errors import Declined, ImageDelayed
from leasehold_agent.host import PRIVATE_V4, PRIVATE_V6

_HUB, _HUB_SERVES = "docker.io", "registry-1.docker.io"
_PRIVATE = tuple(map(ip_network, (*PRIVATE_V4, *PRIVATE_V6)))


class Registries:
    """`allowed`: hosts by name, and whatever else the owner trusts, written as in an image's name."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = frozenset(map(str.lower, allowed))

    async def check(self, image: str) -> None:
        """Raises Declined("unsupported") for what is not fetched here, ImageDelayed where that cannot be seen now."""
        registry = registry_of(image)
        if registry not in self._allowed:
            raise Declined("unsupported", f"image: this host fetches none from {registry}; {self._offer()}")
        if _is_plain(registry) and any(map(_is_private, await _addresses(registry))):
            raise Declined("unsupported", f"image: {registry} is no public registry; {self._offer()}")

    def _offer(self) -> str:
        return (
            f"it knows {', '.join(sorted(self._allowed))}." if self._allowed else "it takes archives on IPFS."
        )


def _is_plain(registry: str) -> bool:
    """Whether it is a bare name, of which nobody has said that it may lie in the host's own network."""
    try:
        ip_address(registry)
    except ValueError:
        return ":" not in registry
    return False


async def _addresses(registry: str) -> Collection[str]:
    host = _HUB_SERVES if registry == _HUB else registry
    try:
        endpoints = await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ImageDelayed(registry) from error
    return {str(address[0]).partition("%")[0] for *_, address in endpoints}


def _is_private(address: str) -> bool:
    return any(
        ip_address(address) in network
        for network in _PRIVATE
        if ip_address(address).version == network.version
    )
