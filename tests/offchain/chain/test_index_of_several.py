"""An index on PostgreSQL that several processes share: one writes, and whatever dies, nothing is lost.

The processes are `Indexer`s of one test, which share nothing but the database. A server that is killed is the test's
own.
"""

import asyncio
import functools
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from bench_indexer import INDEX_ONCE
from devnet.anvil import Anvil
from devnet.emitter import Emitter
from devnet.patience import patient
from devnet.postgres import Postgres
from leasehold.chain import (
    Applied,
    Block,
    Deployment,
    EventWatcher,
    IndexBroken,
    IndexConflict,
    Indexer,
    IndexUnavailable,
    Rpc,
    _index_election,
)
from leasehold.chain._tables import EVERYTHING

from .indexing import dump, url_of
from .test_projection import DEPLOYMENT, whole_story

pytestmark = pytest.mark.slow
BLOCKS, PER_BLOCK = 60, 500


def in_time(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Whoever waits here waits for another process, which a mistake may keep away for ever."""

    @functools.wraps(test)
    async def limited(*arguments: object, **named: object) -> None:
        async with asyncio.timeout(patient(30)):
            await test(*arguments, **named)

    return limited


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """For tests that kill it."""
    with Postgres() as server:
        yield server


def deployment_of(anvil: Anvil) -> Deployment:
    address = Emitter.address
    return Deployment(anvil.chain_id, anvil.genesis, address, address, address, address, 1, "T", 18)


@asynccontextmanager
async def indexing(url: str, anvil: Anvil) -> AsyncIterator[Indexer]:
    """A process that takes part, for as long as the block lasts."""
    async with (
        Rpc([anvil.url]) as rpc,
        Indexer(url, deployment_of(anvil)) as index,
        EventWatcher(rpc, anvil.ws_url, [Emitter.address], 1) as watcher,
    ):
        running = asyncio.create_task(index.run_elected(watcher))
        try:
            yield index
            assert not running.done(), running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def read_anew(server: Postgres, anvil: Anvil) -> dict[str, list[tuple[object, ...]]]:
    """What the index of this chain is, read by one process into an empty database without disturbance."""
    url = server.make()
    async with indexing(url, anvil) as index:
        await index.reached(anvil.block_number)
    return dump(url)


def name_of(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def cursor_in(server: Postgres, url: str) -> int:
    """The last block that is committed; 0 before the first."""
    try:
        return int(server.do(name_of(url), "SELECT coalesce(max(number), 0) FROM chain_cursors")[0][0])
    except psycopg.errors.UndefinedTable:
        return 0


def events_in(server: Postgres, url: str) -> int:
    return int(server.do(name_of(url), "SELECT count(*) FROM chain_ledger")[0][0])


def index_and_be_killed(server: Postgres, url: str, anvil: Anvil) -> None:
    """A process that indexes until it has committed something more."""
    command = [sys.executable, str(INDEX_ONCE), url, anvil.url, anvil.genesis, Emitter.address, str(BLOCKS)]
    before = cursor_in(server, url)
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=silent, stderr=silent) as process:
        while process.poll() is None and cursor_in(server, url) == before:
            time.sleep(0.002)
        process.kill()


def emit_in_blocks(emitter: Emitter, blocks: int, per_block: int = 3) -> None:
    for number in range(blocks):
        emitter.emit(*range(1 + number, 1 + number + per_block))


async def until_elected(*processes: Indexer) -> Indexer:
    """The one that is."""
    while True:
        for index in processes:
            if index.elected:
                return index
        await asyncio.sleep(0.02)


async def until_won(index: Indexer) -> None:
    """The server has heard that the former one is gone."""
    while not await index._in_thread(index._writer.stand):  # noqa: ASYNC110 - the server ends it in its own time
        await asyncio.sleep(0.02)


async def until_unavailable(index: Indexer) -> None:
    while True:
        try:
            await index.balances()
        except IndexUnavailable:
            return
        await asyncio.sleep(0.02)


@in_time
async def test_one_of_several_writes_and_the_others_are_told(
    postgres: Postgres, postgres_url: str, emitter: Emitter, anvil: Anvil
) -> None:
    emit_in_blocks(emitter, 5)
    async with indexing(postgres_url, anvil) as one, indexing(postgres_url, anvil) as other:
        writer = await until_elected(one, other)
        reader = other if writer is one else one
        async with aclosing(reader.changes()) as changes:
            first = await anext(changes)
            assert (first.first, first.undone) == (0, True), "whoever begins to listen reads everything"
            await reader.reached(5)
            emit_in_blocks(emitter, 1)
            while (change := await anext(changes)).head is None or change.head.number < 6:
                pass
            assert change.head == await reader.head() == await writer.reached(6)
        assert not reader.elected
        assert await reader.balances() == await writer.balances()
        before = await writer.head()
        anvil.reorg(2)
        async with aclosing(reader.changes()) as changes:
            while (head := (await anext(changes)).head) is None or head.number < 6 or head == before:
                pass
    assert dump(postgres_url) == await read_anew(postgres, anvil)


@in_time
async def test_another_takes_over_from_who_is_gone(
    postgres: Postgres, postgres_url: str, emitter: Emitter, anvil: Anvil
) -> None:
    emit_in_blocks(emitter, 3)
    async with indexing(postgres_url, anvil) as survivor:
        async with indexing(postgres_url, anvil) as mate:
            await mate.reached(3)
            await until_elected(survivor, mate)
        emit_in_blocks(emitter, 3)
        await survivor.reached(6)
        assert survivor.elected
    assert dump(postgres_url) == await read_anew(postgres, anvil)


@in_time
async def test_a_writer_whose_connection_is_cut_writes_nothing_more_until_it_is_elected_again(
    postgres: Postgres, postgres_url: str
) -> None:
    """Between being cut off and noticing it, another may have been elected."""
    name = name_of(postgres_url)
    blocks = whole_story().blocks
    async with Indexer(postgres_url, DEPLOYMENT) as old, Indexer(postgres_url, DEPLOYMENT) as new:
        assert await old._in_thread(old._writer.stand)
        await old.apply(blocks[:10])
        assert not await new._in_thread(new._writer.stand)
        postgres.do(name, f"SELECT pg_terminate_backend({old._writer.election.process})")
        await until_won(new)
        for _ in range(2):
            with pytest.raises(IndexUnavailable):
                await old.apply(blocks[10:20])
        assert (await old.head()) == blocks[9].block, "what was not committed is not told"
        await new.apply(blocks[10:])
        await old._in_thread(old._writer.election.resign)
        with pytest.raises(IndexConflict):
            await old.apply(blocks[10:20])
    reference = postgres.make()
    async with Indexer(reference, DEPLOYMENT) as index:
        await index.apply(blocks)
    assert dump(postgres_url) == dump(reference)


@in_time
async def test_a_writer_that_stands_still_makes_way(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped keeps its connection open: the server ends it, and it finds that when it goes on."""
    monkeypatch.setitem(_index_election._SESSION, "idle_session_timeout", "50ms")
    blocks = whole_story().blocks
    async with Indexer(postgres_url, DEPLOYMENT) as old, Indexer(postgres_url, DEPLOYMENT) as new:
        assert await old._in_thread(old._writer.stand)
        await until_won(new)
        with pytest.raises(IndexUnavailable):
            await old.apply(blocks[:10])
        assert await old.machines() == []


@in_time
async def test_an_indexer_that_is_killed_leaves_what_the_chain_was_at_some_block(
    postgres: Postgres, emitter: Emitter, anvil: Anvil
) -> None:
    emit_in_blocks(emitter, BLOCKS, PER_BLOCK)
    url = postgres.make()
    for _ in range(3):
        await asyncio.to_thread(index_and_be_killed, postgres, url, anvil)
        assert events_in(postgres, url) == cursor_in(postgres, url) * PER_BLOCK
    async with indexing(url, anvil) as index:
        await index.reached(BLOCKS)
    assert dump(url) == await read_anew(postgres, anvil)


@in_time
async def test_a_server_that_is_killed_again_and_again_loses_nothing(
    own_server: Postgres, anvil: Anvil
) -> None:
    emitter = Emitter(anvil)
    emit_in_blocks(emitter, BLOCKS, PER_BLOCK)
    url = own_server.make()
    stops = (1, BLOCKS // 3, BLOCKS // 2)
    async with indexing(url, anvil) as index:
        for stop in stops:
            await index.reached(stop)
            own_server.kill()
            await until_unavailable(index)
            own_server.start()
            assert events_in(own_server, url) == cursor_in(own_server, url) * PER_BLOCK
        emit_in_blocks(emitter, 2, PER_BLOCK)
        await index.reached(BLOCKS + 2)
        assert await index.balances()
    assert dump(url) == await read_anew(own_server, anvil)


@in_time
async def test_tables_that_are_dropped_come_back_from_the_chain(
    postgres: Postgres, postgres_url: str, emitter: Emitter, anvil: Anvil
) -> None:
    emit_in_blocks(emitter, 5)
    name = name_of(postgres_url)
    async with indexing(postgres_url, anvil) as index:
        await index.reached(5)
    before = dump(postgres_url)
    for dropped in (
        ["chain_version", *(table.name for table in EVERYTHING)],
        ["chain_ledger"],
        ["chain_cursors"],
    ):
        postgres.do(name, f"DROP TABLE {', '.join(dropped)} CASCADE")
        async with indexing(postgres_url, anvil) as index:
            await index.reached(5)
        assert dump(postgres_url) == before
    async with indexing(postgres_url, anvil) as index, indexing(postgres_url, anvil) as mate:
        await asyncio.gather(index.reached(5), mate.reached(5))
        postgres.do(name, "DROP TABLE chain_ledger, chain_cursors, chain_pools CASCADE")
        emit_in_blocks(emitter, 1)
        while True:
            try:
                if len((await mate.ledger("0x" + "11" * 20)).entries) == 18:
                    break
            except (IndexUnavailable, IndexConflict):
                pass
            await asyncio.sleep(0.02)
        await asyncio.gather(index.reached(6), mate.reached(6))
    assert dump(postgres_url) == await read_anew(postgres, anvil)


@in_time
async def test_whoever_finds_another_form_leaves_it_alone(
    postgres: Postgres, postgres_url: str, emitter: Emitter, anvil: Anvil
) -> None:
    """While two programs take turns at making the tables anew, neither would ever answer."""
    name = name_of(postgres_url)
    emit_in_blocks(emitter, 1)
    async with Rpc([anvil.url]) as rpc, Indexer(postgres_url, deployment_of(anvil)) as index:
        watcher = EventWatcher(rpc, None, [Emitter.address], 1)
        postgres.do(name, "UPDATE chain_version SET version_num = 'newer'")
        async with asyncio.timeout(patient(30)):
            with pytest.raises(IndexConflict):
                await index.run_elected(watcher)
    assert postgres.do(name, "SELECT version_num FROM chain_version") == [("newer",)]


@in_time
async def test_what_is_copied_is_what_sqlite_has(postgres_url: str, tmp_path: Path) -> None:
    blocks = whole_story().blocks
    for url in (postgres_url, url_of(tmp_path / "index.db")):
        async with Indexer(url, DEPLOYMENT) as index:
            await index.apply(blocks)
            assert await index.reached(len(blocks)) == blocks[-1].block
    assert dump(postgres_url) == dump(tmp_path / "index.db")


@in_time
async def test_a_place_that_is_taken_tears_the_index(postgres_url: str) -> None:
    blocks = whole_story().blocks
    async with Indexer(postgres_url, DEPLOYMENT) as index:
        await index.apply(blocks)
        again = Applied(
            Block(1_000, "0xother", 1), tuple(event for block in blocks[2:6] for event in block.events)
        )
        with pytest.raises(IndexBroken, match="on no one chain"):
            await index.apply([again])
        assert await index.head() == blocks[-1].block
