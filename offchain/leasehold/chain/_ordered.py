"""What a watcher hands out, and how a node's logs become it: in order, each once, of one branch."""

import asyncio
import itertools
import operator
from collections.abc import Mapping
from dataclasses import dataclass

from leasehold.chain._collector import resting
from leasehold.chain._decode import decode_columns
from leasehold.chain._log import Event
from leasehold.chain._log_columns import LogColumns
from leasehold.errors import RpcUnavailable

_DECODE_AT_ONCE = 1_000  # logs, some 3 ms, before other coroutines get their turn
_INDEX_BITS = 48  # of a log's index: no answer with more is believed


@dataclass(frozen=True, slots=True)
class Block:
    """A block that the watcher has looked at. timestamp: unix seconds."""

    number: int
    hash: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Applied:
    """A block joined the canonical chain, with its events. Far behind the head, blocks without events are left out."""

    block: Block
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A block, and everything above it, is no longer part of the canonical chain."""

    block: Block


class Reorganised(Exception):
    """The chain changed between two requests. Never leaves the watcher."""


async def decoded(logs: LogColumns, times: Mapping[str, int]) -> list[Event]:
    """The events of the logs by their place in the chain. Nodes mix them up, and name some twice.

    times: timestamps by block hash, of the logs that lack one. Raises RpcUnavailable for logs that cannot be read.
    """
    events: list[Event] = []
    try:
        if times:
            known = zip(logs.times, logs.blocks, strict=True)
            logs = logs._replace(times=[time or hex(times[block]) for time, block in known])
        for at in range(0, len(logs.data), _DECODE_AT_ONCE):
            if at:
                await asyncio.sleep(0)
            with resting():
                events += decode_columns(logs.part(at, at + _DECODE_AT_ONCE))
    except (ValueError, LookupError, TypeError, OverflowError) as error:
        raise RpcUnavailable((f"eth_getLogs: a log that cannot be read ({error})",)) from error
    return _in_order(events)


def _in_order(events: list[Event]) -> list[Event]:
    places = [(log := event.log).block_number << _INDEX_BITS | log.log_index for event in events]
    if all(map(operator.lt, places, places[1:])):
        return events
    by_place: dict[int, Event] = {}
    for place, event in zip(places, events, strict=True):
        if by_place.setdefault(place, event) != event:
            raise Reorganised  # two branches, or one place told in two ways
    return [by_place[place] for place in sorted(by_place)]


def grouped(events: list[Event], end: Block) -> "list[Applied | RolledBack]":
    """The events by block, and the range's last block even if it has none."""
    items: list[Applied | RolledBack] = []
    for number, group in itertools.groupby(events, key=lambda event: event.log.block_number):
        some = tuple(group)
        meta = some[0].log
        if any(event.log.block_hash != meta.block_hash for event in some):
            raise Reorganised
        items.append(Applied(Block(number, meta.block_hash, meta.timestamp), some))
    if not items or items[-1].block.number != end.number:
        items.append(Applied(end, ()))
    elif items[-1].block.hash != end.hash:
        raise Reorganised
    return items
