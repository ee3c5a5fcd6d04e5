"""A line to one machine's agent that carries what others have signed: for whoever stands between, as a gateway does.

It adds nothing and reads nothing. Where it leads is what the machine's contact document names and `Dialling` lets be
called, under the document's own certificate; no request leaves before the agent has shown that. It follows no redirect
and knows no proxy.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from leasehold._bounded import Unreadable, read_bounded
from leasehold._connections import tidy
from leasehold.datasets import Ipfs
from leasehold.market._agent_client import CONNECT_SECONDS, DIRECT_SECONDS, TRUST_SECONDS, Tunnel, pinned
from leasehold.market._dialling import Dialling
from leasehold.market._documents import Contact
from leasehold.market._documents_cache import MAX_DOCUMENT_BYTES
from leasehold.market._peers import agent_tunnel, direct_endpoints
from leasehold.market._straight import StraightConnect, let_go
from leasehold.market.wire import EXEC_PROTOCOL, MAX_FRAME, AgentUnreachable

_MULTIADDR: Final = re.compile(r"/ip[46]/([^/]+)/(?:tcp|udp)/([0-9]{1,5})(?:/|$)")
_HEALTH_BYTES: Final = 64 * 1024
_MACHINE_BYTES: Final = MAX_DOCUMENT_BYTES + (64 << 10)
_MOST_ENDPOINTS: Final = 4
_MOST_CONNECTIONS: Final = 64


@dataclass(frozen=True)
class _Way:
    """Where the agent answers: an address of the API without a name in it, and what `Host` says."""

    base: str
    authority: str


class AgentLine:
    """To the agent that `contact` describes. Every call raises AgentUnreachable.

    tunnel: another way, where no endpoint answers. patience: seconds for a connection. clock: seconds.
    """

    def __init__(
        self,
        contact: Contact,
        dialling: Dialling,
        *,
        tunnel: Tunnel | None = None,
        patience: float = DIRECT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contact = contact
        self._dialling = dialling
        self._tunnel = tunnel
        self._patience = patience
        self._clock = clock
        self._tls = pinned(contact.certificate)
        self._known: tuple[_Way, float] | None = None
        self._http = tidy(
            httpx.AsyncClient(
                verify=self._tls,
                trust_env=False,
                follow_redirects=False,
                headers={"accept-encoding": "identity", "user-agent": "leasehold"},
                limits=httpx.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=4),
            )
        )

    @classmethod
    def through(cls, ipfs: Ipfs, contact: Contact, operator: str, dialling: Dialling) -> AgentLine:
        """The same, with the machine's IPFS node as another way where its document names one.

        Our node is told those of its addresses alone that may be called.
        """
        told = dialled_alone(contact, dialling)
        return cls(contact, dialling, tunnel=agent_tunnel(ipfs, told, operator))

    async def close(self) -> None:
        """Ends its connections."""
        await self._http.aclose()
        if self._tunnel is not None:
            await self._tunnel.close()

    @asynccontextmanager
    async def asked(
        self,
        method: str,
        target: bytes,
        headers: Mapping[str, str],
        body: AsyncIterator[bytes] | None = None,
        *,
        silence: float,
    ) -> AsyncIterator[httpx.Response]:
        """The agent's answer to one request, unread. target: path and query, byte for byte as they were signed.

        silence: seconds without a byte after which it is given up. It is never sent twice: what was signed serves once.
        """
        way = await self._way()
        request = self._http.build_request(
            method,
            way.base + "/",
            headers={**headers, "host": way.authority},
            content=body,
            timeout=httpx.Timeout(silence, connect=self._patience, pool=CONNECT_SECONDS),
            extensions={"target": target},
        )
        try:
            response = await self._http.send(request, stream=True)
        except (httpx.HTTPError, OSError) as error:
            raise self._silent(error) from error
        try:
            yield response
        finally:
            await response.aclose()

    @asynccontextmanager
    async def terminal(self, target: str, headers: Mapping[str, str]) -> AsyncIterator[ClientConnection]:
        """An open WebSocket of a command. Raises InvalidStatus too, for what the agent refuses."""
        way = await self._way()
        url = "wss://" + way.base.removeprefix("https://") + target
        try:
            connection = await StraightConnect(
                url,
                ssl=self._tls,
                additional_headers=dict(headers),
                subprotocols=[Subprotocol(EXEC_PROTOCOL)],
                max_size=MAX_FRAME,
                max_queue=4,
                compression=None,
                proxy=None,
                open_timeout=CONNECT_SECONDS + self._patience,
                ping_interval=None,
                close_timeout=2,
                user_agent_header="leasehold",
            )
        except InvalidStatus:
            raise
        except (OSError, InvalidHandshake) as error:
            raise self._silent(error) from error
        try:
            yield connection
        finally:
            await let_go(connection)

    async def machine(self) -> bytes:
        """What the agent says of itself, unchecked: for `FreshContacts`."""
        async with self.asked("GET", b"/v1/machine", {}, silence=CONNECT_SECONDS) as response:
            try:
                response.raise_for_status()
                return await read_bounded(response, _MACHINE_BYTES)
            except (httpx.HTTPError, Unreadable) as error:
                raise self._silent(error) from error

    # ---------------------------------------------------------------------------------------------------- the way

    async def _way(self) -> _Way:
        """Where the agent answers; not looked for again for a while."""
        if self._known is not None and self._clock() < self._known[1] + TRUST_SECONDS:
            return self._known[0]
        trouble = AgentUnreachable("The machine's contact document names no way to its agent")
        for endpoint in direct_endpoints(self._contact)[:_MOST_ENDPOINTS]:
            try:
                return await self._answering(endpoint)
            except AgentUnreachable as error:
                trouble = error
        if self._tunnel is not None:
            base = await self._tunnel.open()
            return self._remember(_Way(base, base.removeprefix("https://")))
        raise trouble

    async def _answering(self, endpoint: str) -> _Way:
        authority, address, port = await self._dialling.addresses(endpoint)
        place = f"[{address}]" if ":" in address else address
        way = _Way(f"https://{place}:{port}", authority)
        timeout = httpx.Timeout(CONNECT_SECONDS + self._patience, connect=self._patience)
        try:
            async with self._http.stream(
                "GET", way.base + "/v1/health", headers={"host": authority}, timeout=timeout
            ) as response:
                await read_bounded(response, _HEALTH_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, Unreadable) as error:
            raise self._silent(error) from error
        return self._remember(way)

    def _remember(self, way: _Way) -> _Way:
        self._known = (way, self._clock())
        return way

    def _silent(self, error: Exception) -> AgentUnreachable:
        # Without what the system says: whether a port is closed or silent is for nobody to learn through us.
        self._known = None
        return AgentUnreachable("The machine's agent does not answer;", "try again later.")


def dialled_alone(contact: Contact, dialling: Dialling) -> Contact:
    """The document, with those addresses of its IPFS node alone that may be called."""
    known = tuple(address for address in contact.ipfs if _may_dial(address, dialling))
    return contact.model_copy(update={"ipfs": known})


def _may_dial(address: str, dialling: Dialling) -> bool:
    """Whether our IPFS node may call it. A name would be resolved again there, so that only addresses count."""
    parts = _MULTIADDR.match(address)
    return parts is not None and int(parts[2]) >= 1024 and dialling.allows(parts[1])
