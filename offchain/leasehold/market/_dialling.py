"""Which addresses may be called because a stranger's document names them.

Whoever connects for others (a gateway) is inside of some network, and a document could name what listens there: a
metadata service, a database, the loopback. So a name is resolved once, every address that it has is looked at, and
what is called is the address that was looked at: a name that means something else a moment later leads nowhere new.
Only what the whole internet can reach is called, on the port of HTTPS or one above 1023, and what the gateway's
operator has named besides; what hands out a host's own credentials is never called.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from leasehold.market.wire import AgentUnreachable

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a name. Raises OSError."""

RESOLVE_SECONDS: Final = 5.0
_RESOLVERS: Final = 16
_HTTPS: Final = 443
_FIRST_PORT: Final = 1024
_NEVER: Final = tuple(
    map(
        ip_network,
        # Link-local, and where clouds hand out credentials though the address is not: Amazon's in IPv6, Alibaba's,
        # and Azure's, which is of the public internet to look at.
        (
            "169.254.0.0/16",
            "fe80::/10",
            "fd00:ec2::254/128",
            "100.100.100.200/32",
            "168.63.129.16/32",
            "0.0.0.0/8",
            "::/128",
        ),
    )
)
_CARRIERS: Final = tuple(
    map(
        ip_network,
        # IPv6 that a router may turn into IPv4, or that stands for it: NAT64, 6to4, Teredo, mapped, compatible.
        ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::ffff:0:0/96", "::/96", "fec0::/10"),
    )
)


@dataclass(frozen=True)
class Dialling:
    """What may be called beside the public internet: networks of the gateway's operator. resolve: for tests."""

    networks: tuple[Network, ...] = ()
    resolve: Resolve | None = None

    async def addresses(self, endpoint: str) -> tuple[str, str, int]:
        """What the endpoint's authority is (`Host`), the address to call, and the port.

        Raises:
            AgentUnreachable: it is none that may be called, or has no address.
        """
        authority, host, port = _parts(endpoint)
        if port != _HTTPS and port < _FIRST_PORT:
            raise AgentUnreachable(f"The port {port} is not one at which an agent is called")
        return authority, await self.address_of(host, port), port

    async def address_of(self, host: str, port: int) -> str:
        """The address to call of a host, all of whose addresses may be called. Raises AgentUnreachable."""
        names = await self._resolved(host, port)
        for name in names:
            if not self.allows(name):
                raise AgentUnreachable(
                    "An address of the agent's endpoint is in a network that is not called"
                )
        return names[0]

    def allows(self, address: str) -> bool:
        """Whether it may be called."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
            return False
        if _within(parsed, _NEVER) or parsed.is_multicast:
            return False
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
            return False
        if _within(parsed, self.networks):
            return True
        return parsed.is_global and not parsed.is_reserved and not _within(parsed, _CARRIERS)

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            return [str(ip_address(host))]
        except ValueError:
            pass
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                names = await (self.resolve or _ask_resolver)(host, port)
        except (OSError, UnicodeError):  # TimeoutError is an OSError
            names = ()
        if not names:
            raise AgentUnreachable("The name of the agent's endpoint has no address now;", "try again later.")
        return names


def _parts(endpoint: str) -> tuple[str, str, int]:
    """Authority, host and port of `https://HOST[:PORT]`, and nothing else beside a last slash."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, _HTTPS if parts.port is None else parts.port
        plain = parts.scheme == "https" and parts.path in ("", "/") and not (parts.query or parts.fragment)
    except ValueError:
        host, port, plain = None, 0, False
    if not host or not plain or "@" in endpoint or not endpoint.isascii() or set("\\ %") & set(endpoint):
        raise AgentUnreachable("The agent's endpoint is no address of an agent")
    return parts.netloc, host, port


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


@cache
def _resolvers(use: str) -> ThreadPoolExecutor:
    """Threads of their own: a name whose servers never answer holds one for long, and no other work waits for these."""
    return ThreadPoolExecutor(_RESOLVERS, thread_name_prefix=f"leasehold-{use}")


def resolver(use: str) -> Resolve:
    """This computer's, with threads for that use alone: names that one kind of stranger made hold up no other's."""

    async def ask(host: str, port: int) -> Sequence[str]:
        asked = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        entries = await asyncio.get_running_loop().run_in_executor(_resolvers(use), asked)
        return list(dict.fromkeys(str(address[0]) for *_, address in entries))

    return ask


_ask_resolver: Final = resolver("resolver")
