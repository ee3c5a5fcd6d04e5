"""Where an alert may go because somebody else names the place: what the whole internet can reach, by HTTPS.

Whoever tells for others stands inside of some network, and an address of a webhook may mean what listens there. So its
name is looked up once for each alert, everything that it means is looked at, and the address that was looked at is the
one that is called (`leasehold.market.Dialling`). The certificate is the name's all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpx

from leasehold._connections import TidyBackend, authorities
from leasehold.market import Dialling, InvalidInput, resolver
from leasehold.market.wire import AgentUnreachable

LONGEST_URL: Final = 500
_HTTPS: Final = 443


@dataclass(frozen=True)
class AlertReach:
    """places: `HOST:PORT`, just as it is named there, which may be called besides, without TLS too: the word of whoever
    runs what sends the alerts, as for a server in his own network.
    """

    places: frozenset[str] = frozenset()
    dialling: Dialling = field(default_factory=lambda: Dialling(resolve=resolver("alerts")))

    def checked(self, url: str) -> str:
        """The URL, if alerts may go there as far as its text says. Raises InvalidInput."""
        text = url.strip()
        try:
            parts = urlsplit(text)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        plain = text.isascii() and text.isprintable() and not set(" \\<>\"'") & set(text)
        if not plain or not host or "@" in parts.netloc or len(text) > LONGEST_URL:
            raise InvalidInput(
                "That is no address of a web server;", "write it whole, as https://example.org/hook."
            )
        if f"{host}:{port}" in self.places:
            return text
        if parts.scheme != "https" or port not in (None, _HTTPS):
            raise InvalidInput(
                "Alerts go to web servers by HTTPS alone, at its usual port;", "name one of those."
            )
        return text

    def transport(self) -> httpx.AsyncBaseTransport:
        """For one alert. What may not be called raises AgentUnreachable, before anything is."""
        return _Looked(self)


class _Looked(httpx.AsyncBaseTransport):
    """Calls the address that was looked at, under the name that it was found by."""

    def __init__(self, reach: AlertReach) -> None:
        self._reach = reach
        self._inner = httpx.AsyncHTTPTransport(verify=authorities(), trust_env=False)
        self._inner._pool._network_backend = TidyBackend()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host, port = request.url.host, request.url.port
        if f"{host}:{port}" not in self._reach.places:
            if request.url.scheme != "https" or port not in (
                None,
                _HTTPS,
            ):  # however its text was read before
                raise AgentUnreachable("Alerts go to web servers by HTTPS alone, at its usual port")
            address = await self._reach.dialling.address_of(host, port or _HTTPS)
            request.url = request.url.copy_with(host=address)  # the head `Host` is there already
            request.extensions = {**request.extensions, "sni_hostname": host}
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
