"""Stands before a gateway and makes what strangers send, by chance, into what somebody sends who knows his way about.

Whatever is asked, its answer is held against the gateway's own description: a status and a type that stand there, a
problem document where it refuses, security's headers on all of them, and no failure.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any
from urllib.parse import unquote

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leasehold.gateway._front import POLICY
from leasehold.gateway._uploading import OFFSET_TYPE

from .whole import ORIGIN, SEALED, WholeGateway

ODD: tuple[Any, ...] = (
    "", "\0", "a" * 300, "0x", "0xzz", "é", "-1", "1e9", "latest", -1, 0, 2**64, 2**300, 1.5, True, None, [], {},
    ["0x" + "1" * 40] * 3, {"a": {"b": [None]}}, "0x" + "1" * 40, "0x" + "F" * 64, "0x" + "ab" * 3_000,
)  # fmt: skip
KNOWING = 0.8
"""How often each thing that a stranger sends is replaced by what makes sense there."""
MUTATED = 0.4
"""How often something of that is another thing all the same."""
REFUSALS = frozenset({400, 401, 403, 404, 405, 409, 413, 429})


@dataclass(frozen=True)
class Operation:
    """One of the description's. form: of its paths."""

    name: str
    method: str
    path: str
    form: re.Pattern[str]
    said: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> list[Operation]:
        return [
            cls(f"{method.upper()} {path}", method.upper(), path, _form(path), said)
            for path, methods in document["paths"].items()
            for method, said in methods.items()
        ]


def _form(path: str) -> re.Pattern[str]:
    parts = (
        re.escape(part) if not part.startswith("{") else (".*" if part == "{path}" else "[^/]*")
        for part in path.split("/")
    )
    return re.compile("/".join(parts))


