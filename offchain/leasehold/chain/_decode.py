"""Raw logs to events.

The layout of every event is worked out from the ABI once: for each field, where its hex digits stand in
the topics or the data and what turns them into a value. Of that one expression is made for all logs of an event at
once, so that decoding a log is a few slices, with no object made but the event and its `LogMeta`, and no call for
either. Where logs stand is read for many at once, field by field, and what repeats among them (blocks, times,
contracts) is read once. A log costs about 2 µs this way where web3.py takes 200.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from eth_hash.auto import keccak

from leasehold._addresses import checksummed, is_hex_address
from leasehold.chain._abi import CONTRACTS, canonical, load_abi
from leasehold.chain._generated import events as _events
from leasehold.chain._log import Event, LogMeta
from leasehold.chain._types import FaultKind, Params, RoundState, SeatSigner, Terms

_PREFIX = len("0x")
_WORD, _ADDRESS = 64, 40  # hex digits
_STRUCTS: Mapping[str, Callable[..., object]] = {"Terms": Terms, "Params": Params, "Signer": SeatSigner}
_ENUMS: Mapping[str, Callable[[int], object]] = {"FaultKind": FaultKind, "RoundState": RoundState}

# Takes the field's own hex digits, and the whole data for what is dynamic.
Reader = Callable[[str, str], object]


class _Layout(NamedTuple):
    """topics, data_length: how many topics and characters a log of the event has. make: of those, the events."""

    event: type[Event]
    topics: int
    data_length: int
    make: Callable[[Iterable[LogMeta], Iterable[Sequence[str]], Iterable[str]], list[Event]]


@lru_cache(maxsize=1 << 16)
def _checksummed(word: str) -> str:
    # A checksum costs 20 µs and the same few accounts come again and again. A whole topic will do, with its `0x`.
    return _emitter(word[-_ADDRESS:])


def _address(word: str, data: str) -> str:
    return _checksummed(word)


def _integer(word: str, data: str) -> int:
    return int(word, 16)


def _boolean(word: str, data: str) -> bool:
    return word[-1] == "1"


def _digest(word: str, data: str) -> bytes:
    return bytes.fromhex(word)


def _struct(make: Callable[..., object], readers: Sequence[Reader]) -> Reader:
    """Of fields that take a word each."""
    parts = [(read, i * _WORD, (i + 1) * _WORD) for i, read in enumerate(readers)]

    def read(words: str, data: str) -> object:
        return make(*[read_one(words[a:b], data) for read_one, a, b in parts])

    return read


def _bytes(word: str, data: str) -> bytes:
    start = _PREFIX + int(word, 16) * 2
    length = int(data[start : start + _WORD], 16) * 2
    return bytes.fromhex(data[start + _WORD : start + _WORD + length])


def _enum(make: Callable[[int], object]) -> Reader:
    def read(word: str, data: str) -> object:
        return make(int(word, 16))

    return read


def _array(read_one: Reader, words: int) -> Reader:
    """Of values that take so many words each."""

    def read(word: str, data: str) -> object:
        size = words * _WORD
        start = _PREFIX + int(word, 16) * 2 + _WORD
        end = start + int(data[start - _WORD : start], 16) * size
        return tuple([read_one(data[at : at + size], data) for at in range(start, end, size)])

    return read


_READERS: Mapping[str, Reader] = {
    "address": _address,
    "bool": _boolean,
    "bytes32": _digest,
    "bytes": _bytes,
}


def _reader(item: Mapping[str, Any]) -> tuple[Reader, int]:
    """What reads a field, and how many words the field takes."""
    kind: str = item["type"]
    if str(item["internalType"]).startswith("enum "):
        return _enum(_ENUMS[item["internalType"].removeprefix("enum ")]), 1
    if kind.endswith("[]"):
        one = {**item, "type": kind[:-2], "internalType": item["internalType"].removesuffix("[]")}
        return _array(*_reader(one)), 1
    if kind in _READERS:
        return _READERS[kind], 1
    if kind.startswith("uint"):
        return _integer, 1
    if kind == "tuple":
        readers = [_reader(component)[0] for component in item["components"]]
        return _struct(_STRUCTS[item["internalType"].removeprefix("struct ")], readers), len(readers)
    raise NotImplementedError(f"no reader for an event's {kind}")


def _layout(entry: Mapping[str, Any]) -> _Layout:
    event: type[Event] = getattr(_events, entry["name"])
    fields: dict[str, str] = {}
    scope: dict[str, object] = {"event": event, "checksummed": _checksummed}
    topics, at = 1, _PREFIX
    for item in sorted(entry["inputs"], key=lambda item: not item["indexed"]):
        read, words = _reader(item)
        if item["indexed"]:
            topic, topics = f"topics[{topics}]", topics + 1
            word = topic if read is _address else f"{topic}[2:]"
        else:
            word, at = f"data[{at}:{at + words * _WORD}]", at + words * _WORD
        scope[f"read_{item['name']}"] = read
        written: Mapping[Reader, str] = {_integer: f"int({word}, 16)", _address: f"checksummed({word})"}
        fields[item["name"]] = written.get(read, f"read_{item['name']}({word}, data)")
    values = ", ".join(fields[item["name"]] for item in entry["inputs"])
    every = f"[event(log, {values}) for log, topics, data in zip(logs, every_topics, every_data)]"
    make = eval(f"lambda logs, every_topics, every_data: {every}", scope)  # of our own ABIs alone
    return _Layout(event, topics, at, make)


@cache
def _layouts() -> Mapping[str, _Layout]:
    """By topic 0."""
    found = {}
    for contract in CONTRACTS:
        for entry in load_abi(contract):
            if entry["type"] == "event":
                signature = f"{entry['name']}({','.join(canonical(i) for i in entry['inputs'])})"
                found["0x" + keccak(signature.encode()).hex()] = _layout(entry)
    return found


def topic_of(event: type[Event]) -> str:
    """Topic 0 of an event, as `0x` and 64 hex digits."""
    return next(topic for topic, layout in _layouts().items() if layout.event is event)


def decode_log(raw: Mapping[str, Any]) -> Event | None:
    """The event in a log as JSON-RPC gives it, or None for one that is not of our contracts' ABIs."""
    return next(iter(decode_logs([raw])), None)


