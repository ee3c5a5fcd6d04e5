"""Short questions to registries, asked from where the engine asks: its network namespace, and with its trust.

Bounded in bytes and time, and never sent on: a redirect is an answer like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpcore

from leasehold import images
from leasehold.images import RegistryAnswer
from leasehold_agent.host import connect

CERTIFICATES = Path("/etc/docker/certs.d")
"""Where an engine looks for the authority of a registry of its owner's own."""
_SECONDS = 15.0
_MOST_BODY = 256 << 10


async def ask(
    method: str,
    url: str,
    headers: Mapping[str, str],
    netns: Path | None,
    *,
    body: bytes = b"",
    most: int = _MOST_BODY,
) -> RegistryAnswer:
    """Raises OSError, which TimeoutError is, where no answer can be had, or more than `most` bytes."""
    backend, trust = _Backend(netns), _trust(url)
    return await images.ask(
        method, url, headers, body=body, most=most, seconds=_SECONDS, backend=backend, trust=trust
    )


def _trust(url: str) -> ssl.SSLContext | None:
    """The system's authorities, and those that the engine has for this registry alone."""
    if not url.startswith("https:"):
        return None
    context = ssl.create_default_context()
    folder = CERTIFICATES / url.split("/")[2]
    for certificate in sorted(folder.glob("*.crt")) if folder.is_dir() else ():
        context.load_verify_locations(certificate)
    return context


class _Backend(httpcore.AsyncNetworkBackend):
    """Connections made in a network namespace."""

    def __init__(self, netns: Path | None) -> None:
        self._netns = netns

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface's own, here and below
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(*await connect(host, port, netns=self._netns, seconds=timeout or _SECONDS))
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error


class _Stream(httpcore.AsyncNetworkStream):
    """One connection. Whoever asks has a deadline of its own, so that single steps need none."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> bytes:
        try:
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> None:
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except OSError as error:  # a certificate that nobody here trusts is one, too
            raise httpcore.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._writer.get_extra_info("ssl_object") if info == "ssl_object" else None
