"""Events in order, exactly once for each block of the canonical chain.

What the watcher knows of the chain is a list of blocks, (number, hash), that it has handed out. One rule keeps it
right: before anything is appended, the last of them is shown to be an ancestor of what is appended; while it is
not, it is taken off and handed out as `RolledBack`. WebSocket notices only make the next look come sooner, and
polling makes it come anyway, so nothing depends on a notice having arrived.

* Far behind the head, logs come in ranges whose size follows how much comes back. A range is believed if
the block before it and its last block have the same hashes before and after the logs were read.
* Within `WINDOW` blocks of the head, headers are linked by their parents' hashes and logs are asked for by
block hash, so that a reorganisation between two requests cannot mix two branches.
* Before anything is rolled back, the node that contradicts us shows in the same request that it serves our chain.
* A block whose header says that it may hold events of ours, and of which the node gives none, is asked for again: at
once, and some time after it was handed out. What comes then is put in its place, as after a reorganisation.
* What fails is tried again, elsewhere if there is an elsewhere, for ever; `stale_since` says since when
nothing has come, `last_error` why. Only the consumer ends the iteration.

A node whose head lies *behind* ours on the same branch is taken to lag: nothing is rolled back until a block
contradicts one of ours, or until the node has not known our last block for `lag` seconds.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from leasehold.chain._collector import seldom
from leasehold.chain._doubts import Doubts
from leasehold.chain._heads import HeadListener
from leasehold.chain._log_columns import LogColumns, columns_of
from leasehold.chain._ordered import Applied, Block, Reorganised, RolledBack, decoded, grouped
from leasehold.chain._rpc import BlockHeader, Rpc
from leasehold.errors import ChainError, RpcError, RpcUnavailable

WINDOW = 64
_REMEMBERED = 4096
_LOGS_WANTED = 8_000  # for each range: some 5 MB
_FIRST_SPAN, _LAST_SPAN = 16, 1 << 20
_GROWTH, _GROWTH_AFTER_REFUSAL = 8, 2
_RANGES_UNTIL_REGROWTH = 16
_FULL_AT_ONCE = 8  # blocks that may hold events, near the head
_TORN = "the blocks that the node names do not follow one another"
_FIRST_RETRY, _LAST_RETRY = 0.05, 5.0  # seconds


Item = Applied | RolledBack
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A range as the node gave it. times: timestamps by block hash, of the logs that lack one."""

    logs: LogColumns
    times: Mapping[str, int]
    end: Block


