"""The watcher against a real chain: order, exactly once, reorganisations, failures."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from devnet.anvil import Anvil
from devnet.emitter import Emitter
from devnet.odd_node import Kind, OddNode, kinds
from devnet.patience import patient
from leasehold.chain import Applied, Block, EventWatcher, Item, RolledBack, Rpc, Transferred
from leasehold.chain._watcher import WINDOW

from .faults import Gate, RedirectingProxy

DEADLINE = patient(15)


@pytest.fixture
async def rpc(anvil: Anvil) -> AsyncIterator[Rpc]:
    async with Rpc([anvil.url]) as client:
        yield client


def watching(
    rpc: Rpc, emitter: Emitter, ws: str | None = None, first: int = 1, **options: object
) -> EventWatcher:
    return EventWatcher(rpc, ws, [emitter.address], first, poll=0.02, **options)  # type: ignore[arg-type]  # tests' own


class Consumer:
    """Follows a watcher as an index does: a stack of blocks that must always be one branch."""

    def __init__(self, watcher: EventWatcher) -> None:
        self._watcher = watcher
        self._items = aiter(watcher)
        self.stack: list[Applied] = []
        self.undone: list[Block] = []
        self.log: list[Item] = []

    async def until(self, done: Callable[["Consumer"], bool]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not done(self):
                self._take(await anext(self._items))

    async def reach(self, anvil: Anvil) -> None:
        """Until the last block is the chain's head."""
        head = anvil.request("eth_getBlockByNumber", "latest", False)["hash"]
        await self.until(lambda c: bool(c.stack) and c.stack[-1].block.hash == head)

    def _take(self, item: Item) -> None:
        self.log.append(item)
        if isinstance(item, RolledBack):
            gone = self.stack.pop()
            assert gone.block == item.block
            self.undone.append(item.block)
            return
        if self.stack:
            assert item.block.number > self.stack[-1].block.number
        self.stack.append(item)

    @property
    def amounts(self) -> list[int]:
        return [e.amount for item in self.stack for e in item.events if isinstance(e, Transferred)]

    def check_canonical(self, anvil: Anvil) -> None:
        """The stack is the chain's own, and no event of the chain is missing."""
        for item in self.stack:
            block = anvil.request("eth_getBlockByNumber", hex(item.block.number), False)
            assert block["hash"] == item.block.hash
            assert int(block["timestamp"], 16) == item.block.timestamp
            for event in item.events:
                assert event.log.block_hash == item.block.hash
                assert event.log.timestamp == item.block.timestamp
        logs = anvil.request("eth_getLogs", {"fromBlock": "0x1", "address": Emitter.address})
        assert self.amounts == [int(log["data"], 16) for log in logs]


