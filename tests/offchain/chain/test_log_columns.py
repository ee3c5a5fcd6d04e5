"""Logs cut out of the text of an answer are those that JSON reads there, or none at all."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from leasehold.chain._endpoint import NodeRequest
from leasehold.chain._http_endpoint import _read
from leasehold.chain._log_columns import LogColumns, columns_of, plain_columns, written_columns

NUMBER = 7
LATER = ("blockTimestamp", "transactionIndex", "removed")


def log(index: int, rng: random.Random) -> dict[str, Any]:
    return {
        "address": "0x" + rng.choice(("aB", "cd")) * 20,
        "topics": ["0x" + rng.randbytes(32).hex() for _ in range(rng.randint(1, 4))],
        "data": "0x" + rng.randbytes(32 * rng.randint(0, 3)).hex(),
        "blockHash": "0x" + "aa" * 32,
        "blockNumber": hex(index // 4 + 1),
        "blockTimestamp": hex(1_700_000_000 + index // 4),
        "transactionHash": "0x" + rng.randbytes(32).hex(),
        "transactionIndex": hex(rng.getrandbits(9)),
        "logIndex": hex(index),
        "removed": False,
    }


@pytest.fixture
def logs() -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [log(index, rng) for index in range(30)]


def body(logs: list[dict[str, Any]], number: int = NUMBER) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "result": logs})


def texts(columns: LogColumns | None) -> list[list[str]] | None:
    return None if columns is None else [list(column) for column in columns]


def test_what_is_written_plainly_is_what_json_reads(logs: list[dict[str, Any]]) -> None:
    for written in (body(logs), body(logs) + b"\n", body(logs[:1])):
        read = orjson.loads(written)["result"]
        assert (
            texts(written_columns(written, NUMBER)) == texts(columns_of(read)) == texts(plain_columns(read))
        )


@pytest.mark.parametrize("seed", range(5))
def test_fields_may_stand_in_any_order_and_those_that_nobody_needs_may_lack(
    logs: list[dict[str, Any]], seed: int
) -> None:
    rng = random.Random(seed)
    order = [name for name in logs[0] if name not in LATER or rng.random() < 0.5]
    rng.shuffle(order)
    ordered = [{name: one[name] for name in order} for one in logs]
    assert texts(written_columns(body(ordered), NUMBER)) == texts(columns_of(ordered))


def put(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda one: one.update({name: value})


LEFT_TO_JSON: dict[str, Callable[[dict[str, Any]], object]] = {
    "a field more": put("l1", "0x1"),
    "a field less": lambda one: one.pop("logIndex"),
    "no time where others have one": lambda one: one.pop("blockTimestamp"),
    "another order": lambda one: one.update({"data": one.pop("data")}),
    "removed": put("removed", True),
    "a hash in capitals": put("blockHash", "0x" + "AA" * 32),
    "a short hash": put("transactionHash", "0x" + "aa" * 31),
    "a hash with a quote": put("transactionHash", '"' + "a" * 65),
    "no topic": put("topics", []),
    "five topics": put("topics", ["0x" + "01" * 32] * 5),
    "topics of two in one": put("topics", ["0x" + "01" * 32 + '","0x' + "01" * 32]),
    "topics with a bracket": put("topics", ["0x" + "01" * 31 + "]0"]),
    "half a byte": put("data", "0x123"),
    "data of two lines": put("data", "0x12\n0x34"),
    "data with another log in it": put("data", '0x"},{"address":"0x'),
    "a number in decimal": put("logIndex", 3),
    "a number too large": put("logIndex", "0x" + "1" * 13),
    "a time of nought": put("blockTimestamp", "0x0"),
    "a time of nothing": put("blockTimestamp", None),
    "letters of elsewhere": put("data", "0xéé"),
}


@pytest.mark.parametrize("place", [0, 13, 29])
@pytest.mark.parametrize("change", LEFT_TO_JSON.values(), ids=LEFT_TO_JSON)
def test_what_is_written_otherwise_is_left_to_json(
    logs: list[dict[str, Any]], change: Callable[[dict[str, Any]], object], place: int
) -> None:
    change(logs[place])
    written = body(logs)
    columns = written_columns(written, NUMBER)
    assert columns is None
    request = NodeRequest(NUMBER, "eth_getLogs", ({},), by_field=True)
    assert _read(written, request) == orjson.loads(written)


JOINTS = [b",", b"[", b"]", b"}", b"]}", b"{", b"x", b" ", b"", b",,", b'"', b"}]}", b"\n", b"null,"]


@pytest.mark.parametrize("joint", JOINTS, ids=repr)
@pytest.mark.parametrize("moved", [0, 1, -1, -2])
def test_nothing_between_logs_is_passed_over(logs: list[dict[str, Any]], joint: bytes, moved: int) -> None:
    """What is not JSON is not read for logs, and what is has all of them, wherever something else stands or lacks."""
    parts = [orjson.dumps(one) for one in logs[:4]]
    text = b",".join(parts[:2]) + joint + b",".join(parts[2:])
    end = {0: b"]}", 1: b",]}", -1: b"}", -2: b"]},"}[moved]
    written = b'{"jsonrpc":"2.0","id":7,"result":[' + text + end
    columns = written_columns(written, NUMBER)
    try:
        read = orjson.loads(written)["result"]
    except orjson.JSONDecodeError:
        assert columns is None
        return
    assert columns is None or texts(columns) == texts(columns_of(read))


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"[]",
        b'{"jsonrpc":"2.0","id":7,"result":[]}',
        b'{"jsonrpc":"2.0","id":7,"result":null}',
        b'{"jsonrpc":"2.0","id":7,"result":[{}]}',
        b'{"jsonrpc":"2.0","id":7,"result":[{"address":1}]}',
        b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"["}}',
        b'{"jsonrpc":"2.0","id":7,"result":[{',
    ],
)
def test_what_holds_no_logs_is_left_to_json(written: bytes) -> None:
    assert written_columns(written, NUMBER) is None


def test_the_answer_to_something_else_is_left_to_json(logs: list[dict[str, Any]]) -> None:
    assert written_columns(body(logs, NUMBER + 1), NUMBER) is None
    assert written_columns(body(logs).replace(b'"id":7', b'"id":"7"'), NUMBER) is None


def test_what_only_begins_like_logs_is_left_to_json() -> None:
    """However often: no beginning is gone through for longer than its topics may be."""
    begun = b'{"address":"0x' + b"a" * 40 + b'","topics":["' + b"0" * 300
    assert written_columns(b'{"jsonrpc":"2.0","id":7,"result":[' + begun * 2_000 + b"]}", NUMBER) is None
