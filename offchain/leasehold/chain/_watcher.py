"""Events in order, exactly once for each block of the canonical chain.

What the watcher knows of the chain is a list of blocks, (number, hash), that it has handed out. One rule keeps it
right: before anything is appended, the last of them is shown to be an ancestor of what is appended; while it is
not, it is taken off and handed out as `RolledBack`. WebSocket notices only make the next look come sooner, and
polling makes it come anyway, so nothing depends on a notice having arrived.

* Far behind the head, logs come in ranges whose size follows how much comes back. A range is believed if
the block before it and its last block have the same hashes before and after the logs were read.
* Within `WINDOW` blocks of the head, headers are linked by their parents' hashes and logs are asked for by
block hash, so that a reorganisation between two requests cannot mix two branches.
* What fails is tried again, elsewhere if there is an elsewhere, for ever; `stale_since` says since when
nothing has come. Only the consumer ends the iteration.

A node whose head lies *behind* ours on the same branch is taken to lag: nothing is rolled back until a block
contradicts one of ours.
"""

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from leasehold.chain._decode import decode_log
from leasehold.chain._heads import HeadListener
from leasehold.chain._log import Event
from leasehold.chain._rpc import BlockHeader, Rpc
from leasehold.errors import ChainError, RpcError, RpcUnavailable

WINDOW = 64
_REMEMBERED = 4096
_LOGS_WANTED = 5_000  # for each range: some 3 MB
_FIRST_SPAN, _LAST_SPAN = 1_000, 1 << 20
_RANGES_UNTIL_REGROWTH = 16
_DECODE_AT_ONCE = 1_000  # logs, about 5 ms, before other coroutines get their turn
_FIRST_RETRY, _LAST_RETRY = 0.05, 5.0  # seconds


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


