"""An image from a registry, watched as it comes: what it says to be, and what it takes of the disk.

Registries tell how long a layer is as it is sent, and nobody how much it is unpacked. So the engine is told to stop as
soon as what is announced is too much or the disk's reserve is touched: it gives up when nobody listens any more, and
removes what has come.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

import httpx

from leasehold_agent._errors import EngineDown, EngineRefused, ImageTooLarge, NoRoom

_LOOK_SECONDS = 0.5
_MOST_LAYERS = 128


async def pull(url: str, reference: str, key: bytes | None, limit: int, room: Callable[[], int]) -> None:
    """Have the engine at `url` pull. `key`: what its registry wants to see, as the engine is told it."""
    name, _, digest = reference.partition("@")
    query = {"fromImage": name, "tag": digest} if digest else {"fromImage": reference}
    coming = asyncio.create_task(_read(url, query, {"X-Registry-Auth": key.decode()} if key else {}, limit))
    try:
        while not coming.done():
            await asyncio.wait({coming}, timeout=_LOOK_SECONDS)
            if not coming.done() and room() <= 0:
                raise NoRoom
        await coming
    finally:
        coming.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await coming


async def _read(url: str, query: dict[str, str], headers: dict[str, str], limit: int) -> None:
    address = urlsplit(url)
    unix = address.scheme == "unix"
    client = httpx.AsyncClient(
        # The engine is asked over a socket, or plain HTTP: no certificate is looked at.
        transport=httpx.AsyncHTTPTransport(verify=False, uds=address.path if unix else None),
        base_url="http://docker" if unix else f"http://{address.netloc}",
        timeout=httpx.Timeout(60, read=None),
        trust_env=False,
    )
    layers: dict[str, int] = {}
    try:
        async with client, client.stream("POST", "/images/create", params=query, headers=headers) as answer:
            if answer.status_code >= 400:
                raise EngineRefused((await answer.aread())[:1_000].decode(errors="replace"))
            async for line in answer.aiter_lines():
                if line.strip():
                    _heed(json.loads(line), layers, limit)
    except httpx.TransportError as error:
        raise EngineDown(f"The Docker engine at {url} does not answer: {error}") from error


def _heed(line: dict[str, object], layers: dict[str, int], limit: int) -> None:
    """What the engine says of a layer. Raises EngineRefused, ImageTooLarge."""
    if "error" in line:
        raise EngineRefused(str(line["error"]))
    detail = line.get("progressDetail")
    if line.get("status") == "Downloading" and isinstance(detail, dict):
        layers[str(line.get("id"))] = max(0, int(detail.get("total") or 0), int(detail.get("current") or 0))
        if sum(layers.values()) > limit or len(layers) > _MOST_LAYERS:
            raise ImageTooLarge(limit)
