"""What a node's answers have to look like, and that they answer what was asked: checked before anything is believed.

Nodes and what stands in front of them answer with `null`, texts, numbers in decimal, another block than the one that
was named, logs of other contracts. `checked` lets none of it through, so that what reads an answer need not ask again.
Hashes come out in lower case, whatever the node writes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leasehold.chain._log_columns import LogColumns, columns_of, plain_columns

Params = Sequence[Any]

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_SMALL = re.compile(r"0x[0-9a-fA-F]{1,12}")  # block numbers, indices, seconds: what SQLite can hold
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_WORDS = re.compile(r"(?:0x[0-9a-f]{64})*")


class Misshapen(Exception):
    """An answer that is none. Its text says what was wrong with it."""


def checked(method: str, params: Params, result: Any) -> Any:
    """The result of a call, in one writing. Raises Misshapen."""
    check = _CHECKS.get(method)
    try:
        return result if check is None else check(params, result)
    except Misshapen as error:
        raise Misshapen(f"{method}: {error}") from None


def check_header(raw: Any) -> dict[str, Any]:
    """A block's header, as WebSockets announce it. Raises Misshapen."""
    found = _mapping(raw, "a block")
    for name in ("number", "timestamp"):
        _matched(_SMALL, found.get(name), f"a block's {name}")
    if found.get("baseFeePerGas") is not None:
        _matched(_QUANTITY, found["baseFeePerGas"], "a block's base fee")
    hashes = {name: _matched(_HASH, found.get(name), f"a block's {name}").lower() for name in _BLOCK_HASHES}
    return {**found, **hashes}


_BLOCK_HASHES = ("hash", "parentHash")


def _quantity(params: Params, result: Any) -> str:
    return _matched(_QUANTITY, result, "a number")


def _data(params: Params, result: Any) -> str:
    return _matched(_DATA, result, "bytes")


def _hash(params: Params, result: Any) -> str:
    return _matched(_HASH, result, "a hash").lower()


def _block_by_number(params: Params, result: Any) -> dict[str, Any] | None:
    if result is None:
        return None
    block = check_header(result)
    if params[0].startswith("0x") and int(block["number"], 16) != int(params[0], 16):
        raise Misshapen(f"block {int(block['number'], 16)} where {int(params[0], 16)} was asked for")
    return _with_transactions(block, full=bool(params[1]))


def _block_by_hash(params: Params, result: Any) -> dict[str, Any] | None:
    if result is None:
        return None
    block = check_header(result)
    if block["hash"] != params[0].lower():
        raise Misshapen("another block than the one that was asked for")
    return block


def _with_transactions(block: dict[str, Any], *, full: bool) -> dict[str, Any]:
    if full:
        for transaction in _listed(block.get("transactions"), "a block's transactions"):
            _transaction_of(transaction)
    return block


def _transaction_of(raw: Any) -> dict[str, Any]:
    found = _mapping(raw, "a transaction")
    _matched(_HASH, found.get("hash"), "a transaction's hash")
    _matched(_ADDRESS, found.get("from"), "a transaction's sender")
    _matched(_QUANTITY, found.get("nonce"), "a transaction's nonce")
    for name, pattern in (("to", _ADDRESS), ("value", _QUANTITY), ("input", _DATA), ("data", _DATA)):
        if found.get(name) is not None:
            _matched(pattern, found[name], f"a transaction's {name}")
    return found


def _transaction(params: Params, result: Any) -> dict[str, Any] | None:
    if result is None:
        return None
    found = _transaction_of(result)
    if found["hash"].lower() != params[0].lower():
        raise Misshapen("another transaction than the one that was asked for")
    return found


def _receipt(params: Params, result: Any) -> dict[str, Any] | None:
    if result is None:
        return None
    found = _mapping(result, "a receipt")
    hashes = {
        name: _matched(_HASH, found.get(name), f"a receipt's {name}").lower()
        for name in ("transactionHash", "blockHash")
    }
    if hashes["transactionHash"] != params[0].lower():
        raise Misshapen("the receipt of another transaction than the one that was asked for")
    for name in ("blockNumber", "gasUsed", "status"):
        _matched(_SMALL, found.get(name), f"a receipt's {name}")
    if found.get("effectiveGasPrice") is not None:
        _matched(_QUANTITY, found["effectiveGasPrice"], "a receipt's price")
    return {**found, **hashes, "logs": [_log(log) for log in _listed(found.get("logs"), "a receipt's logs")]}


def _logs(params: Params, result: Any) -> list[dict[str, Any]]:
    found = _listed(result, "logs")
    columns = plain_columns(found)
    if columns is None:
        found = [_log(log) for log in found]
        columns = columns_of(found)
    _answering(params, columns)
    return found


def checked_columns(params: Params, result: Any) -> LogColumns:
    """As `checked` of `eth_getLogs`, field by field, without logs that were removed. Raises Misshapen.

    result: what JSON has read, or columns that are plain.
    """
    if not isinstance(result, LogColumns):
        return columns_of([log for log in _logs(params, result) if not log.get("removed")])
    _answering(params, result)
    return result


