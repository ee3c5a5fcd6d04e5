"""Which JSON-RPC calls a gateway makes for browsers, and what their parameters may be. Pure.

A node's API is also its owner's: what is not in the table is not asked of it. Nothing here costs a node more than
reading a few blocks does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from leasehold.errors import error_type
from leasehold.gateway._errors import GatewayRefusal

MOST_BLOCKS: Final = 10_000
"""Of one `eth_getLogs`."""
MOST_DATA: Final = 128 * 1024
"""Bytes of a call's data, or of a signed transaction."""
MOST_ADDRESSES: Final = 16
MOST_FEES: Final = 128

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_NUMBER: Final = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})")
_DATA: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_TAGS: Final = ("latest", "pending", "safe", "finalized", "earliest")
_CALL_FIELDS: Final = {
    "from": _ADDRESS,
    "to": _ADDRESS,
    "gas": _NUMBER,
    "gasPrice": _NUMBER,
    "maxFeePerGas": _NUMBER,
    "maxPriorityFeePerGas": _NUMBER,
    "value": _NUMBER,
    "nonce": _NUMBER,
    "data": _DATA,
    "input": _DATA,
    "type": _NUMBER,
    "chainId": _NUMBER,
}

Check = Callable[[Any], bool]


@error_type(
    "rpc-method", problem="`{method}` is not asked for others here", advice="use a node of your own for it."
)
class MethodRefused(GatewayRefusal):
    """A method that is not in the table."""

    method: str


@error_type(
    "rpc-params",
    problem="The parameters of `{method}` are not ones that are asked for others",
    advice="see the reference.",
)
class ParamsRefused(GatewayRefusal):
    """Parameters of another form, or of more than is asked at once."""

    method: str


def check_call(method: str, params: Sequence[Any]) -> None:
    """Whether the call is one that is made for others. Raises MethodRefused, ParamsRefused."""
    form = METHODS.get(method)
    if form is None:
        raise MethodRefused(method[:64])
    checks, needed = form
    fits = needed <= len(params) <= len(checks)
    if not fits or not all(check(given) for check, given in zip(checks, params, strict=False)):
        raise ParamsRefused(method)


def span_of(params: Sequence[Any], head: int) -> int:
    """How many blocks an `eth_getLogs` looks through. head: the chain's."""
    asked = params[0]
    if "blockHash" in asked:
        return 1
    begin, end = (_block_number(asked.get(name, "latest"), head) for name in ("fromBlock", "toBlock"))
    return end - begin + 1


def _block_number(block: str, head: int) -> int:
    if block == "earliest":
        return 0
    return int(block, 16) if block.startswith("0x") else head


def _matches(form: re.Pattern[str]) -> Check:
    return lambda given: isinstance(given, str) and len(given) <= 80 and form.fullmatch(given) is not None


def _data(given: Any) -> bool:
    return isinstance(given, str) and len(given) <= 2 + 2 * MOST_DATA and _DATA.fullmatch(given) is not None


def _block(given: Any) -> bool:
    if isinstance(given, dict):  # EIP-1898
        return set(given) <= {"blockHash", "requireCanonical"} and _hash(given.get("blockHash"))
    return given in _TAGS or _number(given) if isinstance(given, str) else False


def _call(given: Any) -> bool:
    """A transaction's fields, without a state of the caller's own beside."""
    if not isinstance(given, dict) or not set(given) <= set(_CALL_FIELDS):
        return False
    return all(
        _data(value) if _CALL_FIELDS[name] is _DATA else _matches(_CALL_FIELDS[name])(value)
        for name, value in given.items()
    )


def _filter(given: Any) -> bool:
    """Of logs: addresses are needed, or the whole chain's would be looked through."""
    if not isinstance(given, dict) or not set(given) <= {
        "address",
        "topics",
        "fromBlock",
        "toBlock",
        "blockHash",
    }:
        return False
    addresses = given.get("address")
    addresses = [addresses] if isinstance(addresses, str) else addresses
    if not isinstance(addresses, list) or not 1 <= len(addresses) <= MOST_ADDRESSES:
        return False
    blocks = [given[name] for name in ("fromBlock", "toBlock") if name in given]
    if "blockHash" in given and (blocks or not _hash(given["blockHash"])):
        return False
    texts = all(isinstance(block, str) and _block(block) for block in blocks)
    return texts and all(map(_address, addresses)) and _topics(given.get("topics", []))


def _topics(given: Any) -> bool:
    if not isinstance(given, list) or len(given) > 4:
        return False
    for topic in given:
        choices = topic if isinstance(topic, list) else [topic]
        if len(choices) > MOST_ADDRESSES or not all(choice is None or _hash(choice) for choice in choices):
            return False
    return True


def _percentiles(given: Any) -> bool:
    return (
        isinstance(given, list)
        and len(given) <= 10
        and all(type(one) in (int, float) and 0 <= one <= 100 for one in given)
    )


def _fee_count(given: Any) -> bool:
    number = int(given, 16) if _number(given) else given
    return type(number) is int and 1 <= number <= MOST_FEES


def _bool(given: Any) -> bool:
    return type(given) is bool


_address, _hash, _number = _matches(_ADDRESS), _matches(_HASH), _matches(_NUMBER)

METHODS: Final[dict[str, tuple[tuple[Check, ...], int]]] = {
    "eth_chainId": ((), 0),
    "net_version": ((), 0),
    "eth_blockNumber": ((), 0),
    "eth_gasPrice": ((), 0),
    "eth_maxPriorityFeePerGas": ((), 0),
    "eth_syncing": ((), 0),
    "eth_feeHistory": ((_fee_count, _block, _percentiles), 2),
    "eth_getBalance": ((_address, _block), 1),
    "eth_getCode": ((_address, _block), 1),
    "eth_getStorageAt": ((_address, _number, _block), 2),
    "eth_getTransactionCount": ((_address, _block), 1),
    "eth_getBlockByNumber": ((_block, _bool), 1),
    "eth_getBlockByHash": ((_hash, _bool), 1),
    "eth_getTransactionByHash": ((_hash,), 1),
    "eth_getTransactionReceipt": ((_hash,), 1),
    "eth_getLogs": ((_filter,), 1),
    "eth_call": ((_call, _block), 1),
    "eth_estimateGas": ((_call, _block), 1),
    "eth_sendRawTransaction": ((_data,), 1),
}
"""By method: a check for each parameter, and how many must be there."""