class EventWatcher:
    """Watches some contracts, from a block on.

        async with EventWatcher(rpc, "ws://127.0.0.1:8545", [controller], from_block) as watcher:
            async for item in watcher: …

    ws_url: one or several WebSocket addresses that announce heads, or None to poll. confirmations: how
    many blocks behind the head it stays. poll: seconds between looks without a WebSocket; with one, it
    looks ten times as seldom. lag: seconds for which a node with a lower head may not know our last block. clock: for
    `stale_since`, and for that.
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
        lag: float = 60.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        urls = [ws_url] if isinstance(ws_url, str) else list(ws_url or ())
        self._rpc = rpc
        self._addresses = list(addresses)
        self._from = from_block
        self._confirmations = confirmations
        self._poll = poll
        self._lag = lag
        self._clock = clock
        self._heads = HeadListener(urls)
        self._chain: deque[Block] = deque(maxlen=_REMEMBERED)
        self._remembers_all = True
        self._span, self._growth = _FIRST_SPAN, _GROWTH
        self._no_growth = 0
        self._doubts = Doubts(self._addresses, clock)
        self._unknown_since: float | None = None
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
                except (Reorganised, ChainError) as error:
                    if self.stale_since is None:
                        self.stale_since = self._clock()
                    self.last_error = error if isinstance(error, ChainError) else RpcUnavailable((_TORN,))
                    await asyncio.sleep(retry)
                    retry = min(retry * 2, _LAST_RETRY)
                    continue
                self.stale_since = self.last_error = None
                retry = _FIRST_RETRY
                await self._heads.wait(self._poll * 10 if self._heads.live else self._poll)

    # ----------------------------------------------------------------------------------------------- one look

    async def _advance(self) -> AsyncGenerator[list[Item], None]:
        """Everything up to the head as it is now."""
        belated = await self._belated()
        if belated:
            yield belated
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
            async with contextlib.aclosing(self._walk(head)) as batches:
                async for batch in batches:
                    yield batch

    @property
    def _next(self) -> int:
        return self._chain[-1].number + 1 if self._chain else self._from

    async def _target(self) -> BlockHeader | None:
        """The newest block to hand out; None when there is nothing to do."""
        hinted = self._heads.take()
        tip = self._chain[-1] if self._chain else None
        if hinted and tip and not self._confirmations and hinted.parent == tip.hash:
            return hinted  # the usual case: no request needed
        # The first block of all is followed wherever it leads, so it has to be one of our chain.
        [head] = await self._rpc.headers(["latest"], prove=tip is None)
        if head is not None and self._confirmations:
            number = head.number - self._confirmations
            head = await self._rpc.header(number) if number >= 0 else None
        if head is None or (tip and head.hash == tip.hash):
            self._unknown_since = None
            return None
        return head

    async def _roll_back(self, head: BlockHeader) -> list[Item]:
        """Takes off every block that is not an ancestor of what the node holds canonical."""
        if not self._chain or head.parent == self._chain[-1].hash:
            return []
        if head.number < self._chain[-1].number and not await self._on_another_branch(head):
            return []
        self._unknown_since = None
        undone: list[Item] = []
        at_once = 1
        while self._chain:
            tips = list(self._chain)[-at_once:]
            canonical = await self._rpc.headers([tip.number for tip in tips], prove=True)
            for tip, header in zip(reversed(tips), reversed(canonical), strict=True):
                if header is not None and header.hash == tip.hash:
                    return undone
                undone.append(RolledBack(self._chain.pop()))
            at_once = min(at_once * 2, WINDOW)
        if not self._remembers_all:
            undone.append(RolledBack(Block(self._from, "", 0)))
            self._remembers_all = True
        return undone

    async def _on_another_branch(self, head: BlockHeader) -> bool:
        """Whether a head below ours is of another branch. A node that lags does not know our last block either, but it
        will in a while.
        """
        ours = next((b for b in reversed(self._chain) if b.number <= head.number), None)
        if ours is not None:
            theirs = head if ours.number == head.number else await self._rpc.header(ours.number)
            if theirs is not None and theirs.hash != ours.hash:
                return True
        if await self._rpc.header(self._chain[-1].hash) is not None:
            self._unknown_since = None
            return False
        if self._unknown_since is None:
            self._unknown_since = self._clock()
        return self._clock() - self._unknown_since >= self._lag

    def _append(self, items: Sequence[Item]) -> None:
        for item in items:
            if len(self._chain) == _REMEMBERED:
                self._remembers_all = False
            self._chain.append(item.block)

    # -------------------------------------------------------------------------------------------- near the
    # head

    async def _walk(self, head: BlockHeader) -> AsyncGenerator[list[Item], None]:
        """The blocks after the last one up to `head`, linked by their parents' hashes."""
        headers = await self._headers(self._next, head)
        parent = self._chain[-1].hash if self._chain else headers[0].parent
        for header in headers:
            if header.parent != parent:
                raise Reorganised
            parent = header.hash
        parts = list(self._doubts.in_parts(headers, _FULL_AT_ONCE))
        made = self._of_parts(parts)
        with seldom():
            async with contextlib.aclosing(made if len(parts) == 1 else _ahead(made)) as batches:
                async for items in batches:
                    self._doubts.handed_out()
                    self._append(items)
                    yield items

    async def _of_parts(self, parts: Iterable[Sequence[BlockHeader]]) -> AsyncGenerator[list[Item], None]:
        for headers in parts:
            yield await self._of_blocks(headers)

    async def _of_blocks(self, headers: Sequence[BlockHeader]) -> list[Item]:
        answers = await self._rpc.batch(
            [("eth_getLogs", [{"blockHash": header.hash, "address": self._addresses}]) for header in headers]
        )
        items: list[Item] = []
        for header, raw in zip(headers, answers, strict=True):
            if not raw and not self._doubts.believes(header):
                raise RpcUnavailable((f"block {header.number} should hold events, and the node gives none",))
            if any(int(log["blockNumber"], 16) != header.number for log in raw):
                raise RpcUnavailable((f"block {header.number} is given with events of another block",))
            block = Block(header.number, header.hash, header.timestamp)
            logs = columns_of([log for log in raw if not log.get("removed")])
            # The header is the better witness.
            logs = logs._replace(times=[hex(header.timestamp)] * len(logs.data))
            items.append(Applied(block, tuple(await decoded(logs, {}))))
        return items

    async def _belated(self) -> list[Item]:
        """Takes off what was handed out from the first block on whose events the node has only now."""
        due = self._doubts.due(lambda: {block.hash for block in self._chain})
        if not due:
            return []
        asked = [("eth_getLogs", [{"blockHash": each, "address": self._addresses}]) for each in due]
        try:
            found = await self._rpc.batch(asked, prove=True)
        except RpcError:  # such as of a block that a pruned node has forgotten
            found = [None] * len(due)
        self._doubts.asked(due)
        late = {each for each, raw in zip(due, found, strict=True) if raw}
        undone: list[Item] = []
        while late:
            block = self._chain.pop()
            undone.append(RolledBack(block))
            late.discard(block.hash)
        return undone

    async def _headers(self, first: int, head: BlockHeader) -> list[BlockHeader]:
        found = await self._rpc.headers(range(first, head.number))
        headers = [header for header in found if header is not None]
        if len(headers) < len(found):
            raise Reorganised
        return [*headers, head]

    # ------------------------------------------------------------------------------------------------ far
    # behind

    async def _catch_up(self, last: int) -> AsyncGenerator[list[Item], None]:
        """Ranges up to block `last`. While one is consumed the next one is decoded, and the node works on a third."""
        with seldom():
            async with contextlib.aclosing(_ahead(self._of_ranges(_ahead(self._ranges(last))))) as batches:
                async for items in batches:
                    self._append(items)
                    yield items

    async def _of_ranges(self, ranges: AsyncGenerator[_Fetched, None]) -> AsyncGenerator[list[Item], None]:
        async with contextlib.aclosing(ranges):
            async for fetched in ranges:
                yield grouped(await decoded(fetched.logs, fetched.times), fetched.end)

    async def _ranges(self, last: int) -> AsyncGenerator[_Fetched, None]:
        after, first = self._chain[-1] if self._chain else None, self._next
        while first <= last:
            fetched = await self._range(after, first, last)
            after, first = fetched.end, fetched.end.number + 1
            yield fetched

    async def _range(self, after: Block | None, first: int, last: int) -> _Fetched:
        """The logs from `first` on, as far as one request goes."""
        while True:
            end = min(last, first + self._span - 1)
            try:
                before = await self._anchors(after, end)
                query = {"fromBlock": hex(first), "toBlock": hex(end), "address": self._addresses}
                logs = await self._rpc.logs(query)
                if await self._anchors(after, end) != before:
                    raise Reorganised
                break
            except (RpcError, RpcUnavailable) as error:
                # Too much at once, as far as anybody can tell from the many ways in which nodes say so.
                smallest, self._span = self._span == 1, max(1, self._span // 2)
                self._no_growth, self._growth = _RANGES_UNTIL_REGROWTH, _GROWTH_AFTER_REFUSAL
                if smallest or isinstance(error, RpcUnavailable):
                    raise  # the next try comes after a pause
        self._adapt(len(logs.data), end - first + 1)
        header = before[-1]
        return _Fetched(logs, await self._times(logs), Block(header.number, header.hash, header.timestamp))

    async def _anchors(self, after: Block | None, end: int) -> list[BlockHeader]:
        numbers = [end] if after is None else [after.number, end]
        found = await self._rpc.headers(numbers, prove=after is None)
        headers = [header for header in found if header is not None]
        if len(headers) < len(numbers):
            raise Reorganised
        if after is not None and headers[0].hash != after.hash:
            raise Reorganised
        return headers

    def _adapt(self, logs: int, span: int) -> None:
        if logs > 2 * _LOGS_WANTED:
            self._span = max(1, span * _LOGS_WANTED // logs)
        elif self._no_growth:
            self._no_growth -= 1
        elif logs < _LOGS_WANTED // 2:
            self._span = min(self._span * min(self._growth, _LOGS_WANTED // max(1, logs)), _LAST_SPAN)

    async def _times(self, logs: LogColumns) -> Mapping[str, int]:
        """Timestamps by block hash, for nodes that do not put them into their logs."""
        untimed = (block for block, time in zip(logs.blocks, logs.times, strict=True) if not time)
        hashes = list(dict.fromkeys(untimed)) if "" in logs.times else []
        times = {}
        for at in range(0, len(hashes), 100):
            some = hashes[at : at + 100]
            blocks = await self._rpc.batch([("eth_getBlockByHash", (h, False)) for h in some])
            if any(block is None for block in blocks):
                raise Reorganised
            times.update({block["hash"]: int(block["timestamp"], 16) for block in blocks})
        return times


async def _ahead(source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """What the source makes, while it makes the next one already."""

    async def made() -> T | None:
        return await anext(source, None)

    async with contextlib.aclosing(source):
        coming = asyncio.create_task(made())
        try:
            while (one := await coming) is not None:
                coming = asyncio.create_task(made())
                yield one
        finally:
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError, ChainError, Reorganised):
                await coming
