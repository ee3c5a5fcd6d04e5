"""Public answers as gzip, for who takes that: what a pool has is the same for everybody, and a list of it is 95 kB.

Only where an answer is of the chain alone. What is compressed tells by its length what stands in it: where that is an
account's own, beside words that a stranger had a browser send, the words can be tried until one is there already
(BREACH). So the paths are named here, and no other answer is touched: neither what a session gets nor what an agent
says. A stream is not, either: it would wait until there is enough of it.
"""

from __future__ import annotations

import re
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PUBLIC: Final = frozenset(
    ("faults", "machines", "pools", "prices", "providers", "rounds", "statistics", "validators")
)
"""What follows `/api/v1/` in the path of an answer that is of the chain, and the same for everybody."""
_PREFIX: Final = "/api/v1/"
_LEAST: Final = 1_024
"""Bytes; what is less goes in the one packet that it takes anyway."""
_LEVEL: Final = 1
"""A list of 95 kB: 19 kB in 0.9 ms by this level, 15 kB in 2.2 ms by the usual one. A gateway has one core."""
_GZIP: Final = 31
"""zlib's `wbits` for gzip."""
_KEPT: Final = 256
_KEPT_BYTES: Final = 16 * 2**20
_NOT_AT_ALL: Final = re.compile(r"q\s*=\s*0(\.0*)?")


class CompressedAnswers:
    """Stands before the searches and the routes. What was compressed lately is kept: most ask for the same."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept = OrderedDict[bytes, bytes]()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_public(scope):
            await self._app(scope, receive, send)
            return
        wanted = takes_gzip(Headers(scope=scope).getlist("accept-encoding"))
        begun: Message | None = None

        async def compressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and _may_be(message):
                begun = message  # goes out with its body, which decides about it
                return
            if begun is not None:
                start, begun = begun, None
                if not message.get("more_body"):
                    start, message = self._sent(start, message, wanted=wanted)
                await send(start)
            await send(message)

        await self._app(scope, receive, compressed)

    def _sent(self, start: Message, whole: Message, *, wanted: bool) -> tuple[Message, Message]:
        body = whole.get("body", b"")
        if len(body) < _LEAST:
            return start, whole
        headers = [*start["headers"], (b"vary", b"Accept-Encoding")]
        if wanted:
            body = self._gzip(body)
            headers = [header for header in headers if header[0] != b"content-length"]
            headers += [(b"content-encoding", b"gzip"), (b"content-length", b"%d" % len(body))]
        return {**start, "headers": headers}, {**whole, "body": body}

    def _gzip(self, body: bytes) -> bytes:
        known = self._kept.get(body)
        if known is not None:
            self._kept.move_to_end(body)
            return known
        made = self._kept[body] = zlib.compress(body, _LEVEL, _GZIP)
        self._size += len(body) + len(made)
        while len(self._kept) > _KEPT or self._size > _KEPT_BYTES:
            self._size -= sum(map(len, self._kept.popitem(last=False)))
        return made


def takes_gzip(said: Iterable[str]) -> bool:
    """Whether a caller names gzip, and not as what it does not want. said: its headers `Accept-Encoding`."""
    for part in ",".join(said).lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == "gzip":
            return _NOT_AT_ALL.fullmatch(weight.strip()) is None
    return False


def _is_public(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(_PREFIX):
        return False
    return scope["path"][len(_PREFIX) :].partition("/")[0] in PUBLIC


def _may_be(start: Message) -> bool:
    """Whether it is whole and JSON, and nobody's own: a stream says no length."""
    said = dict(start["headers"])
    known = said.get(b"content-type", b"").startswith(b"application/json") and b"content-length" in said
    return bool(start["status"] == 200 and known and not said.keys() & {b"content-encoding", b"set-cookie"})
