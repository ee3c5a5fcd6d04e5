"""Which calls of an agent's API a gateway hands on, and what their answers are. Pure; no agent is asked anything else.

What was signed is the path as it is sent, so that it is compared and never rewritten: no escape, no dot of its own, no
second slash can be in one. A test holds the table to docs/reference/agent-api.json.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from leasehold.gateway._refusals import BadRequest, NotHere
from leasehold.market.wire import MAX_CODE, MAX_ORDER, MAX_UPLOAD

MAX_QUERY: Final = 32 * 1024
MAX_INPUT: Final = 1 << 30
"""Bytes that one command is given as its input; what is larger goes by SSH or as a dataset."""
MAX_DOCUMENT: Final = 4 << 20
MAX_LOG: Final = 1 << 30
"""Bytes of a log, or of what a command writes."""
ANSWER_SECONDS: Final = 60.0
FOLLOW_SECONDS: Final = 1800.0
"""Of a log's or a command's silence."""

_DOCUMENT: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_LEASE: Final = r"/v1/leases/[1-9][0-9]{0,75}(?:\.[0-9]{1,5})?"
_DIGEST: Final = "[0-9a-f]{64}"
_NAME: Final = "[a-z0-9][a-z0-9-]{0,62}"
_QUERY: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*")


@dataclass(frozen=True)
class AgentCall:
    """One call. most: bytes of its body. kind: its answer's type; answer: bytes of it; silence: seconds of it."""

    method: str
    path: re.Pattern[str]
    most: int = 0
    kind: str = _DOCUMENT
    answer: int = MAX_DOCUMENT
    silence: float = ANSWER_SECONDS
    signed: bool = True


def _call(method: str, path: str, most: int = 0, **rest: object) -> AgentCall:
    return AgentCall(method, re.compile(path, re.ASCII), most, **rest)  # type: ignore[arg-type]


CALLS: Final = (
    _call("GET", "/v1/health", signed=False),
    _call("GET", "/v1/machine", signed=False),
    _call("GET", "/v1/machines/[0-9]{1,10}/heartbeat", signed=False),
    _call("PUT", f"/v1/workloads/{_DIGEST}", MAX_UPLOAD),
    _call("GET", _LEASE),
    _call("GET", rf"{_LEASE}/(?:audit|checkpoints|image|metrics|results|statement|volumes)"),
    _call("PUT", rf"{_LEASE}/(?:checkpoints|restart|start|stop)"),
    _call("PUT", rf"{_LEASE}/image/age1[02-9ac-hj-np-z]{{58}}"),
    _call("PUT", rf"{_LEASE}/closing-orders/{_DIGEST}", MAX_ORDER),
    _call("PUT", rf"{_LEASE}/code(?:-packs)?/{_DIGEST}", MAX_CODE),
    _call("PUT", rf"{_LEASE}/ssh/{_DIGEST}"),
    _call("PUT", rf"{_LEASE}/volumes/{_NAME}/export"),
    _call("DELETE", rf"{_LEASE}/volumes/{_NAME}"),
    _call("DELETE", rf"{_LEASE}/sessions/0x[0-9a-f]{{40}}"),
    _call("GET", rf"{_LEASE}/logs", kind=_TEXT, answer=MAX_LOG, silence=FOLLOW_SECONDS),
    _call("POST", rf"{_LEASE}/exec", MAX_INPUT, silence=FOLLOW_SECONDS),
    _call("POST", rf"{_LEASE}/exec/output", 1 << 16, kind=_BYTES, answer=MAX_LOG, silence=FOLLOW_SECONDS),
)
METHODS: Final = tuple(sorted({call.method for call in CALLS}))
_TERMINAL: Final = re.compile(rf"{_LEASE}/exec", re.ASCII)


def call_of(method: str, path: bytes, query: bytes) -> AgentCall:
    """The call that a request is, by its path and query as they came. Raises NotHere, BadRequest."""
    check_query(query)
    text = path.decode("latin-1")
    for call in CALLS:
        if call.method == method and call.path.fullmatch(text):
            return call
    raise NotHere("The API of agents has no such call;", "see its reference.")


def check_terminal(path: bytes, query: bytes) -> None:
    """Whether it is where a terminal is. Raises NotHere, BadRequest."""
    check_query(query)
    if _TERMINAL.fullmatch(path.decode("latin-1")) is None:
        raise NotHere("There is no terminal at that path;", "see the reference of the agent's API.")


def check_query(query: bytes) -> None:
    """Raises BadRequest for what no query is."""
    if len(query) > MAX_QUERY or _QUERY.fullmatch(query) is None:
        raise BadRequest(f"The query has characters that none has, or more than {MAX_QUERY} of them;")
