"""An image from a registry, watched as it comes: what it says to be, and what it takes of the disk.

Registries tell how long a layer is as it is sent, and nobody how much it is unpacked. So the engine is told to stop as
soon as what is announced is too much or the disk's reserve is touched: it gives up when nobody listens any more, and
removes what has come. What it tells on the way is what a tenant hears of how far it is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from leasehold.market import format_size
from leasehold_agent._errors import EngineDown, EngineRefused, ImageTooLarge, NoRoom

_LOOK_SECONDS = 0.5
_MOST_LAYERS = 128
_BEGUN = ("Pulling fs layer", "Waiting")
_COMPLETE = ("Verifying Checksum", "Download complete", "Extracting", "Pull complete", "Already exists")


async def pull(
    url: str,
    reference: str,
    key: bytes | None,
    limit: int,
    room: Callable[[], int],
    told: Callable[[str], None],
) -> None:
    """Have the engine at `url` pull. `key`: what its registry wants to see, as the engine is told it. `told` hears how
    far it is.
    """
    name, _, digest = reference.partition("@")
    query = {"fromImage": name, "tag": digest} if digest else {"fromImage": reference}
    headers = {"X-Registry-Auth": key.decode()} if key else {}
    coming = asyncio.create_task(_read(url, query, headers, Coming(limit), told))
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


async def _read(
    url: str, query: dict[str, str], headers: dict[str, str], image: Coming, told: Callable[[str], None]
) -> None:
    address = urlsplit(url)
    unix = address.scheme == "unix"
    client = httpx.AsyncClient(
        # The engine is asked over a socket, or plain HTTP: no certificate is looked at.
        transport=httpx.AsyncHTTPTransport(verify=False, uds=address.path if unix else None),
        base_url="http://docker" if unix else f"http://{address.netloc}",
        timeout=httpx.Timeout(60, read=None),
        trust_env=False,
    )
    try:
        async with client, client.stream("POST", "/images/create", params=query, headers=headers) as answer:
            if answer.status_code >= 400:
                raise EngineRefused((await answer.aread())[:1_000].decode(errors="replace"))
            async for line in answer.aiter_lines():
                if line.strip():
                    image.heed(json.loads(line))
                    told(image.progress())
    except httpx.TransportError as error:
        raise EngineDown(f"The Docker engine at {url} does not answer: {error}") from error


@dataclass
class Coming:
    """The layers of an image, as the engine tells of them. `limit`: the most bytes that they may come to, as sent."""

    limit: int
    layers: dict[str, tuple[int, int]] = field(default_factory=dict)
    announced: set[str] = field(default_factory=set)

    def heed(self, line: dict[str, object]) -> None:
        """What the engine says. Raises EngineRefused, ImageTooLarge."""
        if "error" in line:
            raise EngineRefused(str(line["error"]))
        layer, status, detail = str(line.get("id")), line.get("status"), line.get("progressDetail")
        if status in _BEGUN:
            self.announced.add(layer)
        elif status == "Downloading" and isinstance(detail, dict):
            done = max(0, int(detail.get("current") or 0))
            self.layers[layer] = done, max(0, int(detail.get("total") or 0), done)
        elif layer in self.layers and status in _COMPLETE:
            self.layers[layer] = (self.layers[layer][1],) * 2
        elif status in _COMPLETE:  # too small to be told of as it came, or here already
            self.announced.discard(layer)
        announced = sum(total for _, total in self.layers.values())
        if announced > self.limit or max(len(self.layers), len(self.announced)) > _MOST_LAYERS:
            raise ImageTooLarge(self.limit)

    def progress(self) -> str:
        """`41 % of 3.2 GB`; how much there is in all nobody knows before each layer has begun to come."""
        done, total = (
            (sum(sizes) for sizes in zip(*self.layers.values(), strict=True)) if self.layers else (0, 0)
        )
        if not total:
            return ""
        if self.announced - self.layers.keys():
            return f"{format_size(done)} of more than {format_size(total)}"
        return "unpacking" if done == total else f"{done * 100 // total} % of {format_size(total)}"
