"""What a peer elsewhere sees of this host: how fast bytes come and go, and which ports it can reach.

The peer is believed about nothing but that: what it sends is counted and thrown away, and however it answers, or does
not, this is over in a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

_MOST_ANSWER = 4_096
_FIRST_UPLOAD, _GROWTH = 1 << 18, 4
_CONNECT_SECONDS = 5.0
_CHUNK = os.urandom(1 << 18)
_LEAST = 1 << 16
"""Fewer bytes than these say nothing of a speed."""


@dataclass(frozen=True)
class Effort:
    """How much a measurement may take: seconds and bytes in each direction."""

    seconds: float = 4.0
    most_bytes: int = 128 << 20


@dataclass(frozen=True)
class Outside:
    """What was found: bits a second, whether ports were reached at `address`, and what went wrong."""

    down: int | None = None
    up: int | None = None
    address: str = ""
    reached: Mapping[int, bool] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()


class _Trouble(Exception):
    """The peer did not do what it should have; the text says what."""


async def ask_peer(
    url: str,
    ports: Sequence[int],
    effort: Effort | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Outside:
    """Measure against the peer at `url`, and have it try the ports. Raises nothing for what the peer does."""
    asking = _Asking(url.rstrip("/"), effort or Effort(), clock)
    timeout = httpx.Timeout(asking.effort.seconds, connect=_CONNECT_SECONDS)
    async with httpx.AsyncClient(
        timeout=timeout, trust_env=False, headers={"Accept-Encoding": "identity"}
    ) as client:
        down = await asking.tried(asking.download(client))
        up = await asking.tried(asking.upload(client))
        reached = await asking.tried(asking.reach(client, ports)) if ports else None
    address, answers = reached or ("", {})
    return Outside(down, up, address, answers, tuple(dict.fromkeys(asking.troubles)))


def name_of(url: str) -> str:
    """Who the peer is, without what else an address may hold."""
    return urlsplit(url).hostname or url


@dataclass
class _Asking:
    url: str
    effort: Effort
    clock: Callable[[], float]
    troubles: list[str] = field(default_factory=list)

    async def tried(self, part: Any) -> Any:
        """What a part gives, or None, and why. A peer that is slow to say anything is cut off."""
        try:
            async with asyncio.timeout(2 * self.effort.seconds + _CONNECT_SECONDS):
                return await part
        except TimeoutError:
            self.troubles.append("it does not answer in time")
        except _Trouble as trouble:
            self.troubles.append(str(trouble))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self.troubles.append(str(error) or type(error).__name__)
        return None

    async def download(self, client: httpx.AsyncClient) -> int:
        """Bits a second, from the first byte on. Raises _Trouble."""
        most, got, begun = self.effort.most_bytes, 0, self.clock()
        async with client.stream("GET", f"{self.url}/v1/down", params={"bytes": most}) as response:
            await _check(response)
            async for part in response.aiter_raw():
                got += len(part)
                if got >= most or self.clock() - begun >= self.effort.seconds:
                    break
        if got < _LEAST:
            raise _Trouble(f"it sent {got} bytes only")
        return _rate(got, self.clock() - begun)

    async def upload(self, client: httpx.AsyncClient) -> int:
        """Bits a second of the largest transfer that was taken whole: each is larger than the one before, until one
        takes long. Raises _Trouble.
        """
        size, left, speed = _FIRST_UPLOAD, self.effort.most_bytes, 0
        deadline = self.clock() + self.effort.seconds
        while size <= left and self.clock() < deadline:
            begun = self.clock()
            try:
                async with asyncio.timeout(self.effort.seconds):
                    answer = await _json(client, f"{self.url}/v1/up", size, _random(size))
            except TimeoutError:
                if not speed:
                    raise
                break
            if answer.get("bytes") != size:
                raise _Trouble("it does not say that it took what it was sent")
            speed, left = _rate(size, self.clock() - begun), left - size
            size *= _GROWTH
        return speed

    async def reach(self, client: httpx.AsyncClient, ports: Sequence[int]) -> tuple[str, dict[int, bool]]:
        """At which address it tried, and what it could reach. Raises _Trouble."""
        asked = json.dumps({"ports": list(ports)}).encode()
        answer = await _json(client, f"{self.url}/v1/reach", len(asked), asked)
        reached, address = answer.get("ports"), answer.get("address")
        if not isinstance(reached, dict) or not isinstance(address, str):
            raise _Trouble("it does not say which ports it could reach")
        return address[:64], {port: reached.get(str(port)) is True for port in ports}


async def _random(size: int) -> AsyncIterator[bytes]:
    """So many bytes that do not shrink on their way."""
    while size:
        yield _CHUNK[:size]
        size -= min(size, len(_CHUNK))


async def _json(
    client: httpx.AsyncClient, url: str, length: int, body: bytes | AsyncIterator[bytes]
) -> dict[str, Any]:
    """The answer, of which no more is read than an answer has. Raises _Trouble."""
    headers = {"Content-Length": str(length)}
    async with client.stream("POST", url, content=body, headers=headers) as response:
        await _check(response)
        return _parsed(await _begin(response))


async def _check(response: httpx.Response) -> None:
    """Raises _Trouble where it does not do what it is asked; a peer sends nobody elsewhere."""
    if response.status_code == httpx.codes.OK:
        return
    try:
        detail = str(_parsed(await _begin(response)).get("detail", ""))
    except _Trouble:
        detail = ""
    words = "".join(letter for letter in detail[:200] if letter.isprintable())
    raise _Trouble(f"it answers {response.status_code}{': ' if words else ''}{words}")


async def _begin(response: httpx.Response) -> bytes:
    body = b""
    async for part in response.aiter_raw():
        body += part[:_MOST_ANSWER]
        if len(body) >= _MOST_ANSWER:
            break
    return body


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise _Trouble("its answer cannot be read")
    return answer


def _rate(count: int, seconds: float) -> int:
    return int(8 * count / max(seconds, 1e-6))
