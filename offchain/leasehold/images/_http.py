"""Short questions to registries, bounded in bytes and time. None is sent on: a redirect is an answer like any other."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import httpcore

from leasehold._connections import TidyBackend, authorities

_MOST_HEAD = 64 << 10


@dataclass(frozen=True)
class RegistryAnswer:
    """What a registry says. challenges: the values of its WWW-Authenticate headers. digest: of the body, as it says."""

    status: int
    challenges: tuple[str, ...] = ()
    body: bytes = b""
    digest: str | None = None


class Ask(Protocol):
    """One question. Raises OSError, which TimeoutError is, where no answer can be had, or more than `most` bytes."""

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], *, body: bytes = b"", most: int
    ) -> RegistryAnswer: ...


async def ask(
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    body: bytes = b"",
    most: int,
    seconds: float = 15.0,
    backend: httpcore.AsyncNetworkBackend | None = None,
    trust: ssl.SSLContext | None = None,
) -> RegistryAnswer:
    """backend: how connections are made, where not as usual. trust: whose certificates count, where not the system's.

    Raises OSError, which TimeoutError is, where no answer can be had.
    """
    context = (trust or authorities()) if url.startswith("https:") else None
    try:
        async with (
            asyncio.timeout(seconds),
            httpcore.AsyncConnectionPool(
                ssl_context=context, network_backend=backend or TidyBackend()
            ) as pool,
            pool.stream(method, url, headers=list(headers.items()), content=body) as response,
        ):
            content = b""
            async for chunk in response.aiter_stream():
                content += chunk
                if len(content) > most:
                    raise OSError("The registry says too much.")
    except (
        httpcore.NetworkError,
        httpcore.TimeoutException,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise OSError(f"{type(error).__name__}") from None
    said = [(name.lower(), value.decode("latin-1")) for name, value in response.headers]
    challenges = tuple(value[:_MOST_HEAD] for name, value in said if name == b"www-authenticate")
    digest = next((value for name, value in said if name == b"docker-content-digest"), None)
    return RegistryAnswer(response.status, challenges, content, digest)