def decode_logs(raw: Sequence[Mapping[str, Any]]) -> list[Event]:
    """The events in the logs, in their order; those that are not of our contracts' ABIs are left out."""
    layouts = _layouts()
    known = [
        log
        for log in raw
        if (topics := log["topics"])
        and (layout := layouts.get(topics[0])) is not None
        and len(topics) == layout.topics
        and len(log["data"]) >= layout.data_length
    ]
    places, every_topics = list(_places(known)), [log["topics"] for log in known]
    every_data = [log["data"] for log in known]
    kinds: dict[str, list[int]] = {}
    for at, topics in enumerate(every_topics):
        kinds.setdefault(topics[0], []).append(at)
    if len(kinds) == 1:
        return layouts[every_topics[0][0]].make(places, every_topics, every_data)
    events: list[Any] = [None] * len(known)
    for kind, where in kinds.items():
        columns = (
            map(places.__getitem__, where),
            map(every_topics.__getitem__, where),
            map(every_data.__getitem__, where),
        )
        for at, event in zip(where, layouts[kind].make(*columns), strict=True):
            events[at] = event
    return events


def _places(logs: Sequence[Mapping[str, Any]]) -> Iterator[LogMeta]:
    if not logs:
        return iter(())
    numbers, blocks, transactions, indices, emitters = zip(*map(_PLACE, logs), strict=True)
    columns = (
        _each(_quantity, numbers),
        blocks,
        transactions,
        map(int, indices, repeat(16)),
        _each(_emitter, emitters),
        _each(_quantity, [log.get("blockTimestamp") or "0x0" for log in logs]),
    )
    return map(_made, zip(*columns, strict=True))


_PLACE = itemgetter("blockNumber", "blockHash", "transactionHash", "logIndex", "address")
_made = partial(tuple.__new__, LogMeta)  # half of the time of `LogMeta(…)`
T = TypeVar("T")


def _each(read: Callable[[str], T], column: Sequence[str]) -> Iterator[T]:
    """What each text says; those that repeat are read once."""
    return map({text: read(text) for text in set(column)}.__getitem__, column)


def _quantity(text: str) -> int:
    return int(text, 16)


@lru_cache(maxsize=1024)
def _emitter(address: str) -> str:
    if not is_hex_address(address):
        raise ValueError(f"{address} is no address")
    return checksummed(address)
