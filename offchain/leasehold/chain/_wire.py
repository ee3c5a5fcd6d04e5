"""The way to a node's address: a body there, and as much of the answer back as is wanted.

aiohttp, which web3.py brings along, takes a fifth of the time of a processor for a call that httpx takes, and calls of
nodes are most of what an agent, an index and a command do: docs/decisions/0362.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from leasehold._bounded import Unreadable, unpacked
from leasehold.chain._endpoint import Unanswered

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientSession

OWN: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts that are this machine, to which no proxy is asked the way."""
_IDLE_SECONDS: Final = 5.0  # that a connection is kept for the next call
_NO_ADDRESS: Final = "it is no address of a node: `http://…` or `https://…`"
_HEADERS: Final = {"content-type": "application/json", "accept-encoding": "gzip"}


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """body: unpacked; empty where the status says that the node has not answered (429, and from 500 on).

    headers: whatever their names' case
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire(Protocol):
    """What brings requests to addresses."""

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        """What is answered to a body of JSON, at most so many bytes. Raises Unanswered."""

    async def aclose(self) -> None:
        """Closes the connections; the next request opens new ones."""


def unread(status: int) -> bool:
    """Whether nothing of such an answer is read, however much comes."""
    return status == 429 or status >= 500


class HttpWire:
    """HTTP by aiohttp. Follows nobody elsewhere, keeps no cookies, reads no `.netrc`.

    trusted: gives whose certificates are believed, once one may be shown
    """

    def __init__(self, trusted: Callable[[], ssl.SSLContext]) -> None:
        self._trusted = trusted
        self._sessions: dict[asyncio.AbstractEventLoop, ClientSession] = {}
        self._lasting: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}
        self._proxies: dict[str, str | None] = {}

    async def aclose(self) -> None:
        """As `Wire`, of the loop that runs."""
        if (lasting := self._lasting.get(asyncio.get_running_loop())) is not None:
            await lasting.aclose()

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        """As `Wire`."""
        from aiohttp import ClientError

        try:
            session = await self._opened()
            async with session.post(
                url, data=body, proxy=self._proxy_to(url), allow_redirects=False
            ) as response:
                status, headers = response.status, response.headers
                if unread(status):
                    return WireAnswer(status, headers, b"")
                coding = headers.get("content-encoding", "")
                return WireAnswer(status, headers, await unpacked(coding, response.content.iter_any(), most))
        except ClientError as error:
            words, again = _said_of(error)
            raise Unanswered(words, again=again) from error
        except Unreadable as error:
            raise Unanswered(str(error)) from error
        except (ValueError, OSError) as error:  # no address, neither it nor the proxy's
            raise Unanswered(_NO_ADDRESS, again=False) from error

    def _proxy_to(self, url: str) -> str | None:
        if url not in self._proxies:
            self._proxies[url] = proxy_to(url)
        return self._proxies[url]

    async def _opened(self) -> "ClientSession":
        """Of the loop that runs: connections are of one loop, and whoever calls `asyncio.run` again has another."""
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            for ended in [
                each for each in self._sessions if each.is_closed()
            ]:  # and nobody had closed this before
                del self._sessions[ended], self._lasting[ended]
            self._lasting[loop] = self._last(loop)
            await anext(self._lasting[loop])
        return self._sessions[loop]

    async def _last(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        """Has connections until it is closed: by `aclose`, or by whoever ends the loop, as `asyncio.run` does, which
        closes every generator first.
        """
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

        from leasehold.chain._kept_connections import KeptConnections

        session = self._sessions[loop] = ClientSession(
            connector=KeptConnections(ssl=self._trusted(), keepalive_timeout=_IDLE_SECONDS),
            headers=_HEADERS,
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None),  # whoever asks says how long
            auto_decompress=False,
        )
        try:
            yield
        finally:
            del self._sessions[loop], self._lasting[loop]
            await session.close()


def proxy_to(url: str) -> str | None:
    """The proxy on the way to an address, by the environment; none to this machine. Raises ValueError, Unanswered."""
    from urllib.request import getproxies, proxy_bypass

    address = urlsplit(url)
    host = address.hostname or ""
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or host in OWN or proxy_bypass(host) or proxy_bypass(address.netloc.rpartition("@")[2]):
        return None
    kind, separated, _ = proxy.partition("://")
    if separated and kind not in ("http", "https"):
        raise Unanswered(f"the environment names a proxy that speaks no HTTP: {kind}", again=False)
    return proxy if separated else f"http://{proxy}"


def _said_of(error: "ClientError") -> tuple[str, bool]:
    """What happened, in words that hold neither the address, which may hold a password, nor what came; and whether it
    may pass. A connection that ended in the middle may be a node's that was just restarted; one that never began is not
    up.
    """
    import aiohttp

    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return _NO_ADDRESS, False
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy on the way refuses (HTTP {error.status})", False
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not believed: {error.certificate_error}", False
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, ConnectionRefusedError):
            return "it takes no connections", False
        return error.os_error.strerror or type(error.os_error).__name__, False
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer breaks off", True
    if isinstance(error, aiohttp.ClientResponseError):
        return "what it answers is no HTTP", True
    return "the connection ended before the answer", True