async def test_the_past_comes_in_order_and_once(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    for n in range(5):
        emitter.emit(*range(10 * n, 10 * n + 10))
        anvil.mine(WINDOW)
    async with watching(rpc, emitter) as watcher:
        consumer = Consumer(watcher)
        await consumer.reach(anvil)
        assert watcher.head == consumer.stack[-1].block
    assert consumer.amounts == list(range(50))
    head = anvil.block_number
    numbers = [item.block.number for item in consumer.stack]
    assert numbers[-WINDOW:] == list(range(head - WINDOW + 1, head + 1))
    consumer.check_canonical(anvil)


@pytest.mark.slow
async def test_a_range_too_large_is_halved_and_grows_again(
    anvil: Anvil, rpc: Rpc, emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.chain._watcher._FIRST_SPAN", 400)
    monkeypatch.setattr("leasehold.chain._watcher._RANGES_UNTIL_REGROWTH", 2)
    for n in range(40):
        emitter.emit(n)
        anvil.mine(20)
    gate = Gate(anvil.url)
    gate.refuse_ranges_over = 100
    async with gate.rpc() as limited, watching(limited, emitter) as watcher:
        consumer = Consumer(watcher)
        await consumer.reach(anvil)
    consumer.check_canonical(anvil)
    assert consumer.amounts == list(range(40))
    assert max(gate.spans) == 400
    accepted = [span for span in gate.spans if span <= 100]
    assert accepted[0] == 100
    assert gate.spans.count(200) >= 2, "it never tried a larger range again"


async def test_many_logs_make_ranges_smaller(
    anvil: Anvil, rpc: Rpc, emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.chain._watcher._FIRST_SPAN", 40)
    monkeypatch.setattr("leasehold.chain._watcher._LOGS_WANTED", 10)
    for n in range(100):
        emitter.emit(n)
    anvil.mine(WINDOW)
    gate = Gate(anvil.url)
    async with gate.rpc() as limited, watching(limited, emitter) as watcher:
        consumer = Consumer(watcher)
        await consumer.reach(anvil)
    assert consumer.amounts == list(range(100))
    assert gate.spans[1] == 10


async def test_live_blocks_come_by_websocket(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    async with EventWatcher(rpc, anvil.ws_url, [emitter.address], 1, poll=DEADLINE) as watcher:
        consumer = Consumer(watcher)
        anvil.mine()
        await consumer.reach(anvil)
        for n in range(20):
            emitter.emit(n)
            await consumer.reach(anvil)
    assert consumer.amounts == list(range(20))
    consumer.check_canonical(anvil)


async def test_without_websocket_it_polls(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    async with watching(rpc, emitter, "ws://127.0.0.1:1") as watcher:
        consumer = Consumer(watcher)
        for n in range(5):
            emitter.emit(n)
            await consumer.reach(anvil)
    assert consumer.amounts == list(range(5))


@pytest.mark.parametrize("depth", [1, 3, 10])
@pytest.mark.parametrize("live", [True, False])
async def test_a_reorganisation_is_rolled_back(
    anvil: Anvil, rpc: Rpc, emitter: Emitter, depth: int, live: bool
) -> None:
    async with watching(rpc, emitter, anvil.ws_url if live else None) as watcher:
        consumer = Consumer(watcher)
        for n in range(12):
            emitter.emit(n)
        await consumer.reach(anvil)
        before = [item.block for item in consumer.stack]
        replacement = {
            "from": anvil.accounts[1].address,
            "to": emitter.address,
            "data": emitter.calldata([77]),
        }
        anvil.reorg(depth, [({**replacement, "gas": hex(200_000)}, 0)])
        await consumer.reach(anvil)
        assert consumer.undone == before[-1 : -depth - 1 : -1]
        assert consumer.amounts == [*range(12 - depth), 77]
        emitter.emit(78)
        await consumer.reach(anvil)
    consumer.check_canonical(anvil)


async def test_a_reorganisation_while_away_is_found_at_the_cursor(
    anvil: Anvil, rpc: Rpc, emitter: Emitter
) -> None:
    for n in range(6):
        emitter.emit(n)
    async with watching(rpc, emitter) as watcher:
        first = Consumer(watcher)
        await first.reach(anvil)
    anvil.reorg(3)
    emitter.emit(99)
    known = [item.block for item in first.stack if item.events]
    async with watching(rpc, emitter) as watcher:
        watcher.resume(known, complete=True)
        second = Consumer(watcher)
        second.stack = [item for item in first.stack if item.events]
        await second.reach(anvil)
    assert [block.number for block in second.undone] == [b.number for b in known[-1:-4:-1]]
    second.check_canonical(anvil)


async def test_below_what_is_remembered_everything_is_undone(
    anvil: Anvil, rpc: Rpc, emitter: Emitter
) -> None:
    for n in range(6):
        emitter.emit(n)
    async with watching(rpc, emitter) as watcher:
        first = Consumer(watcher)
        await first.reach(anvil)
    anvil.reorg(5)
    async with watching(rpc, emitter, first=1) as watcher:
        watcher.resume([item.block for item in first.stack[-2:]])
        items = aiter(watcher)
        got = [await anext(items) for _ in range(3)]
        assert all(isinstance(item, RolledBack) for item in got)
        assert got[-1].block.number == 1, "the consumer is told to start over"
        assert isinstance(await anext(items), Applied)
        assert watcher.head is not None


async def test_confirmations_keep_it_behind_the_head(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    async with watching(rpc, emitter, confirmations=3) as watcher:
        consumer = Consumer(watcher)
        for n in range(6):
            emitter.emit(n)
        await consumer.until(lambda c: c.amounts == [0, 1, 2])
        anvil.reorg(2)
        anvil.mine(4)
        await consumer.until(lambda c: c.stack[-1].block.number == anvil.block_number - 3)
    assert consumer.undone == []
    assert consumer.amounts[:4] == [0, 1, 2, 3]


async def test_a_node_that_lags_rolls_nothing_back(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    for n in range(4):
        emitter.emit(n)
    gate = Gate(anvil.url)
    async with gate.rpc() as gated, watching(gated, emitter) as watcher:
        consumer = Consumer(watcher)
        await consumer.reach(anvil)
        gate.head = anvil.block_number - 2
        taking = asyncio.create_task(consumer.until(lambda c: len(c.amounts) == 5))
        await gate.asked(5)
        gate.head = None
        emitter.emit(4)
        await taking
    assert consumer.undone == []


async def test_events_that_the_node_has_later_are_put_in_their_place(anvil: Anvil, emitter: Emitter) -> None:
    """A node whose logs come seconds after its blocks: it was asked a few times within one, and then believed."""
    now, hides = [1_000.0], Kind(kinds()["logs that are not there yet"].bend, lasts=True)
    with OddNode(anvil.url, hides) as node:
        async with Rpc([node.url]) as rpc, watching(rpc, emitter, clock=lambda: now[0]) as watcher:
            consumer = Consumer(watcher)
            emitter.emit(1)
            anvil.mine(3)
            await consumer.reach(anvil)
            node.becomes(None)
            emitter.emit(2)
            await consumer.reach(anvil)
            assert consumer.amounts == [2]
            now[0] += 1
            await consumer.until(lambda c: c.amounts == [1])
            await consumer.reach(anvil)
    consumer.check_canonical(anvil)
    assert consumer.amounts == [1, 2]


async def test_an_endpoint_that_falls_silent_is_left_for_another(anvil: Anvil, emitter: Emitter) -> None:
    async with RedirectingProxy(anvil.url) as proxy, Rpc([proxy.url, anvil.url], timeout=0.2) as both:  # noqa: SIM117
        async with watching(both, emitter) as watcher:
            consumer = Consumer(watcher)
            emitter.emit(1)
            await consumer.reach(anvil)
            proxy.silent = True
            emitter.emit(2)
            await consumer.reach(anvil)
            assert watcher.stale_since is None
    assert consumer.amounts == [1, 2]


async def test_when_no_endpoint_answers_it_says_since_when_and_goes_on_later(
    anvil: Anvil, emitter: Emitter
) -> None:
    now = 1_000.0
    async with RedirectingProxy(anvil.url) as proxy, Rpc([proxy.url], timeout=0.2) as only:
        watcher = watching(only, emitter, clock=lambda: now)
        async with watcher:
            consumer = Consumer(watcher)
            emitter.emit(1)
            await consumer.reach(anvil)
            proxy.silent = True
            taking = asyncio.create_task(consumer.until(lambda c: c.amounts == [1, 2]))
            async with asyncio.timeout(DEADLINE):
                while watcher.stale_since is None:  # noqa: ASYNC110  # nothing announces it
                    await asyncio.sleep(0.01)
            assert watcher.stale_since == now
            assert "answer" in str(watcher.last_error)
            emitter.emit(2)
            proxy.silent = False
            await taking
            await asyncio.sleep(0)
        assert consumer.amounts == [1, 2]


async def test_a_node_without_timestamps_in_its_logs(anvil: Anvil, emitter: Emitter) -> None:
    for n in range(3):
        emitter.emit(n)
        anvil.mine(WINDOW)
    gate = Gate(anvil.url)
    gate.hide_timestamps = True
    async with gate.rpc() as gated, watching(gated, emitter) as watcher:
        consumer = Consumer(watcher)
        await consumer.reach(anvil)
    consumer.check_canonical(anvil)
    assert all(event.log.timestamp > 0 for item in consumer.stack for event in item.events)


async def test_it_can_be_woken(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    async with EventWatcher(rpc, None, [emitter.address], 1, poll=10_000) as watcher:
        consumer = Consumer(watcher)
        anvil.mine()
        await consumer.reach(anvil)
        taking = asyncio.create_task(consumer.until(lambda c: c.amounts == [5]))
        emitter.emit(5)
        watcher.wake()
        await taking


@pytest.mark.parametrize("method", ["eth_getBlockByNumber", "eth_getLogs"])
@pytest.mark.parametrize("moment", range(4))
async def test_a_reorganisation_between_two_requests(
    anvil: Anvil, emitter: Emitter, method: str, moment: int
) -> None:
    """Wherever it strikes, what is handed out in the end is one branch, with all of its events."""
    gate = Gate(anvil.url)
    async with gate.rpc() as gated, watching(gated, emitter) as watcher:
        consumer = Consumer(watcher)
        emitter.emit(0)
        await consumer.reach(anvil)
        for n in range(1, 9):
            emitter.emit(n)
        replacement = {
            "from": anvil.accounts[1].address,
            "to": emitter.address,
            "data": emitter.calldata([77]),
        }
        gate.before[method] = [
            *[lambda: None] * moment,
            lambda: anvil.reorg(4, [({**replacement, "gas": hex(200_000)}, 1)]),
        ]
        taking = asyncio.create_task(consumer.until(lambda c: 77 in c.amounts))
        while gate.before[method]:
            await asyncio.to_thread(anvil.mine)  # each block gives it something to ask about
            watcher.wake()
        await taking
        await consumer.reach(anvil)
    consumer.check_canonical(anvil)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(3))
async def test_a_deep_reorganisation_while_the_past_is_read(
    anvil: Anvil, emitter: Emitter, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.chain._watcher._FIRST_SPAN", 10)
    monkeypatch.setattr("leasehold.chain._watcher._LAST_SPAN", 10)
    for n in range(30):
        emitter.emit(n)
    anvil.mine(WINDOW)
    gate = Gate(anvil.url)
    gate.before["eth_getLogs"] = [*[lambda: None] * moment, lambda: anvil.reorg(WINDOW + 25)]
    async with gate.rpc() as gated, watching(gated, emitter) as watcher:
        consumer = Consumer(watcher)
        await consumer.until(lambda c: len(c.stack) > 0 and c.stack[-1].block.number >= anvil.block_number)
        await consumer.reach(anvil)
    assert not gate.before["eth_getLogs"], "it never came to that request"
    consumer.check_canonical(anvil)
    assert consumer.amounts == list(range(5))


async def test_the_memory_of_blocks_is_bounded(
    anvil: Anvil, rpc: Rpc, emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.chain._watcher._REMEMBERED", 5)
    async with watching(rpc, emitter) as watcher:
        consumer = Consumer(watcher)
        for n in range(8):
            emitter.emit(n)
        await consumer.reach(anvil)
        anvil.reorg(7)
        items = aiter(watcher)
        undone = [item async for item, _ in _zip(items, range(6))]
    assert [item.block.number for item in undone] == [8, 7, 6, 5, 4, 1], "below what it knows: from the start"


async def _zip(items: AsyncIterator[Item], numbers: range) -> AsyncIterator[tuple[Item, int]]:
    for number in numbers:
        yield await anext(items), number
