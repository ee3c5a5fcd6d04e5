"""Whose address a call counts for: the connection's, or what a reverse proxy that is known says.

Anybody can write `X-Forwarded-For`. Each proxy appends the address that it saw, so that of the list only what known
proxies have appended is true: it is read from its end, and the first address that is no known proxy's is the caller's.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from leasehold.errors import SettingsError
from leasehold.rates import network

_NOBODY: Final = "unknown"
_MOST: Final = 16  # entries of the list that are read

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks of proxies as they are typed. Raises SettingsError."""
    try:
        return tuple(ipaddress.ip_network(text, strict=False) for text in texts)
    except ValueError as error:
        raise SettingsError(
            f"A proxy's network cannot be read: {error}", "write one as 10.0.0.0/8."
        ) from error


def visitor(scope: Mapping[str, Any], proxies: Sequence[Network]) -> str:
    """The network that a call counts for."""
    client = scope.get("client")
    nearest = str(client[0]) if client else _NOBODY
    if not proxies or not is_known(nearest, proxies):
        return network(nearest)
    said = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"x-forwarded-for"]
    addresses = [part.strip() for part in ",".join(said).rsplit(",", _MOST)[-_MOST:]]
    for address in reversed(addresses):
        if not _is_address(address):
            break
        if not is_known(address, proxies):
            return network(address)
        nearest = address
    return network(nearest)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_known(address: str, proxies: Sequence[Network]) -> bool:
    """Whether it is one of the proxies'."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in known for known in proxies)