def _answering(params: Params, columns: LogColumns) -> None:
    """Raises Misshapen for logs of another contract or block than those that were asked for."""
    query = params[0]
    wanted = query.get("address")
    addresses = {wanted.lower()} if isinstance(wanted, str) else {each.lower() for each in wanted or ()}
    first, last, block = (query.get(name) for name in ("fromBlock", "toBlock", "blockHash"))
    low = int(first, 16) if first and first.startswith("0x") else 0
    high = int(last, 16) if last and last.startswith("0x") else 1 << 62
    if addresses and not addresses.issuperset(map(str.lower, set(columns.addresses))):
        raise Misshapen("a log of another contract than those that were asked for")
    numbers = [int(number, 16) for number in set(columns.numbers)]
    if not all(low <= number <= high for number in numbers) or (block and set(columns.blocks) - {block}):
        raise Misshapen("a log of another block than those that were asked for")


def _log(raw: Any) -> dict[str, Any]:
    """A log by itself: what is wrong with it is said, and what is only written otherwise is put in our writing."""
    log = _mapping(raw, "a log")
    try:
        topics = log["topics"]
        words = [log["blockHash"], log["transactionHash"], *topics]
        plain = _WORDS.fullmatch("".join(words)) and all(len(word) == 66 for word in words)
        sound = (
            type(topics) is list
            and len(topics) <= 4
            and _SMALL.fullmatch(log["blockNumber"])
            and _SMALL.fullmatch(log["logIndex"])
            and _ADDRESS.fullmatch(log["address"])
            and _DATA.fullmatch(log["data"])
        )
    except (KeyError, TypeError) as error:
        raise Misshapen("a log without its fields") from error
    if not sound:
        raise Misshapen("a log with a field that is none")
    if not plain:
        log = _in_lower_case(log)
    time = log.get("blockTimestamp")
    if time is not None and not (isinstance(time, str) and _SMALL.fullmatch(time) and int(time, 16)):
        log = {
            name: value for name, value in log.items() if name != "blockTimestamp"
        }  # it is asked for instead
    return log


def _in_lower_case(log: dict[str, Any]) -> dict[str, Any]:
    hashes = {
        name: _matched(_HASH, log[name], f"a log's {name}").lower()
        for name in ("blockHash", "transactionHash")
    }
    return {**log, **hashes, "topics": [_matched(_HASH, t, "a log's topic").lower() for t in log["topics"]]}


def _fee_history(params: Params, result: Any) -> dict[str, Any]:
    found = _mapping(result, "fees")
    fees = _listed(found.get("baseFeePerGas"), "base fees")
    if not fees:
        raise Misshapen("no base fee at all")
    for fee in fees:
        _matched(_QUANTITY, fee, "a base fee")
    tips = [_listed(block or [], "tips") for block in _listed(found.get("reward") or [], "tips")]
    for tip in (tip for block in tips for tip in block):
        _matched(_QUANTITY, tip, "a tip")
    return {"baseFeePerGas": fees, "reward": tips} | {  # of the rest what web3.py can read
        name: found[name] for name, sound in _FEES_BESIDE.items() if name in found and sound(found[name])
    }


_FEES_BESIDE: Mapping[str, Callable[[Any], bool]] = {
    "oldestBlock": lambda block: isinstance(block, str) and _QUANTITY.fullmatch(block) is not None,
    "gasUsedRatio": lambda used: isinstance(used, list) and all(type(part) in (int, float) for part in used),
}


_CHECKS: Mapping[str, Callable[[Params, Any], Any]] = {
    "eth_blockNumber": _quantity,
    "eth_call": _data,
    "eth_chainId": _quantity,
    "eth_estimateGas": _quantity,
    "eth_feeHistory": _fee_history,
    "eth_gasPrice": _quantity,
    "eth_getBalance": _quantity,
    "eth_getBlockByHash": _block_by_hash,
    "eth_getBlockByNumber": _block_by_number,
    "eth_getCode": _data,
    "eth_getLogs": _logs,
    "eth_getTransactionByHash": _transaction,
    "eth_getTransactionCount": _quantity,
    "eth_getTransactionReceipt": _receipt,
    "eth_maxPriorityFeePerGas": _quantity,
    "eth_sendRawTransaction": _hash,
}


def _matched(pattern: re.Pattern[str], value: Any, what: str) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise Misshapen(f"{_named(value)} where {what} belongs")
    return value


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Misshapen(f"{_named(value)} where {what} belongs")
    return value


def _listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Misshapen(f"{_named(value)} where a list of {what} belongs")
    return value


def _named(value: Any) -> str:
    """What a value is, in a few characters."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"`{value[:24]}`"
    return {"dict": "an object", "list": "a list", "bool": "a yes or no"}.get(
        type(value).__name__, "a number"
    )
