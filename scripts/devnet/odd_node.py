"""A node that misbehaves: a proxy in front of a real one, and the table of the ways in which it does.

    with OddNode(anvil.url, KINDS["an error that is a text"]) as node:
        Rpc([node.url])

Some kinds pass (the first answers are odd, then all is well, as it is with nodes that were restarted or overloaded),
others last, and whoever reads through them has to get along.
"""

from __future__ import annotations

import contextlib
import email.utils
import functools
import gzip
import http.client
import http.server
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

Calls = list[dict[str, Any]]
PASSING = 8  # odd answers of a kind that passes


@dataclass
class Exchange:
    """One HTTP request on its way to the node. `batch`: it holds a list."""

    calls: Calls
    batch: bool
    node: Node
    stranger: Node | None

    def answers(self, node: Node | None = None) -> Calls:
        """What the real node answers to each call."""
        return (node or self.node).ask(self.calls)


@dataclass
class Reply:
    """status 0: the connection ends without one."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    announced: int | None = None

    @classmethod
    def of(cls, exchange: Exchange, answers: Any) -> Reply:
        """A list's answers as a list, a single call's as an object."""
        return cls.json(answers if exchange.batch else answers[0])

    @classmethod
    def json(cls, document: Any, status: int = 200, **headers: str) -> Reply:
        return cls(
            json.dumps(document).encode(), status, {k.replace("_", "-"): v for k, v in headers.items()}
        )


Bend = Callable[[Exchange], "Reply | None"]
"""What a kind makes of an exchange; None leaves it as it is."""


@dataclass(frozen=True)
class Kind:
    bend: Bend
    lasts: bool


class Node:
    """The real node behind the proxy."""

    def __init__(self, url: str) -> None:
        self._at = urlsplit(url).netloc

    def ask(self, calls: Calls) -> Calls:
        connection = http.client.HTTPConnection(self._at, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", "/", json.dumps(calls), {"content-type": "application/json"})
            answers: Calls = json.loads(connection.getresponse().read())
        by_id = {answer["id"]: answer for answer in answers}
        return [by_id[call["id"]] for call in calls]


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are no news."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class OddNode:
    """Serves on a free port of the loopback until it is left. `odd` counts the answers that were bent."""

    def __init__(self, url: str, kind: Kind | None = None, *, stranger: str | None = None) -> None:
        self._node = Node(url)
        self._stranger = Node(stranger) if stranger else None
        self._lock = threading.Lock()
        self._server: http.server.ThreadingHTTPServer | None = None
        self.kind = kind
        self.odd = 0
        self.asked = 0

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def ws_url(self) -> str:
        """Where it gives no subscriptions."""
        return self.url.replace("http", "ws", 1)

    def __enter__(self) -> Self:
        odd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                try:
                    reply = odd.reply(body)
                except OSError:  # the node behind it is gone
                    reply = Reply(b"", 502)
                with contextlib.suppress(OSError):
                    _send(self, reply)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def becomes(self, kind: Kind | None) -> None:
        """Another kind of node from now on; None is one that does nothing odd."""
        with self._lock:
            self.kind, self.odd, self.asked = kind, 0, 0

    def reply(self, body: Any) -> Reply:
        batch = isinstance(body, list)
        exchange = Exchange(body if batch else [body], batch, self._node, self._stranger)
        with self._lock:
            self.asked += 1
            kind = self.kind
            bent = kind is not None and (kind.lasts or self.odd < PASSING)
        found = kind.bend(exchange) if kind is not None and bent else None
        if found is None:
            return Reply.of(exchange, exchange.answers())
        with self._lock:
            self.odd += 1
        return found


def _send(handler: http.server.BaseHTTPRequestHandler, reply: Reply) -> None:
    if reply.status == 0:
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return
    handler.send_response(reply.status)
    for name, value in {"content-type": "application/json", **reply.headers}.items():
        handler.send_header(name, value)
    handler.send_header(
        "content-length", str(len(reply.body) if reply.announced is None else reply.announced)
    )
    handler.end_headers()
    handler.wfile.write(reply.body)
    if reply.announced is not None:
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)


# ------------------------------------------------------------------------------------------------------ how to bend


def _always(reply: Callable[[], Reply]) -> Bend:
    return lambda exchange: reply()


def _each(change: Callable[[dict[str, Any]], Any]) -> Bend:
    """Changes every answer of an exchange."""
    return lambda exchange: Reply.of(exchange, [change(answer) for answer in exchange.answers()])


def _listed(change: Callable[[Calls], Any]) -> Bend:
    """Changes the list in which a batch is answered; a single call goes through."""
    return lambda exchange: Reply.json(change(exchange.answers())) if exchange.batch else None


def _refusing(over: int, reply: Callable[[], Reply]) -> Bend:
    """Refuses lists of more than so many calls."""
    return lambda exchange: reply() if exchange.batch and len(exchange.calls) > over else None


def _results(method: str, change: Callable[[Any], Any]) -> Bend:
    """Changes the results of one method."""

    def bend(exchange: Exchange) -> Reply | None:
        methods = {call["id"]: call["method"] for call in exchange.calls}
        if method not in methods.values():
            return None
        answers = exchange.answers()
        for answer in answers:
            if methods[answer["id"]] == method and answer.get("result") is not None:
                answer["result"] = change(answer["result"])
        return Reply.of(exchange, answers)

    return bend


def _each_log(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Bend:
    return _results("eth_getLogs", lambda logs: [change(log) for log in logs])


def _each_new_log(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Bend:
    """Of those that are asked for block by block, as they are near the head."""
    bend = _each_log(change)
    return lambda exchange: bend(exchange) if any(map(_of_one_block, exchange.calls)) else None


def _of_one_block(call: dict[str, Any]) -> bool:
    return bool(call["method"] == "eth_getLogs" and "blockHash" in call["params"][0])


def _without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {name: value for name, value in document.items() if name not in names}


def _with(**values: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {**document, **values}


def _blocks(change: Callable[[dict[str, Any]], Any]) -> Bend:
    return _results("eth_getBlockByNumber", change)


def _error(code: Any, message: str, status: int = 200, **headers: str) -> Callable[[], Reply]:
    document = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return lambda: Reply.json(document, status, **headers)


def _item_error(error: Any) -> Bend:
    return _each(lambda answer: {"jsonrpc": "2.0", "id": answer["id"], "error": error})


def _ranges_over(blocks: int, code: int, message: str) -> Bend:
    """Refuses logs of more blocks than that."""

    def bend(exchange: Exchange) -> Reply | None:
        answers, bent = exchange.answers(), False
        for at, call in enumerate(exchange.calls):
            asked = call["params"][0] if call["method"] == "eth_getLogs" else {}
            if "fromBlock" in asked and _length(exchange, asked) > blocks:
                error = {"code": code, "message": message}
                answers[at], bent = {"jsonrpc": "2.0", "id": call["id"], "error": error}, True
        return Reply.of(exchange, answers) if bent else None

    return bend


def _length(exchange: Exchange, query: Mapping[str, str]) -> int:
    last = query["toBlock"]
    if last == "latest":
        last = exchange.node.ask([{"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}])[0][
            "result"
        ]
    return int(last, 16) - int(query["fromBlock"], 16) + 1


def _every(number: int, bend: Bend) -> Bend:
    """Only each so many-th exchange."""
    turns = iter(range(1 << 62))
    return lambda exchange: bend(exchange) if next(turns) % number == number - 1 else None


def _upper(document: dict[str, Any]) -> dict[str, Any]:
    hashes = ("hash", "parentHash", "blockHash", "transactionHash")
    return {
        name: "0x" + value[2:].upper() if name in hashes and isinstance(value, str) else value
        for name, value in document.items()
    }


def _behind(blocks: int) -> Bend:
    """Its head is that much older."""

    def bend(exchange: Exchange) -> Reply | None:
        for call in exchange.calls:
            if call["method"] == "eth_getBlockByNumber" and call["params"][0] == "latest":
                head = int(exchange.node.ask([{**call, "id": 1}])[0]["result"]["number"], 16)
                call["params"][0] = hex(max(0, head - blocks))
                return Reply.of(exchange, exchange.answers())
        return None

    return bend


def _stranger(exchange: Exchange) -> Reply:
    return Reply.of(exchange, exchange.answers(exchange.stranger))


@functools.cache
def _bomb() -> Reply:
    return Reply(gzip.compress(bytes(65 << 20), 1), headers={"content-encoding": "gzip"})


def _date(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


def _near_head(logs: list[Any]) -> list[Any]:
    """As if the events of the newest blocks were not there yet."""
    return [] if len({log["blockNumber"] for log in logs}) == 1 else logs


_LIMIT = "Your app has exceeded its compute units per second capacity"
_HTML = b"<html><body>Bad gateway</body></html>"


def _passing() -> Iterator[tuple[str, Bend]]:
    yield "HTTP 500", _always(lambda: Reply(b"oh", 500))
    yield "HTTP 502 with a page", _always(lambda: Reply(_HTML, 502, {"content-type": "text/html"}))
    yield "HTTP 503 with JSON", _always(_error(-32000, "starting", 503))
    yield "HTTP 403 with JSON", _always(_error(-32600, "origin not allowed", 403))
    yield "HTTP 401 with a text", _always(lambda: Reply(b"who are you", 401))
    yield "HTTP 404 with a page", _always(lambda: Reply(_HTML, 404))
    yield "a redirect", _always(lambda: Reply(b"", 302, {"location": "http://127.0.0.1:1/"}))
    yield "HTTP 429", _always(lambda: Reply(b"slow down", 429))
    yield "HTTP 429 and seconds", _always(lambda: Reply(b"", 429, {"retry-after": "1"}))
    yield "HTTP 429 and a date", _always(lambda: Reply(b"", 429, {"retry-after": _date(1)}))
    yield "HTTP 429 and nonsense", _always(lambda: Reply(b"", 429, {"retry-after": "soon"}))
    yield "nothing at all", _always(lambda: Reply(b""))
    yield "a page", _always(lambda: Reply(_HTML))
    yield "half of an answer", lambda exchange: Reply(Reply.of(exchange, exchange.answers()).body[:-9])
    yield "an answer that breaks off", _always(lambda: Reply(b'{"jsonrpc"', announced=1_000))
    yield "a connection that ends", _always(lambda: Reply(b"", 0))
    yield "gzip that unfolds to 65 MiB", _always(_bomb)
    yield "gzip that is none", _always(lambda: Reply(b"not gzip", headers={"content-encoding": "gzip"}))
    yield "packed as nobody asked", _always(lambda: Reply(b"{}", headers={"content-encoding": "br"}))
    yield "a thousand brackets", _always(lambda: Reply(b"[" * 100_000))
    yield "no UTF-8", _always(lambda: Reply(b'"\xff\xfe"'))
    yield "an error that is a text", _item_error("rpc method is unavailable")
    yield "an error that is a list", _item_error(["no"])
    yield "an error whose code is a text", _item_error({"code": "E1", "message": "upstream timed out"})
    yield "an error without words", _item_error({})
    yield "null", _always(lambda: Reply(b"null"))
    yield "a number", _always(lambda: Reply(b"7"))
    yield "neither result nor error", _each(_without("result"))
    yield "answers without numbers", _each(_without("id"))
    yield "answers with other numbers", _each(lambda answer: {**answer, "id": answer["id"] + 1_000})
    yield "numbers that are texts", _each(lambda answer: {**answer, "id": str(answer["id"])})
    yield "one answer as a list", lambda exchange: None if exchange.batch else Reply.json(exchange.answers())
    yield "every result is null", _each(_with(result=None))
    yield "every result is a text", _each(_with(result="0xzz"))
    yield "limited by its own code", _always(_error(-32005, "limit exceeded"))
    yield "limited call by call", _item_error({"code": -32000, "message": _LIMIT})
    yield (
        "a block that nobody asked for",
        _blocks(lambda block: {**block, "number": hex(int(block["number"], 16) + 1)}),
    )
    yield "block numbers in decimal", _blocks(lambda block: {**block, "number": int(block["number"], 16)})
    yield "blocks without parents", _blocks(_without("parentHash"))
    yield "blocks that are texts", _blocks(lambda block: block["hash"])
    yield "logs that are null", _results("eth_getLogs", lambda logs: None)
    yield "logs that are an object", _results("eth_getLogs", lambda logs: {"logs": logs})
    yield "logs of another contract", _each_log(_with(address="0x" + "77" * 20))
    yield "logs of another block", _each_log(_with(blockNumber="0x7fffffff"))
    yield "new logs of another block", _each_new_log(_with(blockNumber="0x7fffffff"))
    yield "new logs of an older block", _each_new_log(_with(blockNumber="0x1"))
    yield "logs whose data is no hex", _each_log(_with(data="0xgg"))
    yield "logs whose data is cut", _each_log(lambda log: {**log, "data": log["data"][:-1]})
    yield "logs without topics", _each_log(_without("topics"))
    yield "logs in the place of topics", _each_log(_with(topics=7))
    yield "logs that are not there yet", _results("eth_getLogs", _near_head)
    yield "reads that are cut", _results("eth_call", lambda data: data[:66] if len(data) > 66 else "0x")
    yield "another chain's number", _results("eth_chainId", lambda number: "0x1")
    yield "a chain number in decimal", _results("eth_chainId", lambda number: 31_337)
    yield "another chain of the same number", _stranger
    yield "a head that lies behind", _behind(5)


def _lasting() -> Iterator[tuple[str, Bend]]:
    yield "no lists", _refusing(0, _error(-32600, "batch requests are not supported"))
    yield "no lists, by an empty list", _refusing(0, lambda: Reply(b"[]"))
    yield (
        "no lists, by a list of one error",
        _refusing(0, lambda: Reply(b'[{"id":null,"error":{"code":-32600}}]')),
    )
    yield "no lists over ten", _refusing(10, _error(-32600, "batch too large"))
    yield "no lists over four, by HTTP 413", _refusing(4, lambda: Reply(b"too large", 413))
    yield "no lists over three, by HTTP 400", _refusing(3, _error(-32600, "too many", 400))
    yield "lists without their last answer", _listed(lambda answers: answers[:-1])
    yield "lists in another order", _listed(lambda answers: answers[::-1])
    yield "lists with more than was asked", _listed(lambda answers: [None, 7, *answers, *answers, {"id": []}])
    yield "every third request is limited", _every(3, _always(lambda: Reply(b"", 429, {"retry-after": "0"})))
    yield "every fourth connection ends", _every(4, _always(lambda: Reply(b"", 0)))
    yield "ranges of ten blocks", _ranges_over(10, -32000, "block range is too large")
    yield "ranges by number of logs", _ranges_over(25, -32005, "query returned more than 10000 results")
    yield "logs in another order", _results("eth_getLogs", lambda logs: logs[::-1])
    yield "logs twice", _results("eth_getLogs", lambda logs: [log for log in logs for _ in range(2)])
    yield "logs without times", _each_log(_without("blockTimestamp"))
    yield "logs at the beginning of time", _each_log(_with(blockTimestamp="0x0"))
    yield (
        "logs with removed ones",
        _results(
            "eth_getLogs", lambda logs: [*logs, *({**log, "removed": True, "data": "0x"} for log in logs)]
        ),
    )
    yield (
        "hashes in capitals",
        lambda exchange: Reply.of(exchange, [_upper_result(answer) for answer in exchange.answers()]),
    )
    yield "blocks without fees and blooms", _blocks(_without("baseFeePerGas", "logsBloom"))
    yield "two nodes, one of them behind", _every(2, _behind(3))
    yield "two nodes, one of another chain", _every(5, _stranger)


def _upper_result(answer: dict[str, Any]) -> dict[str, Any]:
    result = answer.get("result")
    if isinstance(result, dict):
        return {**answer, "result": _upper(result)}
    if isinstance(result, list):
        return {**answer, "result": [_upper(each) for each in result]}
    return answer


def kinds() -> dict[str, Kind]:
    """All of them, by name; fresh ones, since some count."""
    passing = {name: Kind(bend, lasts=False) for name, bend in _passing()}
    return passing | {name: Kind(bend, lasts=True) for name, bend in _lasting()}
