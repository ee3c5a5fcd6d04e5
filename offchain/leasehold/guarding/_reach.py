"""Where an alert may go because somebody else names the place: what the whole internet can reach, by HTTPS.

Whoever tells for others stands inside of some network, and an address of a webhook may mean what listens there. So its
name is looked up once for each alert, everything that it means is looked at, and the address that was looked at is the
one that is called (`leasehold.market.Dialling`). The certificate is the name's all the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import httpx

from leasehold._connections import TidyBackend, authorities
from leasehold.market import Dialling, InvalidInput, resolver
from leasehold.market.wire import AgentUnreachable

LONGEST_URL: Final = 500
_HTTPS: Final = 443
_NAME: Final = re.compile(
    r"(?=.{1,254}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?"
)
"""What a resolver can be asked for; a name of other letters is written as `xn--…`."""
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True)
class AlertReach:
    """places: `HOST:PORT`, just as it is named there, which may be called besides, without TLS too: the word of whoever
    runs what sends the alerts, as for a server in his own network.
    """

    places: frozenset[str] = frozenset()
    dialling: Dialling = field(default_factory=lambda: Dialling(resolve=resolver("alerts")))

    def checked(self, url: str) -> str:
        """The URL, if alerts may go there as far as its text says, as it is called then (`same_address`).

        Raises InvalidInput.
        """
        text = url.strip()
        try:
            parts = urlsplit(text)
            host, port, called = parts.hostname or "", parts.port, same_address(text)
        except (ValueError, httpx.InvalidURL):
            host, port, called = "", None, ""
        plain = text.isascii() and text.isprintable() and not set(" \\<>\"'") & set(text)
        bracketed = "[" in parts.netloc if called else False
        if not plain or not _is_host(host, bracketed) or "@" in parts.netloc or len(called) > LONGEST_URL:
            raise InvalidInput(
                "That is no address of a web server;", "write it whole, as https://example.org/hook."
            )
        if f"{host}:{port}" in self.places:
            return called
        if parts.scheme != "https" or port not in (None, _HTTPS):
            raise InvalidInput(
                "Alerts go to web servers by HTTPS alone, at its usual port;", "name one of those."
            )
        return called

    def transport(self) -> httpx.AsyncBaseTransport:
        """For one alert. What may not be called raises AgentUnreachable, before anything is."""
        return _Looked(self)


def same_address(url: str) -> str:
    """The URL as whatever means the same is written, too (RFC 3986, 6.2.2), without what is not sent.

    Raises ValueError, httpx.InvalidURL.
    """

    def plain(escape: re.Match[str]) -> str:
        if escape[1] is None:
            raise ValueError("a lone % in an address")
        letter = chr(int(escape[1], 16))
        return letter if letter in _UNRESERVED else f"%{escape[1].upper()}"

    # Escapes first: what they hide may be the dots that httpx takes out of a path.
    path, _, query = _ESCAPE.sub(plain, url.partition("#")[0]).partition("?")
    same = httpx.URL(f"{path}?{query}" if query else path)
    if not same.host:  # reading it raises for an `xn--…` that is none, which httpx calls by no means
        raise ValueError("an address without a host")
    return str(same)


def _is_host(host: str, bracketed: bool) -> bool:
    if not bracketed:
        return _NAME.fullmatch(host) is not None
    try:
        return "%" not in host and ip_address(host).version == 6
    except ValueError:
        return False


class _Looked(httpx.AsyncBaseTransport):
    """Calls the address that was looked at, under the name that it was found by."""

    def __init__(self, reach: AlertReach) -> None:
        self._reach = reach
        self._inner = httpx.AsyncHTTPTransport(verify=authorities(), trust_env=False)
        self._inner._pool._network_backend = TidyBackend()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # As it is on the wire: `host` is what `xn--…` reads as, which a resolver may write otherwise again.
        host = request.url.raw_host.decode("ascii")
        port = request.url.port
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
