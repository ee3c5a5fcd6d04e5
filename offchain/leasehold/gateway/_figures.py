"""Figures of the whole pool, each worked out once and kept for a while: whoever asks again waits for nobody."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar, cast

from leasehold.chain import Block, Indexer
from leasehold.gateway._board import Board
from leasehold.gateway._prices import STEP, Point, price_series
from leasehold.market import Json, free_cells, free_gpus

T = TypeVar("T")
DAYS: Final = 90
"""Of prices that are kept."""
_DAY: Final = 86_400


class Figures:
    """What is asked of all machines or all leases together. It is kept until the time of the chain's head has gone on
    by as much as it may be old.
    """

    def __init__(self, index: Indexer) -> None:
        self._index = index
        self._kept: dict[str, tuple[Board, int, Any]] = {}
        self._one = asyncio.Lock()

    async def prices(self, board: Board, head: Block) -> Mapping[str, list[Point]]:
        """Each class's prices over the last days."""

        async def made() -> Mapping[str, list[Point]]:
            changes = await self._index.price_changes()
            classes = {placed.record.hardware: placed.listing.card_class for placed in board}
            since = head.timestamp - DAYS * _DAY
            return await asyncio.to_thread(price_series, changes, classes.get, since, head.timestamp)

        return await self._made("prices", board, head, STEP // 24, made)

    async def statistics(self, board: Board, head: Block) -> dict[str, Json]:
        """How much there is, how much of it is rented, and what it costs now."""

        async def made() -> dict[str, Json]:
            totals = await self._index.lease_totals()
            return {**_counted(board), "leases": totals.ever, "live_leases": totals.live}

        return await self._made("statistics", board, head, 10, made)

    async def _made(
        self, name: str, board: Board, head: Block, most: int, make: Callable[[], Awaitable[T]]
    ) -> T:
        async with self._one:
            known = self._kept.get(name)
            if known is not None and known[0] is board and 0 <= head.timestamp - known[1] < most:
                return cast(T, known[2])
            made = await make()
            self._kept[name] = board, head.timestamp, made
            return made


def _counted(board: Board) -> dict[str, Json]:
    providers, gpus, free, cells, idle = set[str](), 0, 0, 0, 0
    by_class: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    machines = 0
    for placed in board:
        machine = placed.listing.machine
        if machine.status.name == "RETIRED":
            continue
        machines += 1
        providers.add(machine.provider)
        gpus += machine.gpus
        free += free_gpus(machine.busy, machine.gpus)
        cells += machine.gpus * 8
        idle += machine.gpus * 8 - machine.leased.bit_count()
        row = by_class[placed.listing.card_class or "unknown"]
        row[0] += 1
        row[1] += machine.gpus
        row[2] += free_cells(machine)
    return {
        "machines": machines,
        "providers": len(providers),
        "gpus": gpus,
        "free_gpus": free,
        "cells": cells,
        "leased_cells": cells - idle,
        "classes": [
            {"class": name, "machines": row[0], "gpus": row[1], "free_cells": row[2]}
            for name, row in sorted(by_class.items())
        ],
    }
