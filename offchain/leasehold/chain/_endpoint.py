"""One node: requests out, outcomes in. What is odd about an answer becomes one of three things here.

`Unanswered`: nothing that can be used; another endpoint is asked, or this one again. `Limited`: it asks us to come
back later. `BatchRefused`: it takes no lists, or none so long; a shorter one is sent. Whatever else a node answers, a
result of the right form or an error, is an `Outcome` of its request.

How a node is reached is another file's: `HttpEndpoint` by its address, `Web3Endpoint` by somebody's web3.py client.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from leasehold.chain._shapes import Misshapen, checked, checked_columns
from leasehold.errors import ContractError, Reverted, RpcError, UnknownRevert, decode_revert

MOST_CALLS = 64
_REGROWTH = 32  # exchanges that went well until a longer batch is tried again
_SHORTEST_KEY = 6  # characters; `v3` is none, and a node's words may be full of it
_LIMITS = frozenset({-32005, -32029, 429})
# Many nodes have no code of their own for it.
_LIMIT_WORDS = (
    "rate limit",
    "ratelimit",
    "too many requests",
    "request limit",
    "compute units",
    "throttl",
    "quota",
)


class Unanswered(Exception):
    """An endpoint gave nothing that can be used. again: whether asking once more may help."""

    def __init__(self, reason: str, *, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


class Limited(Unanswered):
    """It wants fewer requests. seconds: after which it wants to be asked again, where it says so."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


class BatchRefused(Unanswered):
    """It does not take so many calls in one request."""


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """by_field: of `eth_getLogs`, whether the outcome is wanted as `LogColumns`, of which many are read sooner."""

    id: int
    method: str
    params: Sequence[Any]
    by_field: bool = False

    def written(self) -> Mapping[str, object]:
        return {"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": self.params}


Outcome = Any  # a result that has the right form, or the ChainError that the node answered


@dataclass(slots=True)
class Endpoint(ABC):
    """resting_until: when it is one of the first again. checked: it has shown which chain it serves. most: how many
    calls it takes in one request."""

    url: str
    resting_until: float = 0.0
    checked: bool = False
    most: int = MOST_CALLS
    went_well: int = 0

    @abstractmethod
    async def parts(self, requests: Sequence[NodeRequest], seconds: float) -> Mapping[int, Any]:
        """The node's answers by the requests' numbers, as JSON-RPC writes them and unread: of one at least.

        Raises Unanswered, Limited, BatchRefused.
        """

    async def ask(self, requests: Sequence[NodeRequest], seconds: float) -> dict[int, Outcome]:
        """The outcomes by the requests' numbers: of one at least, of all where the node is as it should be.

        Raises Unanswered, Limited, BatchRefused.
        """
        found = _outcomes(requests, await self.parts(requests, seconds), self.url)
        self._note(len(found) == len(requests))
        if len(found) < len(requests):
            self.split(len(requests))
        return found

    def split(self, asked: int) -> None:
        """It is asked for at most half as much at once from now on."""
        self.most, self.went_well = max(1, min(self.most, asked) // 2), 0

    def _note(self, whole: bool) -> None:
        self.went_well = self.went_well + 1 if whole else 0
        if self.went_well >= _REGROWTH and self.most < MOST_CALLS:
            self.most, self.went_well = self.most * 2, 0


def without_secrets(words: str, url: str) -> str:
    """What a node says, without what of its address may be somebody's key: some repeat it where they refuse it, and the
    words go on to terminals, logs and, by a gateway, to strangers.
    """
    with suppress(ValueError):
        address = urlsplit(url)
        parts = [address.username, address.password, *re.split(r"[/&=]", f"{address.path}&{address.query}")]
        keys = {part for part in parts if part is not None and len(part) >= _SHORTEST_KEY}
        for key in sorted(keys, key=len, reverse=True):
            words = words.replace(key, "…").replace(unquote(key), "…")
    return words


def _outcomes(requests: Sequence[NodeRequest], parts: Mapping[int, Any], url: str) -> dict[int, Outcome]:
    """Of those parts that can be used. Raises what was wrong with the first that cannot, if no part can."""
    found: dict[int, Outcome] = {}
    problem: Unanswered | None = None
    for request in requests:
        if request.id in parts:
            try:
                found[request.id] = _outcome(parts[request.id], request, url)
            except Unanswered as error:
                problem = problem or error
    if not found:
        raise problem or Unanswered("no answer to what was asked")
    return found


def _outcome(part: Mapping[str, Any], request: NodeRequest, url: str) -> Outcome:
    error = part.get("error")
    if error is None:
        if "result" not in part:
            raise Unanswered(f"{request.method}: neither a result nor an error")
        try:
            if request.by_field:
                return checked_columns(request.params, part["result"])
            return checked(request.method, request.params, part["result"])
        except Misshapen as odd:
            raise Unanswered(str(odd)) from None
    if not isinstance(error, dict):
        raise Unanswered(f"{request.method}: {words_of(part)}")
    message = without_secrets(str(error.get("message", error)), url)
    refusal = RpcError(_code(error), message[:500], _data(error, url), request.method)
    reverted = revert_of(error)
    if reverted is not None:
        reverted.__cause__ = refusal  # for whoever speaks JSON-RPC above us
        return reverted
    if is_limit(error, request.method):
        raise Limited(words_of(part))
    return refusal


def is_limit(error: Any, method: str) -> bool:
    if not isinstance(error, dict):
        return False
    message = str(error.get("message", "")).lower()
    if any(words in message for words in _LIMIT_WORDS):
        return True
    # For logs the same code says that there are too many of them.
    return _code(error) in _LIMITS and method != "eth_getLogs"


def _data(error: Mapping[str, Any], url: str) -> Any:
    """As it came; nothing of it where it holds what may be a key."""
    data = error.get("data")
    if data is None or (isinstance(data, str) and data.startswith("0x")):
        return data
    return data if without_secrets(str(data), url) == str(data) else None


def _code(error: Mapping[str, Any]) -> int:
    code = error.get("code")
    return code if type(code) is int else 0


def words_of(answer: Mapping[str, Any]) -> str:
    """The words of an answer that is no result."""
    error = answer.get("error")
    said = error.get("message") if isinstance(error, dict) else error or answer.get("message")
    return str(said or "no reason")[:200]


def revert_of(error: Mapping[str, Any]) -> ContractError | None:
    """The contract's error in a JSON-RPC error, or None when it is not about a revert."""
    data = error.get("data")
    while isinstance(data, dict):  # some nodes wrap it
        data = data.get("data") or data.get("result") or data.get("originalError")
    message = str(error.get("message", ""))
    if isinstance(data, str) and data.startswith("0x") and (len(data) >= 10 or "revert" in message):
        try:
            return decode_revert(bytes.fromhex(data[2:]))
        except ValueError:
            return UnknownRevert("0x")
    if error.get("code") == 3 or "execution reverted" in message:
        reason = message.partition("execution reverted")[2].strip(": ")
        return Reverted(reason) if reason else UnknownRevert("0x")
    return None