@dataclass
class Visiting:
    """The application in front of a gateway's. wrong: what no answer may be."""

    whole: WholeGateway
    document: Mapping[str, Any]
    chance: Random
    statuses: Counter[int] = field(default_factory=Counter)
    by_operation: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[str] = field(default_factory=list)
    _cookie: str | None = None

    def __post_init__(self) -> None:
        self.operations = Operation.of(self.document)
        self.app: ASGIApp = self.whole.app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        operation = self.operation(scope["method"], scope["raw_path"].decode("latin-1"))
        if operation is not None and self._often(KNOWING):
            scope, body = await self._knowing(scope, body, operation)
        scope["client"] = (f"198.51.{self.chance.randrange(256)}.{self.chance.randrange(256)}", 4000)
        answer = _Answer(send, ends="/api/v1/events" in scope["path"])
        await self.app(scope, answer.receiving(body), answer.sent)
        self._note(scope, body, operation, answer)

    def operation(self, method: str, path: str) -> Operation | None:
        """Which of the description's it is."""
        return next(
            (one for one in self.operations if one.method == method and one.form.fullmatch(path)), None
        )

    # ------------------------------------------------------------------------------------------- who knows his way

    async def _knowing(self, scope: Scope, body: bytes, operation: Operation) -> tuple[Scope, bytes]:
        path = "/".join(
            self._part(operation.path, part, old) for part, old in _aligned(operation.path, scope)
        )
        headers = {name: value for name, value in scope["headers"] if name not in (b"cookie", b"origin")}
        headers |= {b"origin": ORIGIN.encode(), b"cookie": (await self._session()).encode()}
        if "/agents/" in path:
            headers[b"authorization"] = b"Leasehold abc"
        if operation.method == "PATCH":
            headers |= {b"content-type": OFFSET_TYPE.encode(), b"upload-offset": self._offset()}
        if (
            operation.said.get("requestBody")
            and (known := await self._known_body(operation, path)) is not None
        ):
            body = known
            if operation.method == "POST" or operation.path.startswith("/api/v1/alerts"):
                headers[b"content-type"] = b"application/json"
        if body or b"content-length" in headers:
            headers[b"content-length"] = str(len(body)).encode()
            headers.pop(b"transfer-encoding", None)
        raw = {"raw_path": path.encode("latin-1"), "path": unquote(path)}
        if operation.name == "GET /api/v1/groups" and self._often(KNOWING):
            raw["query_string"] = f"member={self.chance.choice(self.whole.named['controller'])}".encode()
        return {**scope, **raw, "headers": list(headers.items())}, body

    def _part(self, path: str, part: str, old: str) -> str:
        names = self.whole.named.get(part.strip("{}"), []) if part.startswith("{") else []
        names = names[-1:] if path.startswith("/api/v1/sealed/") else names
        return self.chance.choice(names) if names and self._often(KNOWING) else old

    def _offset(self) -> bytes:
        return self.chance.choice((b"0", b"0", b"0", b"0", b"5", b"-1", b"9" * 15))

    async def _session(self) -> str:
        if self._cookie is None:
            self._cookie = await self.whole.caller.session()
        return self._cookie

    async def _known_body(self, operation: Operation, path: str) -> bytes | None:
        """What belongs there; something of it may be odd."""
        caller = self.whole.caller
        said: Any
        if operation.path == "/api/v1/session":
            said = await caller.message()
        elif path.endswith("/proposals"):
            said = await caller.proposed()
        elif path.endswith("/signatures"):
            said = await caller.signature()
        elif path.endswith("/gasless/quotes"):
            said = caller.wish()
        elif path.endswith("/gasless"):
            said = await caller.gasless()
        elif path.endswith("/purse"):
            said = await caller.purse()
        elif path.endswith("/rpc"):
            said = self._calls()
        elif operation.path.startswith("/api/v1/alerts"):
            said = self._place(operation.path)
        elif path.endswith("/uploads"):
            said = {"size": self.chance.choice((1, 5, 5, 5, 2_000, 1 << 40)), "name": "data.age"}
        else:
            return self.chance.choice((SEALED, SEALED, b"12345", b"12345", b"x", b""))
        return orjson.dumps(self.mutated(said) if self._often(MUTATED) else said)

    def _place(self, path: str) -> Any:
        """Where its caller is told, of what, or a code that is not the one."""
        if path.endswith("/code"):
            return {"code": "ABCDE23456"}
        wishes = {"kinds": ["notice", "end-near"], "before": 3_600}
        if path.endswith("/kinds"):
            return wishes
        place = {"way": "webhook", "address": f"{self.whole.hook}/{self.chance.randrange(100)}"}
        return {"to": place, **wishes}

    def _calls(self) -> Any:
        controller = self.whole.named["controller"][0]
        many = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(
                (
                    ("eth_chainId", []),
                    ("eth_blockNumber", []),
                    ("eth_getBalance", [controller, "latest"]),
                    ("eth_getCode", [controller, "latest"]),
                    ("eth_call", [{"to": controller, "data": "0x8da5cb5b"}, "latest"]),
                    ("eth_estimateGas", [{"to": controller, "data": "0x"}]),
                    ("eth_getLogs", [{"address": controller, "fromBlock": "0x0", "toBlock": "latest"}]),
                    ("eth_getBlockByNumber", ["latest", True]),
                    ("eth_feeHistory", ["0x4", "latest", [10, 50]]),
                    ("eth_getStorageAt", [controller, "0x0", "latest"]),
                    ("eth_getTransactionReceipt", ["0x" + "1" * 64]),
                    ("eth_sendRawTransaction", ["0x02c0"]),
                    ("debug_traceTransaction", ["0x" + "1" * 64]),
                )
            )
        ]
        return self.chance.choice(many) if self._often(0.7) else self.chance.sample(many, 4)

    def mutated(self, said: Any) -> Any:
        """The same with one odd thing in it, somewhere."""
        if isinstance(said, dict) and said and self._often(0.9):
            name = self.chance.choice(list(said))
            if self._often(0.1):
                return {key: value for key, value in said.items() if key != name}
            return {**said, name: self.mutated(said[name])}
        if isinstance(said, list) and said and self._often(0.9):
            place = self.chance.randrange(len(said))
            return [*said[:place], self.mutated(said[place]), *said[place + 1 :]]
        odd = self.chance.choice(ODD)
        return odd if not isinstance(odd, int) or abs(odd) < 2**63 else float(odd)

    def _often(self, part: float) -> bool:
        return self.chance.random() < part

    # ------------------------------------------------------------------------------------------------- what comes

    def _note(self, scope: Scope, body: bytes, operation: Operation | None, answer: _Answer) -> None:
        self.statuses[answer.status] += 1
        self.by_operation["" if operation is None else operation.name][answer.status] += 1
        if (
            operation is not None
            and operation.path == "/api/v1/session"
            and scope["method"] in ("POST", "DELETE")
        ):
            self._cookie = None  # signing in ends the session that the browser came with, as signing out does
        if answer.status == 204 and "/uploads/" in scope["path"]:
            self.whole.named["upload"] = []
        if answer.status == 201 and scope["path"] == "/api/v1/alerts":
            self.whole.named["recipient"] = [
                *self.whole.named["recipient"][-3:],
                orjson.loads(answer.body)["id"],
            ]
        if answer.status == 201 and (place := answer.headers.get("location", "")):
            self.whole.named["upload"] = [*self.whole.named["upload"][-3:], place.rpartition("/")[2]]
        for wrong in self._wrongs(operation, answer):
            query = scope["query_string"].decode("latin-1")[:200]
            self.wrong.append(
                f"{wrong}: {answer.status} {answer.kind!r} for {scope['method']} {scope['raw_path'][:200]!r} "
                f"?{query} {body[:300]!r}: {answer.body[:300]!r}"
            )

    def _wrongs(self, operation: Operation | None, answer: _Answer) -> list[str]:
        wrongs = []
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            wrongs.append("a failure")
        policy = answer.headers.get("content-security-policy", "")
        if policy != POLICY and policy != "default-src 'none'; sandbox":
            wrongs.append("no policy")
        if answer.status in REFUSALS:
            if answer.kind != "application/problem+json":
                wrongs.append("no problem document")
        elif operation is None:
            if answer.status not in (200, 204):
                wrongs.append("a status of no operation")
        elif (said := operation.said["responses"].get(str(answer.status))) is None:
            wrongs.append("a status that is not described")
        elif answer.body and answer.kind not in said.get("content", {}):
            wrongs.append("a type that is not described")
        return wrongs


class _Answer:
    """An answer on its way, read along. ends: whether to leave once it has begun, since it has no end of its own."""

    def __init__(self, send: Send, *, ends: bool) -> None:
        self._send = send
        self._ends = ends
        self._complete = asyncio.Event()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    async def sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]
            }
        elif message["type"] == "http.response.body":
            if self._complete.is_set():
                return
            self.body += message.get("body", b"")[: 1 << 16]
            if self._ends:
                message = {**message, "more_body": False}
            if not message.get("more_body", False):
                self._complete.set()
        await self._send(message)

    def receiving(self, body: bytes) -> Receive:
        """The body, and then that the caller has gone once the answer is there."""
        given = False

        async def receive() -> Message:
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await self._complete.wait()
            return {"type": "http.disconnect"}

        return receive


def _aligned(path: str, scope: Scope) -> list[tuple[str, str]]:
    """Each part of the description's path beside what was sent for it; the last takes all that is left."""
    names = path.split("/")
    given = scope["raw_path"].decode("latin-1").split("/", len(names) - 1)
    return list(zip(names, given, strict=True))


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return bytes(body)
