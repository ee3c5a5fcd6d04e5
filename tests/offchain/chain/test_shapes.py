"""A node's logs are looked at together, and what is odd about one among many is found as if it were alone."""

from collections.abc import Callable
from typing import Any

import pytest

from leasehold.chain._shapes import Misshapen, checked

ADDRESS = "0x" + "Ab" * 20
QUERY = {"address": [ADDRESS], "fromBlock": "0x1", "toBlock": "0x9"}
Change = Callable[[dict[str, Any]], object]


def log(index: int) -> dict[str, Any]:
    return {
        "address": ADDRESS.lower(),
        "topics": ["0x" + "01" * 32, f"0x{index:064x}"],
        "data": f"0x{index:064x}",
        "blockHash": "0x" + "aa" * 32,
        "blockNumber": "0x5",
        "blockTimestamp": "0x65",
        "transactionHash": f"0x{index // 4:064x}",
        "logIndex": hex(index),
        "removed": False,
    }


def put(name: str, value: object) -> Change:
    return lambda raw: raw.update({name: value})


REFUSED = {
    "no data": lambda raw: raw.pop("data"),
    "data of half bytes": put("data", "0x123"),
    "data of two lines": put("data", "0x12\n0x34"),
    "data that ends a line": put("data", "0x12\n"),
    "data without 0x": put("data", "12"),
    "data that is none": put("data", "0xzz"),
    "data that is nothing": put("data", None),
    "an index of two lines": put("logIndex", "0x1\n0x2"),
    "an index in decimal": put("logIndex", 3),
    "an index too large": put("logIndex", "0x" + "1" * 13),
    "a number that is none": put("blockNumber", "5"),
    "another block": put("blockNumber", "0xa"),
    "a short hash": put("blockHash", "0x" + "aa" * 31),
    "a hash of two": put("blockHash", "0x" + "aa" * 31 + "0x"),
    "a hash that is a list": put("transactionHash", ["0x" + "aa" * 32]),
    "five topics": put("topics", ["0x" + "01" * 32] * 5),
    "topics in one text": put("topics", "0x" + "01" * 32),
    "topics that are no list": put("topics", {"0x" + "01" * 32: 1}),
    "a short topic": put("topics", ["0x01"]),
    "another contract": put("address", "0x" + "cd" * 20),
    "a short address": put("address", "0x" + "ab" * 19),
}

WRITTEN_OTHERWISE = {
    "a hash in capitals": (put("blockHash", "0x" + "AA" * 32), put("blockHash", "0x" + "aa" * 32)),
    "a topic in capitals": (put("topics", ["0x" + "AB" * 32]), put("topics", ["0x" + "ab" * 32])),
    "an address in capitals": (put("address", ADDRESS), put("address", ADDRESS)),
    "no time": (lambda raw: raw.pop("blockTimestamp"), lambda raw: raw.pop("blockTimestamp")),
    "a time of nought": (put("blockTimestamp", "0x0"), lambda raw: raw.pop("blockTimestamp")),
    "a time that is none": (put("blockTimestamp", "now"), lambda raw: raw.pop("blockTimestamp")),
    "a time of nothing": (put("blockTimestamp", None), put("blockTimestamp", None)),
    "no topic": (put("topics", []), put("topics", [])),
    "no bytes": (put("data", "0x"), put("data", "0x")),
}


@pytest.mark.parametrize("many", [1, 30], ids=["alone", "among many"])
@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_a_log_that_is_none_is_refused(change: Change, many: int) -> None:
    logs = [log(index) for index in range(many)]
    assert checked("eth_getLogs", [QUERY], list(logs)) == logs
    change(logs[many // 2])
    with pytest.raises(Misshapen, match="eth_getLogs"):
        checked("eth_getLogs", [QUERY], logs)


@pytest.mark.parametrize("many", [1, 30], ids=["alone", "among many"])
@pytest.mark.parametrize(("change", "meant"), WRITTEN_OTHERWISE.values(), ids=WRITTEN_OTHERWISE)
def test_what_is_written_otherwise_is_put_in_our_writing(change: Change, meant: Change, many: int) -> None:
    logs, expected = [log(index) for index in range(many)], [log(index) for index in range(many)]
    change(logs[many // 2])
    meant(expected[many // 2])
    assert checked("eth_getLogs", [QUERY], logs) == expected


@pytest.mark.parametrize("answer", [None, {}, "0x", [None], ["0x"], [[]]], ids=repr)
def test_what_is_no_list_of_logs_is_refused(answer: object) -> None:
    with pytest.raises(Misshapen):
        checked("eth_getLogs", [QUERY], answer)


def test_logs_of_a_named_block_are_of_that_block() -> None:
    named = {"address": [ADDRESS], "blockHash": "0x" + "aa" * 32}
    assert checked("eth_getLogs", [named], [log(1)]) == [log(1)]
    with pytest.raises(Misshapen, match="another block"):
        checked("eth_getLogs", [{**named, "blockHash": "0x" + "bb" * 32}], [log(1)])
    assert checked("eth_getLogs", [named], []) == []
