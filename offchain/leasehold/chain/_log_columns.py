"""Many logs field by field: read, looked at and decoded so, they take half of the time that they take one by one.

Where a node writes its answer as nearly every node does, the fields are cut out of the text by one expression. It only
has to find them: what they hold is looked at afterwards, as of logs that JSON has read, and whatever is written in any
other way is left to JSON.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

Column = Sequence[str]
BETWEEN_TOPICS = '","'
TOPIC = len("0x") + 64
"""Characters."""


class LogColumns(NamedTuple):
    """Of some logs each field by itself, as JSON-RPC writes it.

    topics: all of a log in one text, with what JSON has between two of them. times: of the blocks; empty where the node
    does not tell.
    """

    addresses: Column
    topics: Column
    data: Column
    blocks: Column
    numbers: Column
    times: Column
    transactions: Column
    indices: Column

    def part(self, begin: int, end: int) -> "LogColumns":
        """Of the logs from one place to before another."""
        return LogColumns(*(column[begin:end] for column in self))

    def some(self, places: Sequence[int]) -> "LogColumns":
        """Of the logs in these places."""
        return LogColumns(*([column[place] for place in places] for column in self))


def columns_of(logs: Sequence[Mapping[str, Any]]) -> LogColumns:
    """Of logs that JSON has read."""
    addresses, topics, data, blocks, numbers, transactions, indices = (
        zip(*map(_FIELDS, logs), strict=True) if logs else ((),) * 7
    )
    return LogColumns(
        addresses,
        list(map(BETWEEN_TOPICS.join, topics)),
        data,
        blocks,
        numbers,
        ["" if (time := log.get("blockTimestamp")) is None else time for log in logs],
        transactions,
        indices,
    )


_FIELDS = itemgetter("address", "topics", "data", "blockHash", "blockNumber", "transactionHash", "logIndex")


# ------------------------------------------------------------------------------------------------- looked at together


def plain_columns(logs: Sequence[Any]) -> LogColumns | None:
    """The columns of logs that JSON has read, if every one is as nearly every node writes it (`is_plain`)."""
    try:
        if not ({dict} >= set(map(type, logs)) and {list} >= {type(log["topics"]) for log in logs}):
            return None
        words = chain.from_iterable(log["topics"] for log in logs)
        if not {TOPIC} >= set(map(len, words)):  # else one text might be taken for two
            return None
        columns = columns_of(logs)
        untimed = columns.times.count("") - sum(log.get("blockTimestamp") is None for log in logs)
        return columns if is_plain(columns) and not untimed else None
    except (LookupError, TypeError, ValueError):
        return None


def is_plain(columns: LogColumns) -> bool:
    """Whether every field is one, in our writing, so that no log has to be looked at alone. Raises TypeError.

    What repeats is looked at once: hashes, topics and addresses do, among thousands of logs.
    """
    hashes = {*columns.blocks, *columns.transactions}
    times = set(columns.times) - {""}
    return (
        {TOPIC} >= set(map(len, hashes))
        and _HASHES.fullmatch("".join(hashes)) is not None
        and _lines(_TOPIC_LINES, set(columns.topics))
        and all(map(_ADDRESS.fullmatch, set(columns.addresses)))
        and _lines(_SMALL_LINES, times.union(columns.numbers, columns.indices))
        and all(int(time, 16) for time in times)
        and _lines(_DATA_LINES, columns.data)
        and not any(map((1).__and__, set(map(len, columns.data))))
    )


def _lines(pattern: re.Pattern[str], values: Iterable[str]) -> bool:
    """Whether each value is a line of the pattern."""
    every = [*values, ""]
    text = "\n".join(every)
    return text.count("\n") == len(every) - 1 and pattern.fullmatch(text) is not None


_WORD = "0x[0-9a-f]{64}"
_HASHES = re.compile(f"(?:{_WORD})*")
_TOPIC_LINES = re.compile(f"(?:(?:{_WORD}(?:{BETWEEN_TOPICS}{_WORD}){{0,3}})?\n)*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SMALL_LINES = re.compile(r"(?:0x[0-9a-fA-F]{1,12}\n)*")
_DATA_LINES = re.compile(r"(?:0x[0-9a-fA-F]*\n)*")


# ------------------------------------------------------------------------------------------ cut out of what is written


def written_columns(body: bytes, number: int) -> LogColumns | None:
    """Of the answer to the request of that number, if it and its logs are written plainly; else JSON has to read it."""
    try:
        text = body.decode("ascii").rstrip()
    except UnicodeDecodeError:
        return None
    opening = _OPENING.match(text)
    if opening is None or int(opening[1]) != number or not text.endswith(_CLOSING):
        return None
    begin = opening.end()
    try:
        order = tuple(orjson.loads(text[begin : text.index("}", begin) + 1]))
    except ValueError:
        return None
    if not _NEEDED <= set(order) <= _VALUES.keys():
        return None
    names, pattern, fixed = _expression(order)
    columns = dict(zip(names, zip(*_found(pattern, text, begin), strict=True), strict=False))
    if not columns:
        return None
    logs = len(columns["address"])
    found = sum(sum(map(len, columns[name])) for name in names if name not in _FIXED)
    # One comma between each two, and what closes: nothing else is left between logs, nor after them.
    if begin + logs * fixed + found + logs - 1 + len(_CLOSING) != len(text):
        return None
    plain = LogColumns(
        columns["address"],
        columns["topics"],
        columns["data"],
        columns["blockHash"],
        columns["blockNumber"],
        columns.get("blockTimestamp", ("",) * logs),
        columns["transactionHash"],
        columns["logIndex"],
    )
    return plain if is_plain(plain) else None


def _found(pattern: re.Pattern[str], text: str, begin: int) -> list[tuple[str, ...]]:
    """All that the pattern finds: piece by piece, for while it looks, no other thread can do anything."""
    found: list[tuple[str, ...]] = []
    while begin < len(text):
        cut = text.find(_JOINT, begin + _PIECE)
        end = len(text) if cut < 0 else cut + len(_JOINT) - 1
        found += pattern.findall(text, begin, end)
        begin = end
    return found


_PIECE = 1 << 18
"""Characters, of which a millisecond's work is made."""
_JOINT = "},{"
_OPENING = re.compile(r'\{"jsonrpc":"2\.0","id":([0-9]{1,20}),"result":\[(?=\{)')
_CLOSING = "]}"
_HASH_TEXT, _SHORT_TEXT = ".{66}", '[^"]{3,14}'
# Fields that are always as long, and those whose lengths tell whether anything was passed over.
_FIXED = {"address": ".{42}", "blockHash": _HASH_TEXT, "transactionHash": _HASH_TEXT}
_VALUES: Mapping[str, str] = {
    **{name: f'"({text})"' for name, text in _FIXED.items()},
    "topics": r'\["([^\]]{66,273})"\]',
    "data": '"([^"]*)"',
    **dict.fromkeys(("blockNumber", "blockTimestamp", "transactionIndex", "logIndex"), f'"({_SHORT_TEXT})"'),
    "removed": "false",
}
_NEEDED = _VALUES.keys() - {"blockTimestamp", "transactionIndex", "removed"}


@lru_cache(maxsize=16)
def _expression(order: tuple[str, ...]) -> tuple[tuple[str, ...], re.Pattern[str], int]:
    """What finds logs whose fields come in that order: the fields' names that it finds, and how many characters a log
    has beside those whose length is not fixed, without what follows it.
    """
    fields = ",".join(f'"{name}":{_VALUES[name]}' for name in order)
    pattern = re.compile(rf"\{{{fields}\}}(?:,|\]\}})")
    names = tuple(name for name in order if name != "removed")
    beside = {**dict.fromkeys(names, '""'), "topics": '[""]', "removed": "false"}
    written = "{" + ",".join(f'"{name}":{beside[name]}' for name in order) + "}"
    lengths = {"address": 42, "blockHash": TOPIC, "transactionHash": TOPIC}
    return names, pattern, len(written) + sum(lengths.values())