Item = Applied | RolledBack


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A range as the node gave it. times: timestamps by block hash, of the logs that lack one."""

    logs: list[dict[str, Any]]
    times: Mapping[str, int]
    end: Block


class _Reorganised(Exception):
    """The chain changed between two requests. Never leaves this module."""


class EventWatcher:
    """Watches some contracts, from a block on.

        async with EventWatcher(rpc, "ws://127.0.0.1:8545", [controller], from_block) as watcher:
            async for item in watcher: …

    ws_url: one or several WebSocket addresses that announce heads, or None to poll. confirmations: how
    many blocks behind the head it stays. poll: seconds between looks without a WebSocket; with one, it
    looks ten times as seldom. clock: for `stale_since`.
    """

    def __init__(
        self,
        rpc: Rpc,
        ws_url: str | Sequence[str] | None,
        addresses: Iterable[str],
        from_block: int,
        confirmations: int = 0,
        *,
        poll: float = 1.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        urls = [ws_url] if isinstance(ws_url, str) else list(ws_url or ())
        self._rpc = rpc
        self._addresses = list(addresses)
        self._from = from_block
        self._confirmations = confirmations
        self._poll = poll
        self._clock = clock
        self._heads = HeadListener(urls)
        self._chain: deque[Block] = deque(maxlen=_REMEMBERED)
        self._remembers_all = True
        self._span = _FIRST_SPAN
        self._no_growth = 0
        self._running: AsyncGenerator[list[Item], None] | None = None
        self.stale_since: float | None = None
        self.last_error: ChainError | None = None

    async def __aenter__(self) -> "EventWatcher":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the iteration and closes the WebSocket."""
        running, self._running = self._running, None
        if running is not None:
            # While another task waits in it, that task's cancellation closes it.
            with contextlib.suppress(RuntimeError):
                await running.aclose()

    def resume(self, known: Sequence[Block], *, complete: bool = False) -> None:
        """Goes on after blocks that an earlier watcher handed out, in ascending order; the last is the
        cursor.

        complete: whether these are all that had events; else a reorganisation below the first undoes
        everything.
        """
        self._chain.clear()
        self._chain.extend(known)
        self._remembers_all = complete and len(known) == len(self._chain)

    @property
    def head(self) -> Block | None:
        """The last block that was handed out."""
        return self._chain[-1] if self._chain else None

    def wake(self) -> None:
        """Looks now, for callers that know of something new."""
        self._heads.wake()

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for batch in self.batches():
            for item in batch:
                yield item

    async def batches(self) -> AsyncGenerator[list[Item], None]:
        """The same, in lists of what came together. One consumer at a time."""
        await self.aclose()
        self._running = self._run()
        async for batch in self._running:
            yield batch

    async def _run(self) -> AsyncGenerator[list[Item], None]:
        retry = _FIRST_RETRY
        async with self._heads.listening():
            while True:
                try:
                    async with contextlib.aclosing(self._advance()) as batches:
                        async for batch in batches:
                            self.stale_since = self.last_error = None
                            yield batch
                except _Reorganised:
                    continue
                except ChainError as error:
                    if self.stale_since is None:
                        self.stale_since = self._clock()
                    self.last_error = error
                    await asyncio.sleep(retry)
                    retry = min(retry * 2, _LAST_RETRY)
                    continue
                self.stale_since = self.last_error = None
                retry = _FIRST_RETRY
                await self._heads.wait(self._poll * 10 if self._heads.live else self._poll)

    # ----------------------------------------------------------------------------------------------- one look

    async def _advance(self) -> AsyncGenerator[list[Item], None]:
        """Everything up to the head as it is now."""
        head = await self._target()
        if head is None:
            return
        undone = await self._roll_back(head)
        if undone:
            yield undone
        async with contextlib.aclosing(self._catch_up(head.number - WINDOW)) as batches:
            async for batch in batches:
                yield batch
        if head.number >= self._next:
            yield await self._walk(head)

    @property
    def _next(self) -> int:
        return self._chain[-1].number + 1 if self._chain else self._from

    async def _target(self) -> BlockHeader | None:
        """The newest block to hand out; None when there is nothing to do."""
        hinted = self._heads.take()
        tip = self._chain[-1] if self._chain else None
        if hinted and tip and not self._confirmations and hinted.parent == tip.hash:
            return hinted  # the usual case: no request needed
        head = await self._rpc.header("latest")
        if head is not None and self._confirmations:
            number = head.number - self._confirmations
            head = await self._rpc.header(number) if number >= 0 else None
        if head is None or (tip and head.hash == tip.hash):
            return None
        return head

    async def _roll_back(self, head: BlockHeader) -> list[Item]:
        """Takes off every block that is not an ancestor of what the node holds canonical."""
        if not self._chain or head.parent == self._chain[-1].hash:
            return []
        if head.number < self._chain[-1].number:
            ours = next((b for b in reversed(self._chain) if b.number <= head.number), None)
            if ours is None or ours.number < head.number or ours.hash == head.hash:
                return []  # it lags behind us, as far as we can tell
        undone: list[Item] = []
        while self._chain:
            tip = self._chain[-1]
            canonical = head if tip.number == head.number else await self._rpc.header(tip.number)
            if canonical is not None and canonical.hash == tip.hash:
                return undone
            undone.append(RolledBack(self._chain.pop()))
        if not self._remembers_all:
            undone.append(RolledBack(Block(self._from, "", 0)))
            self._remembers_all = True
        return undone

    def _append(self, items: Sequence[Item]) -> None:
        for item in items:
            if len(self._chain) == _REMEMBERED:
                self._remembers_all = False
            self._chain.append(item.block)

    # -------------------------------------------------------------------------------------------- near the
    # head

    async def _walk(self, head: BlockHeader) -> list[Item]:
        """The blocks after the last one up to `head`, linked by their parents' hashes."""
        headers = await self._headers(self._next, head)
        parent = self._chain[-1].hash if self._chain else headers[0].parent
        for header in headers:
            if header.parent != parent:
                raise _Reorganised
            parent = header.hash
        answers = await self._rpc.batch(
            [("eth_getLogs", [{"blockHash": header.hash, "address": self._addresses}]) for header in headers]
        )
        items: list[Item] = []
        for header, raw in zip(headers, answers, strict=True):
            block = Block(header.number, header.hash, header.timestamp)
            items.append(Applied(block, tuple(await _decoded(raw, {header.hash: header.timestamp}))))
        self._append(items)
        return items

    async def _headers(self, first: int, head: BlockHeader) -> list[BlockHeader]:
        calls = [("eth_getBlockByNumber", (hex(n), False)) for n in range(first, head.number)]
        raw = await self._rpc.batch(calls)
        if any(block is None for block in raw):
            raise _Reorganised
        return [*(BlockHeader.of(block) for block in raw), head]

    # ------------------------------------------------------------------------------------------------ far
    # behind

    async def _catch_up(self, last: int) -> AsyncGenerator[list[Item], None]:
        """Ranges up to block `last`. The node works on the next one while this one is decoded and consumed."""
        if self._next > last:
            return
        after = self._chain[-1] if self._chain else None
        task = asyncio.create_task(self._range(after, self._next, last))
        try:
            while True:
                fetched = await task
                end = fetched.end
                if end.number < last:
                    task = asyncio.create_task(self._range(end, end.number + 1, last))
                items = _grouped(await _decoded(fetched.logs, fetched.times), end)
                self._append(items)
                yield items
                if end.number >= last:
                    return
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, ChainError, _Reorganised):
                await task

    async def _range(self, after: Block | None, first: int, last: int) -> _Fetched:
        """The logs from `first` on, as far as one request goes."""
        while True:
            end = min(last, first + self._span - 1)
            try:
                before = await self._anchors(after, end)
                query = {"fromBlock": hex(first), "toBlock": hex(end), "address": self._addresses}
                raw = await self._rpc.call("eth_getLogs", [query])
                if await self._anchors(after, end) != before:
                    raise _Reorganised
                break
            except (RpcError, RpcUnavailable):
                if self._span == 1:
                    raise
                # Too much at once, as far as anybody can tell from the many ways in which nodes say so.
                self._span = max(1, self._span // 2)
                self._no_growth = _RANGES_UNTIL_REGROWTH
        self._adapt(len(raw), end - first + 1)
        header = before[-1]
        return _Fetched(raw, await self._times(raw), Block(header.number, header.hash, header.timestamp))

    async def _anchors(self, after: Block | None, end: int) -> list[BlockHeader]:
        numbers = [end] if after is None else [after.number, end]
        raw = await self._rpc.batch([("eth_getBlockByNumber", (hex(n), False)) for n in numbers])
        if any(block is None for block in raw):
            raise _Reorganised
        headers = [BlockHeader.of(block) for block in raw]
        if after is not None and headers[0].hash != after.hash:
            raise _Reorganised
        return headers

    def _adapt(self, logs: int, span: int) -> None:
        if logs > 2 * _LOGS_WANTED:
            self._span = max(1, span * _LOGS_WANTED // logs)
        elif self._no_growth:
            self._no_growth -= 1
        elif logs < _LOGS_WANTED // 2:
            self._span = min(self._span * 2, _LAST_SPAN)

    async def _times(self, raw: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
        """Timestamps by block hash, for nodes that do not put them into their logs."""
        hashes = list(dict.fromkeys(log["blockHash"] for log in raw if not log.get("blockTimestamp")))
        times = {}
        for at in range(0, len(hashes), 100):
            some = hashes[at : at + 100]
            blocks = await self._rpc.batch([("eth_getBlockByHash", (h, False)) for h in some])
            if any(block is None for block in blocks):
                raise _Reorganised
            times.update({block["hash"]: int(block["timestamp"], 16) for block in blocks})
        return times


async def _decoded(raw: Sequence[dict[str, Any]], times: Mapping[str, int]) -> list[Event]:
    events = []
    for done, log in enumerate(raw, 1):
        if log.get("removed"):
            continue
        if not log.get("blockTimestamp"):
            log["blockTimestamp"] = hex(times[log["blockHash"]])
        event = decode_log(log)
        if event is not None:
            events.append(event)
        if done % _DECODE_AT_ONCE == 0:
            await asyncio.sleep(0)
    return events


def _grouped(events: list[Event], end: Block) -> list[Item]:
    """The events by block, and the range's last block even if it has none."""
    items: list[Item] = []
    for number, group in itertools.groupby(events, key=lambda event: event.log.block_number):
        some = tuple(group)
        meta = some[0].log
        items.append(Applied(Block(number, meta.block_hash, meta.timestamp), some))
    if not items or items[-1].block.number != end.number:
        items.append(Applied(end, ()))
    elif items[-1].block.hash != end.hash:
        raise _Reorganised
    return items
